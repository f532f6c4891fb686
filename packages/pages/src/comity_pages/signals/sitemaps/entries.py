"""The values that reading a sitemap gives. Text is as the site wrote it, entities decoded and ends stripped.

No URL here has been normalised or checked; a relative or hostile one is passed on as it stands. Also which URLs a
sitemap may speak for: out of scope its word about a URL counts nothing, and in scope it is no permission to fetch.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from comity_pages import urls
from comity_pages.errors import InvalidURL
from comity_pages.signals.sitemaps.dates import Precision

SitemapKind = Literal["urlset", "sitemapindex", "rss", "atom", "text", "unknown"]


@dataclass(frozen=True, slots=True)
class Image:
    """`image:image` (Google's image extension)."""

    loc: str
    title: str | None = None
    caption: str | None = None
    license: str | None = None


@dataclass(frozen=True, slots=True)
class News:
    """`news:news` (Google's news extension): an article, its publication and when it came out."""

    title: str | None
    publication: str | None
    language: str | None
    published: datetime | None


@dataclass(frozen=True, slots=True)
class Video:
    """`video:video` (Google's video extension). `duration` is in seconds."""

    title: str | None
    description: str | None
    thumbnail: str | None
    content: str | None
    player: str | None
    duration: int | None
    published: datetime | None


@dataclass(frozen=True, slots=True)
class SitemapAlternate:
    """`xhtml:link rel="alternate"`: the same page in another language; `hreflang` may be `x-default`."""

    hreflang: str
    href: str


@dataclass(frozen=True, slots=True)
class SitemapUrl:
    """One page: a `url` of a urlset, an item or entry of a feed, or a line of a text list.

    Attributes:
        loc: the URL as written, not normalised and not trusted.
        lastmod: when it last changed, always with a zone (UTC where none was given, the first instant of a bare day,
            month or year); None where absent or not a date.
        changefreq: always, hourly, daily, weekly, monthly, yearly, never; None where absent or another word.
        priority: 0.0 to 1.0; None where absent or out of range.
        images, news, videos, alternates: what the extensions say, in order.
        precision: how much of `lastmod` was really stated.
    """

    loc: str
    lastmod: datetime | None = None
    changefreq: str | None = None
    priority: float | None = None
    images: tuple[Image, ...] = ()
    news: tuple[News, ...] = ()
    videos: tuple[Video, ...] = ()
    alternates: tuple[SitemapAlternate, ...] = ()
    precision: Precision | None = None


@dataclass(frozen=True, slots=True)
class SitemapRef:
    """One sitemap of an index. `loc`, `lastmod` and `precision` as in `SitemapUrl`."""

    loc: str
    lastmod: datetime | None = None
    precision: Precision | None = None


SitemapEntry = SitemapUrl | SitemapRef


@dataclass(frozen=True, slots=True)
class Position:
    """Where reading stopped, in the decompressed text (as UTF-8 where it had to be converted).

    Attributes:
        byte: offset from 0.
        line: line from 1.
    """

    byte: int
    line: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What one sitemap may cost. sitemaps.org allows 50,000 entries and 50 MiB; the defaults tolerate more.

    Attributes:
        entries: entries read before stopping.
        size: decompressed bytes read before stopping.
        ratio: decompressed bytes per compressed byte, judged from the first MiB on (text seldom passes 60).
        loc: characters of a URL; an entry with a longer one is skipped.
        extras: images, news, videos and alternates kept per entry, each; the rest are dropped.
        gap: bytes without one entry completed (an endless element, comment or attribute) before stopping.
    """

    entries: int = 250_000
    size: int = 128 * 1024 * 1024
    ratio: int = 250
    loc: int = 8192
    extras: int = 1000
    gap: int = 1024 * 1024


def in_scope(entry_url: str, sitemap_url: str, named_by: str | None = None) -> bool:
    """Whether `sitemap_url` may list `entry_url` (sitemaps.org, "Sitemap file location", "Sitemaps & Cross Submits").

    A sitemap named in a host's robots.txt may list every URL of that host, wherever it is served. Any sitemap may
    list URLs of its host and port in its directory and below, over http or https. The same holds for the
    sitemaps that an index lists.

    Args:
        entry_url: absolute http or https URL from the sitemap; anything else is out of scope.
        sitemap_url: where the sitemap was really served, after redirects.
        named_by: the host whose robots.txt names the sitemap, or names the index that led to it (`example.com`; its
            port does not matter; a URL of that host does as well); None where no robots.txt does.
    """
    try:
        entry = urls.normalise(entry_url)
        own = urls.normalise(sitemap_url)
        if named_by and urls.host(named_by if "://" in named_by else f"http://{named_by}/") == urls.host(entry):
            return True
    except InvalidURL:
        return False
    directory = own.partition("?")[0].rpartition("/")[0] + "/"
    return _without_scheme(entry).startswith(_without_scheme(directory))


def _without_scheme(url: str) -> str:
    return url.partition("://")[2]


def may_be_sitemap(url: str | None) -> bool:
    """Whether a URL looks like a sitemap's, where nothing says that it is one."""
    path = (url or "").partition("?")[0].lower()
    return "sitemap" in path or path.endswith((".xml", ".xml.gz"))
