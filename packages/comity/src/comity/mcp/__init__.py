"""An MCP server: tools for agents that ask web sites what programs may do, and read them accordingly (`comity mcp`)."""

from typing import TYPE_CHECKING

from comity_robots._late import late

if TYPE_CHECKING:
    from comity.mcp.crawls import CrawlLimits
    from comity.mcp.service import Service

__all__ = ["CrawlLimits", "Service"]

__getattr__ = late(  # the first answer does not wait for them
    __name__, {"comity.mcp.crawls": "CrawlLimits", "comity.mcp.service": "Service"}
)
