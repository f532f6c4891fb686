"""Whose failure an error is that nobody expected while a page was worked: the page's own, or ours."""

import struct
import zlib
from typing import Final

import aiohttp

from comity import errors

_OUR_ERRORS: Final = (
    errors.EngineFailed,
    errors.InvalidSetting,
    errors.MissingExtra,
    errors.RenderingFailed,
    errors.StorageError,
    errors.SystemFailed,
)
_PAGE_ERRORS: Final = (
    *(errors.ComityError, aiohttp.ClientError, struct.error, zlib.error),
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, RecursionError, TypeError, ValueError),
    *(ConnectionError, TimeoutError),
)


def raise_what_is_ours(error: Exception) -> None:
    """Come back where an error is a page's or site's own: a page that raises an unexpected error must not end the
    crawl. These are a closed list, for a page that failed is not asked for again; anything else is raised, in words."""
    if isinstance(error, _OUR_ERRORS):
        raise error
    from selectolax.lexbor import SelectolaxError  # late: most crawls have none

    if isinstance(error, (*_PAGE_ERRORS, SelectolaxError)) and not errors.is_of_the_system(error):
        return
    if (failed := errors.system_failed(error)) is not None:
        raise failed from error
    raise errors.SystemFailed(
        f"this process cannot go on: {type(error).__name__}: {error}",
        hint="what was written is safe; a crawl goes on with --resume. If it comes again, please report it",
    ) from error
