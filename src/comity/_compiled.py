"""Which modules Cython compiles, and which of the two forms runs.

The build reads MODULES; nothing else lists them. With COMITY_NO_EXTENSIONS=1 in the environment the compiled forms
are left alone: `.py` files are interpreted, and of `.pyx` files, which exist for the compiler only, another module is
the plain form (`robots.engine.reference`, `bulk.row_by_row`).
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
    "robots.engine.records",
    "robots.engine.paths",
    "robots.engine.matcher",
    "bulk.engine.origins",
    "bulk.engine.rules",
    "bulk.engine.programs",
    "bulk.engine.citing",
    "bulk.engine.rows",
    "bulk.engine.writing",
    "frontier.sqlite._words",
    "retrieve.content._forest",
    "retrieve.content.blocks",
    "retrieve.page.bounds",
    "retrieve.content.features",
    "retrieve.markdown.inline",
    "retrieve.markdown.markdown",
    "retrieve.page.sheets",
    "retrieve.page.tree",
)


class _SourceFirst(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: "Sequence[str] | None", target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        package, _, name = fullname.partition(".")
        if package != "comity" or name not in MODULES or not path:
            return None
        from importlib.util import spec_from_file_location

        source = os.path.join(path[0], name.rpartition(".")[2] + ".py")  # noqa: PTH118 (pathlib would cost import time)
        if not os.path.exists(source):  # noqa: PTH110 (as above)
            raise ModuleNotFoundError(f"{fullname} is for the compiler only", name=fullname)
        return spec_from_file_location(fullname, source)


def obey_environment() -> None:
    """Make every compiled module load from its source when COMITY_NO_EXTENSIONS is set."""
    if os.environ.get("COMITY_NO_EXTENSIONS", "") not in ("", "0"):
        sys.meta_path.insert(0, _SourceFirst())


def engine() -> str:
    """`compiled` when every hot module runs compiled, `interpreted` when none does, else `partly compiled`.

    Looks at files and imports none of them: where a compiled module is, Python takes that or fails.
    """
    from importlib.machinery import EXTENSION_SUFFIXES

    folder = os.path.dirname(__file__)  # noqa: PTH120 (pathlib would cost import time)
    kept = () if any(isinstance(each, _SourceFirst) for each in sys.meta_path) else EXTENSION_SUFFIXES
    compiled = sum(
        any(os.path.exists(os.path.join(folder, *name.split(".")) + suffix) for suffix in kept)  # noqa: PTH110, PTH118
        for name in MODULES
    )
    if not compiled:
        return "interpreted"
    return "compiled" if compiled == len(MODULES) else "partly compiled"


def imported(module: str) -> "ModuleType":
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
    from comity import urls

    return (urls.__file__ or "").endswith(".py") and os.environ.get("COMITY_NO_EXTENSIONS", "") in ("", "0")
