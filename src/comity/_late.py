"""Names of a package that are imported on first use, to keep imports fast."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`.

    Args:
        homes: name -> the module that defines it, or `module:member` where it has another name there.
    """

    def attribute(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, member = home.partition(":")
        value = getattr(import_module(module), member or name)
        setattr(sys.modules[package], name, value)
        return value

    return attribute
