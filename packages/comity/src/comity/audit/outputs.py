"""The output of a crawl: what it holds must have its request or its refusal in the ledger, and its body the same hash.
Requests are kept as short digests in a temporary database, so that memory stays bounded however long the crawl was and
whatever order the output is in."""

import hashlib
import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any, Final, Self

from comity import times
from comity.audit.chain import Proof
from comity.crawler.output.columns import damaged_field
from comity.crawler.output.formats import FORMATS
from comity.crawler.output.reader import CHECKED, JsonObject, StoredRecord
from comity.crawler.output.runner import read_back
from comity.errors import ComityError, InvalidSetting, MissingExtra
from comity_pages import urls

_KNOWN: Final = frozenset(CHECKED) - {"traps"}  # channels whose records the ledger has too
_EVIDENCE = ("verdict", "line", "rule", "robots_sha256")


class LedgerRequests:
    """What the ledger says was requested and refused. Use it as a context manager."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)  # temporary: in memory until it is large, then on disk
        self._db.execute("CREATE TABLE asked (key BLOB PRIMARY KEY, times INT, record INT, refusal INT) WITHOUT ROWID")
        self._db.execute("BEGIN")
        self._wrote: dict[str, int] = {}
        self._all = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def add(self, number: int, record: JsonObject) -> None:
        """Take up a request for content or a copy that stood in for one, a refusal, a URL that was given up, or what
        came of asking for a robots.txt."""
        if record["kind"] == "refusal":
            self._add(number, _refusal(record["url"], record), refusal=True)
            return
        url, status = record["url"], record.get("status")
        if record["kind"] == "robots":
            said = (record["robots_at"], record["robots_sha256"], status, record["outcome"])
            self._add(number, ("robots", record["origin"], url, *said))
            return
        if record["kind"] == "unsent":
            self._add(number, ("failures", url, None))
            return
        for key in {
            ("failures", url, None),
            ("failures", url, status),
            ("unwanted", url, status),
            ("redirects", url, status, _location(record.get("location")), *_evidence(record)),
            ("pages", url, status, record["sha256"], *_evidence(record)),
            ("served", url, status, record["sha256"]),
        }:
            self._add(number, key)

    def wrote(self, counts: JsonObject, *, all_: bool) -> None:
        """How many records were written by channel: `all_` that there are, or there may be more since."""
        self._wrote = {name: n for name, n in counts.items() if name in _KNOWN and type(n) is int}
        self._all = all_

    def check(self, folder: Path, sink: str | None, proof: Proof, committed: Any = None) -> None:
        """Whether each record of the output is in the ledger, and each refusal of the ledger in the output. `sink`: the
        format or plug-in that wrote it; None where that is not known. `committed`: how far, as the format says it;
        None: as it lies there."""
        files = {name: form.where.format("pages").partition(",")[0] for name, form in FORMATS.items()}
        sink = sink or next((name for name, file in files.items() if any(folder.glob(file))), "jsonl")
        if sink not in FORMATS:
            proof.unchecked.append(f"the output, which the plug-in {sink[:200]} wrote")
            return
        there: Counter[str | None] = Counter()
        named: set[str | None] = set()  # channels of which something wrong was said
        try:
            for stored in read_back(folder, sink, committed):
                if stored.number is None:
                    proof.unchecked.append(stored.file)
                    continue
                there[stored.channel] += 1
                problem = stored.problem or self._problem(stored)
                if problem is not None:
                    named.add(None if stored.problem else stored.channel)
                    proof.add(stored.file, stored.number, problem)
                elif stored.channel == "pages" and stored.intact is None:
                    proof.unread += 1
        except (InvalidSetting, MissingExtra) as error:  # a library is missing
            proof.unchecked.append(f"the output: {error}")
            return
        if None not in named:  # else it could not be read, and that was said
            self._count({name: there[name] for name in self._wrote if name not in named}, FORMATS[sink].where, proof)
        where = FORMATS[sink].where.format("refusals")
        if where.partition(",")[0] in proof.unchecked:
            return
        for (number,) in self._db.execute("SELECT record FROM asked WHERE refusal AND times > 0 ORDER BY 1"):
            proof.add("ledger.jsonl", number, f"{where} does not have this refusal")

    def _count(self, there: dict[str, int], where: str, proof: Proof) -> None:
        for name, count in there.items():
            wrote = self._wrote[name]
            if count < wrote or (self._all and count > wrote):
                more = "" if self._all else "at least "
                what = f"it holds {count:,} {name}, the ledger says that {more}{wrote:,} were written"
                proof.add(where.format(name), None, what)

    def _problem(self, stored: StoredRecord) -> str | None:
        channel, record = stored.channel, stored.record
        if channel is None:
            return None
        if (name := damaged_field(channel, record)) is not None:
            return f"its field {name!r} is missing or damaged"
        if channel not in _KNOWN:
            return None
        url = record["url"]
        if channel == "failures" and record.get("by") == "comity":
            return f"it failed, and not by the site's fault: {record['why'][:200]}"
        match channel:
            case "pages" | "requisites":
                evidence = _evidence(record["decision"])
                key: tuple[Any, ...] = ("pages", url, record["status"], record["sha256"], *evidence)
            case "redirects":
                key = (channel, url, record["status"], _location(record["location"]), *_evidence(record["decision"]))
            case "refusals" if record.get("by") == "usage":  # it was asked for, and not kept
                key = ("unwanted", url, record.get("status"))
            case "refusals":
                key = _refusal(url, record["decision"])
            case "changes" if not _is_coherent(record):
                return "it contradicts itself"
            case "changes" if record["by"] == "lastmod":  # a sitemap's word: no request was sent
                return None
            case "changes" if (record["change"], record["by"]) == ("unchanged", "content"):
                key = ("served", url, record["status"], record["sha256"])  # no page was written for it
            case "changes":
                key = ("failures", url, record["status"])  # no failure was
            case "sitemaps":
                key = ("served", url, record["status"], record["sha256"])
            case "robots":
                said = (times.parse_iso(record["fetched_at"]), record["sha256"], record["status"], record["outcome"])
                key = (channel, record["origin"], url, *said)
            case _:
                key = (channel, url, record["status"])
        if not self._take(key):
            what = {"refusals": "refusal", "robots": "robots.txt"}.get(channel, "request")
            return f"the ledger has no {what} that fits it, for {url[:200]}"
        if channel == "redirects":
            return _wrong_target(record)
        if channel in ("pages", "requisites"):  # the request is spent: no change may name it too
            self._take(("served", url, record["status"], record["sha256"]))
        return "its body was changed: its hash differs" if stored.intact is False else None

    def _add(self, number: int, key: tuple[Any, ...], *, refusal: bool = False) -> None:
        self._db.execute(
            "INSERT INTO asked VALUES (?, 1, ?, ?) ON CONFLICT (key) DO UPDATE SET times = times + 1",
            (_packed(key), number, refusal),
        )

    def _take(self, key: tuple[Any, ...]) -> bool:
        done = self._db.execute("UPDATE asked SET times = times - 1 WHERE key = ? AND times > 0", (_packed(key),))
        return done.rowcount == 1


def _is_coherent(change: JsonObject) -> bool:
    """Whether what a refresh says of a page can be: a word, its grounds and the hashes before and after."""
    now, before, by = change["sha256"], change["previous_sha256"], change["by"]
    if (change["status"] is None) != (by == "lastmod") or (change["status"] == 304) != (by == "validator"):
        return False
    match change["change"]:
        case "new":
            return by == "content" and now is not None and before is None
        case "changed":
            return by == "content" and None not in (now, before) and now != before
        case "unchanged":
            return by != "status" and now is not None and now == before
        case "gone":
            return by == "status" and now is None and before is not None
    return False


def _refusal(url: str, decision: JsonObject) -> tuple[Any, ...]:
    return ("refusals", url, *_evidence(decision))


def _evidence(record: JsonObject) -> tuple[Any, ...]:
    return tuple(record.get(name) for name in _EVIDENCE)


def _location(location: Any) -> Any:
    """What a header says as every format can hold it: odd bytes, in Python surrogates, become U+FFFD."""
    return location.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if location else location


def _wrong_target(redirect: JsonObject) -> str | None:
    """Whether a redirect leads where its location says, which in some formats has lost its odd bytes."""
    url, location = redirect["url"], redirect["location"]
    if "\N{REPLACEMENT CHARACTER}" in location:
        return None
    try:
        target = urls.join(url, location)
    except ComityError as error:
        return str(error)
    return None if target == redirect["to"] else "where it leads is not what its location says"


def _packed(key: tuple[Any, ...]) -> bytes:
    return hashlib.sha256(json.dumps(key).encode("ascii")).digest()[:16]
