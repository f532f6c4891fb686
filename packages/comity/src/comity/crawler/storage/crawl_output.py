"""What a crawl wrote: the folders in which its output lies, and how far each is committed, for those who read it.

A crawl is one folder; or a folder of shards; or, where its queue lies in PostgreSQL, a folder on each machine, with a
part for each time that a process had a shard. Who reads a crawl sees shards of parts, whichever it is (open_crawl.py).
Nothing is written, and nothing is said of whether it is as it should be.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from comity.crawler.output.runner import LEDGER
from comity.crawler.storage.manifest import part as part_name
from comity.crawler.storage.orders import Order
from comity.crawler.storage.placement import ShardAssignment
from comity.errors import InputError, StorageError, sqlite_code
from comity.frontier.durable import no_crawl
from comity.frontier.messages import SENT, SENT_CHAIN, TAKEN, TAKEN_CHAIN, Mail, Parcel, missing_parcels
from comity.frontier.sqlite.database import open_finished
from comity.frontier.values import Run

FRONTIER: Final = "frontier.sqlite"
ENDED: Final = "ended"  # the fact that says how the last run ended: `finished`, `stopped`; None: it was cut off
FINISHED: Final = "finished"
FACTS: Final = ("ledger", "sink", "plugins", "stats", "refresh", "spent", ENDED, SENT, SENT_CHAIN, TAKEN, TAKEN_CHAIN)


def not_finished(where: object) -> StorageError:
    """The error that a crawl cannot be refreshed, because its last run did not come to its end."""
    return StorageError(f"the crawl in {where} is not finished", hint="finish it first, with --resume")


class StateUnavailable(InputError):
    """What the frontier of a part should say cannot be had; `why`: a clause about it."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}", hint="name the folder given to comity crawl -o")
        self.why = why


@dataclass(frozen=True, slots=True)
class OutputPart:
    """A folder with an output and a ledger of its own.

    Attributes:
        name: what it is called among the parts of its crawl; empty where the crawl is not cut into parts.
        assignment: its shard among all; None where the crawl has no shards.
        absent: where it should be, in words, where it is not; None: it is there.
        followed: whether a later part goes on with its shard, so that this one may have ended in any way.
        kept: what the store says of it: `ledger` and `sink`, how far each is committed, and of the last part of a
            shard all that `state` gives; None where the frontier beside it says so.
        run: the number of the run that was under way when it began, as the store says; None: nobody says.
    """

    path: Path
    name: str = ""
    assignment: ShardAssignment | None = None
    absent: str | None = None
    followed: bool = False
    kept: Mapping[str, Any] | None = None
    run: int | None = None
    _state: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # read once

    @property
    def keeper(self) -> str:
        """What remembers how far it is committed."""
        return FRONTIER if self.kept is None else "the store"

    @property
    def ledger(self) -> Path:
        return self.path / LEDGER

    @property
    def ledger_length(self) -> int | None:
        """Bytes of the ledger that are committed; None where all that lies there is to be read."""
        return None if self.kept is None else int(self.kept["ledger"]["length"])

    @property
    def committed(self) -> Any:
        """What of the output is committed, as its format says it; None where all that lies there is to be read."""
        return None if self.kept is None else (self.kept["sink"] or {}).get("committed", {})

    def check_begun(self) -> None:
        """See that a crawl lies there; else an InputError."""
        if self.kept is None and not (self.path / FRONTIER).exists():
            raise no_crawl(self.path)

    def state(self) -> Mapping[str, Any]:
        """What its frontier remembers of how far it came, and of its mail, by name; what is no JSON is left out.
        StateUnavailable: it cannot be had. A StorageError: a crawl uses it."""
        if self.kept is not None:
            return self.kept
        if not self._state:
            with self._opened() as db:
                wanted = f"SELECT key, value FROM fact WHERE key IN ({', '.join('?' * len(FACTS))})"
                rows = db.execute(wanted, FACTS).fetchall()
            self._state.update({key: value for key, text in rows if (value := _read(text)) is not None})
        return self._state

    def parcels(self) -> list[Parcel]:
        """What its shard has sent and keeps, because it may not have been taken. Errors as of `state`."""
        if self.kept is not None:
            return list(self.kept["parcels"])
        with self._opened() as db:
            return [Parcel(*row) for row in db.execute("SELECT id, shard, messages FROM parcel ORDER BY id")]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        path = self.path / FRONTIER
        if not path.exists():
            raise StateUnavailable(path, "it is missing")
        try:
            with closing(open_finished(path)) as db:
                yield db
        except sqlite3.Error as error:
            if sqlite_code(error) == sqlite3.SQLITE_BUSY:
                raise StorageError(f"{self.path} is in use by a crawl", hint="wait for it, or stop it") from error
            raise StateUnavailable(path, f"it cannot be read ({error})") from error


@dataclass(frozen=True, slots=True)
class CrawlOutput:
    """What a crawl wrote.

    Attributes:
        name: for people.
        shards: by number the parts of each, in the order in which they were written.
        keeper: the file that says which parts there are; empty where there is one.
        is_running: whether it is being crawled; to see that of a crawl in a store may take a whole lease.
        store: the address of the store where its queue lies; None where that is beside its output.
        run: the last one to begin, by what says which parts there are, and `policy` its policy; None where there is
            one part.
        over: whether all shards came to their end in that run.
        lost: parts that a failure of the database has undone; nothing in them counts.
        records: by shard, how many its ledger has had at least.
        orders: what its folder or store says was ordered of it, the oldest first.
    """

    name: str
    shards: Sequence[Sequence[OutputPart]]
    keeper: str = ""
    is_running: Callable[[], bool] = lambda: False
    store: str | None = None
    run: Run | None = None
    policy: Mapping[str, Any] | None = None
    over: bool = False
    lost: Sequence[Path] = ()
    records: Sequence[int] = ()
    orders: Sequence[Order] = ()

    @property
    def refresh(self) -> int:
        """The number of the last refresh of what is there; 0 of a first crawl. Errors as of `check_begun`, `state`."""
        last = 0
        for part in (each for parts in self.there for each in parts):
            part.check_begun()
            last = max(last, number_in(part.state(), "refresh", "number"))
        return last

    @property
    def parts(self) -> list[OutputPart]:
        return [part for parts in self.shards for part in parts]

    @property
    def there(self) -> list[list[OutputPart]]:
        """By shard, the parts that can be read."""
        return [[part for part in parts if part.absent is None] for parts in self.shards]

    @property
    def absent(self) -> list[str]:
        """The parts that cannot, in words."""
        return [f"{part.name}: {part.absent}" for part in self.parts if part.absent is not None]


def stale_shards(crawl: CrawlOutput) -> Iterator[str]:
    """What says of a shard that it is not what was written last: it is lost, or an older copy is in its place."""
    mail: dict[int, Mail] = {}
    for number, parts in enumerate(crawl.shards):
        name = part_name(number)
        facts: Mapping[str, Any] = {}
        try:
            facts = parts[-1].state() if parts else {}
            mail[number] = Mail.of(facts, parts[-1].parcels() if parts else ())
        except StateUnavailable as error:
            mail[number] = Mail({}, {}, ())
            if any(crawl.records[number : number + 1]):
                yield f"{name} is lost: {error}"
                continue
        except (TypeError, ValueError, AttributeError):
            yield f"what {name} has sent and taken cannot be read"
        count = number_in(facts, "ledger", "count")
        for least in crawl.records[number : number + 1]:
            if count < least:
                yield f"{name} is an older copy: its ledger has {count:,} records, and {least:,} were written"
    for sender, receiver in missing_parcels(mail):
        yield f"{part_name(receiver)} has not taken what {part_name(sender)} sent to it: one is not what it was"


def number_in(facts: Any, *names: str) -> int:
    """A number inside what a frontier remembers; 0 where there is none."""
    for name in names:
        facts = facts.get(name) if isinstance(facts, Mapping) else None
    return facts if type(facts) is int else 0


def _read(text: object) -> Any:
    try:
        return json.loads(str(text))
    except (ValueError, RecursionError):
        return None
