"""Which pages repeat others: by what they call their canonical URL, by content, or nearly. A duplicate is marked, never
dropped. What must be known of the pages kept so far is committed with the pages and asked back by name: so a resumed
crawl marks what an uninterrupted one would, and memory does not grow with the pages.

Near duplicates differ in a few words. Each text has a 64-bit fingerprint, Charikar's simhash over shingles of three
words; two texts are near where at most three bits differ, found by the method of blocks (Manku, Jain, Das Sarma,
"Detecting Near-Duplicates for Web Crawling", 2007): of four blocks of 16 bits at least one must then be equal.
"""

import base64
import hashlib
import re
import struct
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Final, Literal

from comity.digests import sha256_of
from comity.frontier.state_overlay import StateOverlay
from comity_pages.signals import _tags, encodings

MAX_DISTANCE_BITS: Final = 3  # bits that may differ
MIN_SHINGLES: Final = 32  # shorter texts have no fingerprint: a menu alone would make them alike
MAX_TEXT_CHARACTERS: Final = 100_000  # characters of a text that are looked at
MAX_FINGERPRINTS: Final = 1_000_000  # in a table, in about 100 MB; what comes later is compared, not added
MAX_FINGERPRINTS_PER_BLOCK: Final = 2_048  # compared, so that no site can make one question long

_ALL: Final = 2**64 - 1
_WEIGHTS: Final = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)  # odd, otherwise of no importance
_BLOCKS: Final = (0, 16, 32, 48)
# Chinese, Japanese, Korean and Thai are written without spaces: each character is a word.
_UNSPACED: Final = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD: Final = f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+"  # compiled when it is first used, which takes milliseconds


def fingerprint_of(body: bytes, encoding: str) -> int | None:
    """The fingerprint of the text of an HTML page, whose encoding is named as in the Encoding standard; None where it
    is too short to have one."""
    return simhash(text_of(encodings.to_utf8(body, encoding)))


def text_of(html: bytes) -> str:
    """The text of an HTML page in UTF-8 that its reader sees. It builds no tree: that takes quadratic time for deep
    nesting, and the page decides how deep.
    """
    return _tags.text(html, MAX_TEXT_CHARACTERS)


def simhash(text: str) -> int | None:
    """The fingerprint of a text; None where it is too short to have one."""
    words = re.findall(_WORD, text[:MAX_TEXT_CHARACTERS].lower())
    known = {word: _hash(word) for word in set(words)}
    hashes = [known[word] for word in words]
    first, second, third = _WEIGHTS
    shingles = {
        (a * first + b * second + c * third) & _ALL for a, b, c in zip(hashes, hashes[1:], hashes[2:], strict=False)
    }
    if len(shingles) < MIN_SHINGLES:
        return None
    return _majority(list(shingles))


def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _majority(numbers: list[int]) -> int:
    """The bits that are set in more than half of the numbers.

    All 64 counts are made at once: they stand upright, one number for each of their binary digits, lowest first.
    """
    digits: list[int] = []
    level = numbers
    while level:
        above: list[int] = []
        while len(level) > 2:
            third = len(level) // 3
            triples = list(zip(level[:third], level[third : 2 * third], level[2 * third : 3 * third], strict=True))
            above += [(a & b) | ((a ^ b) & c) for a, b, c in triples]
            level = [a ^ b ^ c for a, b, c in triples] + level[3 * third :]
        if len(level) == 2:
            above.append(level[0] & level[1])
            level = [level[0] ^ level[1]]
        digits += level
        level = above
    half = len(numbers) // 2
    more, equal = 0, _ALL
    for place in range(len(digits) - 1, -1, -1):
        if half >> place & 1:
            equal &= digits[place]
        else:
            more |= equal & digits[place]
            equal &= ~digits[place]
    return more if half < 1 << len(digits) else 0


class NearTable:
    """Fingerprints, and which of them are near another."""

    def __init__(self, fingerprints: Iterable[int] = ()) -> None:
        self._blocks: dict[int, array[int]] = {}
        self._count = 0
        for fingerprint in fingerprints:
            self.add(fingerprint)

    def __len__(self) -> int:
        return self._count

    def find(self, fingerprint: int) -> int | None:
        """The nearest fingerprint held, the first added among equals; None where none is near."""
        best: int | None = None
        distance = MAX_DISTANCE_BITS + 1
        for key in _keys(fingerprint):
            for other in self._blocks.get(key, ()):
                apart = (fingerprint ^ other).bit_count()
                if apart < distance:
                    best, distance = other, apart
        return best

    def add(self, fingerprint: int) -> bool:
        """Hold one more; False where the table is full."""
        if self._count >= MAX_FINGERPRINTS:
            return False
        self._count += 1
        for key in _keys(fingerprint):
            block = self._blocks.get(key)
            if block is None:
                block = self._blocks[key] = array("Q")
            if len(block) < MAX_FINGERPRINTS_PER_BLOCK:
                block.append(fingerprint)
        return True


def _keys(fingerprint: int) -> Iterator[int]:
    for number, shift in enumerate(_BLOCKS):
        yield number << 16 | fingerprint >> shift & 0xFFFF


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Reference to the page that this one duplicates.

    Attributes:
        kind: `canonical` where it names that page its canonical URL, `content` where the octets are the same, `near`
            where its text differs in a few words.
        of: the URL of the page kept before.
    """

    kind: Literal["canonical", "content", "near"]
    of: str


CHUNK: Final = 1024  # fingerprints in one fact


class Duplicates:
    """The pages kept so far; `near`: their texts are compared too."""

    def __init__(self, facts: StateOverlay, *, near: bool = False) -> None:
        self._facts = facts
        self.near = near
        self._chunk: array[int] = array("Q")
        self._chunks = 0
        self._table = NearTable(chain.from_iterable(self._saved_chunks()) if near else ())

    def keep(
        self,
        url: str,
        body: bytes,
        *,
        sha256: str | None = None,
        canonical: str | None = None,
        fingerprint: int | None = None,
    ) -> Duplicate | None:
        """Take note of a page that is kept, and say which page kept before it repeats. `url`, and the
        `canonical` one that the page states, are in normal form; `sha256` is in hex. Without a fingerprint of its text
        (see simhash) it is left out of the near comparison."""
        found: Duplicate | None = None
        if canonical is not None and canonical != url and self._facts.get(_page(canonical)):
            found = Duplicate("canonical", canonical)
        if body:
            name = _content(sha256 or sha256_of(body))
            first = self._facts.get(name)
            if not first:
                self._facts.put(name, url)
            elif first != url and found is None:
                found = Duplicate("content", first)
        if self.near and fingerprint is not None:
            first = self._near(fingerprint, url)
            if first is not None and first != url and found is None:
                found = Duplicate("near", first)
        self._facts.put(_page(url), 1)
        return found

    def forget(self, url: str, sha256: str) -> None:
        """A page kept before has other content now, or is gone. What its text was like stays known."""
        if self._facts.get(name := _content(sha256)) == url:
            self._facts.put(name, "")
        self._facts.put(_page(url), 0)

    def _near(self, fingerprint: int, url: str) -> str | None:
        near = self._table.find(fingerprint)
        if near is not None:
            first: str | None = self._facts.get(f"text {near:016x}")
            return first
        if self._table.add(fingerprint):
            self._facts.put(f"text {fingerprint:016x}", url)
            self._chunk.append(fingerprint)
            octets = struct.pack(f">{len(self._chunk)}Q", *self._chunk)
            self._facts.put(f"texts {self._chunks}", base64.b64encode(octets).decode("ascii"))
            if len(self._chunk) == CHUNK:
                self._chunk = array("Q")
                self._chunks += 1
        return None

    def _saved_chunks(self) -> "Iterator[array[int]]":
        while (kept := self._facts.get(f"texts {self._chunks}")) is not None:
            chunk = array("Q", (each for (each,) in struct.iter_unpack(">Q", base64.b64decode(kept))))
            yield chunk
            if len(chunk) < CHUNK:
                self._chunk = chunk
                return
            self._chunks += 1


def _content(sha256: str) -> str:
    return f"content {sha256[:24]}"


def _page(url: str) -> str:
    return f"page {hashlib.blake2b(url.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"
