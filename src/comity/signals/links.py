"""What an HTML page says about itself and where it points: links, base, canonical, alternates, metas, licence.

It reads bytes and header values that are handed in, resolves every reference by WHATWG rules, and never follows one.
Whatever the bytes are, it answers, in time linear in their number; a hostile page gets no more memory than the limits
below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from comity.signals import encodings
from comity.signals._tags import MAX_TAGS, tags
from comity.signals.content_type import extract
from comity.signals.link_header import parse_link_headers, relation_types
from comity.urls import Base, normalise

MAX_URL_LENGTH = 8192  # RFC 9110, 4.1 asks everybody to support 8,000
MAX_LINKS = 20_000
MAX_TOTAL_LENGTH = 16_000_000  # of all URLs of a page: a long base makes each of many short references long
_UNFOLLOWED = frozenset(("nofollow", "ugc", "sponsored"))
_FOLLOWED = frozenset(("next", "prev", "previous"))
_SPACE = "\t\n\f\r "
_HTML_TYPES = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")


class Link(NamedTuple):
    """A link to follow: its URL in normal form and its relation types, lower-cased."""

    url: str
    rel: tuple[str, ...] = ()

    @property
    def nofollow(self) -> bool:
        """True where the page asks not to be taken to vouch for it: rel nofollow, ugc or sponsored."""
        return bool(self.rel) and not _UNFOLLOWED.isdisjoint(self.rel)


@dataclass(frozen=True, slots=True)
class Alternate:
    """The same content elsewhere (`rel=alternate`): in another language, or as a feed, Markdown or another type."""

    url: str
    hreflang: str | None = None
    type: str | None = None


class LicenseLink(NamedTuple):
    """A link to a licence (`rel=license`), as `usage.from_links` takes it.

    Attributes:
        rel: its relation types, lower-cased, a space between them.
        type: the media type it states, lower-cased, without parameters; empty where it states none.
        url: absolute, in normal form.
    """

    rel: str
    type: str
    url: str


@dataclass(frozen=True, slots=True)
class Page:
    """What one page says.

    Attributes:
        url: the page's own URL in normal form.
        links: a, area, iframe, frame, and link or `Link:` with rel next or prev; each URL once, in document order.
        base: what references are resolved against, `<base href>` honoured.
        canonical: the first `rel=canonical`, the page's before the header's.
        title: the text of the first title, white space collapsed.
        language: `<html lang>` as written.
        metas: (name, content) of every named meta, in order, name lower-cased, content as written.
        alternates: every `rel=alternate`.
        encoding: the character encoding, by the Encoding standard's name.
        license_links: every `rel=license`, of the page and of its `Link` headers.
        truncated: True where a limit cut the links short.
    """

    url: str
    links: tuple[Link, ...] = ()
    base: str = ""
    canonical: str | None = None
    title: str | None = None
    language: str | None = None
    metas: tuple[tuple[str, str], ...] = ()
    alternates: tuple[Alternate, ...] = ()
    encoding: str = "utf-8"
    license_links: tuple[LicenseLink, ...] = ()
    truncated: bool = False


def read_page(body: bytes, url: str, content_type: str | None = None, link_headers: Sequence[str] = ()) -> Page:
    """Read a page's bytes, as far as `content_type` calls them HTML (or says nothing), and its `Link` headers.

    Of a `Content-Type` that was sent twice, joined by a comma, the last media type counts (Fetch, "extract a MIME
    type"); one that holds no media type says nothing.

    Raises:
        InvalidURL: `url`, not the page, is not an absolute http or https URL.
    """
    reader = _Reader(normalise(url))
    stated = extract(content_type) if content_type else None
    if stated is None or stated.essence in _HTML_TYPES:
        reader.read_html(body, content_type)
    reader.read_headers(link_headers)
    return reader.page()


class _Reader:
    """Collects what one page says, HTML first, then headers."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.base = url
        self._join = Base(url).join
        self.encoding = "utf-8"
        self.links: dict[str, tuple[str, ...]] = {}
        self.metas: list[tuple[str, str]] = []
        self.alternates: dict[Alternate, None] = {}
        self.licenses: dict[LicenseLink, None] = {}
        self.canonical: str | None = None
        self.title: str | None = None
        self.language: str | None = None
        self.truncated = False
        self.room = MAX_TOTAL_LENGTH

    def read_html(self, body: bytes, content_type: str | None) -> None:
        self.encoding = encodings.detect(body, content_type)
        found = tags(encodings.to_utf8(body, self.encoding))
        for name, attributes in found:
            if name == "base" and "href" in attributes:
                self._set_base(attributes["href"])
                break
        self._join = Base(self.base).join
        self.truncated = len(found) >= MAX_TAGS
        for name, attributes in found:
            if name == "a" or name == "area":
                href = attributes.get("href")
                if href is None:
                    href = attributes.get("xlink:href")
                if href is not None:
                    self._link(href, attributes.get("rel"), attributes.get("type", ""))
            elif name == "link":
                if "href" in attributes:
                    self._typed(attributes["href"], attributes.get("rel", ""), attributes)
            elif name == "iframe" or name == "frame":
                if "src" in attributes:
                    self._link(attributes["src"], None)
            elif name == "meta":
                if "name" in attributes and "content" in attributes:
                    self.metas.append((attributes["name"].strip(_SPACE).lower(), attributes["content"]))
            elif name == "title":
                if self.title is None:
                    self.title = " ".join(attributes["text"].split())
            elif name == "html" and self.language is None and "lang" in attributes:
                self.language = attributes["lang"].strip(_SPACE) or None

    def read_headers(self, link_headers: Sequence[str]) -> None:
        # RFC 8288, 3.2: a header's references are resolved against the URL fetched, whatever <base> says.
        if not link_headers:
            return
        self._join = Base(self.url).join
        for link in parse_link_headers(link_headers):
            # A link with an anchor is about something other than this page.
            if not link.parameters.get("anchor"):
                self._typed(link.reference, " ".join(link.rel), link.parameters)

    def page(self) -> Page:
        return Page(
            url=self.url,
            links=tuple(map(Link._make, self.links.items())),
            base=self.base,
            canonical=self.canonical,
            title=self.title or None,
            language=self.language,
            metas=tuple(self.metas),
            alternates=tuple(self.alternates),
            encoding=self.encoding,
            license_links=tuple(self.licenses),
            truncated=self.truncated,
        )

    def _set_base(self, href: str) -> None:
        """HTML standard, 4.2.3: the first base with an href counts; if it is invalid, the page's URL does.

        A base that is not http or https does not count either: nothing relative to it could be fetched.
        """
        base = self._join(href)
        if base is not None and len(base) <= MAX_URL_LENGTH:
            self.base = base

    def _resolve(self, reference: str) -> str | None:
        if self.encoding != "utf-8" and not reference.isascii():
            path, mark, query = reference.partition("?")
            reference = path + mark + encodings.query_encoded(query, self.encoding)
        url = self._join(reference)
        if url is None:
            return None
        if len(url) > MAX_URL_LENGTH or len(url) > self.room:
            self.truncated = True
            return None
        return url

    def _link(self, reference: str, rel: str | None, media_type: str = "") -> None:
        url = self._resolve(reference)
        if url is None:
            return
        tokens = relation_types(rel) if rel else ()
        if "license" in tokens:
            self._license(url, tokens, media_type)
        known = self.links.get(url)
        if known is None:
            if len(self.links) >= MAX_LINKS:
                self.truncated = True
            else:
                self.links[url] = tokens
                self.room -= len(url)
        elif known and not _UNFOLLOWED.isdisjoint(known) and _UNFOLLOWED.isdisjoint(tokens):
            # One link that vouches for the URL is enough.
            self.links[url] = tokens

    def _license(self, url: str, tokens: tuple[str, ...], media_type: str) -> None:
        link = LicenseLink(" ".join(tokens), _essence(media_type), url)
        if len(self.licenses) < MAX_LINKS and link not in self.licenses:
            self.licenses[link] = None
            self.room -= len(url) + len(link.rel) + len(link.type)

    def _typed(self, reference: str, rel: str, attributes: Mapping[str, str]) -> None:
        """A `link` element or one link of a `Link:` header; both name the same relation types."""
        tokens = relation_types(rel)
        if not tokens:
            return
        if not _FOLLOWED.isdisjoint(tokens):
            self._link(reference, rel)
        if "canonical" in tokens and self.canonical is None:
            self.canonical = self._resolve(reference)
        if "alternate" in tokens and "stylesheet" not in tokens and len(self.alternates) < MAX_LINKS:
            url = self._resolve(reference)
            if url is not None:
                kind = _essence(attributes.get("type", ""))
                language = attributes.get("hreflang", "").strip().lower()
                alternate = Alternate(url, language or None, kind or None)
                if alternate not in self.alternates:
                    self.alternates[alternate] = None
                    self.room -= len(url)
        if "license" in tokens:
            url = self._resolve(reference)
            if url is not None:
                self._license(url, tokens, attributes.get("type", ""))


def _essence(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()
