"""What a Python program asks before it touches a web site. The public names, nothing else."""

from typing import TYPE_CHECKING, Any

from comity import _compiled

_compiled.obey_environment()

if TYPE_CHECKING:
    from comity.errors import (
        AddressBlocked,
        ComityError,
        FetchError,
        InvalidSetting,
        InvalidURL,
        StorageError,
        Timeout,
        TooLarge,
        TooManyRedirects,
    )

# Public name -> module that defines it. Loaded on first use, so that `import comity` stays cheap.
_HOMES = {
    "AddressBlocked": "comity.errors",
    "ComityError": "comity.errors",
    "FetchError": "comity.errors",
    "InvalidSetting": "comity.errors",
    "InvalidURL": "comity.errors",
    "StorageError": "comity.errors",
    "Timeout": "comity.errors",
    "TooLarge": "comity.errors",
    "TooManyRedirects": "comity.errors",
}

__all__ = [
    "AddressBlocked",
    "ComityError",
    "FetchError",
    "InvalidSetting",
    "InvalidURL",
    "StorageError",
    "Timeout",
    "TooLarge",
    "TooManyRedirects",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("comity")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'comity' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
