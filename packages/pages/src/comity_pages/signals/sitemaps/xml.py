"""The XML forms: urlset, sitemapindex, RSS and Atom, by expat, one event at a time.

Nothing outside the document is ever fetched, a document type with declarations in it is refused, and names,
depth and text are bounded, so that no document costs more memory than a fair one.
"""

import codecs
from collections.abc import Callable
from typing import Any, Final
from xml.parsers import expat

from comity_pages.signals.sitemaps.dates import StatedDate, parse_feed, parse_w3c
from comity_pages.signals.sitemaps.entries import (
    Image,
    Limits,
    News,
    Position,
    SitemapAlternate,
    SitemapEntry,
    SitemapKind,
    SitemapRef,
    SitemapUrl,
    Video,
)
from comity_pages.signals.sitemaps.unpack import Stop

_DEPTH = 64
_NAMES = 4096

_ROOTS: Final[dict[str, SitemapKind]] = {
    "urlset": "urlset", "sitemapindex": "sitemapindex", "rss": "rss", "RDF": "rss", "feed": "atom"
}  # fmt: skip
# Part of a namespace's address -> our name for it. Parts, because sites write https for http, old versions, typos.
# The outermost element's namespace, whatever it is, is taken for the right one.
_NAMESPACES: Final = (
    ("sitemap-image", "image"),
    ("sitemap-news", "news"),
    ("sitemap-video", "video"),
    ("/schemas/sitemap", ""),
    ("/1999/xhtml", "xhtml"),
    ("purl.org/dc/", "dc"),
    ("purl.org/rss/", ""),
)
_CHANGEFREQ: Final = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
_LEAVES: Final = frozenset(
    {
        "loc", "lastmod", "changefreq", "priority",
        "image:loc", "image:title", "image:caption", "image:license",
        "news:title", "news:name", "news:language", "news:publication_date",
        "video:title", "video:description", "video:thumbnail_loc", "video:content_loc", "video:player_loc",
        "video:duration", "video:publication_date",
        "link", "guid", "pubDate", "dc:date", "id", "updated", "published",
    }
)  # fmt: skip

_ADDRESSES: Final = frozenset({"loc", "link", "guid", "image:loc"})
# Stands for an address that is not one text: with elements in it, or stated twice. XML can hold no such character.
_AMBIGUOUS: Final = "\0"
_EXTRAS: Final = ("images", "news", "videos", "alternates")  # as SitemapUrl has them
_NONE: Final = [()] * 4
_NO_LINK: Final = "guid, not a link"
Opener = Callable[["Elements", dict[str, str]], None]
Closer = Callable[["Elements"], None]


class _ExternalDoctype(Exception):
    """The document type has ended, and it refers to declarations outside of the document."""


class Elements:
    """What the elements of a document mean: names are learned as they are met, texts are kept until an entry ends.

    Attributes:
        kind: what the outermost element says that it is.
        found: entries that are complete; whoever takes them empties it.
        skipped: entries left out: no URL in them, one over the limit, or several.
    """

    def __init__(self, limits: Limits) -> None:
        self.kind: SitemapKind = "unknown"
        self.found: list[SitemapEntry] = []
        self.skipped = 0
        self._limits = limits
        self._total = 0
        self._depth = 0
        self._deepest = 0  # depth of the element that began last: one that ends elsewhere has others in it
        self._own_namespace = ""
        # Element name, namespace before it -> what to do: at its start, with its text, at its end.
        self._openers: dict[str, Opener | None] = {}
        self._leaves: dict[str, str] = {}
        self._closers: dict[str, Closer] = {}
        self._text: list[str] = []
        self._fields: dict[str, str] = {}
        self._saved_fields: dict[str, str] = {}
        self._extras: dict[str, list[Any]] = {}  # what the extensions say, by the names of SitemapUrl

    # expat's callbacks: kept small, they run some ten times per entry

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._text.clear()
        self._deepest = self._depth = self._depth + 1
        if self._depth > _DEPTH:
            raise Stop(f"elements nested more than {_DEPTH} deep: not a sitemap")
        try:
            opener = self._openers[name]
        except KeyError:
            opener = self._learn(name)
        if opener is not None:
            opener(self, attributes)

    def _end(self, name: str) -> None:
        depth = self._depth
        self._depth = depth - 1
        leaf = self._leaves.get(name)
        if leaf is not None:
            text = "".join(self._text) if depth == self._deepest else _AMBIGUOUS
            known = self._fields.setdefault(leaf, text)
            if known != text and leaf in _ADDRESSES and known.strip() != text.strip():
                self._fields[leaf] = _AMBIGUOUS
            return
        closer = self._closers.get(name)
        if closer is not None:
            closer(self)

    def _learn(self, name: str) -> "Opener | None":
        address, _, local = name.rpartition(" ")
        if self._depth == 1:
            if local not in _ROOTS:
                raise Stop(f"the outermost element is <{local[:40]}>, not urlset, sitemapindex, rss or feed")
            self.kind, self._own_namespace = _ROOTS[local], address
        if address in ("", self._own_namespace):  # none at all: .NET writes xmlns="" on the entries
            space = "atom" if self.kind == "atom" and local in ("link", "source") else ""
        else:
            space = next((ours for part, ours in _NAMESPACES if part in address), "other")
        key = f"{space}:{local}" if space else local
        opener, closer = _HANDLERS.get(key, (None, None))
        if closer is not None:
            self._closers[name] = closer
        if key in _LEAVES:
            self._leaves[name] = key
        self._openers[name] = opener
        return opener

    def _open(self, _attributes: dict[str, str]) -> None:
        self._fields.clear()
        self._extras.clear()

    def _alternate(self, attributes: dict[str, str]) -> None:
        rel = attributes.get("rel", "alternate")
        if rel != "alternate" and rel.strip().lower() != "alternate":
            return
        href = attributes.get("href", "").strip()
        hreflang = attributes.get("hreflang", "").strip()
        if href and hreflang:
            self._keep("alternates", SitemapAlternate(hreflang, href))

    def _atom_link(self, attributes: dict[str, str]) -> None:
        if attributes.get("rel", "alternate") == "alternate" and "href" in attributes:
            self._fields.setdefault("link", attributes["href"])

    def _guid(self, attributes: dict[str, str]) -> None:
        if attributes.get("isPermaLink", "true").strip().lower() == "false":
            self._fields[_NO_LINK] = ""

    def _open_source(self, _attributes: dict[str, str]) -> None:
        self._saved_fields = self._fields.copy()  # what follows is about the feed that the entry was taken from

    def _close_source(self) -> None:
        self._fields.clear()
        self._fields.update(self._saved_fields)

    def _close_url(self) -> None:
        fields = self._fields
        loc = fields.get("loc", "").strip()
        if not self._is_usable(loc):
            return
        lastmod, precision = _parse_date(fields.get("lastmod"))
        changefreq = fields.get("changefreq")
        if changefreq is not None:
            changefreq = changefreq.strip().lower()
            if changefreq not in _CHANGEFREQ:
                changefreq = None
        stated = fields.get("priority")
        priority = _priority(stated) if stated else None
        more = self._extras
        images, news, videos, others = [tuple(more.get(name, ())) for name in _EXTRAS] if more else _NONE
        self.found.append(SitemapUrl(loc, lastmod, changefreq, priority, images, news, videos, others, precision))

    def _close_sitemap(self) -> None:
        loc = self._fields.get("loc", "").strip()
        if self._is_usable(loc):
            self.found.append(SitemapRef(loc, *_parse_date(self._fields.get("lastmod"))))

    def _close_item(self) -> None:
        fields = self._fields
        loc = fields.get("link", "").strip()
        if not loc:  # RSS 2.0: a guid is the permanent link unless it says otherwise
            guid = fields.get("guid", "").strip()
            loc = guid if _NO_LINK not in fields and guid.startswith(("http://", "https://")) else ""
        if self._is_usable(loc):
            date = fields.get("pubDate") or fields.get("dc:date")
            lastmod, precision = parse_feed(date.strip()) if date else (None, None)
            self.found.append(SitemapUrl(loc, lastmod, precision=precision))

    def _close_entry(self) -> None:
        fields = self._fields
        loc = fields.get("link", "").strip()
        if self._is_usable(loc):
            lastmod, precision = _parse_date(fields.get("updated") or fields.get("published"))
            self.found.append(SitemapUrl(loc, lastmod, precision=precision))

    def _close_image(self) -> None:
        loc, title, caption, licence = map(self._take, ("image:loc", "image:title", "image:caption", "image:license"))
        if loc:
            self._keep("images", Image(loc, title, caption, licence))

    def _close_news(self) -> None:
        title, name, language = map(self._take, ("news:title", "news:name", "news:language"))
        self._keep("news", News(title, name, language, _parse_date(self._take("news:publication_date"))[0]))

    def _close_video(self) -> None:
        title, description = self._take("video:title"), self._take("video:description")
        thumbnail, content, player = map(self._take, ("video:thumbnail_loc", "video:content_loc", "video:player_loc"))
        duration = self._take("video:duration") or ""
        seconds = int(duration) if duration.isascii() and duration.isdigit() and len(duration) < 10 else None
        published, _ = _parse_date(self._take("video:publication_date"))
        self._keep("videos", Video(title, description, thumbnail, content, player, seconds, published))

    def _take(self, key: str) -> str | None:
        text = self._fields.pop(key, "").strip()
        return text if text and text != _AMBIGUOUS else None

    def _keep(self, kind: str, value: Any) -> None:
        kept = self._extras.setdefault(kind, [])
        if len(kept) < self._limits.extras:
            kept.append(value)

    def _is_usable(self, loc: str) -> bool:
        if loc and len(loc) <= self._limits.loc and loc != _AMBIGUOUS:
            if self._total == self._limits.entries:
                raise Stop(f"more than {self._limits.entries:,} entries")
            self._total += 1
            return True
        self.skipped += 1
        return False


# Elements, by their names here, and what is done at their start and at their end.
_HANDLERS: Final[dict[str, tuple[Opener | None, Closer | None]]] = {
    "url": (Elements._open, Elements._close_url),
    "sitemap": (Elements._open, Elements._close_sitemap),
    "item": (Elements._open, Elements._close_item),
    "entry": (Elements._open, Elements._close_entry),
    "xhtml:link": (Elements._alternate, None),
    "atom:link": (Elements._atom_link, None),
    "guid": (Elements._guid, None),
    "atom:source": (Elements._open_source, Elements._close_source),
    "image:image": (None, Elements._close_image),
    "news:news": (None, Elements._close_news),
    "video:video": (None, Elements._close_video),
}


class XmlEntries(Elements):
    """Feed it bytes; it appends what it finds to `found`.

    `feed` and `close` raise `Stop` where the document is damaged, hostile or over a limit.

    Args:
        limits: what the document may cost.
        charset: of the bytes, by Python's name; it beats what the document declares.
        mark: how many bytes of byte order mark come first.
    """

    def __init__(self, limits: Limits, charset: str, mark: int) -> None:
        super().__init__(limits)
        self._decoder = None if charset == "utf-8" else codecs.getincrementaldecoder(charset)("replace")
        self._mark = mark
        self._begun = False
        self._before = Position(0, 0)  # bytes and line ends passed over before the first `<`
        self._has_doctype = False  # a document type declared elsewhere has been passed over
        self._prolog: list[bytes] | None = []  # what the parser has been given, until the outermost element
        self._parser = self._new_parser()

    def _new_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.StartDoctypeDeclHandler = self._doctype
        return parser

    @property
    def position(self) -> Position:
        byte, line = self._parser.CurrentByteIndex, self._parser.CurrentLineNumber
        return Position(self._before.byte + max(byte, 0), self._before.line + line)

    def feed(self, block: bytes) -> None:
        if self._decoder is None:
            self._parse(block if self._begun else self._strip_start(block), False)
        else:
            text = self._decoder.decode(block[self._mark :])
            self._mark = 0
            self._parse(text.encode() if self._begun else self._strip_start(text.encode()), False)
        if len(self._parser.intern) > _NAMES:
            raise Stop(f"more than {_NAMES:,} different element and attribute names: not a sitemap")

    def close(self) -> None:
        self._parse(self._decoder.decode(b"", True).encode() if self._decoder else b"", True)

    def _strip_start(self, text: bytes) -> bytes:
        """The first text without its mark and without white space, which is forbidden here, common and harmless."""
        self._begun = True
        bare = text[self._mark :].lstrip()
        passed = text[: len(text) - len(bare)]
        self._before = Position(len(passed), passed.count(b"\n"))
        return bare

    def _parse(self, text: bytes, last: bool) -> None:
        if self._prolog is not None:
            self._prolog.append(text)
        try:
            self._parser.Parse(text, last)
            if self._depth:
                self._prolog = None
        except _ExternalDoctype:
            self._parse_rest(last)
        except expat.ExpatError as error:
            raise Stop(f"damaged XML: {expat.ErrorString(error.code)}") from None

    def _parse_rest(self, last: bool) -> None:
        """Go on behind a document type that is declared elsewhere, with a parser that knows nothing of it.

        Nothing is read there, and the parser that knows of it would drop references to its entities without a word.
        """
        index, line = self._parser.CurrentByteIndex, self._parser.CurrentLineNumber
        rest = b"".join(self._prolog or ())[index + 1 :]
        self._has_doctype = True
        self._before = Position(self._before.byte + index + 1, self._before.line + line - 1)
        self._prolog = []
        self._parser = self._new_parser()
        self._parse(rest, last)

    def _doctype(self, _name: str, system: str | None, public: str | None, internal: int) -> None:
        if internal:
            raise Stop("a document type with declarations of its own (entities) is refused")
        if self._has_doctype:
            raise Stop("a second document type")
        if system or public:
            self._parser.EndDoctypeDeclHandler = self._doctype_end

    def _doctype_end(self) -> None:
        raise _ExternalDoctype


def _parse_date(text: str | None) -> StatedDate:
    return parse_w3c(text.strip()) if text else (None, None)


def _priority(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None
