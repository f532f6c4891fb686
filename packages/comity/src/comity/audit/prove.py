"""Proving a finished crawl: walks the ledger once, then the files beside it. It reads files and nothing else, but of a
crawl in a store how far its files are committed.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from comity.audit import chain, evidence, seal
from comity.audit.chain import Proof, ProofFinding
from comity.audit.outputs import LedgerRequests
from comity.audit.paces import TOLERANCE_SECONDS, OrdersGiven, OrdersInForce, Paces
from comity.crawler.output.reader import JsonLine, JsonObject
from comity.crawler.output.runner import LEDGER as FILE
from comity.crawler.storage.crawl_output import CrawlOutput, OutputPart, StateUnavailable, number_in, stale_shards
from comity.crawler.storage.manifest import combined
from comity.crawler.storage.manifest import part as name_of_part
from comity.crawler.storage.open_crawl import open_output
from comity.crawler.storage.orders import FILE as ORDERS
from comity.crawler.storage.placement import ShardAssignment, shard_of
from comity.domains import registrable
from comity.errors import ComityError, StorageError
from comity.policy import Policy
from comity_pages import urls
from comity_robots.fields import settings_of

__all__ = ["Proof", "ProofFinding", "StillRunning", "prove"]


_MAX_WITHIN_SECONDS = 60.0  # seconds: who waits for a database for so long does not begin


class StillRunning(StorageError):
    """The crawl to be proved is not over yet."""


def prove(
    folders: Path | Sequence[Path],
    *,
    noted: str | None = None,
    store: str | None = None,
    seals: bool = True,
    sealed_by: str | None = None,
    authority: Path | None = None,
    host: str = "",
) -> Proof:
    """Check a finished crawl against its ledger and the robots.txt files in it, and its output against the ledger.

    Args:
        folders, store: as of `url_status.explain_url`.
        noted: the last hash as it was noted outside the folder, which nobody with access to the folder can change.
        seals: whether the seal is looked at, if there is one.
        sealed_by, authority: see `seal.check`.
        host: see `Proof.host`.

    Raises:
        StillRunning: the crawl is running: what it writes now cannot be judged yet.
        InputError: the folder holds no crawl, or a file cannot be read.
        StorageError: the crawl lies in a store that cannot be reached.
    """
    crawl = open_output(folders, store)
    if crawl.is_running():
        raise StillRunning(f"{crawl.name}: the crawl is still running", hint="wait until it has ended")
    proofs: dict[str, Proof] = {}
    runs = _Runs(crawl)
    for parts in crawl.shards:
        proofs |= _prove(parts, runs, host)
    proof = chain.together(proofs) if crawl.keeper else proofs[""]
    for what in runs.orders.ignored():
        proof.add(ORDERS if crawl.store is None else crawl.keeper, None, what)
    if crawl.keeper:
        for what in (*_across(crawl), *runs.unmatched()):
            proof.add(crawl.keeper, None, what)
        lost = (f"{path.name}: its pages do not count, since the store does not know it" for path in crawl.lost)
        proof.unchecked += lost
        proof.hash = combined(each.hash for each in proofs.values())
    if noted is not None and noted.strip().lower() != proof.hash:
        if crawl.keeper:
            proof.add(crawl.keeper, None, f"the hash of its shards' ledgers is {proof.hash}, not the one noted")
        else:
            proof.add(FILE, proof.records, f"its last hash is {proof.hash}, not the one noted")
    given = () if not seals else [folders] if isinstance(folders, Path) else folders
    found = [seal.check(folder, proof, sealed_by=sealed_by, authority=authority) for folder in given]
    if not any(found) and (sealed_by or authority) is not None:
        proof.add(seal.FILE, None, "it is missing")
    return proof


def _across(crawl: CrawlOutput) -> Iterator[str]:
    """What does not hold between the shards of a crawl, and between what their parts and their counters say."""
    yield from stale_shards(crawl)
    for number, parts in enumerate(crawl.shards):
        with suppress(StateUnavailable):  # which is said of the part
            facts = parts[-1].state() if parts else {}
            wrote = sum(number_in(part.state(), "ledger", "written", "pages") for part in parts)
            kept = number_in(facts, "stats", "pages")
            if not facts.get("refresh") and kept != wrote:
                yield f"{name_of_part(number)} counts {kept:,} pages that it kept, and its parts hold {wrote:,}"


Relayed = tuple[str, str, int | None, str | None]
"""A robots.txt that one shard asked for and another was told of: origin, URL, status and hash."""


class _Runs:
    """The runs of a crawl, as the ledgers of all its shards have them: each has a number, and one policy."""

    def __init__(self, crawl: CrawlOutput) -> None:
        self._crawl = crawl
        self._id = None if crawl.run is None else crawl.run.crawl
        self.hosts: set[str] = set()  # that any shard asked
        self.orders = OrdersGiven(crawl.orders)
        self._asked_for_others: set[Relayed] = set()
        self._relayed: dict[Relayed, str] = {}  # and the shard that was told of it
        self._policies: dict[int, Any] = {}
        if crawl.run is not None:
            self._policies[crawl.run.number] = crawl.policy

    def wrong(self, record: JsonObject, before: int) -> Iterator[str]:
        """What is wrong with the number, the crawl or the policy of a run. `before`: the number of the one before."""
        number = record["run"]
        self._id = self._id or record["crawl"]
        if record["crawl"] != self._id:
            yield "it is a run of another crawl"
        if number < before:
            yield f"it is of run {number}, which was over: run {before} stands before it"
        if self._crawl.run is not None and number > self._crawl.run.number:
            yield f"it is of run {number}, and the last to begin was {self._crawl.run.number}"
        if self._policies.setdefault(number, record["policy"]) != record["policy"]:
            yield f"its policy differs from the policy of run {number}"

    def asked_for_another(self, record: JsonObject) -> None:
        """A shard asked one of its hosts for a robots.txt of an origin that belongs to another."""
        self._asked_for_others.add(_relayed(record))

    def relayed(self, record: JsonObject, assignment: ShardAssignment) -> None:
        """What another shard asked for is evidence in this one."""
        self._relayed[_relayed(record)] = name_of_part(assignment.number)

    def unmatched(self) -> Iterator[str]:
        """What a shard was told by another whose ledger has no such request."""
        for relayed, name in self._relayed.items():
            if relayed not in self._asked_for_others:
                yield f"{name} was told what {relayed[1][:200]} answered, and no shard's ledger has that request"

    def lacking(self, last: int) -> str | None:
        """What is wrong where the last run in the ledgers of a shard is this one."""
        run = self._crawl.run
        if run is None or not self._crawl.over or last == run.number:
            return None
        return f"its last run is {last}, and the crawl ended in run {run.number}"


def _relayed(record: JsonObject) -> Relayed:
    return record["origin"], record["url"], record["status"] if record["error"] is None else None, record["sha256"]


def _prove(parts: Sequence[OutputPart], runs: _Runs, host: str) -> dict[str, Proof]:
    """The proofs of the parts of one shard, by name."""
    proofs = {part.name: Proof(host=host) for part in parts}
    walk: _Walk | None = None
    for part in parts:
        proof = proofs[part.name]
        if part.absent is not None or not part.ledger.exists():
            if part.absent is None:
                part.check_begun()
            proof.add("" if part.absent else FILE, None, part.absent or "it is missing")
            walk = walk and walk.after_a_gap()
            continue
        walk = walk or _Walk(part.assignment, runs)
        with LedgerRequests() as asked:
            walk.walk(part, proof, asked)
            sink = _check_mark(part, walk, proof)
            asked.wrote(walk.wrote or {}, all_=walk.sealed or part.kept is not None)
            asked.check(part.path, sink, proof, part.committed)
        if not part.followed and (lacks := runs.lacking(walk.run)) is not None:
            proof.add(FILE, proof.records, lacks)
    return proofs


class _Walk:
    """One pass over the ledgers of a shard, part by part: what a host was asked in one counts in the next."""

    def __init__(self, assignment: ShardAssignment | None, runs: _Runs) -> None:
        self._assignment = assignment
        self._runs = runs
        self.run = 0  # the number of the one at hand
        self._evidence = evidence.DecisionProof()
        self._paces = Paces()
        self._hosts = runs.hosts
        self._policy: Policy | None = None
        self._within: float | None = None  # seconds by which the clock of the part before may have been wrong
        self._time = -math.inf
        self.sink: str | None = None  # as the ledger says
        self.wrote: JsonObject | None = None  # how many records the output has, as the last seal says
        self.sealed = False

    def walk(self, part: OutputPart, proof: Proof, asked: LedgerRequests) -> None:
        """Go through a part's ledger."""
        self.wrote, self.sealed = None, False
        self._evidence.cached = 0
        before = len(self._hosts)
        for line in chain.records(part, proof):
            for what in self._check(line, part, proof, asked):
                proof.add(FILE, line.number, what, host=line.record.get("host"))
        for number, what in self._evidence.never_explained():
            proof.add(FILE, number, what)
        proof.hosts = len(self._hosts) - before

    def after_a_gap(self) -> Self:
        """A part is not there: what was known of a site before it may not be so after it."""
        self._evidence = evidence.DecisionProof()
        return self

    def _check(self, line: JsonLine, part: OutputPart, proof: Proof, asked: LedgerRequests) -> Iterator[str]:
        number, record, kind = line.number, line.record, line.record["kind"]
        self.sealed = kind == "seal"
        if kind == "run":
            yield from self._begin(record, part, proof)
            return
        at = record["end"] if kind == "request" else record["at"]
        if at < self._time - TOLERANCE_SECONDS:
            yield "its time is before the time of the previous record"
        self._time = max(self._time, at)
        if kind == "seal":
            before, self.wrote = self.wrote or {}, record["written"]
            if any(not _at_least(count, self.wrote.get(name)) for name, count in before.items()):
                yield "it says that fewer records were written than the seal before it says"
        elif self._policy is None:
            return  # nothing can be judged; that was said
        elif kind == "robots":
            proof.robots += 1
            asked.add(number, record)
            yield from self._evidence.arrived(line, part.ledger, self._policy)
            proof.cached = self._evidence.cached
        elif kind == "order":
            self._runs.orders.carried_out(self.run, record)
            if (wrong := self._paces.orders.add(record)) is not None:
                yield wrong
        elif kind == "relayed":
            if self._assignment is None:
                yield "the crawl has no shards that could have asked"
                return
            self._runs.relayed(record, self._assignment)
            yield from self._evidence.asked({**record, "sent": record["at"], "verdict": None})
        elif kind == "unsent":
            asked.add(number, record)
        else:
            yield from self._check_url(number, record, self._policy, proof, asked)

    def _check_url(
        self, number: int, record: JsonObject, policy: Policy, proof: Proof, asked: LedgerRequests
    ) -> Iterator[str]:
        """A URL that was requested or refused, or of which a copy stood in for a request."""
        yield from _wrong_address(record)
        if record["url"] != "" and not urls.is_http(record["url"]):
            return
        if record["kind"] != "request":
            is_copy = record["kind"] == "copy"
            proof.copies += is_copy
            proof.refusals += not is_copy
            yield from self._judge(number, record, policy, proof, must=is_copy)
            asked.add(number, record)
            return
        proof.requests += 1
        self._hosts.add(record["host"])
        self._runs.orders.sent(self.run, record)
        if (assignment := self._assignment) is not None:
            owner = shard_of(record["pace" if assignment.by == "address" else "host"], assignment.count, assignment.by)
            if owner != assignment.number:
                yield f"{record['host'][:200]} belongs to {name_of_part(owner)}, so nobody keeps its pace here"
        yield from _wrong_request(record, policy)
        if record["purpose"] == "robots":
            if self._is_for_another(record):
                self._runs.asked_for_another(record)
            else:
                yield from self._evidence.asked(record)
            yield from _wrong_robots_interval(record, policy)
        else:
            yield from self._judge(number, record, policy, proof, must=True)
            asked.add(number, record)
        yield from self._paces.check(number, record, policy)

    def _is_for_another(self, record: JsonObject) -> bool:
        """Whether a robots.txt was asked for which an origin of another shard redirects to a host of this one."""
        origin = record["origin"]
        if self._assignment is None or origin is None or not urls.is_http(origin) or self._evidence.leads_on(origin):
            return False
        host, ours = urls.host(f"{origin}/"), self._assignment
        return host != record["host"] and (ours.by == "address" or ours.elsewhere(host) is not None)

    def _begin(self, record: JsonObject, part: OutputPart, proof: Proof) -> Iterator[str]:
        yield from self._runs.wrong(record, self.run)
        if part.run not in (None, record["run"]):
            yield f"it is of run {record['run']}, and the part was begun in run {part.run}"
        self.run = max(record["run"], self.run)
        proof.runs = self.run
        within = record.get("clock_within", 0.0)
        if not 0 <= within <= _MAX_WITHIN_SECONDS:
            yield f"its clock cannot have been wrong by {within:g} s"
        if self._within is not None and record["n"] == 1:  # another part's, by another process's clock
            self._paces.handed_over(self._within + within)
        self._within = within
        self._paces.orders = OrdersInForce()
        self._runs.orders.begin(self.run, record)
        self._evidence.begin()
        self._time = record["at"]  # each run has set its clock anew
        sink, self.sink = self.sink, record["sink"]
        try:
            self._policy = _policy(record["policy"])
        except (ComityError, TypeError, ValueError, AttributeError) as error:
            self._policy = None
            yield f"its policy cannot be read, so nothing in this run can be judged: {error}"
            return
        if self._policy.mode != "respect":
            proof.unenforced[self.run] = self._policy.mode
        if self._policy.agent != record["agent"]:
            yield "its agent differs from the agent of its policy"
        if sink is not None and sink != self.sink:
            yield f"its output is written by {self.sink!r:.200}, that of the run before by {sink!r:.200}"

    def _judge(self, number: int, record: JsonObject, policy: Policy, proof: Proof, *, must: bool) -> Iterator[str]:
        decision, problems = self._evidence.decided(number, record, urls.origin(record["url"]), policy)
        yield from problems
        if decision is None:
            return
        if must and policy.mode != "respect" and decision.recommendation == "not_recommended":
            proof.disallowed += 1
        if decision.may_fetch is not must:
            yield f"it was {'fetched' if must else 'refused'}, and the decision is otherwise: {decision.why}"
        if record["kind"] == "request" and record["interval"] != decision.delay:
            yield f"it says interval {record['interval']}, robots.txt and policy say {decision.delay:g} s"


def _at_least(count: object, now: object) -> bool:
    return type(now) is int and type(count) is int and now >= count


def _wrong_address(record: JsonObject) -> Iterator[str]:
    try:
        if urls.normalise(record["url"]) != record["url"]:
            yield "its URL is not in normal form"
        elif urls.host(record["url"]) != record["host"]:
            yield f"its host is not {record['host'][:200]!r}"
    except ComityError as error:
        yield str(error)


def _wrong_request(record: JsonObject, policy: Policy) -> Iterator[str]:
    methods = ("GET",) if record["purpose"] == "robots" else ("GET", "HEAD", "OPTIONS")
    if record["method"] not in methods:
        yield f"it was sent as {record['method'][:40]!r}; comity sends only {', '.join(methods)}"
    # Which requests share an address cannot be known afterwards; all else can.
    host = registrable(record["host"]) if policy.pace_by == "domain" else record["host"]
    if policy.pace_by != "address" and record["pace"] != host:
        yield f"it is paced as {record['pace'][:200]!r}, not as {host!r}"


def _wrong_robots_interval(record: JsonObject, policy: Policy) -> Iterator[str]:
    if record["interval"] is None:
        if policy.robots_fetch_counts:
            yield "it says no interval"
    elif record["interval"] < policy.min_interval:
        yield f"it says interval {record['interval']:g} s, the policy says {policy.min_interval:g} s"


def _policy(values: JsonObject) -> Policy:
    known = settings_of(Policy).keys()
    if unknown := sorted(set(values) - known):
        raise ValueError(f"this version does not know {', '.join(unknown)[:200]}")
    if missing := sorted(known - set(values)):
        raise ValueError(f"it does not say {', '.join(missing)}")
    changed: dict[str, Any] = {name: math.inf if value == "inf" else value for name, value in values.items()}
    return Policy(**changed)


def _check_mark(part: OutputPart, walk: _Walk, proof: Proof) -> str | None:
    """The frontier remembers how many records there are and the hash of the last: whoever cuts or rewrites the
    ledger has that against them. Gives the name of the sink that wrote the output, which it knows too."""
    try:
        facts = part.state()
    except StateUnavailable as error:
        proof.add(part.keeper, None, f"{error.why}: nothing says where the ledger ended")
        return walk.sink
    except StorageError as error:
        raise StillRunning(error.args[0], hint=error.hint) from error
    mark, sink = (said if isinstance(said := facts.get(key), dict) else {} for key in ("ledger", "sink"))
    if mark.get("count") != proof.records or mark.get("hash") != proof.hash:
        said = f"{mark.get('count')} records, last hash {mark.get('hash')}"
        proof.add(FILE, proof.records, f"the ledger does not end where the frontier says it does: {said}")
    wrote = mark.get("written")
    if walk.sealed and wrote is not None and wrote != walk.wrote:
        proof.add(part.keeper, None, "it says that other numbers of records were written than the ledger's seal")
    elif not walk.sealed and isinstance(wrote, dict):
        walk.wrote = wrote
    name = sink.get("name")
    if walk.sink is not None and walk.sink != name:
        proof.add(part.keeper, None, f"it says that {name!r:.200} wrote the output, the ledger {walk.sink!r:.200}")
    return walk.sink or (name if isinstance(name, str) else None)
