"""Names of a package that are imported on first use, to keep imports fast."""

from __future__ import annotations

import sys

from comity_robots._forms import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_exports(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`.

    Args:
        homes: module -> the names it defines, with spaces between them; `name=member` where it has another one there.
    """
    places = {each.partition("=")[0]: (home, each) for home, names in homes.items() for each in names.split()}

    def attribute(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, each = places[name]
        value = getattr(imported(home), each.rpartition("=")[2])
        if (module := sys.modules.get(package)) is not None:  # it may have been taken out, and is used on
            setattr(module, name, value)
        return value

    return attribute
