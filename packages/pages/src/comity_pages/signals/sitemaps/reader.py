"""The reader: bytes as they arrive -> entries. It joins unpacking, charset and the two forms, XML and lines.

Whatever comes in, it raises nothing and holds no more than a few blocks. Where it has to stop it has given what came
before, and says where and why.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Final

import webencodings

from comity_pages.signals.sitemaps.entries import Limits, Position, SitemapEntry, SitemapKind
from comity_pages.signals.sitemaps.lines import LineEntries, looks_like_list
from comity_pages.signals.sitemaps.unpack import Stop, Unpacker
from comity_pages.signals.sitemaps.xml import XmlEntries

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UTF_16_STARTS: Final = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_ENCODING: Final = re.compile(rb"""\s{0,99}<\?xml[^>]{0,80}?encoding\s{0,9}=\s{0,9}["']([A-Za-z0-9._:-]{1,40})["']""")


class SitemapReader:
    """Reads one sitemap as its bytes arrive.

    XML (urlset, sitemapindex, RSS, Atom) and plain lists of URLs, also compressed: gzip is told by its first bytes,
    whatever the name says. Never raises on content.

    Args:
        url: where the sitemap was served; kept for the caller.
        limits: what it may cost.

    Attributes:
        entries: how many entries have been given.
        problem: one sentence on why reading stopped early; None while all is well.
        stopped_at: where that was; None while all is well. Once it is set, no more bytes are wanted.
    """

    def __init__(self, url: str = "", *, limits: Limits | None = None) -> None:
        self.url = url
        self.entries = 0
        self.problem: str | None = None
        self.stopped_at: Position | None = None
        self._limits = limits or Limits()
        self._unpacker = Unpacker(self._limits)
        self._form: XmlEntries | LineEntries | None = None
        self._closed = False
        self._size = 0
        self._size_at_entry = 0  # size when an entry was last completed

    @property
    def kind(self) -> SitemapKind:
        """What it turned out to be; `unknown` until known."""
        return self._form.kind if self._form else "unknown"

    @property
    def skipped(self) -> int:
        """How many entries were left out: no URL in them, one over the limit, or several."""
        return self._form.skipped if self._form else 0

    def feed(self, chunk: bytes) -> list[SitemapEntry]:
        """Take the next bytes, any number of them; return the entries complete by now (they come block by block).

        After `close`, or a whole `read`, bytes are ignored.
        """
        return list(self._entries(self._unpacker.feed(chunk)))

    def close(self) -> list[SitemapEntry]:
        """Say that no more bytes come; return the entries left. Saying it again, or after `read`, changes nothing."""
        return list(self._close())

    def read(self, chunks: bytes | Iterable[bytes]) -> Iterator[SitemapEntry]:
        """Read all of `chunks` and give entries as they become complete."""
        for chunk in (chunks,) if isinstance(chunks, bytes) else chunks:
            yield from self._entries(self._unpacker.feed(chunk))
            if self.stopped_at:
                return
        yield from self._close()

    def _close(self) -> Iterator[SitemapEntry]:
        yield from self._entries(self._unpacker.close())
        if self.stopped_at or self._closed:
            return
        self._closed = True
        try:
            if self._form is None:
                raise Stop("nothing in it")
            self._form.close()
        except Stop as stop:
            self._stop(stop)
        yield from self._take_found()

    def _entries(self, blocks: Iterator[bytes]) -> Iterator[SitemapEntry]:
        while not self.stopped_at and not self._closed:
            try:
                block = next(blocks, None)
                if block is None:
                    return
                self._take(block)
            except Stop as stop:
                self._stop(stop)
            yield from self._take_found()

    def _take(self, block: bytes) -> None:
        if self._form is None:
            self._form = _form_of(block, self._limits)
        self._size += len(block)
        self._form.feed(block)
        if self._form.found:
            self._size_at_entry = self._size
        elif self._size - self._size_at_entry > self._limits.gap:
            raise Stop(f"{self._limits.gap:,} bytes without one complete entry")

    def _take_found(self) -> Iterator[SitemapEntry]:
        if self._form and self._form.found:
            found, self._form.found = self._form.found, []
            self.entries += len(found)
            yield from found

    def _stop(self, stop: Stop) -> None:
        self.problem = str(stop)
        self.stopped_at = self._form.position if self._form else Position(0, 1)


def read(chunks: bytes | Iterable[bytes], url: str = "", *, limits: Limits | None = None) -> Iterator[SitemapEntry]:
    """The entries of one sitemap, in order, in constant memory. Damage ends it early: `SitemapReader` says where."""
    return SitemapReader(url, limits=limits).read(chunks)


def _form_of(head: bytes, limits: Limits) -> XmlEntries | LineEntries:
    charset, mark = _charset(head)
    text = head[mark:].decode(charset, "replace")
    start = text.lstrip()[:20].lower()
    if start.startswith(("<!doctype html", "<html")):
        raise Stop("an HTML page, not a sitemap")
    if start.startswith("<"):
        return XmlEntries(limits, charset, mark)
    if looks_like_list(text):
        return LineEntries(limits, charset, mark)
    raise Stop("neither XML nor a list of URLs" if start else "nothing in it")


def _charset(head: bytes) -> tuple[str, int]:
    """The name of Python's codec (`utf-8` where nothing else is said) and how many bytes of mark to skip.

    The byte order mark decides, then how the first bytes look, then what the XML declares.
    """
    for mark, codec in _MARKS:
        if head.startswith(mark):
            marks = 2 if head.startswith(mark, len(mark)) else 1  # two: joined by a careless program
            return codec, len(mark) * marks
    for look, codec in _UTF_16_STARTS:
        if head.startswith(look):
            return codec, 0
    declared = _ENCODING.match(head)
    named = webencodings.lookup(declared[1].decode("ascii")) if declared else None
    # Whoever could be read as far as the declaration does not write UTF-16, whatever he declares.
    if named is None or named.name in ("utf-16le", "utf-16be", "x-user-defined"):
        return "utf-8", 0
    return named.codec_info.name, 0
