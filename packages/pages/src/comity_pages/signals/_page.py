"""What a page says, as values: its links, alternates, licences, metas. They are collected in _reader.py."""

from dataclasses import dataclass
from typing import NamedTuple

UNFOLLOWED = frozenset(("nofollow", "ugc", "sponsored"))


class Link(NamedTuple):
    """A link to follow: its URL in normal form and its relation types, lower-cased."""

    url: str
    rel: tuple[str, ...] = ()

    @property
    def nofollow(self) -> bool:
        """True where the page asks not to be taken to vouch for it: rel nofollow, ugc or sponsored."""
        return bool(self.rel) and not UNFOLLOWED.isdisjoint(self.rel)


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


class Refresh(NamedTuple):
    """Where a page sends its reader by itself (`<meta http-equiv=refresh>`, the header `Refresh`).

    Attributes:
        seconds: how long after it was loaded.
        url: absolute, in normal form; the page's own where it is loaded anew.
    """

    seconds: int
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
        refresh: the first refresh that can be read, the header's before the page's.
        truncated: True where a limit cut the links short.
        rsl: RSL licences written in the page (`<script type="application/rsl+xml">`), as they are.
        withheld: how many parts of the page have `data-nosnippet`.
        frames: URLs of what it shows in frames (`frame`, `iframe`), each once, the first hundred.
        headings: the page from its first h1 and from its first h2 on, as it is written, 300 octets each; empty where
            there is none.
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
    refresh: Refresh | None = None
    rsl: tuple[str, ...] = ()
    withheld: int = 0
    headings: str = ""
    frames: tuple[str, ...] = ()
