"""Collects what one page says: its tags first, then its `Link` headers, references resolved as they are met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

try:
    import cython
except ModuleNotFoundError:
    from comity_pages import _cython as cython

from comity_pages.signals import encodings, xhtml
from comity_pages.signals._page import UNFOLLOWED, Alternate, LicenseLink, Link, Page, Refresh
from comity_pages.signals._tags import MAX_TAGS, tags
from comity_pages.signals.link_header import parse_link_headers, relation_types
from comity_pages.signals.refresh import parse_refresh
from comity_robots.fields import made
from comity_robots.usage.statements import MAX_LICENCES

if cython.compiled:
    from cython.cimports.comity_pages.urls import Base
    from cython.cimports.cpython.ref import Py_INCREF
    from cython.cimports.cpython.tuple import PyTuple_SET_ITEM
    from cython.cimports.cpython.type import PyType_GenericAlloc
else:
    from comity_pages.urls import Base

MAX_URL_LENGTH = 8192  # RFC 9110, 4.1 asks for 8,000 at least
MAX_LINKS = 20_000
MAX_FRAMES = 100
_TAGS_A_SLICE = cython.declare(cython.Py_ssize_t, 512)  # tags taken up before other threads may run
MAX_TOTAL_LENGTH = 16_000_000  # of all URLs of a page: a long base makes each of many short references long
_FOLLOWED = frozenset(("next", "prev", "previous"))
_RSL = "application/rsl+xml"
_SPACE = "\t\n\f\r "


@cython.final
@cython.cclass
class Reader:
    """Collects what one page says, HTML first, then headers."""

    url: str
    base: str
    encoding: str
    links: dict[str, tuple[str, ...]]
    metas: list[tuple[str, str]]
    alternates: dict[Alternate, None]
    licenses: dict[LicenseLink, None]
    canonical: str | None
    title: str | None
    language: str | None
    refresh: Refresh | None
    rsl: list[str]
    headings: str
    frames: list[str]
    withheld: cython.Py_ssize_t
    truncated: bool
    room: cython.Py_ssize_t
    _resolver: Base

    def __init__(self, url: str) -> None:
        self.url = self.base = url
        self._resolver = Base(url)
        self.encoding = "utf-8"
        self.links, self.alternates, self.licenses = {}, {}, {}
        self.metas, self.rsl, self.frames = [], [], []
        self.canonical = self.title = self.language = self.refresh = None
        self.headings = ""
        self.withheld = 0
        self.truncated = False
        self.room = MAX_TOTAL_LENGTH

    @cython.ccall
    def read_html(self, body: bytes | str, content_type: str | None) -> None:
        text: bytes
        if isinstance(body, str):
            self.encoding = encodings.of_header(content_type) or "utf-8"  # in which queries of links are encoded
            text = body.encode("utf-8", "replace")
        else:
            self.encoding = encodings.detect(body, content_type)
            text = encodings.to_utf8(body, self.encoding)
        if xhtml.is_xhtml(body, content_type):
            text = xhtml.as_html(text.decode("utf-8", "replace")).encode()
        found: list[tuple[str, Any]] = tags(text)
        name: str
        said: Any
        attributes: dict[str, str]
        href: str | None
        for name, said in found:
            if type(said) is dict and name == "base" and "href" in said:
                self._set_base(said["href"])
                break
        self._resolver = Base(self.base)
        self.truncated = len(found) >= MAX_TAGS
        count: cython.Py_ssize_t
        for count, (name, said) in enumerate(found):
            if count % _TAGS_A_SLICE == 0:
                with cython.nogil:
                    pass  # compiled code would keep other threads waiting to its end
            if type(said) is str:  # of an `a` that has nothing else
                self._link(said, None)
                continue
            attributes = said
            if name == "a" or name == "area":
                href = attributes.get("href")
                if href is None:
                    href = attributes.get("xlink:href")
                if href is not None:
                    self._link(href, attributes.get("rel"), attributes.get("type", ""))
            elif name == "link":
                if "href" in attributes:
                    self._relation(attributes["href"], attributes.get("rel", ""), attributes)
            elif name == "iframe" or name == "frame":
                if "src" in attributes:
                    self._link(attributes["src"], None)
                    self._frame(attributes["src"])
            elif name == "meta":
                if self.refresh is None and attributes.get("http-equiv", "").lower() == "refresh":
                    self._refresh(attributes.get("content", ""))
                if "name" in attributes and "content" in attributes:
                    self.metas.append((attributes["name"].strip(_SPACE).lower(), attributes["content"]))
            elif name == "title":
                if self.title is None:
                    self.title = " ".join(attributes["text"].split())
            elif name == "nosnippet":
                self.withheld += 1
            elif name == "script":
                if _essence(attributes["type"]) == _RSL and len(self.rsl) < MAX_LICENCES:
                    self.rsl.append(attributes["text"])
            elif name == "#headings":
                self.headings = attributes["text"]
            elif name == "html" and self.language is None and "lang" in attributes:
                self.language = attributes["lang"].strip(_SPACE) or None

    @cython.ccall
    def read_headers(self, link_headers: Sequence[str]) -> None:
        # RFC 8288, 3.2: a header's references are resolved against the URL fetched, whatever <base> says.
        if not link_headers:
            return
        self._resolver = Base(self.url)
        for link in parse_link_headers(link_headers):
            # A link with an anchor is about something other than this page.
            if not link.parameters.get("anchor"):
                self._relation(link.reference, " ".join(link.rel), link.parameters)

    @cython.ccall
    def page(self) -> Page:
        return made(
            Page,
            self.url,
            tuple([_link_of(url, rel) for url, rel in self.links.items()]),
            self.base,
            self.canonical,
            self.title or None,
            self.language,
            tuple(self.metas),
            tuple(self.alternates),
            self.encoding,
            tuple(self.licenses),
            self.truncated,
            self.refresh,
            tuple(self.rsl),
            self.withheld,
            self.headings,
            tuple(self.frames),
        )

    @cython.ccall
    def read_refresh(self, header: str) -> None:
        """The header `Refresh`, which counts before the page's own, resolved against the URL fetched (HTML standard,
        7.4.2.3.4)."""
        self._resolver = Base(self.url)
        self._refresh(header)

    @cython.cfunc
    def _refresh(self, text: str) -> None:
        said = parse_refresh(text)
        if said is None:
            return
        seconds, reference = said
        url: str | None = self.url if reference is None else self._resolve(reference)
        if url is not None:
            self.refresh = Refresh(seconds, url)

    @cython.cfunc
    def _set_base(self, href: str) -> None:
        """HTML standard, 4.2.3: the first base with an href counts; if it is invalid, the page's URL does.

        A base that is not http or https does not count either: nothing relative to it could be fetched.
        """
        base: str | None = self._resolver.join(href)
        if base is not None and len(base) <= MAX_URL_LENGTH:
            self.base = base

    @cython.cfunc
    def _resolve(self, reference: str) -> str | None:
        if self.encoding != "utf-8" and not reference.isascii():
            path, mark, query = reference.partition("?")
            reference = path + mark + encodings.encode_query(query, self.encoding)
        url: str | None = self._resolver.join(reference)
        if url is None:
            return None
        if len(url) > MAX_URL_LENGTH or len(url) > self.room:
            self.truncated = True
            return None
        return url

    @cython.cfunc
    def _link(self, reference: str, rel: str | None, media_type: str = "") -> None:
        url: str | None = self._resolve(reference)
        if url is None:
            return
        tokens: tuple[str, ...] = relation_types(rel) if rel else ()
        if "license" in tokens:
            self._license(url, tokens, media_type)
        known: tuple[str, ...] | None = self.links.get(url)
        if known is None:
            if len(self.links) >= MAX_LINKS:
                self.truncated = True
            else:
                self.links[url] = tokens
                self.room -= len(url)
        elif known and not UNFOLLOWED.isdisjoint(known) and UNFOLLOWED.isdisjoint(tokens):
            # One link that vouches for the URL is enough.
            self.links[url] = tokens

    @cython.cfunc
    def _frame(self, reference: str) -> None:
        url: str | None = self._resolve(reference) if len(self.frames) < MAX_FRAMES else None
        if url is not None and url not in self.frames:
            self.frames.append(url)
            self.room -= len(url)

    @cython.cfunc
    def _license(self, url: str, tokens: tuple[str, ...], media_type: str) -> None:
        link = LicenseLink(" ".join(tokens), _essence(media_type), url)
        if len(self.licenses) < MAX_LINKS and link not in self.licenses:
            self.licenses[link] = None
            self.room -= len(url) + len(link.rel) + len(link.type)

    @cython.cfunc
    def _relation(self, reference: str, rel: str, attributes: Mapping[str, str]) -> None:
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


@cython.cfunc
def _link_of(url: str, rel: tuple) -> object:
    if not cython.compiled:
        return Link(url, rel)
    link: object = PyType_GenericAlloc(Link, 2)  # a page has dozens, and to call Link takes ten times as long
    Py_INCREF(url)
    PyTuple_SET_ITEM(link, 0, url)
    Py_INCREF(rel)
    PyTuple_SET_ITEM(link, 1, rel)
    return link


def _essence(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()
