"""An MCP server: tools for agents that ask web sites what programs may do, and read them accordingly (`comity mcp`)."""

from importlib.util import find_spec

from comity_pages import _extras

if find_spec("mcp") is None:  # not imported here: what reads in a process of its own does without it
    raise _extras.missing(ModuleNotFoundError(name="mcp"), "mcp", "comity mcp")

from comity.mcp.crawls import CrawlLimits
from comity.mcp.service import Service

__all__ = ["CrawlLimits", "Service"]
