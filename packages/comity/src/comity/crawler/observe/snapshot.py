"""How a crawl stands at one moment: frozen values for a display or a monitor. Nothing is worked out until somebody
asks, from any thread: what changes meanwhile is copied first."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal

from comity.crawler.finding.limits import Spent
from comity.crawler.observe.stats import COMMIT_BOUNDS, DEPTHS, OTHERS, RefusingRule, Stats, StatsCollector
from comity.crawler.observe.words import WAITS
from comity.frontier.values import State

Phase = Literal["new", "running", "held", "stopping", "ended"]


class HostState(StrEnum):
    """What a host with work does, or what it waits for."""

    ROBOTS = "robots"  # it is asked for its robots.txt
    FETCHING = "fetching"
    READY = "ready"  # its time has come; it waits for a place among the requests under way
    INTERVAL = "interval"  # between two requests
    RETRY_AFTER = "retry_after"
    BACK_OFF = "back_off"
    CIRCUIT_OPEN = "circuit_open"
    VISITING_HOURS = "visiting_hours"
    STOPPED = "stopped"  # the operator ordered so
    LIMIT = "limit"  # a limit for each host is reached: what waits is for a later run
    UNREACHABLE = "unreachable"  # its robots.txt could not be reached, so nothing is asked of it
    DRAINED = "drained"  # nothing is left


TROUBLE = tuple(HostState(why) for why in WAITS if why != HostState.INTERVAL)


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One host.

    Attributes:
        wait: seconds until it may be asked next; 0 where it may be at once, is being asked, or was stopped.
        interval: seconds between two requests that policy and site ask for; no back-off is in it.
        queued: its URLs in memory; `more` wait in the frontier.
        under_way: its requests under way.
    """

    name: str
    state: HostState
    wait: float
    interval: float
    queued: int
    more: bool
    under_way: int


ShardState = Literal["starting", "working", "turn", "robots", "pages", "resting", "stopped", "down", "ended"]
"""What a shard does, or waits for: it fetches or commits; the turn of a host; the robots.txt of sites that could not be
reached; more pages of the limit; nothing is left; its worker died and is started again; the crawl is
over.
"""


SHARD_WORDS: Final[dict[ShardState, str]] = {
    "starting": "starting",
    "working": "fetching",
    "turn": "waiting for a turn",
    "robots": "waiting for robots.txt",
    "pages": "waiting for the limit",
    "resting": "with nothing left",
    "stopped": "stopped",
    "down": "being started again",
    "ended": "ended",
}


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """How one shard stands.

    Attributes:
        worker: the process that has it.
        until: seconds to wait until a host has its turn; `host` is the one, and `why` what it waits for.
        granted: pages that it may keep, over all runs; None without a limit.
        spare: of them, those that no request under way may take.
        sent, taken: the last parcel for each other shard, and of each, as committed.
        spent: taken of the limits, over all runs.
        stats: its counts over all runs.
        records, kept: of its ledger, and pages over all runs, as committed.
    """

    number: int
    worker: int = 0
    state: ShardState = "starting"
    until: float = 0.0
    host: str | None = None
    why: str | None = None
    granted: int | None = None
    spare: int = 0
    sent: Mapping[int, int] = field(default_factory=dict)
    taken: Mapping[int, int] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)
    stats: Stats = field(default_factory=Stats)
    records: int = 0
    kept: int = 0

    @property
    def rests(self) -> bool:
        """Whether it does nothing before something comes from outside, or is to be left for a later run."""
        return self.state in ("pages", "resting", "robots")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A crawl at one moment.

    Attributes:
        stats: counts over all runs.
        seconds: since this run began.
        pages_per_second: over the last ten seconds.
        under_way: requests under way.
        states: how many hosts are in each state.
        hosts: some hosts that are not drained: those in trouble first, then those whose robots.txt cannot be reached,
            which take no place that another needs beyond half of them, then those with most to do.
        rules: the rules that refused most URLs in this run, with their counts, and how many others refused.
        requests: by purpose and answer; `refused`: URLs by verdict; `depths`, `types`: pages kept, as in
            stats.RequestCounters. All over all runs.
        urls: how many URLs are in each state, as last committed.
        commits: how many commits of this run took how long (see stats.COMMIT_BOUNDS), and their seconds in all.
        shards: how each stands, where the crawl has several.
    """

    phase: Phase
    stats: Stats
    seconds: float
    pages_per_second: float
    under_way: int
    states: Mapping[HostState, int]
    hosts: tuple[HostStatus, ...]
    rules: tuple[tuple[RefusingRule, int], ...]
    other_rules: int
    requests: Mapping[tuple[str, str], int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    depths: tuple[int, ...] = (0,) * DEPTHS
    types: Mapping[str, int] = field(default_factory=dict)
    urls: Mapping[State, int] = field(default_factory=dict)
    commits: tuple[int, ...] = (0,) * (len(COMMIT_BOUNDS) + 1)
    commit_seconds: float = 0.0
    shards: tuple[ShardStatus, ...] = ()


def take(
    collector: StatsCollector,
    hosts: Callable[[float], Iterable[HostStatus]],
    phase: Phase,
    under_way: int,
    *,
    most_hosts: int,
    most_rules: int,
) -> Snapshot:
    """Build the snapshot of a crawl, with so many hosts and rules. `hosts` gives all hosts that have or had work, as
    they stand at a time of the monotonic clock."""
    now = collector.clock.monotonic()
    if collector.started is None:
        phase = "new"
    elif collector.ended is not None:
        phase, now = "ended", collector.ended
    seconds = 0.0 if collector.started is None else now - collector.started
    states: Counter[HostState] = Counter()
    active: list[HostStatus] = []
    silent: list[HostStatus] = []
    for seen in hosts(now):
        states[seen.state] += 1
        if seen.state is HostState.UNREACHABLE:
            silent.append(seen)
        elif seen.state is not HostState.DRAINED:
            active.append(seen)
    active += heapq.nsmallest(max(most_hosts // 2, most_hosts - len(active)), silent, key=_place)
    tally = collector.tally
    rules = tally.rules.copy()
    others = rules.pop(OTHERS, 0)
    return Snapshot(
        phase=phase,
        stats=replace(collector.stats),
        seconds=seconds,
        pages_per_second=collector.pages_per_second(now),
        under_way=under_way,
        states=states,
        hosts=tuple(heapq.nsmallest(most_hosts, active, key=_place)),
        rules=_first(rules, most_rules),
        other_rules=others,
        requests=tally.requests(),
        refused=tally.refused.copy(),
        depths=tuple(tally.depths),
        types=tally.types.copy(),
        urls=collector.urls,
        commits=tuple(collector.commits.counts),
        commit_seconds=collector.commits.seconds,
    )


def merged(parts: Sequence[Snapshot], *, most_hosts: int, most_rules: int, **of_all: Any) -> Snapshot:
    """Merge the snapshots of a crawl's shards into one. `of_all`: what is not summed over them; its counts may be
    newer."""
    summed = {name: _sum([getattr(part, name) for part in (_NONE, *parts)]) for name in _SUMMED}
    rules = _sum([dict(part.rules) for part in (_NONE, *parts)])
    shown = _first(rules, most_rules)
    summed["other_rules"] += rules.total() - sum(count for _, count in shown)
    hosts = heapq.nsmallest(most_hosts, (host for part in parts for host in part.hosts), key=_place)
    return Snapshot(hosts=tuple(hosts), rules=shown, **summed, **of_all)


_SUMMED: Final = tuple("under_way states other_rules requests refused depths types urls commits commit_seconds".split())
_NONE: Final = Snapshot("new", Stats(), 0.0, 0.0, 0, {}, (), (), 0)


def _sum(values: Sequence[Any]) -> Any:
    """Numbers, or counts by place or by name, together."""
    if isinstance(values[0], tuple):
        return tuple(map(sum, zip(*values, strict=True)))
    if not isinstance(values[0], Mapping):
        return sum(values)
    total: Counter[Any] = Counter()
    for each in values:
        total.update(each)
    return total


def _first(rules: Mapping[RefusingRule, int], most: int) -> tuple[tuple[RefusingRule, int], ...]:
    return tuple(heapq.nsmallest(most, rules.items(), key=lambda item: (-item[1], item[0][0], item[0][2])))


def _place(host: HostStatus) -> tuple[int, bool, int, str]:
    """Nothing that changes from one second to the next, so that a display keeps its order."""
    rank = 0 if host.state in TROUBLE else 1 if host.state is HostState.UNREACHABLE else 2
    return (rank, not host.more, -host.queued - host.under_way, host.name)
