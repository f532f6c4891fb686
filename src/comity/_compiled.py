"""Which modules Cython compiles, and which of the two forms runs.

The build reads MODULES; nothing else lists them. With COMITY_NO_EXTENSIONS=1 in the environment the compiled forms
are left alone and the same `.py` files are interpreted.
"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing them costs more than the rest of `import comity`
    from importlib.abc import MetaPathFinder
    from importlib.machinery import ModuleSpec
    from types import ModuleType
else:
    MetaPathFinder = object

MODULES: tuple[str, ...] = (
    "_utf8",
    "urls",
    "signals._tags",
    "signals._reader",
    "robots._scan",
    "robots._path",
    "robots._pattern",
    "robots._match",
    "robots._packing",
    "robots._making",
    "robots._first",
    "bulk._origins",
    "bulk._rules",
    "bulk._delays",
    "bulk._programs",
    "bulk._citing",
    "bulk._asking",
    "bulk._writing",
    "frontier._words",
    "retrieve._forest",
    "retrieve.blocks",
    "retrieve.bounds",
    "retrieve.features",
    "retrieve.inline",
    "retrieve.markdown",
    "retrieve.tree",
)


class _SourceFirst(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: "Sequence[str] | None", target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        package, _, name = fullname.partition(".")
        if package != "comity" or name not in MODULES or not path:
            return None
        from importlib.util import spec_from_file_location

        return spec_from_file_location(fullname, os.path.join(path[0], name.rpartition(".")[2] + ".py"))  # noqa: PTH118 (pathlib would cost import time)


def obey_environment() -> None:
    """Make every compiled module load from its source when COMITY_NO_EXTENSIONS is set."""
    if os.environ.get("COMITY_NO_EXTENSIONS", "") not in ("", "0"):
        sys.meta_path.insert(0, _SourceFirst())


def engine() -> str:
    """`compiled` when every hot module runs compiled, `interpreted` when none does, else `partly compiled`."""
    from importlib import import_module

    files = [import_module(f"comity.{name}").__file__ or "" for name in MODULES]
    interpreted = sum(file.endswith(".py") for file in files)
    if interpreted == len(files):
        return "interpreted"
    return "partly compiled" if interpreted else "compiled"


def lacks_compiled() -> bool:
    """Whether modules are interpreted though nobody asked for that: there was no C compiler."""
    from comity import urls

    return (urls.__file__ or "").endswith(".py") and os.environ.get("COMITY_NO_EXTENSIONS", "") in ("", "0")
