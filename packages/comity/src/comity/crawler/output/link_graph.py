"""The edges of the link graph: each link of a page with its text and relation types."""

from collections.abc import Iterator
from typing import Any, Final

from comity.errors import ComityError
from comity.net import Response
from comity_pages import urls
from comity_pages.signals import encodings
from comity_pages.signals.links import Page

MAX_TEXT_CHARACTERS: Final = 500  # characters kept of a link's text


def edges(response: Response, read: Page) -> Iterator[dict[str, Any]]:
    """A record for each link of a page, in its order; `text` is None where it has none, or a limit cut the page."""
    texts = _texts(response, read)
    for link in read.links:
        rel = " ".join(link.rel) or None  # the relation types with a space between them
        yield {"from": response.url, "to": link.url, "text": texts.get(link.url), "rel": rel}


def _texts(response: Response, read: Page) -> dict[str, str]:
    """The words that lead to each URL, of the first link that has any."""
    from comity_pages.html import tree  # late: only who wants the link graph pays for a tree

    text = encodings.to_text(response.body, read.encoding)
    found: dict[str, str] = {}
    try:
        page = tree.parse(text, response.url)
    except ComityError:
        return found
    for node in page.all("a", "area"):
        words = " ".join((node.text() or node.attributes.get("alt", "")).split())[:MAX_TEXT_CHARACTERS]
        target = urls.join(read.base or response.url, node.attributes.get("href", ""))
        if words and target is not None:
            found.setdefault(target, words)
    return found
