"""The chain: each record follows the one before, has the hash of what it says, and the last one is a seal."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from comity.audit.prove.findings import Proof
from comity.crawler.lines import Line, Record, read, wrong_field

FILE = "ledger.jsonl"
START = "0" * 64

_TEXT: tuple[type, ...] = (str,)
_TEXT_OR_NONE: tuple[type, ...] = (str, type(None))
_TIME: tuple[type, ...] = (float,)
_TIME_OR_NONE: tuple[type, ...] = (float, type(None))
_COUNT: tuple[type, ...] = (int,)
_COUNT_OR_NONE: tuple[type, ...] = (int, type(None))
_EVIDENCE = {
    "verdict": _TEXT_OR_NONE,
    "line": _COUNT_OR_NONE,
    "rule": _TEXT_OR_NONE,
    "robots_sha256": _TEXT_OR_NONE,
    "robots_at": _TIME_OR_NONE,
}
_LINK = {"n": _COUNT, "prev": _TEXT, "hash": _TEXT, "kind": _TEXT}
_SHAPES: dict[str, dict[str, tuple[type, ...]]] = {
    "run": {"at": _TIME, "version": _TEXT, "agent": _TEXT, "policy": (dict,), "seeds": (list,)},
    "request": {
        "purpose": _TEXT,
        "method": _TEXT,
        "url": _TEXT,
        "host": _TEXT,
        "pace": _TEXT,
        "origin": _TEXT_OR_NONE,
        "sent": _TIME,
        "head": _TIME_OR_NONE,
        "end": _TIME,
        "status": _COUNT_OR_NONE,
        "bytes": _COUNT_OR_NONE,
        "sha256": _TEXT_OR_NONE,
        "error": _TEXT_OR_NONE,
        "retry_after": _TIME_OR_NONE,
        "interval": _TIME_OR_NONE,
        "kept": _TIME_OR_NONE,
        **_EVIDENCE,
    },
    "robots": {
        "at": _TIME,
        "source": _TEXT,
        "origin": _TEXT,
        "url": _TEXT,
        "outcome": _TEXT,
        "status": _COUNT_OR_NONE,
        "content_type": _TEXT_OR_NONE,
        "life": _TIME_OR_NONE,
        "unreachable_since": _TIME_OR_NONE,
        "robots_sha256": _TEXT_OR_NONE,
        "robots_at": _TIME,
        "body_base64": _TEXT_OR_NONE,
    },
    "copy": {"at": _TIME, "url": _TEXT, "host": _TEXT, "status": _COUNT, "sha256": _TEXT, **_EVIDENCE},
    "refusal": {"at": _TIME, "url": _TEXT, "host": _TEXT, **_EVIDENCE},
    "unsent": {"at": _TIME, "url": _TEXT, "why": _TEXT},
    "seal": {"at": _TIME, "ended": _TEXT, "count": _COUNT, "final": _TEXT},
}


# Fields that earlier versions did not write.
_LATER: dict[str, dict[str, tuple[type, ...]]] = {
    "run": {"sink": _TEXT},
    "request": {"location": _TEXT},
    "copy": {"location": _TEXT},
    "seal": {"written": (dict,)},
}


def records(folder: Path, proof: Proof) -> Iterator[Line]:
    """The records of the ledger that can be read; what breaks the chain goes to `proof`."""
    before, kind = START, None
    number = 0
    for line in read(folder / FILE):
        number, record = line.number, line.record
        proof.records = number
        problem = line.problem or _misshapen(record)
        if problem is not None:
            proof.add(FILE, number, problem)
            before, kind = str(record.get("hash", "")), None
            proof.hash = before
            continue
        said = _said(record)
        if said is None or hashlib.sha256(said).hexdigest() != record["hash"]:
            proof.add(FILE, number, "it was changed: its hash is not that of what it says")
        elif line.data != b'%s,"hash":"%s"}\n' % (said[:-1], record["hash"].encode()):
            # Other readers may take a name given twice, or a mark of byte order, for something else.
            proof.add(FILE, number, "it was changed: its bytes are not those that comity writes for what it says")
        if record["prev"] != before:
            proof.add(FILE, number, "it does not follow the record before it: one was removed, added, moved or changed")
        elif record["n"] != number:
            proof.add(FILE, number, f"it says that it is number {record['n']}")
        if kind in (None, "seal") and record["kind"] != "run" and (number == 1 or kind == "seal"):
            proof.add(FILE, number, "a run must begin with its header")
        if record["kind"] == "seal" and (record["count"] != number - 1 or record["final"] != before):
            proof.add(FILE, number, "the seal does not fit the records before it")
        before, kind = record["hash"], record["kind"]
        proof.hash = before
        yield line
    if number == 0:
        proof.add(FILE, None, "it is empty")
    elif kind != "seal":
        proof.add(FILE, number, "the last record is no seal: the crawl was cut off, or records at the end were removed")


def _misshapen(record: Record) -> str | None:
    name = wrong_field(record, _LINK)
    if name is None:
        shape = _SHAPES.get(record["kind"])
        if shape is None:
            return f"{record['kind'][:40]!r} is no kind of record"
        later = _LATER.get(record["kind"], {})
        name = wrong_field(record, shape | {name: kinds for name, kinds in later.items() if name in record})
    return f"its field {name!r} is missing or damaged" if name is not None else None


def _said(record: dict[str, Any]) -> bytes | None:
    """The bytes that a record's hash is made of."""
    said = {name: value for name, value in record.items() if name != "hash"}
    try:
        return json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    except (ValueError, RecursionError):
        return None
