"""What an HTML page says of itself and where it leads: links, base, canonical, metas, alternates.

Octets in, values out; every address is whole and in normal form. Nothing is decided here: whether a link may be
followed is asked of robots.txt like any other URL.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from comity import urls
from comity.signals import encodings

_LINKING = "a[href],area[href],link[href],iframe[src],frame[src],base[href],meta[name],title,html[lang]"
_FOLLOWED_RELS = frozenset(("next", "prev", "previous"))
_NOFOLLOW = frozenset(("nofollow", "ugc", "sponsored"))
_LINK_VALUE = re.compile(r"<([^<>]{1,4096})>((?:\s*;[^,<\"]*(?:\"[^\"]*\")?)*)")
_LINK_PARAMETER = re.compile(r";\s*([A-Za-z*-]{1,20})\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]*))")


@dataclass(frozen=True, slots=True)
class Link:
    """A link to follow. `rel`: its tokens in lower case."""

    url: str
    rel: tuple[str, ...] = ()

    @property
    def nofollow(self) -> bool:
        """Whether the page asks that it is not followed: rel nofollow, ugc or sponsored."""
        return not _NOFOLLOW.isdisjoint(self.rel)


@dataclass(frozen=True, slots=True)
class Alternate:
    """The same content elsewhere: another language, a feed, Markdown."""

    url: str
    language: str | None
    type: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says.

    Attributes:
        links: without repeats, in order.
        base: what relative addresses are relative to.
        metas: (name, content) of every `meta name`, names in lower case.
        licenses: targets of `rel=license`.
        encoding: as the Encoding standard names it.
    """

    links: tuple[Link, ...]
    base: str
    canonical: str | None
    title: str | None
    language: str | None
    metas: tuple[tuple[str, str], ...]
    alternates: tuple[Alternate, ...]
    licenses: tuple[str, ...]
    encoding: str


def read_page(body: bytes, url: str, content_type: str | None = None, link_headers: Sequence[str] = ()) -> Page:
    """Read an HTML page. Never raises, whatever the content.

    Args:
        url: where it was fetched, in normal form.
        content_type: the header, for the character set.
        link_headers: values of `Link` headers (RFC 8288).
    """
    encoding = encodings.detect(body, content_type)
    tree = LexborHTMLParser(encodings.decode(body, encoding))
    nodes = tree.css(_LINKING)
    collected = _Collected(_base(nodes, url))
    for target, rel, parameters in _header_links(link_headers):
        collected.linked(target, rel, parameters.get("hreflang"), parameters.get("type"))
    for node in nodes:
        collected.add(node)
    return Page(
        links=tuple(collected.links.values()),
        base=collected.base,
        canonical=collected.canonical,
        title=collected.title,
        language=collected.language,
        metas=tuple(collected.metas),
        alternates=tuple(collected.alternates),
        licenses=tuple(collected.licenses),
        encoding=encoding,
    )


class _Collected:
    """What has been read of a page so far."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.links: dict[str, Link] = {}
        self.canonical: str | None = None
        self.title: str | None = None
        self.language: str | None = None
        self.metas: list[tuple[str, str]] = []
        self.alternates: list[Alternate] = []
        self.licenses: list[str] = []

    def add(self, node: LexborNode) -> None:
        attributes = node.attributes
        match node.tag:
            case "a" | "area":
                self.link(attributes["href"], _tokens(attributes.get("rel")))
            case "iframe" | "frame":
                self.link(attributes["src"], ())
            case "link":
                rel = _tokens(attributes.get("rel"))
                self.linked(attributes["href"] or "", rel, attributes.get("hreflang"), attributes.get("type"))
            case "meta":
                self.metas.append(((attributes["name"] or "").strip().lower(), attributes.get("content") or ""))
            case "title" if self.title is None:
                self.title = " ".join(node.text().split()) or None
            case "html":
                self.language = attributes["lang"] or None

    def link(self, target: str | None, rel: tuple[str, ...]) -> None:
        url = urls.join(self.base, target or "")
        if url is not None and (url not in self.links or self.links[url].nofollow):
            self.links[url] = Link(url, rel)

    def linked(self, target: str, rel: Iterable[str], language: str | None, kind: str | None) -> None:
        """A `link` element or a `Link` header."""
        url = urls.join(self.base, target)
        if url is None:
            return
        rel = tuple(rel)
        if "canonical" in rel and self.canonical is None:
            self.canonical = url
        if "alternate" in rel:
            self.alternates.append(Alternate(url, (language or "").lower() or None, (kind or "").lower() or None))
        if "license" in rel:
            self.licenses.append(url)
        if not _FOLLOWED_RELS.isdisjoint(rel):
            self.link(url, rel)


def _base(nodes: list[LexborNode], url: str) -> str:
    """The first `base href` counts, if it is a web address (HTML, 4.2.3)."""
    for node in nodes:
        if node.tag == "base":
            return urls.join(url, node.attributes["href"] or "") or url
    return url


def _tokens(rel: str | None) -> tuple[str, ...]:
    return tuple(rel.lower().split()) if rel else ()


def _header_links(values: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...], dict[str, str]]]:
    for value in values:
        for target, parameters in _LINK_VALUE.findall(value[:16_384]):
            pairs = {name.lower(): quoted or bare for name, quoted, bare in _LINK_PARAMETER.findall(parameters)}
            yield target, _tokens(pairs.get("rel")), pairs
