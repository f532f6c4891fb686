"""What a page says about itself in its head and its data, and how much there is of what, as numbers: measured once for
all of its blocks (comity_pages.content.features).
"""

import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from comity_pages.content.blocks import words_in
from comity_pages.html.tree import Tree

_DATA_TYPES: Final = (
    '"Article"', "BlogPosting", "NewsArticle", '"Product"', "ItemList", "DiscussionForumPosting", "QAPage", "FAQPage",
    "CollectionPage", "Organization", "LocalBusiness", '"Offer"', "WebPage",
)  # fmt: skip
_COUNTED_TAGS: Final = tuple("article main h1 h2 h3 p li table img form pre button time section a span input".split())
_URL_PATTERNS: Final = (
    re.compile(r"/(?:blog|news|article|story|post|20\d\d)s?\b"),
    re.compile(r"/(?:product|item|p|dp|shop|store)s?\b"),
    re.compile(r"/(?:forum|thread|topic|t|discussion|question|r|community)s?\b|showthread|viewtopic|forum"),
    re.compile(r"/(?:docs?|documentation|guide|reference|manual|api|learn|tutorial|help|support|kb)s?\b|^docs?\."),
    re.compile(r"/(?:categor(?:y|ies)|collection|tag|c|archive|search|browse|list|directory|topics?)s?\b"),
)
_MAX_DATA_CHARS: Final = 200_000
_BODY_KEY: Final = '"articleBody"'
_THREAD_TYPES: Final = ("DiscussionForumPosting", "QAPage")
_DECODER: Final = json.JSONDecoder(strict=False)


def _bodies(data: str) -> Iterator[str]:
    at = 0
    while (key := data.find(_BODY_KEY, at)) >= 0 and (at := data.find('"', key + len(_BODY_KEY))) >= 0:
        try:
            value, at = _DECODER.raw_decode(data, at)
        except ValueError:
            return
        yield value


class Facts:
    """What the page says about itself in its head and its data, and how much there is of what.

    Attributes:
        title: the words of its title, lower case.
        firsts: the characters that those begin with, as bits: of each the one of its code modulo 64.
        body: the longest text of an article that its data holds (schema.org's articleBody).
        threaded: whether it says that it is a discussion, or questions and answers.
    """

    def __init__(self, tree: Tree) -> None:
        metas: dict[str, str] = {}
        for node in tree.by_name.get("meta", ())[:500]:
            name = (node.attributes.get("property") or node.attributes.get("name") or "").lower()
            if name and name not in metas:
                metas[name] = node.attributes.get("content", "")[:2000]
        title = tree.first("title")
        words = f"{title.text()[:500] if title is not None else ''} {metas.get('og:title', '')}"
        self.title = set(words_in(words.lower()))
        self.firsts = 0
        for word in self.title:
            self.firsts |= 1 << (ord(word[0]) & 63)
        data = " ".join(
            node.text()[:_MAX_DATA_CHARS]
            for node in tree.by_name.get("script", ())[:50]
            if "ld+json" in node.attributes.get("type", "").lower()
        )[:_MAX_DATA_CHARS]
        self.body = max(_bodies(data), key=len, default="")
        self.threaded = any(each in data for each in _THREAD_TYPES)
        kind = metas.get("og:type", "").lower()
        self._counts = [float(min(len(tree.by_name.get(name, ())), 999)) for name in _COUNTED_TAGS]
        self._kinds = [float(each in data) for each in _DATA_TYPES]
        self._kinds += [float(each in kind) for each in ("article", "product", "website")]

    def is_thread(self, url: str) -> bool:
        """Whether the page's data or its URL say that people talk there: what names call comments is its content."""
        parts = urlsplit(url)
        return self.threaded or _URL_PATTERNS[2].search(parts.netloc.lower() + parts.path.lower()) is not None

    def numbers(self, url: str) -> list[float]:
        """Of the page as a whole."""
        parts = urlsplit(url)
        path = parts.path.lower()
        last = path.rstrip("/").rpartition("/")[2]
        address = parts.netloc.lower() + path
        return [
            *self._kinds,
            float(path.count("/")),
            float(path.endswith("/")),
            float(last.count("-")),
            float(len(last)),
            float(any(map(str.isdigit, last))),
            float(bool(parts.query)),
            *(float(each.search(address) is not None) for each in _URL_PATTERNS),
            *self._counts,
        ]
