"""The ledger's chain: each record follows the one before, has the hash of what it says, and the last one is a seal.

Also what a proof finds, as plain values.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from comity.crawler.output.reader import JsonLine, JsonObject, read_lines, shape, wrong_field
from comity.crawler.output.runner import LEDGER as FILE
from comity.crawler.storage.crawl_output import OutputPart
from comity.digests import sha256_of

MAX_FINDINGS = 100  # findings that are kept; more are counted


@dataclass(frozen=True, slots=True)
class ProofFinding:
    """One thing that does not hold: `what`, a clause for people, about a record, counted from 1, or a file of the
    crawl's folder as a whole."""

    file: str
    record: int | None
    what: str

    def __str__(self) -> str:
        where = f"{self.file}, record {self.record}" if self.record is not None else self.file
        return f"{where}: {self.what}"


@dataclass(slots=True)
class Proof:
    """What was checked and what was found.

    Attributes:
        findings: what does not hold, at most `MAX_FINDINGS`, in the order it was found; `found` counts all.
        hash: the hash of the last record.
        sealed: when and by which key the crawl was sealed, in words; empty where it was not.
        unenforced: the runs, by number, whose policy did not enforce robots.txt, each with its mode.
        disallowed: requests and copies from a cache that robots.txt disallowed, in those runs.
        cached: robots.txt files that came from a cache: that they were served is not in this ledger.
        copies: pages that came from a cache.
        unread: pages whose body is not in the output, or as a text that does not say how it was served, or rendered.
        host: the host whose records findings are kept of, beside those of no host; empty for all. `elsewhere`: findings
            about records of other hosts.
        unchecked: what could not be compared with the ledger: files that are not there, a plug-in's output.
    """

    findings: list[ProofFinding] = field(default_factory=list)
    found: int = 0
    records: int = 0
    runs: int = 0
    requests: int = 0
    refusals: int = 0
    robots: int = 0
    hosts: int = 0
    cached: int = 0
    copies: int = 0
    unread: int = 0
    hash: str = ""
    sealed: str = ""
    unenforced: dict[int, str] = field(default_factory=dict)
    disallowed: int = 0
    host: str = ""
    elsewhere: int = 0
    unchecked: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.found

    def add(self, file: str, record: int | None, what: str, *, host: str | None = None) -> None:
        """Keep a finding; `host`: the one that its record is about, if it is about one."""
        if self.host and host not in (None, self.host):
            self.elsewhere += 1
            return
        self.found += 1
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(ProofFinding(file, record, what))

    def to_dict(self) -> dict[str, Any]:
        """As plain values that `json.dumps` takes."""
        return {"holds": self.holds, **asdict(self)}


def together(proofs: Mapping[str, Proof]) -> Proof:
    """The proof of a crawl from those of its parts, by the names of their folders."""
    total = Proof(host=next(iter(proofs.values())).host if proofs else "")
    for name, proof in proofs.items():
        for finding in proof.findings:
            total.add(f"{name}/{finding.file}".rstrip("/"), finding.record, finding.what)
        total.found += proof.found - len(proof.findings)
        total.runs = max(total.runs, proof.runs)
        total.unenforced |= proof.unenforced
        total.unchecked += [f"{name}/{what}" for what in proof.unchecked]
        for count in (
            "records",
            "requests",
            "refusals",
            "robots",
            "hosts",
            "cached",
            "copies",
            "unread",
            "disallowed",
            "elsewhere",
        ):
            setattr(total, count, getattr(total, count) + getattr(proof, count))
    return total


START = "0" * 64

_EVIDENCE: Final = "verdict:text? line:count? rule:text? robots_sha256:text? robots_at:number?"
_LINK: Final = shape("n:count prev:text hash:text kind:text")
_SHAPES: Final = {
    "run": shape("at:number crawl:text run:count version:text agent:text policy:object seeds:list sink:text"),
    "request": shape(
        "purpose:text method:text url:text host:text pace:text origin:text? sent:number head:number? end:number "
        "status:count? bytes:count? sha256:text? error:text? retry_after:number? interval:number? kept:number? "
        + _EVIDENCE
    ),
    "robots": shape(
        "at:number source:text origin:text url:text outcome:text status:count? content_type:text? life:number? "
        "unreachable_since:number? robots_sha256:text? robots_at:number body_base64:text?"
    ),
    "copy": shape("at:number url:text host:text status:count sha256:text " + _EVIDENCE),
    "refusal": shape("at:number url:text host:text " + _EVIDENCE),
    "order": shape("at:number given_at:number host:text pace:text order:text seconds:number?"),
    "relayed": shape("at:number shard:count origin:text url:text status:count? sha256:text? error:text?"),
    "unsent": shape("at:number url:text why:text"),
    "seal": shape("at:number ended:text count:count final:text written:object"),
}
# Fields that are there where there is something to say.
_OPTIONAL: Final = {
    "run": shape("clock_within:number"),
    "request": shape("location:text signed:text"),
    "copy": shape("location:text"),
}


def records(part: OutputPart, proof: Proof) -> Iterator[JsonLine]:
    """The records of a part's ledger that can be read; what breaks the chain goes to `proof`."""
    before, kind = START, None
    number = 0
    for line in read_lines(part.ledger, until=part.ledger_length):
        number, record = line.number, line.record
        proof.records = number
        problem = line.problem or misshapen(record)
        if problem is not None:
            proof.add(FILE, number, problem)
            before, kind = str(record.get("hash", "")), None
            proof.hash = before
            continue
        said = _said(record)
        if said is None or sha256_of(said) != record["hash"]:
            proof.add(FILE, number, "it was changed: its hash does not fit its content")
        elif line.data != b'%s,"hash":"%s"}\n' % (said[:-1], record["hash"].encode()):
            # Other readers may take a name given twice, or a mark of byte order, for something else.
            proof.add(FILE, number, "it was changed: comity writes the same record in other bytes")
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
    elif kind != "seal" and not part.followed:
        proof.add(
            FILE, number, "the last record is not a seal: the crawl was cut off, or records at the end were removed"
        )


def misshapen(record: JsonObject) -> str | None:
    """Why a record is none of a ledger, or None."""
    name = wrong_field(record, _LINK)
    if name is None:
        fields = _SHAPES.get(record["kind"])
        if fields is None:
            return f"{record['kind'][:40]!r} is not a kind of record"
        optional = _OPTIONAL.get(record["kind"], {})
        name = wrong_field(record, {**fields, **{name: kinds for name, kinds in optional.items() if name in record}})
    return f"its field {name!r} is missing or damaged" if name is not None else None


def _said(record: dict[str, Any]) -> bytes | None:
    """The bytes that a record's hash is made of."""
    said = {name: value for name, value in record.items() if name != "hash"}
    try:
        return json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    except (ValueError, RecursionError):
        return None
