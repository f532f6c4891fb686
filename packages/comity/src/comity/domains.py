"""Registrable domains: the part of a host name that somebody registered, by the Public Suffix List.

The list comes with the library `publicsuffixlist` and is read at the first question, which takes some 30 ms.
"""

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=65_536)
def registrable(host: str) -> str:
    """`www.example.co.uk` -> `example.co.uk`; an address, and a name that is a public suffix itself, is its own.

    Args:
        host: in normal form (`urls.host`).
    """
    if host.startswith("[") or host.rpartition(".")[2].isdigit():
        return host
    name = host.rstrip(".")
    return _suffixes().privatesuffix(name) or name


def has_public_suffix(host: str) -> bool:
    """Whether a host's name ends as the list says that names on the Internet do; `robots.txt` does not."""
    suffix = _suffixes().publicsuffix(host, accept_unknown=False)
    return suffix is not None and suffix != host


@cache
def _suffixes() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
