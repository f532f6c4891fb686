"""What a proof finds, as plain values."""

from dataclasses import asdict, dataclass, field
from typing import Any

MOST = 100  # findings that are kept; more are counted


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not hold.

    Attributes:
        file: the name of the file inside the crawl's folder.
        record: the number of the line in that file, counted from 1; None where the file as a whole is concerned.
        what: what is wrong, one clause for people.
    """

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
        findings: what does not hold, at most `MOST`, in the order it was found; `found` counts all.
        hash: the hash of the last record.
        unenforced: the runs, by number, whose policy did not enforce robots.txt, each with its mode.
        disallowed: requests and copies from a cache that robots.txt disallowed, in those runs.
        cached: robots.txt files that came from a cache: that they were served is not in this ledger.
        copies: pages that came from a cache.
        unread: pages whose body is not in the output, or as a text that does not say how it was served, or rendered.
        unchecked: what could not be compared with the ledger: files that are not there, a plug-in's output.
    """

    findings: list[Finding] = field(default_factory=list)
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
    unenforced: dict[int, str] = field(default_factory=dict)
    disallowed: int = 0
    unchecked: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.found

    def add(self, file: str, record: int | None, what: str) -> None:
        self.found += 1
        if len(self.findings) < MOST:
            self.findings.append(Finding(file, record, what))

    def to_dict(self) -> dict[str, Any]:
        """As plain values that `json.dumps` takes."""
        return {"holds": self.holds, **asdict(self)}
