"""URLs in a file that may be a sitemap or a feed: what the file is decides, not what it is called. It reads no file."""

from comity.errors import InputError

_GZIP = b"\x1f\x8b"


def is_packed_or_markup(head: bytes, name: str) -> bool:
    """Return whether a file is a sitemap or packed, by its first bytes, and no list of lines. Raises InputError for one
    that is neither."""
    if head.startswith(_GZIP) or b"<" in head[:1024].lstrip()[:6]:  # a mark of UTF-8 or UTF-16 may be first
        return True
    if b"\0" in head[:1024]:
        raise InputError(f"{name} is no list of URLs in UTF-8, and no sitemap")
    return False


def pages_in_sitemap(body: bytes, name: str) -> list[str]:
    """Return the URLs of the pages in a sitemap, a feed or a packed list, and an empty text for each entry without one.

    Args:
        body: of the file.
        name: of the file, for messages.

    Raises:
        InputError: it is an index, which lists sitemaps, or an HTML page, or cannot be read to its end.
    """
    from comity_pages.signals.sitemaps import Limits, SitemapReader  # late: few lists are sitemaps

    reader = SitemapReader(name, limits=Limits(entries=1 << 30))
    found = [entry.loc for entry in reader.read(body)]
    if reader.kind == "sitemapindex":
        raise InputError(
            f"{name} lists sitemaps, and no page", hint=f"name one of them, such as {found[0]}" if found else ""
        )
    if reader.problem is not None:
        raise InputError(f"{name} cannot be read as a sitemap: {reader.problem}")
    return [*found, *[""] * reader.skipped]
