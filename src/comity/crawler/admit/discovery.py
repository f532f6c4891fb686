"""What a crawl finds: links and feeds of a page, sitemaps of a site, URLs in either. Values in, values out.

It says what there is to take up, in order; whether it is taken up is for scope, traps and robots.txt to say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from comity import urls
from comity.crawler.again.revisits import latest_change
from comity.frontier import Kind
from comity.robots import Robots
from comity.signals import sitemaps
from comity.signals.links import Page
from comity.signals.robots_meta import RobotsMeta

FEEDS: Final = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml"))
_BEGINNING: Final = 65_536  # bytes of a document that tell what it is
WELL_KNOWN: Final = ("/sitemap.xml", "/sitemap_index.xml")
"""Where a sitemap is looked for, one after the other, when robots.txt names none."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A URL that something points to.

    Attributes:
        depth: links from the URL that was given.
        guessed: whether nobody named it; then it is no failure if it is not there.
        changed: the latest Unix time in seconds that a sitemap leaves for its last change; None where it says nothing.
    """

    url: str
    depth: int
    kind: Kind = Kind.PAGE
    guessed: bool = False
    changed: float | None = None


def named_by_page(page: Page, *, depth: int, feeds: bool) -> Iterator[Candidate]:
    """The canonical URL and, of a page that was given, the feeds: other pages repeat them, or name one for each
    article.

    Args:
        depth: that of the page.
    """
    if page.canonical is not None and page.canonical != page.url:
        yield Candidate(page.canonical, depth + 1)
    if feeds and depth == 0:
        for alternate in page.alternates:
            if alternate.type in FEEDS:
                yield Candidate(alternate.url, depth + 1, Kind.SITEMAP)


def links_of(page: Page, meta: RobotsMeta, *, follow_nofollow: bool) -> list[str]:
    """The links that a page lets be followed; all of them where the operator says so."""
    if follow_nofollow:
        return [link.url for link in page.links]
    return [] if meta.nofollow else [link.url for link in page.links if not link.rel or not link.nofollow]


def named_sitemaps(origin: str, robots: Robots) -> tuple[str, ...]:
    """The URLs of the sitemaps that an origin's robots.txt names."""
    targets = (urls.join(origin + "/", sitemap) for sitemap in robots.sitemaps)
    return tuple(dict.fromkeys(target for target in targets if target is not None))


def sitemaps_of(origin: str, named: Sequence[str]) -> Iterator[Candidate]:
    """The sitemaps that robots.txt names, or the first well-known place where it names none."""
    for url in named:
        yield Candidate(url, 1, Kind.SITEMAP)
    if not named:
        yield Candidate(origin + WELL_KNOWN[0], 1, Kind.SITEMAP, guessed=True)


def is_guess(url: str, named: Sequence[str]) -> bool:
    """Whether a sitemap's URL is a well-known place that nobody named."""
    return url.removeprefix(urls.origin(url)) in WELL_KNOWN and url not in named


def may_be_sitemap(url: str | None) -> bool:
    """Whether a URL looks like a sitemap's: for where the guess is redirected to."""
    path = (url or "").partition("?")[0].lower()
    return "sitemap" in path or path.endswith((".xml", ".xml.gz"))


def is_sitemap(body: bytes, url: str, *, feeds: bool) -> bool:
    """Whether a document is a sitemap, or a feed where these count; a list of URLs as text cannot be told."""
    reader = sitemaps.SitemapReader(url)
    for _ in reader.read(body[:_BEGINNING]):
        break
    return reader.kind in ("urlset", "sitemapindex") or (feeds and reader.kind in ("rss", "atom"))


def next_guess(url: str) -> Candidate | None:
    """The well-known place to look at after another one, or None after the last."""
    origin = urls.origin(url)
    place = WELL_KNOWN.index(url.removeprefix(origin)) + 1
    return Candidate(origin + WELL_KNOWN[place], 1, Kind.SITEMAP, guessed=True) if place < len(WELL_KNOWN) else None


def in_sitemap(body: bytes, url: str, *, depth: int, dates: bool = False) -> Iterator[Candidate]:
    """What a sitemap or a feed names: other sitemaps, and the pages it may speak of.

    Args:
        dates: whether it matters when pages changed; a feed says only when they came out.
    """
    host = urls.host(url)
    reader = sitemaps.SitemapReader(url)
    for item in reader.read(body):
        target = urls.join(url, item.loc)
        if target is None:
            continue
        if isinstance(item, sitemaps.SitemapRef):
            yield Candidate(target, depth, Kind.SITEMAP)
        elif sitemaps.in_scope(target, url, named_by=host):
            changed = latest_change(item) if dates and reader.kind == "urlset" else None
            yield Candidate(target, depth, changed=changed)
