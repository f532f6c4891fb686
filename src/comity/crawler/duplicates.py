"""Which pages repeat others: by what they call their canonical URL, by content, or nearly.

A duplicate is marked, never dropped: the mark names the page it repeats. What must be known of the pages kept so far
is handed out as facts, to be committed in one transaction with the pages themselves, and asked back by name: so a
resumed crawl marks exactly what an uninterrupted one would, and memory does not grow with the pages.
"""

import base64
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal

from comity.crawler.digest import digest
from comity.crawler.simhash import NearTable

CHUNK: Final = 1024
"""Fingerprints in one fact."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """What a page repeats.

    Attributes:
        kind: `canonical` where it names that page its canonical URL, `content` where the octets are the same, `near`
            where its text differs in a few words.
        of: the URL of the page kept before.
    """

    kind: Literal["canonical", "content", "near"]
    of: str


class Duplicates:
    """The pages kept so far.

    Args:
        recall: gives back what `facts` returned under a name, in this run or an earlier one, or None.
        near: whether texts are compared too.
    """

    def __init__(self, recall: Callable[[str], Any], *, near: bool = False) -> None:
        self._recall = recall
        self._facts: dict[str, Any] = {}
        self.near = near
        self._table = NearTable()
        self._chunk: array[int] = array("Q")
        self._chunks = 0
        if near:
            for chunk in self._recalled_chunks():
                for fingerprint in chunk:
                    self._table.add(fingerprint)

    def keep(
        self, url: str, body: bytes, *, canonical: str | None = None, fingerprint: int | None = None
    ) -> Duplicate | None:
        """Take note of a page that is kept, and say which page kept before it repeats.

        Args:
            url, canonical: in normal form; `canonical` is what the page says.
            fingerprint: that of its text (see simhash); None leaves it out of the near comparison.
        """
        found: Duplicate | None = None
        if canonical is not None and canonical != url and self._known(_page(canonical)):
            found = Duplicate("canonical", canonical)
        if body:
            name = _content(digest(body))
            first = self._known(name)
            if not first:
                self._facts[name] = url
            elif first != url and found is None:
                found = Duplicate("content", first)
        if self.near and fingerprint is not None:
            first = self._near(fingerprint, url)
            if first is not None and first != url and found is None:
                found = Duplicate("near", first)
        self._facts[_page(url)] = 1
        return found

    def forget(self, url: str, sha256: str) -> None:
        """A page kept before has other content now, or is gone. What its text was like stays known."""
        if self._known(name := _content(sha256)) == url:
            self._facts[name] = ""
        self._facts[_page(url)] = 0

    def facts(self) -> dict[str, Any]:
        """What was learned since the last call, by name."""
        facts, self._facts = self._facts, {}
        return facts

    def _known(self, name: str) -> Any:
        value = self._facts.get(name)
        return self._recall(name) if value is None else value

    def _near(self, fingerprint: int, url: str) -> str | None:
        near = self._table.find(fingerprint)
        if near is not None:
            first: str | None = self._known(f"text {near:016x}")
            return first
        if self._table.add(fingerprint):
            self._facts[f"text {fingerprint:016x}"] = url
            self._chunk.append(fingerprint)
            self._facts[f"texts {self._chunks}"] = base64.b64encode(_octets(self._chunk)).decode("ascii")
            if len(self._chunk) == CHUNK:
                self._chunk = array("Q")
                self._chunks += 1
        return None

    def _recalled_chunks(self) -> "Iterator[array[int]]":
        while (kept := self._recall(f"texts {self._chunks}")) is not None:
            octets = base64.b64decode(kept)
            chunk = array("Q", (int.from_bytes(octets[at : at + 8], "big") for at in range(0, len(octets), 8)))
            yield chunk
            if len(chunk) < CHUNK:
                self._chunk = chunk
                return
            self._chunks += 1


def _content(sha256: str) -> str:
    return f"content {sha256[:24]}"


def _page(url: str) -> str:
    return f"page {sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _octets(fingerprints: "array[int]") -> bytes:
    return b"".join(fingerprint.to_bytes(8, "big") for fingerprint in fingerprints)
