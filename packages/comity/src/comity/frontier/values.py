"""What goes into the frontier and what comes out of it, as plain values."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, Literal, NamedTuple

from comity.errors import StorageError


class State(IntEnum):
    """What became of a URL. UNASKED: found before its origin's robots.txt was read; it waits like QUEUED."""

    UNASKED = 0
    QUEUED = 1
    DONE = 2
    REFUSED = 3
    FAILED = 4


SEEDS: Final = "seeds"  # the fact that says what a crawl starts from; where there is none, no crawl has begun


class EntryKind(IntEnum):
    """What a URL is fetched for."""

    PAGE = 0
    SITEMAP = 1
    REQUISITE = 2  # what a page needs to look as it does, where the output keeps that


for _enum in (State, EntryKind):  # Python 3.11 looks for a member by two calls each time; 3.12 has it stand there
    for _member in _enum:
        type.__setattr__(_enum, _member.name, _member)


@dataclass(frozen=True, slots=True)
class Entry:
    """A URL in the queue. `id` is permanent: no later URL of the crawl gets the same."""

    id: int
    url: str
    depth: int
    kind: EntryKind
    attempts: int
    hops: int  # redirects passed on the way here
    priority: int = 0
    found_on: str | None = None  # the URL of what named it first; None where it was given by hand


class Found(NamedTuple):  # made for each link that is new: a frozen dataclass takes three times as long to make
    """A URL just discovered, in normal form (`comity_pages.urls.normalise`).

    `refusal`: the record to write if the URL is new and robots.txt forbids it. `priority`: lower numbers have their
    turn first among the URLs of a host, from -2**31 to 2**31; then sitemaps; then what was found first. `by_policy`:
    it is our policy that refuses it, so that another one may let it in. `found_on`: the URL of the page, redirect,
    sitemap or robots.txt that names it; None where it was given by hand.
    """

    url: str
    host: str
    depth: int
    kind: EntryKind
    state: State
    hops: int = 0
    refusal: dict[str, Any] | None = None
    priority: int = 0
    by_policy: bool = False
    found_on: str | None = None

    @property
    def stays(self) -> bool:
        """Whether it is kept as a row, in the queue or aside, and not as a fingerprint alone."""
        return self.state < State.DONE or self.by_policy

    def queued(self, id_: int) -> Entry:
        """The entry of the queue that it becomes under an id."""
        return Entry(id_, self.url, self.depth, self.kind, 0, self.hops, self.priority, self.found_on)


@dataclass(frozen=True, slots=True)
class HostCounts:
    """How many URLs of a host wait, and what became of the others."""

    host: str
    waiting: int
    done: int
    refused: int
    failed: int


@dataclass(frozen=True, slots=True)
class QueuedURL:
    """How a URL waits in the frontier: `postponed` for a robots.txt that could not be reached, or `aside`, and what
    keeps it there."""

    state: State
    postponed: bool
    aside: Literal["scope", "policy", "usage"] | None
    depth: int
    attempts: int
    found_on: str | None


@dataclass(frozen=True, slots=True)
class Visit:
    """A page as it was found when it was last requested. Times are Unix time in seconds.

    Attributes:
        digest: SHA-256 of its body in hex; None where the URL has given no page yet.
        kept: `fetched_at` of its record in the output.
        fetched: when the site last sent or confirmed it.
        etag, modified: the headers ETag and Last-Modified that came with it.
        found_on: the URL of what named it first; None where it was given by hand.
        stated: the latest time that a sitemap read in this refresh leaves for its last change.
    """

    url: str
    depth: int
    digest: str | None = None
    kept: float | None = None
    fetched: float | None = None
    etag: str | None = None
    modified: str | None = None
    found_on: str | None = None
    stated: float | None = None


ListedTable = Literal["visit", "waiting", "aside"]  # pages visited, URLs that wait, those that the scope keeps aside


@dataclass(frozen=True, slots=True)
class Listed:
    """URLs of one table, in the order of their rows.

    Attributes:
        urls: each with its row's id and what the row says.
        last: id of the last row that was looked at; None where no row is left.
        looked: rows looked at.
    """

    urls: list[tuple[int, str, QueuedURL | Visit]]
    last: int | None
    looked: int


@dataclass(frozen=True, slots=True)
class Message:
    """What one shard of a crawl found that concerns another: a URL of its hosts, in normal form.

    Attributes:
        url, depth, kind, hops, found_on: as of Found.
        given: whether it counts as given by hand: where a URL given leads, for instance.
        widens: whether it is no URL to be crawled, but word that a URL given, `found_on`, was redirected to `url`, so
            that the scope lies around that too.
        pace: what its host shares its pace by, where that had to be looked up and was.
        unplaced: whether the receiver has yet to find out to which shard the URL belongs, which may be the sender's.
        about: what else is asked or answered about the URL, as JSON can hold it.
        named_by: of a sitemap, the origins whose robots.txt leads to it.
    """

    url: str
    depth: int = 0
    kind: EntryKind = EntryKind.PAGE
    hops: int = 0
    found_on: str | None = None
    given: bool = False
    widens: bool = False
    pace: str | None = None
    unplaced: bool = False
    about: dict[str, Any] | None = None
    named_by: tuple[str, ...] = ()

    @property
    def settles(self) -> bool:
        """Whether the sender need not tell of this URL again."""
        return not self.widens and not self.unplaced and self.about is None and not self.named_by


@dataclass(slots=True)
class Batch:
    """Changes since the last commit.

    Attributes:
        again: the same that wait for another turn though they were met before.
        visits: pages kept or confirmed.
        owed: URL, depth and `found_on` of what gave no page and is to be asked for again in a refresh.
        gone: URLs that a refresh need not ask for again.
        stated: what sitemaps say of pages: `Visit.stated` and URL.
        by_policy: state and id of those among `settled` that our own policy refused.
        by_usage: ids of those that were fetched and refused because of what is stated about their use.
        postponed: ids of URLs that have no turn until their host is among `resumed`.
        messages: for other shards, by the number of each.
        taken: by shard, the last of its parcels of which this batch takes up the messages (see messages.py).
        delivered: by shard, the last parcel for it that it has taken.
    """

    settled: list[tuple[State, int]] = field(default_factory=list)
    retried: list[int] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    again: list[Found] = field(default_factory=list)
    visits: list[Visit] = field(default_factory=list)
    owed: list[tuple[str, int, str | None]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    stated: list[tuple[float, str]] = field(default_factory=list)
    by_policy: list[tuple[State, int]] = field(default_factory=list)
    by_usage: list[int] = field(default_factory=list)
    postponed: list[int] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    messages: list[tuple[int, Message]] = field(default_factory=list)
    taken: dict[int, int] = field(default_factory=dict)
    delivered: dict[int, int] = field(default_factory=dict)

    @property
    def exchanges(self) -> bool:
        """Whether other shards are concerned."""
        return bool(self.messages or self.taken or self.delivered)

    def __bool__(self) -> bool:
        work = self.settled or self.retried or self.found or self.again or self.stated or self.postponed or self.resumed
        return bool(work or self.messages or self.taken)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one crawl: its number, counted from 1, and by what the crawl is told from others that have or had its
    name. Who belongs to an earlier run takes nothing and writes nothing."""

    crawl: str
    number: int


class Superseded(StorageError):
    """Another run of the crawl has begun, or another crawl in its place: who belongs to this one is to end."""


class LeaseLost(StorageError):
    """The shard is another process's by now, or the store has lost commits: nothing of the commit was kept."""


class Unreachable(StorageError):
    """The store cannot be reached or written now, or has ended our connection; that may be otherwise later."""
