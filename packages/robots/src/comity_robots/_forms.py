"""Which form of the hot modules runs: the compiled one, or the plain one in Python.

Each package lists its modules in `_compiled.py` and registers them here. With COMITY_NO_EXTENSIONS=1 in the
environment the compiled forms are left alone: `.py` files are interpreted, and of `.pyx` files, which exist for the
compiler only, another module is the plain form, if one is needed (`engine.reference`).
"""

from __future__ import annotations

import os
import sys

from comity_robots._compiled import MODULES

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing them costs more than the rest of `import comity`
    from collections.abc import Sequence
    from importlib.abc import MetaPathFinder
    from importlib.machinery import ModuleSpec
    from types import ModuleType
else:
    MetaPathFinder = object


_MODULES: dict[str, tuple[str, tuple[str, ...]]] = {}  # of each package: where it lies, and which are compiled


class _SourceFirst(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package not in _MODULES or name not in _MODULES[package][1] or not path:
            return None
        from importlib.util import spec_from_file_location

        source = os.path.join(path[0], name.rpartition(".")[2] + ".py")  # noqa: PTH118 (pathlib would cost import time)
        if not os.path.exists(source):  # noqa: PTH110 (as above)
            raise ModuleNotFoundError(f"{fullname} is for the compiler only", name=fullname)
        return spec_from_file_location(fullname, source)


def register(package: str, folder: str, modules: tuple[str, ...]) -> None:
    """Name a package's compiled modules, which load from their sources where COMITY_NO_EXTENSIONS is set."""
    _MODULES[package] = folder, modules
    if len(_MODULES) == 1 and os.environ.get("COMITY_NO_EXTENSIONS", "") not in ("", "0"):
        sys.meta_path.insert(0, _SourceFirst())


def engine() -> str:
    """`compiled` when every hot module runs compiled, `interpreted` when none does, else `partly compiled`.

    Looks at files and imports none of them: where a compiled module is, Python takes that or fails.
    """
    from importlib.machinery import EXTENSION_SUFFIXES

    listed = [os.path.join(folder, *name.split(".")) for folder, names in _MODULES.values() for name in names]  # noqa: PTH118
    kept = () if any(isinstance(each, _SourceFirst) for each in sys.meta_path) else EXTENSION_SUFFIXES
    compiled = sum(any(os.path.exists(path + suffix) for suffix in kept) for path in listed)  # noqa: PTH110
    if not compiled:
        return "interpreted"
    return "compiled" if compiled == len(listed) else "partly compiled"


def imported(module: str) -> ModuleType:
    """As `importlib.import_module`. Where a compiled module lacks a name, because it was built from an earlier source,
    the error says what to do."""
    from importlib import import_module
    from importlib.machinery import EXTENSION_SUFFIXES

    try:
        return import_module(module)
    except ImportError as error:
        if (error.path or "").endswith(tuple(EXTENSION_SUFFIXES)) and not hasattr(error, "__notes__"):
            how = "build again (pip install -e .), or set COMITY_NO_EXTENSIONS=1"
            error.add_note(f"{error.path} was built from an earlier version of its source: {how}")
        raise


def lacks_compiled() -> bool:
    """Whether modules are interpreted because there was no C compiler, and not because the environment asked for it."""
    return engine() == "interpreted" and os.environ.get("COMITY_NO_EXTENSIONS", "") in ("", "0")


register(__package__, os.path.dirname(__file__), MODULES)  # noqa: PTH120 (as above)
