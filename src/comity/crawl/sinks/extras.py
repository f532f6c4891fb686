"""Libraries that only one format needs: imported when that format is asked for, missed in words that help."""

from importlib import import_module
from typing import Any

from comity.errors import InvalidSetting


def need(module: str, extra: str) -> Any:
    """Import a module that comes with an extra.

    Raises:
        InvalidSetting: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != name:
            raise
        raise InvalidSetting(
            f"the format {extra} needs {name}, which is not installed", hint=f"pip install 'comity[{extra}]'"
        ) from error
