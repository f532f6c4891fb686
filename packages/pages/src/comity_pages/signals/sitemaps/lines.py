"""The plain form: one URL per line (sitemaps.org, "Text file")."""

import codecs
import io

from comity_pages.signals.sitemaps.entries import Limits, Position, SitemapEntry, SitemapKind, SitemapUrl
from comity_pages.signals.sitemaps.unpack import Stop


def looks_like_list(head: str) -> bool:
    """Whether a line of the first block begins as a URL does."""
    return any(map(_is_url, head.replace("\r", "\n").split("\n")))


class LineEntries:
    """Feed it bytes; it appends what it finds to `found`. Lines that are no http or https URL are counted, not kept.

    Args:
        limits: what the list may cost.
        charset: of the bytes, by Python's name.
        mark: how many bytes of byte order mark come first.
    """

    kind: SitemapKind = "text"

    def __init__(self, limits: Limits, charset: str, mark: int) -> None:
        self.found: list[SitemapEntry] = []
        self.skipped = 0
        self._limits = limits
        self._decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(charset)("replace"), translate=True)
        self._mark = mark
        self._byte = 0
        self._line = 1
        self._total = 0
        self._open = ""

    @property
    def position(self) -> Position:
        return Position(self._byte, self._line)

    def feed(self, block: bytes) -> None:
        text = self._decoder.decode(block[self._mark :])
        self._mark = 0
        self._byte += len(block)
        lines = (self._open + text).split("\n")
        self._open = lines.pop()[: self._limits.loc + 1]  # of an endless line this much shows that it is too long
        for line in lines:
            self._take(line)
            self._line += 1

    def close(self) -> None:
        self._take(self._open + self._decoder.decode(b"", True))

    def _take(self, line: str) -> None:
        url = line.strip()
        if not url:
            return
        if not _is_url(url) or len(url) > self._limits.loc:
            self.skipped += 1
            return
        if self._total == self._limits.entries:
            raise Stop(f"more than {self._limits.entries:,} entries")
        self._total += 1
        self.found.append(SitemapUrl(url))


def _is_url(line: str) -> bool:
    return line.lstrip()[:8].lower().startswith(("http://", "https://"))
