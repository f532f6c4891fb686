"""Libraries that only an extra brings: imported where they are used, with a helpful error if missing."""

from importlib import import_module
from typing import Any

from comity_pages.errors import MissingExtra


def need(module: str, extra: str, use: str) -> Any:
    """Import a module that comes with an extra.

    Args:
        use: what needs it, as the beginning of a sentence: "the format warc".

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # it is installed, and lacks something itself
        raise missing(error, extra, use) from None


def missing(error: ModuleNotFoundError, extra: str, use: str) -> MissingExtra:
    """The error to raise for a failed import, by modules that need an extra as a whole."""
    library = (error.name or str(error)).partition(".")[0]
    return MissingExtra(f"{use} needs {library}, which is not installed", hint=f"pip install 'comity[{extra}]'")
