from collections.abc import Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from comity import urls


@dataclass(frozen=True, slots=True)
class Link:
    url: str
    rel: tuple[str, ...] = ()

    @property
    def nofollow(self) -> bool:
        return not {"nofollow", "ugc", "sponsored"}.isdisjoint(self.rel)


@dataclass(frozen=True, slots=True)
class Page:
    links: tuple[Link, ...]
    metas: tuple[tuple[str, str], ...]
    title: str | None
    encoding: str


def read_page(body: bytes, url: str, content_type: str | None = None, link_headers: Sequence[str] = ()) -> Page:
    encoding = "utf-8"
    if content_type and "charset=" in content_type:
        encoding = content_type.split("charset=")[1]
    tree = LexborHTMLParser(body.decode(encoding, "replace"))
    links = {}
    for a in tree.css("a[href]"):
        t = urls.join(url, a.attributes["href"] or "")
        if t and t not in links:
            links[t] = Link(t, tuple((a.attributes.get("rel") or "").lower().split()))
    metas = tuple(
        (m.attributes["name"].lower(), m.attributes.get("content") or "")
        for m in tree.css("meta[name]")
        if m.attributes["name"]
    )
    node = tree.css_first("title")
    return Page(tuple(links.values()), metas, node.text() if node else None, encoding)
