"""The system's certificates, read when the first TLS connection is made: that takes longer than all of a small answer.

aiohttp makes its contexts when it is imported. Imported from here, they are the same contexts, but read the
certificates when they are put to use for the first time. Import this module before anything that imports aiohttp.
"""

import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Deferred(ssl.SSLContext):
    """A context that still has to read the certificates; then it is an ordinary one."""

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        return _read(self).wrap_bio(*args, **options)

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        return _read(self).wrap_socket(*args, **options)


def _read(context: ssl.SSLContext) -> ssl.SSLContext:
    context.__class__ = ssl.SSLContext
    context.load_default_certs()
    return context


def _later(context: ssl.SSLContext, purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH) -> None:
    if type(context) is ssl.SSLContext and purpose is ssl.Purpose.SERVER_AUTH:
        context.__class__ = _Deferred
    else:
        _at_once(context, purpose)


_at_once = ssl.SSLContext.load_default_certs


@contextmanager
def _deferred() -> Iterator[None]:
    ssl.SSLContext.load_default_certs = _later  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        ssl.SSLContext.load_default_certs = _at_once  # type: ignore[method-assign]


if "aiohttp" not in sys.modules:
    with _deferred():
        import aiohttp  # noqa: F401
