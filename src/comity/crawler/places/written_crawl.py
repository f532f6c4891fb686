"""Finds the folders in which a crawl wrote its output, and how far each is committed, for those who read it.

A crawl is one folder; or a folder of shards; or, where its queue lies in PostgreSQL, a folder on each machine, with a
part for each time that a process had a shard. Who reads a crawl sees shards of parts, whichever it is. Nothing is
written, and nothing is said of whether it is as it should be.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from comity.crawler.sharding.placement import ShardPlace
from comity.crawler.sharding.shards import (
    LOST,
    MANIFEST,
    STORE,
    CrawlManifest,
    StoreMark,
    is_running,
    manifest_of,
    parts_of,
    stored_in,
    told_of_shards,
)
from comity.crawler.sharding.shards import part as part_name
from comity.crawler.sinks.runner import LEDGER
from comity.errors import InputError, InvalidSetting, StorageError
from comity.frontier import Run
from comity.frontier.messages import SENT, SENT_CHAIN, TAKEN, TAKEN_CHAIN, Mail, Parcel, astray
from comity.frontier.sqlite.database import open_finished
from comity.frontier.values import Unreachable

FRONTIER: Final = "frontier.sqlite"
FINISHED: Final = "finished"  # see recrawl.FINISHED
_FACTS: Final = ("ledger", "sink", "stats", "refresh", SENT, SENT_CHAIN, TAKEN, TAKEN_CHAIN)


def no_crawl(folder: Path) -> InputError:
    """The error that no crawl lies in a folder."""
    return InputError(f"no crawl in {folder}", hint="name the folder given to comity crawl -o")


class NotKept(InputError):
    """What the frontier of a part should say cannot be had; `why`: a clause about it."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}", hint="name the folder given to comity crawl -o")
        self.why = why


@dataclass(frozen=True, slots=True)
class Part:
    """A folder with an output and a ledger of its own.

    Attributes:
        name: what it is called among the parts of its crawl; empty where the crawl is not cut into parts.
        place: its shard among all; None where the crawl has no shards.
        absent: where it should be, in words, where it is not; None: it is there.
        followed: whether a later part goes on with its shard, so that this one may have ended in any way.
        kept: what the store says of it: `ledger` and `sink`, how far each is committed, and of the last part of a
            shard all that `state` gives; None where the frontier beside it says so.
        run: the number of the run that was under way when it began, as the store says; None: nobody says.
    """

    path: Path
    name: str = ""
    place: ShardPlace | None = None
    absent: str | None = None
    followed: bool = False
    kept: Mapping[str, Any] | None = None
    run: int | None = None

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
        """See that a crawl lies there.

        Raises:
            InputError: there is none.
        """
        if self.kept is None and not (self.path / FRONTIER).exists():
            raise no_crawl(self.path)

    def state(self) -> Mapping[str, Any]:
        """What its frontier remembers of how far it came, and of its mail, by name; what is no JSON is left out.

        Raises:
            NotKept: the frontier is not there, or cannot be read.
            StorageError: a crawl uses it.
        """
        if self.kept is not None:
            return self.kept
        with self._opened() as db:
            wanted = f"SELECT key, value FROM fact WHERE key IN ({', '.join('?' * len(_FACTS))})"
            rows = db.execute(wanted, _FACTS).fetchall()
        return {key: value for key, text in rows if (value := _read(text)) is not None}

    def parcels(self) -> list[Parcel]:
        """What its shard has sent and keeps, because it may not have been taken.

        Raises:
            NotKept, StorageError: as of `state`.
        """
        if self.kept is not None:
            return list(self.kept["parcels"])
        with self._opened() as db:
            return [Parcel(*row) for row in db.execute("SELECT id, shard, messages FROM parcel ORDER BY id")]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        path = self.path / FRONTIER
        if not path.exists():
            raise NotKept(path, "it is missing")
        try:
            with closing(open_finished(path)) as db:
                yield db
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise StorageError(f"{self.path} is in use by a crawl", hint="wait for it, or stop it") from error
            raise NotKept(path, f"it cannot be read ({error})") from error


@dataclass(frozen=True, slots=True)
class WrittenCrawl:
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
    """

    name: str
    shards: Sequence[Sequence[Part]]
    keeper: str = ""
    is_running: Callable[[], bool] = lambda: False
    store: str | None = None
    run: Run | None = None
    policy: Mapping[str, Any] | None = None
    over: bool = False
    lost: Sequence[Path] = ()
    records: Sequence[int] = ()

    @property
    def place(self) -> str:
        """Where its queue lies: its folder, or the address of its store."""
        return self.store or self.name

    @property
    def parts(self) -> list[Part]:
        return [part for parts in self.shards for part in parts]

    @property
    def there(self) -> list[list[Part]]:
        """By shard, the parts that can be read."""
        return [[part for part in parts if part.absent is None] for parts in self.shards]

    @property
    def absent(self) -> list[str]:
        """The parts that cannot, in words."""
        return [f"{part.name}: {part.absent}" for part in self.parts if part.absent is not None]


def displaced(crawl: WrittenCrawl) -> Iterator[str]:
    """What says of a shard that it is not what was written last: it is lost, or an older copy is in its place."""
    mail: dict[int, Mail] = {}
    for number, parts in enumerate(crawl.shards):
        name = part_name(number)
        facts: Mapping[str, Any] = {}
        try:
            facts = parts[-1].state() if parts else {}
            mail[number] = Mail.of(facts, parts[-1].parcels() if parts else ())
        except NotKept as error:
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
    for sender, receiver in astray(mail):
        yield f"{part_name(receiver)} has not taken what {part_name(sender)} sent to it: one is not what it was"


def number_in(facts: Any, *names: str) -> int:
    """A number inside what a frontier remembers; 0 where there is none."""
    for name in names:
        facts = facts.get(name) if isinstance(facts, Mapping) else None
    return facts if type(facts) is int else 0


def written_crawl(folders: Path | Sequence[Path], store: str | None = None) -> WrittenCrawl:
    """The crawl that lies in a folder, or in those of several machines.

    Args:
        store: the address of the store, where that which the folders name does not do. Without folders it names them:
            those of this machine.

    Raises:
        InputError: they are not of one crawl, or not all of its kind.
        StorageError: what says which parts there are cannot be read, or the store not be reached.
    """
    given = [folders] if isinstance(folders, Path) else list(dict.fromkeys(folders))
    held = {folder: stored for folder in given if (stored := stored_in(folder)) is not None}
    if held or (store is not None and not given):
        return _in_store(given, held, store)
    if len(given) > 1:
        raise InputError(
            f"{', '.join(map(str, given))}: they hold no parts of one crawl in a store",
            hint="several folders must belong to machines that worked on one crawl; otherwise name one",
        )
    (folder,) = given
    parts_of(folder)  # refuses a part of a stored crawl by itself
    if store is not None:
        raise InvalidSetting(f"store: {folder} holds no part of a crawl in a store", hint="leave out --store")
    manifest, running = manifest_of(folder), partial(is_running, folder)
    if manifest is None:
        return WrittenCrawl(str(folder), [[Part(folder)]], is_running=running)
    shards = [
        [
            Part(
                folder / name,
                name,
                ShardPlace(number, manifest.shards, manifest.by),
                absent=None if (folder / name).is_dir() else "it is missing",
            )
        ]
        for number, name in enumerate(manifest.parts)
    ]
    told = [row["records"] for row in told_of_shards(folder)]
    return WrittenCrawl(
        str(folder),
        shards,
        MANIFEST,
        running,
        run=Run(manifest.crawl, manifest.run),
        policy=manifest.policy,
        over=manifest.ended == FINISHED,
        records=[max(known) for known in zip_longest(manifest.records, told, fillvalue=0)],
    )


def store_of(held: StoreMark, store: str | None = None) -> str:
    """The address of the store in which a folder's crawl lies."""
    return store or held.url


def _in_store(folders: Sequence[Path], held: Mapping[Path, StoreMark], store: str | None) -> WrittenCrawl:
    from comity.crawler.workers.store import CrawlStore
    from comity.frontier.postgresql.database import address

    if alone := [str(folder) for folder in folders if folder not in held]:
        raise InputError(f"{', '.join(alone)}: no part of a crawl in a store lies there", hint="leave it out")
    url = store_of(next(iter(held.values())), store) if held else str(store)
    opened = CrawlStore(address(url))
    try:
        with closing(opened):
            crawl, rows, states = opened.crawl(), opened.parts(), {row.now.state for row in opened.rows()}
            facts = {name: opened.state(name) for name in _FACTS}
            parcels = opened.parcels()
    except Unreachable as error:
        raise StorageError(
            f"{error.args[0]}; it says what of the crawl is committed",
            hint="check that it runs, or name another address of it with --store URL",
        ) from error
    for folder, stored in held.items():
        if stored.crawl != crawl.run.crawl:
            raise InputError(
                f"{folder} holds parts of another crawl than the one that is now in {opened.where}",
                hint="name folders of one crawl, and by --store URL its store",
            )
    if not folders:
        here = dict.fromkeys(Path(row.folder) for row in rows)
        folders = [each for each in here if (mark := stored_in(each)) is not None and mark.crawl == crawl.run.crawl]
    manifest = CrawlManifest.read(crawl.manifest, opened.where)
    shards: list[list[Part]] = [[] for _ in range(manifest.shards)]
    written = [row for row in rows if row.ledger is not None]  # of the others nothing was committed
    last = {row.shard: row.token for row in written}
    for row in written:
        newest = row.token == last[row.shard]  # rows come by shard and token
        path = next((folder / row.name for folder in folders if (folder / row.name).is_dir()), None)
        shards[row.shard].append(
            Part(
                path or Path(row.folder) / row.name,
                row.name,
                ShardPlace(row.shard, manifest.shards, manifest.by),
                None if path else f"it is not here; {row.holder.partition(':')[0]} has it in {row.folder}",
                followed=not newest,
                kept={
                    **({name: its.get(row.shard) for name, its in facts.items()} if newest else {}),
                    "ledger": row.ledger,
                    "sink": row.sink,
                    "parcels": [parcel for sender, parcel in parcels if sender == row.shard],
                },
                run=row.run,
            )
        )
    over = crawl.ended is not None and states == {"ended"}
    lost = [path for folder in folders for path in folder.glob(f"{LOST}*") if path.is_dir()]
    running = partial(_is_crawled, opened)
    policy = manifest.policy
    return WrittenCrawl(str(opened.where), shards, STORE, running, url, crawl.run, policy, over, lost)


def _is_crawled(store: Any) -> bool:
    with closing(store):
        return bool(store.is_running())


def _read(text: object) -> Any:
    try:
        return json.loads(str(text))
    except (ValueError, RecursionError):
        return None
