"""The index of a WARC file: CDXJ, a line for each response, sorted, for tools that look records up by URL and time.
A key is the SURT of a URL, as pywb and the Internet Archive's tools make it: what differs only in what seldom makes
another page (letters' case, `www.`, a session id, the order of a query's parts) has the same key. The line has the
URL."""

import heapq
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

from comity.crawler.output.lines import AppendedFile
from comity.crawler.output.reader import open_until
from comity.files import written_anew
from comity.frontier.durable import translate_os_errors

_SORTED_AT_ONCE: Final = 8 * 1024 * 1024  # bytes of lines held in memory
_KEPT: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_WWW: Final = re.compile(r"^www\d*\.")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_SESSION_IN_PATH: Final = (
    re.compile(r"^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$"),
    re.compile(r"^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$"),
)
_SESSION_IN_QUERY: Final = tuple(
    re.compile(rf"^(.*)(?:{session})(?:&(.*))?$", re.IGNORECASE)
    for session in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
)


def surt(url: str) -> str:
    """The key of a URL in normal form, such as `com,example)/path?a=1&b=2`."""
    parts = urlsplit(url)
    host = _WWW.sub("", parts.hostname or "")
    port = f":{parts.port}" if parts.port and parts.port != _DEFAULT_PORTS.get(parts.scheme) else ""
    path = re.sub("/{2,}", "/", _escaped(parts.path)).lower() or "/"
    for session in _SESSION_IN_PATH:
        path = session.sub(r"\1\2", path)
    query = _escaped(parts.query)
    for session in _SESSION_IN_QUERY:
        query = session.sub(r"\1\2", query)
    query = "&".join(sorted(query.lower().split("&"), key=lambda part: tuple(part.split("=", 1))))
    key = ",".join(reversed(host.strip(".").split("."))) + port + ")" + (path.rstrip("/") or "/")
    return f"{key}?{query}" if query else key


def _escaped(text: str) -> str:
    """Percent-encoded where it must be, and nowhere else."""
    if "%" not in text:  # a URL in normal form has nothing else to change
        return text
    octets = text.encode()
    while (plain := unquote_to_bytes(octets)) != octets:
        octets = plain
    return quote_from_bytes(octets, safe=_KEPT)


class Index:
    """The index of one WARC file, `crawl-00001.cdxj` beside `crawl-00001.warc.gz`.

    Lines go to a journal, of which so many bytes were committed, as records are written, and become the index when the
    file is full or the run ends."""

    def __init__(self, warc: Path, committed: int = 0) -> None:
        self._name = warc.name
        self._path = index_of(warc)
        self._journal = AppendedFile(journal_of(warc), committed)
        self.flush, self.close = self._journal.flush, self._journal.close

    def add(self, url: str, date: str, **said: object) -> None:
        """A record was written, at `date` (RFC 3339, in UTC): its `mime`, `status` and `digest`, `length` and `offset`
        in bytes of the compressed file."""
        known = {"url": url, **said, "filename": self._name}
        line = {name: str(value) for name, value in known.items() if value is not None}
        stamp = re.sub(r"\D", "", date)[:14]
        self._journal.add(f"{surt(url)} {stamp} {json.dumps(line)}\n".encode())

    def sort(self) -> None:
        """Write the index of what is in the journal."""
        with translate_os_errors(self._path.parent), written_anew(self._path, self._path.with_suffix(".tmp")) as file:
            file.writelines(sorted_lines(self._journal.path))


def index_of(warc: Path) -> Path:
    """The index beside a WARC file."""
    return warc.with_name(warc.name.removesuffix(".warc.gz") + ".cdxj")


def journal_of(warc: Path) -> Path:
    """The journal from which the index is made."""
    return index_of(warc).with_suffix(".cdxj.journal")


def remove(warc: Path, *, index: bool) -> None:
    """Remove the journal of a WARC file, and its index too."""
    for path in (journal_of(warc), index_of(warc).with_suffix(".tmp"), *([index_of(warc)] if index else [])):
        path.unlink(missing_ok=True)


def sorted_lines(journal: Path, until: int | None = None) -> Iterator[bytes]:
    """The lines of a file in the order of their octets, of its first bytes `until`; few are in memory at a time."""
    with ExitStack() as stack:
        lines = stack.enter_context(open_until(journal, until))
        runs: list[Iterable[bytes]] = []
        while run := lines.readlines(_SORTED_AT_ONCE):
            run.sort()
            if lines.peek(1):  # the last run need not leave memory
                file = stack.enter_context(TemporaryFile(dir=journal.parent))
                file.writelines(run)
                file.seek(0)
                runs.append(file)
            else:
                runs.append(run)
        yield from heapq.merge(*runs)
