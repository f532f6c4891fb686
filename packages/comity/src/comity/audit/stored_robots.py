"""What a crawl learned of sites: the robots.txt that it read last of each, from its ledger. It sends nothing."""

from collections.abc import Iterable, Iterator
from typing import Any

from comity.audit.chain import Proof, records
from comity.audit.evidence import Bodies, result_of
from comity.crawler.storage.written_crawl import OutputPart
from comity.policy import Policy, RobotsResult


def robots_files(parts: Iterable[OutputPart], policy: Policy, origin: str | None = None) -> Iterator[RobotsResult]:
    """The last of each origin, in the order in which these were met; or of one origin. Parts that are not there are
    passed over.
    """
    last: dict[str, dict[str, Any]] = {}
    bodies = Bodies()
    for part in parts:
        if part.absent is not None:
            continue
        for line in records(part, Proof()):
            if line.record["kind"] == "robots":
                bodies.add(line, part.ledger)
                if origin in (None, line.record["origin"]):
                    last[line.record["origin"]] = line.record
    for record in last.values():
        yield result_of(record, bodies, policy)
