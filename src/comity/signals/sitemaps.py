"""Sitemaps: which URLs exist and how fresh they are. They grant no permission: every URL is still to be checked.

Reads urlset, sitemapindex, RSS, Atom and plain text, gzipped or not, piece by piece in constant memory. Damaged XML
gives what came before the damage; documents that declare entities are refused.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from xml.parsers import expat

from comity import urls

MOST_ENTRIES = 1_000_000
MOST_OCTETS = 512 * 1024 * 1024  # after decompression
LONGEST_TEXT = 8_192  # octets of one element's text
PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class SitemapUrl:
    """A page: its address as written, when it changed, how much the site thinks of it (0 to 1)."""

    loc: str
    lastmod: datetime | None = None
    changefreq: str | None = None
    priority: float | None = None


@dataclass(frozen=True, slots=True)
class SitemapRef:
    """Another sitemap, named in an index."""

    loc: str
    lastmod: datetime | None = None


Entry = SitemapUrl | SitemapRef


class SitemapReader:
    """Reads one sitemap, fed in pieces.

    Attributes:
        problem: where and why reading stopped early, or None.
    """

    def __init__(self) -> None:
        self.problem: str | None = None
        self._entries: list[Entry] = []
        self._count = 0
        self._octets = 0
        self._unzip: zlib._Decompress | None = None
        self._head = b""
        self._begun = False
        self._plain: bytes | None = None
        self._parser: expat.XMLParserType | None = None
        self._fields: dict[str, str] | None = None
        self._is_index = False
        self._name = ""
        self._text: list[str] = []
        self._size = 0
        self._depth = 0

    def feed(self, piece: bytes) -> list[Entry]:
        """Entries that the next piece completes."""
        return self._take(piece, final=False)

    def close(self) -> list[Entry]:
        """Entries that the end completes."""
        return self._take(b"", final=True)

    def _take(self, piece: bytes, *, final: bool) -> list[Entry]:
        if self.problem is None:
            try:
                if not self._begun:
                    self._head += piece
                    if len(self._head) < 2 and not final:
                        return []
                    piece, self._begun = self._head, True
                    if piece[:2] == b"\x1f\x8b":
                        self._unzip = zlib.decompressobj(wbits=31)
                if self._unzip is None:
                    self._read(piece, final)
                else:
                    self._inflate(piece, final)
            except (expat.ExpatError, zlib.error, _StopReading) as error:
                line = self._parser.CurrentLineNumber if self._parser is not None else 1
                self.problem = f"stopped at line {line}, after {self._count} entries: {error}"
        entries, self._entries = self._entries, []
        return entries

    def _inflate(self, piece: bytes, final: bool) -> None:
        unzip = self._unzip
        assert unzip is not None
        while piece:
            self._read(unzip.decompress(piece, PIECE), False)
            piece = unzip.unconsumed_tail
        if final:
            self._read(unzip.flush(), True)
            if not unzip.eof:
                raise _StopReading("the gzip stream is cut short")

    def _read(self, octets: bytes, final: bool) -> None:
        self._octets += len(octets)
        if self._octets > MOST_OCTETS:
            raise _StopReading(f"over {MOST_OCTETS} bytes")
        if self._parser is None and self._plain is None:
            start = octets.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
            if not start and not final:
                return
            if start == b"<" or octets[:2] in (b"\xff\xfe", b"\xfe\xff"):
                self._parser = self._new_parser()
                octets = octets.lstrip(b" \t\r\n")
            else:
                self._plain = b""
        if self._parser is not None:
            self._parser.Parse(octets, final)
        elif self._plain is not None:
            *lines, self._plain = (self._plain + octets).split(b"\n")
            if final:
                lines.append(self._plain)
            elif len(self._plain) > LONGEST_TEXT:
                raise _StopReading("a line without end")
            for line in lines:
                text = line.decode("utf-8", "replace").strip().removeprefix("\ufeff")
                if text.startswith(("http://", "https://")):
                    self._found(SitemapUrl(text))

    def _new_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._entity
        return parser

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        if local in ("url", "sitemap", "item", "entry") and self._fields is None:
            self._fields = {}
            self._is_index = local == "sitemap"
            self._depth = 0
        elif self._fields is not None:
            self._depth += 1
            rel = attributes.get("rel", "alternate")
            if local == "link" and "href" in attributes and rel == "alternate" and "xhtml" not in space:  # Atom
                self._fields.setdefault("loc", attributes["href"])
        self._name = local
        self._text = []
        self._size = 0

    def _characters(self, text: str) -> None:
        if self._fields is not None and self._depth == 1 and self._size < LONGEST_TEXT:
            self._text.append(text)
            self._size += len(text)

    def _end(self, name: str) -> None:
        fields = self._fields
        if fields is None:
            return
        if self._depth == 0:
            self._fields = None
            self._finish(fields)
            return
        local = name.rpartition(" ")[2]
        if self._depth == 1 and local == self._name and self._text:
            key = {"link": "loc", "pubDate": "lastmod", "updated": "lastmod"}.get(local, local)
            fields.setdefault(key, "".join(self._text).strip())
        self._depth -= 1

    def _finish(self, fields: dict[str, str]) -> None:
        loc = fields.get("loc", "")
        if not loc:
            return
        lastmod = read_date(fields.get("lastmod", ""))
        if self._is_index:
            self._found(SitemapRef(loc, lastmod))
        else:
            self._found(SitemapUrl(loc, lastmod, fields.get("changefreq"), _priority(fields.get("priority", ""))))

    def _found(self, entry: Entry) -> None:
        if self._count >= MOST_ENTRIES:
            raise _StopReading(f"over {MOST_ENTRIES} entries")
        self._count += 1
        self._entries.append(entry)

    def _entity(self, *_: object) -> None:
        raise _StopReading("the document declares entities")


class _StopReading(Exception):
    pass


def read(content: bytes | Iterable[bytes]) -> Iterator[Entry]:
    """The entries of a sitemap, as they come. Never raises on bad content."""
    reader = SitemapReader()
    pieces = (
        (content[at : at + PIECE] for at in range(0, len(content), PIECE)) if isinstance(content, bytes) else content
    )
    for piece in pieces:
        yield from reader.feed(piece)
    yield from reader.close()


def in_scope(entry: str, sitemap: str, *, named_by: str | None = None) -> bool:
    """Whether a sitemap may speak of a URL: on its own host and below its own path, or anything on the hosts whose
    robots.txt names it (sitemaps.org, "Sitemaps & Cross Submits").

    Args:
        entry, sitemap: URLs in normal form.
        named_by: host whose robots.txt names the sitemap.
    """
    if named_by is not None and urls.host(entry) == named_by:
        return True
    return entry.startswith(sitemap[: sitemap.rfind("/") + 1])


def read_date(text: str) -> datetime | None:
    """A W3C date (year, month, day, minute, second or fraction, with zone); None where it is none. UTC by default."""
    text = text.strip()
    day, _, clock = text.partition("T")
    try:
        year, month, number = [*day.split("-"), "1", "1"][:3]
        if len(year) != 4 or day.count("-") > 2:
            return None
        date = datetime(int(year), int(month), int(number), tzinfo=UTC)
        return _with_time(date, clock) if clock else date
    except (ValueError, OverflowError):
        return None


def _with_time(date: datetime, clock: str) -> datetime:
    zone = UTC
    if clock.endswith(("Z", "z")):
        clock = clock[:-1]
    elif (at := max(clock.rfind("+"), clock.rfind("-"))) > 0:
        hours, _, minutes = clock[at + 1 :].partition(":")
        sign = -1 if clock[at] == "-" else 1
        zone = timezone(sign * timedelta(hours=int(hours[:2]), minutes=int(minutes or hours[2:] or 0)))
        clock = clock[:at]
    hour, minute, *second = clock.split(":")
    seconds = float(second[0]) if second else 0.0
    whole = int(seconds)
    micro = min(round((seconds - whole) * 1_000_000), 999_999)
    return date.replace(hour=int(hour), minute=int(minute), second=whole, microsecond=micro, tzinfo=zone)


def _priority(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None
