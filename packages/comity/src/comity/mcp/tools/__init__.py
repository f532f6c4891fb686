"""The tools, one a file: whatever `Tool` a module of this package defines is one of the server's."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from mcp.server.mcpserver.tools import Tool


def tools() -> Iterator[Tool]:
    """All of them, by the names of their files."""
    for each in iter_modules(__path__, f"{__name__}."):
        yield from (value for value in vars(import_module(each.name)).values() if isinstance(value, Tool))
