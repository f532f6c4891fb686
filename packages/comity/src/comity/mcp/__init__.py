"""An MCP server: tools for agents that ask web sites what programs may do, and read them accordingly (`comity mcp`)."""

from comity.mcp.crawls import CrawlLimits
from comity.mcp.service import Service

__all__ = ["CrawlLimits", "Service"]
