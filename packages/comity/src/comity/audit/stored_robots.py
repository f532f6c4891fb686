"""The robots.txt that a crawl read last of each site, from its ledger. It sends nothing."""

from collections.abc import Collection, Iterable, Iterator

from comity.audit.chain import misshapen
from comity.audit.evidence import Bodies, result_of
from comity.crawler.output.reader import JsonLine, read_lines
from comity.crawler.storage.crawl_output import OutputPart
from comity.policy import Policy, RobotsResult


def robots_files(
    parts: Iterable[OutputPart], policy: Policy, origins: Collection[str] | None = None
) -> Iterator[RobotsResult]:
    """The last of each origin, in the order in which these were met; or of some origins. Parts that are not there are
    passed over, and records that cannot be read; whether the ledger was changed is for `comity prove` to see.
    """
    last: dict[str, JsonLine] = {}
    bodies = Bodies()
    for part in parts:
        for line in read_lines(part.ledger, until=part.ledger_length) if part.absent is None else ():
            if line.problem is None and line.record.get("kind") == "robots" and misshapen(line.record) is None:
                bodies.add(line, part.ledger)
                if origins is None or line.record["origin"] in origins:
                    last[line.record["origin"]] = line
    for line in last.values():
        yield result_of(line.record, bodies, policy)
