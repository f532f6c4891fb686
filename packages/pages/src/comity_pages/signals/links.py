"""What an HTML page says about itself and where it points: links, base, canonical, alternates, metas, licence.

It reads bytes and header values that are handed in, resolves every reference by WHATWG rules, and never follows one.
Whatever the bytes are, it answers, in time linear in their number; a hostile page gets no more memory than the limits
of _reader.py.
"""

from collections.abc import Sequence

from comity_pages.signals._page import UNFOLLOWED as UNFOLLOWED
from comity_pages.signals._page import Alternate as Alternate
from comity_pages.signals._page import LicenseLink as LicenseLink
from comity_pages.signals._page import Link as Link
from comity_pages.signals._page import Page as Page
from comity_pages.signals._page import Refresh as Refresh
from comity_pages.signals._reader import MAX_LINKS as MAX_LINKS
from comity_pages.signals._reader import MAX_TOTAL_LENGTH as MAX_TOTAL_LENGTH
from comity_pages.signals._reader import MAX_URL_LENGTH as MAX_URL_LENGTH
from comity_pages.signals._reader import Reader
from comity_pages.signals.content_type import HTML_TYPES, essence
from comity_pages.signals.xhtml import is_xhtml
from comity_pages.urls import normalise


def read_page(
    body: bytes | str,
    url: str,
    content_type: str | None = None,
    link_headers: Sequence[str] = (),
    refresh_header: str | None = None,
) -> Page:
    """Read a page, as far as `content_type` calls it HTML (or says nothing), and its headers `Link` and `Refresh`.

    Of a `Content-Type` that was sent twice, joined by a comma, the last media type counts (Fetch, "extract a MIME
    type"); one that holds no media type says nothing.

    Raises:
        InvalidURL: `url`, not the page, is not an absolute http or https URL.
    """
    reader = Reader(normalise(url))
    if refresh_header is not None:
        reader.read_refresh(refresh_header)
    if essence(content_type) in ("", *HTML_TYPES) or is_xhtml(body, content_type):
        reader.read_html(body, content_type)
    reader.read_headers(link_headers)
    return reader.page()
