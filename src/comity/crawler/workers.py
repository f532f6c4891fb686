"""A crawl of several shards: the processes that work them, and what is said about all of them together.

It starts the workers, and again those that die; it grants them pages of the limit, ends them once all are at rest, and
adds up what they tell. It fetches nothing, and nothing that a shard finds passes through it. A shard goes to another
process only when the one that had it is known to be dead.
"""

import asyncio
import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from comity import urls
from comity.crawler import checkpoint
from comity.crawler.checkpoint import settings_in_force, settings_to_dict
from comity.crawler.ledger import policy_to_dict
from comity.crawler.limits import Spent
from comity.crawler.recrawl import ENDED, FINISHED
from comity.crawler.settings import CrawlSettings
from comity.crawler.shard import ShardEnd
from comity.crawler.shards import FOR_EACH_WORKER, LOCK, MOST, Manifest, manifest_of, part, placed_by
from comity.crawler.snapshot import ShardNow, Snapshot, merged
from comity.crawler.stats import WAITS, Stats, summed
from comity.crawler.worker import Job, Key, Word, pack
from comity.errors import InvalidSetting, StorageError
from comity.frontier import State, View, database, has_begun
from comity.frontier.database import explained, lock
from comity.frontier.durable import make_folder
from comity.frontier.exchange import pending
from comity.net import ClientSettings
from comity.policy import Policy

STALLED: Final = 60.0  # seconds of silence after which a worker is taken to hang, and is killed
STARTING: Final = 10  # times as long may it take to begin
LONG_AGO: Final = 600.0  # seconds that a worker lived after which its earlier deaths do not count
LARGEST_GRANT: Final = 500  # pages
MOST_DEATHS: Final = 5  # of one worker that kept no page in between
COMMAND: Final = (sys.executable, "-m", "comity", "worker")
STATUS: Final = "status.json"
_LARGEST_WORD: Final = 256 * 1024 * 1024  # bytes


@dataclass(slots=True)
class _Process:
    """One worker, as the one that started it knows it."""

    number: int
    shards: tuple[int, ...]
    process: asyncio.subprocess.Process | None = None
    listening: "asyncio.Task[None] | None" = None
    started: float = 0.0
    silent: float = 0.0  # seconds
    begun: bool = False
    ended: bool = False
    deaths: int = 0  # since a page was kept, or for long
    pages: int = 0  # kept when it died last


@dataclass(slots=True)
class _Grants:
    """The limit on pages, shared out: what no shard may keep yet, and up to how many each may, over all runs."""

    pool: int
    granted: dict[int, int]
    asked_back: set[int] = field(default_factory=set)


class ShardedCrawl:
    """One crawl of several shards, worked by several processes. It is used like a Crawler.

    Args:
        seeds, policy, settings, client_settings, refresh: as of Crawler.
        folder: where the manifest and the shards' folders lie.
        shards: how many; None for as many as there are, or where the crawl is new, four for each worker.
        workers: processes; there are no more than shards.
        sink, expander: a format's name, or a plug-in as `MODULE:NAME`.
        command: the program that is a worker, and its arguments.
        stalled: seconds of silence after which a worker is killed and started again.

    Raises:
        InvalidURL, InvalidSetting
        StorageError: the folder cannot be used.
    """

    def __init__(
        self,
        seeds: Sequence[str],
        folder: str | Path,
        *,
        shards: int | None = None,
        workers: int = 2,
        policy: Policy | None = None,
        settings: CrawlSettings | Mapping[str, Any] | None = None,
        client_settings: ClientSettings | None = None,
        sink: str | None = None,
        expander: str | None = None,
        refresh: bool = False,
        command: Sequence[str] = COMMAND,
        stalled: float = STALLED,
    ) -> None:
        self.folder = Path(folder)
        before = manifest_of(self.folder)
        count = shards if before is None else before.shards
        self._manifest = before or Manifest(_checked("shards", count or _shards_for(workers), least=2))
        if shards is not None and shards != self._manifest.shards:
            raise InvalidSetting(f"shards: the crawl in {folder} was begun with {count}, which cannot be changed")
        if sink is not None and before is not None and sink != before.sink:
            raise StorageError(
                f"{folder} holds a crawl written as {before.sink}, not as {sink}",
                hint=f"go on with {before.sink}, or choose another folder",
            )
        _checked("workers", workers)
        self.policy = policy or checkpoint.begun_policy(self.folder) or Policy()
        self.settings = settings_in_force(settings, checkpoint.begun_settings(self.folder), refresh=refresh)
        if self.settings.render:
            raise InvalidSetting("render: pages cannot be rendered over several shards", hint="crawl with --shards 1")
        self._manifest.by = placed_by(self.policy.pace_by)
        if before is not None and before.by != self._manifest.by:
            raise InvalidSetting("pace_by: it says what the shards' hosts are, so it stays what it was")
        given = [urls.normalise(seed) for seed in seeds]
        self._manifest.seeds = list(dict.fromkeys((*self._manifest.seeds, *given)))
        self._manifest.sink = sink or self._manifest.sink
        self._manifest.expander = expander or self._manifest.expander
        self._manifest.policy, self._manifest.settings = policy_to_dict(self.policy), settings_to_dict(self.settings)
        self.trouble: str | None = None
        self.passing = True
        self.refusal: str | None = None
        self.limit_reached: str | None = None
        self.put_off: str | None = None
        self.left = self.unasked = 0
        self.on_begin: Callable[[], None] | None = None
        self._client_settings = client_settings or ClientSettings()
        self._begins_refresh = refresh
        self._command, self._stalled = tuple(command), stalled
        count = self._manifest.shards
        self._processes = [
            _Process(number, tuple(range(number, count, workers))) for number in range(min(workers, count))
        ]
        self._now = {number: ShardNow(number) for number in range(count)}
        self._pictures: dict[int, Snapshot] = {}
        self._shown = 0, 0  # hosts and rules that a picture is to have
        self._ends: dict[int, ShardEnd] = {}
        self._grants: _Grants | None = None
        self._stopping = self._ending = False
        self._turns: dict[Key, tuple[_Process, int, Word | None]] = {}  # who asked for it, whose it is, the question
        self._error: Exception | None = None
        self._seconds: dict[int, float] = {}  # of each shard when this run began
        self._earlier = 0  # pages
        self._wake = asyncio.Event()
        self._started = time.monotonic()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called: URLs may be waiting for a later run."""
        return self._stopping

    @property
    def format(self) -> str:
        """What the output is written as: a format's name, or a plug-in's `MODULE:NAME`."""
        return self._manifest.sink

    @property
    def refreshes(self) -> bool:
        """Whether this is a refresh, or goes on with one."""
        return self._manifest.refresh > 0

    @property
    def stats(self) -> Stats:
        """Counts over all runs and shards."""
        return summed(now.stats for now in self._now.values())

    def snapshot(self, *, hosts: int = 10, rules: int = 10) -> Snapshot:
        """How the crawl stands: from any thread. What it shows of hosts is a second old or less."""
        self._shown = hosts, rules
        phase: Any = "stopping" if self._stopping else "running"
        seconds = time.monotonic() - self._started
        return merged(
            list(self._pictures.copy().values()),
            phase=phase,
            stats=self.stats,
            seconds=seconds,
            earlier=self._earlier,
            shards=tuple(self._now.copy().values()),
            most_hosts=hosts,
            most_rules=rules,
        )

    def stop(self) -> None:
        """Start nothing new; what is under way is finished and written."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> Stats:
        """Crawl until nothing is left in any shard, a limit is reached or `stop` was called.

        Raises:
            ComityError: what ended a shard for good; or a worker died again and again.
        """
        make_folder(self.folder)
        with explained(self.folder / LOCK):
            held = lock(self.folder / LOCK)
        with closing(held):
            self._begin()
            if self.on_begin is not None:
                self.on_begin()
            try:
                for worker in self._processes:
                    await self._start(worker)
                await self._tend()
            finally:
                await self._kill_all()
            if self._error is not None:
                raise self._error
            self._sum_up()
        return self.stats

    # Beginning and end

    def _begin(self) -> None:
        """Settle what holds for this run, and write it down before a worker is started."""
        manifest = self._manifest
        if self._begins_refresh:
            for number in range(manifest.shards):
                path = self._database(number)
                with View(path) as view:
                    if view.load_state(ENDED) != FINISHED or manifest.ended != FINISHED:
                        raise StorageError(
                            f"the crawl in {self.folder} is not finished", hint="finish it first, with --resume"
                        )
            manifest.refresh += 1
            manifest.seconds = 0.0
        spent = {number: self._spent(number) for number in range(manifest.shards)}
        self._seconds = {number: each.seconds for number, each in spent.items()}
        manifest.seconds = max(manifest.seconds, *self._seconds.values())
        self._earlier = sum(each.pages for each in spent.values())
        if (most := self.settings.max_pages) is not None:
            self._grants = _Grants(most - self._earlier, {number: each.pages for number, each in spent.items()})
            first = max(self._grants.pool, 0) // (2 * manifest.shards)
            self._grants.pool -= first * manifest.shards
            for number in self._grants.granted:
                self._grants.granted[number] += first
        manifest.ended = None
        manifest.write(self.folder)

    def _sum_up(self) -> None:
        ends = list(self._ends.values())
        self._manifest.seconds = self._taken().seconds
        self._now = {end.now.number: end.now for end in ends}
        self.trouble = next((end.trouble for end in ends if end.trouble), None)
        self.passing = all(end.passing for end in ends)
        self.refusal = next((end.refusal for end in ends if end.refusal), None)
        in_parcels = sum(sum(pending(self._database(number)).values()) for number in range(self._manifest.shards))
        self.left = sum(end.left for end in ends) + in_parcels
        self.unasked = sum(end.unasked for end in ends)
        if not self._stopping and self.limit_reached is None:
            self.put_off = next((end.put_off for end in ends if end.put_off), None)
            self.limit_reached = self.put_off
        self._manifest.ended = "stopped" if self._stopping else FINISHED
        self._manifest.write(self.folder)
        with suppress(OSError):
            (self.folder / STATUS).unlink()

    def _spent(self, number: int) -> Spent:
        """What a shard has taken of the limits; its worker, if it had one, is dead."""
        path = self._database(number)
        if not has_begun(path):
            return Spent()
        with View(path) as view:
            refreshed = (view.load_state("refresh") or {"number": 0})["number"]
            values = view.load_state("spent")
        return Spent(*values) if values and refreshed == self._manifest.refresh else Spent()

    def _database(self, number: int) -> Path:
        return self.folder / part(number) / "frontier.sqlite"

    # Processes

    async def _start(self, worker: _Process) -> None:
        concurrency = -(-self.settings.concurrency // len(self._processes))
        connections = -(-self._client_settings.connections // len(self._processes))
        granted = None if self._grants is None else {s: self._grants.granted[s] for s in worker.shards}
        job = Job(
            self.folder,
            self._manifest,
            worker.shards,
            self.policy,
            replace(self.settings, concurrency=concurrency),
            replace(self._client_settings, connections=max(concurrency, connections)),
            granted,
        )
        worker.process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LARGEST_WORD,
        )
        worker.silent, worker.begun, worker.ended, worker.started = 0.0, False, False, time.monotonic()
        self._say(worker, job)
        worker.listening = asyncio.ensure_future(self._listen(worker, worker.process))

    async def _listen(self, worker: _Process, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        try:
            while True:
                head = await process.stdout.readexactly(4)
                data = await process.stdout.readexactly(int.from_bytes(head, "big"))
                worker.silent = 0.0
                self._heard(worker, pickle.loads(data))
        except (asyncio.IncompleteReadError, ConnectionError):
            await process.wait()
        finally:
            self._wake.set()

    def _say(self, worker: _Process, word: Any) -> None:
        process = worker.process
        if process is not None and process.returncode is None and process.stdin is not None:
            with suppress(OSError, RuntimeError):  # it is dead, which is found out soon
                process.stdin.write(pack(word))

    def _heard(self, worker: _Process, word: Word) -> None:
        match word:
            case ("begun",):
                worker.begun = True
                self._tell_end(worker)
                for _, shard, asked in self._turns.values():
                    if asked is not None and shard in worker.shards:
                        self._say(worker, asked)
            case ("report", stands):
                self._now.update({now.number: now for now in stands})
                self._wake.set()
            case ("mail",):
                for other in self._processes:
                    if other is not worker:
                        self._say(other, word)
            case ("pictures", pictures):
                self._pictures.update(pictures)
            case ("turn", key, shard, _):
                self._turns[key] = worker, shard, word
                self._tell_shard(shard, word)
            case ("lent", key, _) if key in self._turns:
                asked_by, shard, _ = self._turns[key]
                self._turns[key] = asked_by, shard, None
                self._say(asked_by, word)
            case ("returned", key) if key in self._turns:
                _, shard, _ = self._turns.pop(key)
                self._tell_shard(shard, word)
            case ("gave", number, granted) if self._grants is not None:
                self._grants.pool += self._grants.granted[number] - granted
                self._grants.granted[number] = granted
                self._grants.asked_back.discard(number)
            case ("ended", ends):
                worker.ended = True
                self._ends.update({end.now.number: end for end in ends})
            case ("failed", error):
                self._error = self._error or error
                self._wake.set()

    def _tell_end(self, worker: _Process) -> None:
        if self._stopping or self._error is not None:
            self._say(worker, ("stop",))
        elif self._ending:
            self._say(worker, ("end",))

    async def _died(self, worker: _Process) -> None:
        """A worker is dead: whoever has its shards next goes on as after a crash."""
        assert worker.process is not None
        code = worker.process.returncode
        pages = sum(self._now[number].stats.pages for number in worker.shards)
        in_vain = pages == worker.pages and time.monotonic() - worker.started < LONG_AGO
        worker.deaths = worker.deaths + 1 if in_vain else 1
        worker.pages = pages
        if self._error is not None:
            return
        if worker.deaths >= MOST_DEATHS:
            self._error = StorageError(
                f"worker {worker.number} died {worker.deaths} times without keeping a page (exit code {code})",
                hint="what was written is safe; see what it says on standard error, then continue with --resume",
            )
            return
        for key in [key for key, (asked_by, _, _) in self._turns.items() if asked_by is worker]:
            self._heard(worker, ("returned", key))
        for number in worker.shards:
            self._now[number] = replace(self._now[number], state="down", until=0.0, spare=0)
            if self._grants is not None:
                kept = self._spent(number).pages
                self._grants.pool += self._grants.granted[number] - kept
                self._grants.granted[number] = kept
                self._grants.asked_back.discard(number)
        await self._start(worker)

    async def _kill_all(self) -> None:
        for worker in self._processes:
            if worker.process is not None and worker.process.returncode is None:
                with suppress(ProcessLookupError):
                    worker.process.kill()
        for worker in self._processes:
            if worker.process is not None:
                await worker.process.wait()
            if worker.listening is not None:
                await asyncio.gather(worker.listening, return_exceptions=True)

    # While it runs

    async def _tend(self) -> None:
        """Look after the workers until all have ended, or one failed and the others came to their end."""
        told_stop = False
        last = time.monotonic()
        shown = 0.0
        while True:
            now = time.monotonic()
            for worker in self._processes:
                await self._look_after(worker, min(now - last, 1.0))
            last = now
            if all(self._is_over(worker) for worker in self._processes):
                return
            if (self._stopping or self._error is not None) and not told_stop:
                told_stop = True
                for worker in self._processes:
                    if worker.begun:
                        self._tell_end(worker)
            if not self._ending and not told_stop:
                self._share_out()
                self._end_if_over()
            if now - shown >= 0.5:
                shown = now
                self._show()
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.25):
                    await self._wake.wait()

    def _is_over(self, worker: _Process) -> bool:
        gone = worker.process is None or worker.process.returncode is not None
        return gone and (worker.ended or self._error is not None)

    async def _look_after(self, worker: _Process, passed: float) -> None:
        process = worker.process
        assert process is not None
        if process.returncode is None:
            worker.silent += passed
            longest = self._stalled if worker.begun else STARTING * self._stalled  # until then it sends nothing
            if worker.silent > longest:  # one that wakes up later must find itself dead
                worker.silent = 0.0
                with suppress(ProcessLookupError):
                    process.kill()
        elif not worker.ended and worker.listening is not None and worker.listening.done():
            await self._died(worker)

    def _share_out(self) -> None:
        """Grant pages to the shards that need some; where none are left, ask those back that are not needed."""
        grants = self._grants
        if grants is None:
            return
        needy = [
            now
            for number, now in self._now.items()
            if now.granted == grants.granted[number] and number not in grants.asked_back and self._needs(now)
        ]
        for now in needy:
            if grants.pool <= 0:
                break
            pages = max(1, min(grants.pool // (2 * self._manifest.shards), LARGEST_GRANT))
            grants.pool -= pages
            grants.granted[now.number] += pages
            self._tell_shard(now.number, ("grant", {now.number: grants.granted[now.number]}))
        if grants.pool <= 0 and not grants.asked_back and any(now.state == "pages" for now in needy):
            richest = max(self._now.values(), key=lambda now: (now.state != "pages", now.spare))
            if richest.spare > 0 and richest.state not in ("pages", "down"):
                grants.asked_back.add(richest.number)
                self._tell_shard(richest.number, ("give back", richest.number))

    def _needs(self, now: ShardNow) -> bool:
        few = min(self.settings.concurrency, LARGEST_GRANT // 4)
        return now.state == "pages" or (now.state == "working" and now.spare < few)

    def _end_if_over(self) -> None:
        """End all shards where a limit is reached, or nothing is left in any of them and nothing between them."""
        over = self.settings.budget.used_up(self._taken(), 0.0)
        if over is None and not self._at_rest():
            return
        if over is None and any(now.state == "pages" for now in self._now.values()):
            assert self._grants is not None
            if self._grants.pool > 0 or self._grants.asked_back or any(now.spare for now in self._now.values()):
                return  # they are on their way
        self.limit_reached = over
        self._ending = True
        for worker in self._processes:
            if worker.begun:
                self._say(worker, ("end",))

    def _at_rest(self) -> bool:
        """Whether no shard does anything, and none has sent what another has not taken.

        What each says was so at one moment of its own. If it did anything later, it had taken something later, which
        somebody had sent before it said how it stood; and then these numbers would not agree.
        """
        grants = None if self._grants is None else self._grants.granted
        if not all(now.rests and (grants is None or now.granted == grants[n]) for n, now in self._now.items()):
            return False
        sent = {(n, other): number for n, now in self._now.items() for other, number in now.sent.items()}
        return all(self._now[other].taken.get(n, 0) == number for (n, other), number in sent.items())

    def _taken(self) -> Spent:
        """What was taken of the limits by all shards."""
        spent = Spent()
        spent.pages = sum(now.kept for now in self._now.values())
        spent.bytes = sum(now.bytes for now in self._now.values())
        spent.seconds = self._manifest.seconds + max(
            max(now.seconds - self._seconds[number], 0.0) for number, now in self._now.items()
        )
        return spent

    def _tell_shard(self, number: int, word: Word) -> None:
        for worker in self._processes:
            if number in worker.shards:
                self._say(worker, word)

    def _show(self) -> None:
        """Have a picture of each worker, and leave word of how the shards stand for `comity frontier`."""
        if self._shown != (0, 0):
            for worker in self._processes:
                if worker.begun:
                    self._say(worker, ("picture", *self._shown))
        rows = [{"number": number, "worker": now.worker, "words": in_words(now)} for number, now in self._now.items()]
        path = self.folder / STATUS
        with suppress(OSError):
            new = path.with_suffix(".new")
            new.write_text(json.dumps({"at": time.time(), "pid": os.getpid(), "shards": rows}), encoding="ascii")
            new.replace(path)


def _checked(name: str, number: int, *, least: int = 1) -> int:
    if not least <= number <= MOST:
        raise InvalidSetting(f"{name}: {number} is not a number from {least} to {MOST}")
    return number


def _shards_for(workers: int) -> int:
    return min(FOR_EACH_WORKER * workers, MOST)


def is_sharded(folder: Path, workers: int, shards: int | None) -> bool:
    """Whether a crawl is to be one of several shards.

    Raises:
        InvalidSetting: it was begun as one that cannot have several workers, or has not so many shards.
    """
    manifest = manifest_of(folder)
    if manifest is None:
        wanted = (shards or 1) > 1 or (workers > 1 and shards is None)
        if workers > 1 and shards is not None and shards < workers:
            raise InvalidSetting(f"shards: {shards} are too few for {workers} workers")
        if wanted and has_begun(folder / "frontier.sqlite"):
            raise InvalidSetting(
                f"workers: the crawl in {folder} was begun without shards, so it has one",
                hint="begin another with --workers",
            )
        return wanted
    if workers > manifest.shards:
        raise InvalidSetting(f"workers: the crawl in {folder} has {manifest.shards} shards, so no more can work on it")
    return True


@dataclass(frozen=True, slots=True)
class Standing:
    """How one shard of a crawl stands, running or not.

    Attributes:
        shard: the name of its folder.
        waiting: URLs in its queue.
        to_others: messages that other shards have not taken yet.
        state: what it does or waits for, in words.
    """

    shard: str
    pages: int
    waiting: int
    to_others: int
    state: str


def standing(folder: Path) -> list[Standing]:
    """How the shards of a crawl stand; none where it has no shards. Reads only.

    Raises:
        StorageError: a shard cannot be read.
    """
    manifest = manifest_of(folder)
    if manifest is None:
        return []
    now = _told(folder) if database.is_running(folder, LOCK) else {}
    found = []
    for number, name in enumerate(manifest.parts):
        path = folder / name / "frontier.sqlite"
        if not has_begun(path):
            found.append(Standing(name, 0, 0, 0, "not begun"))
            continue
        with View(path) as view:
            counts, stats = view.counts(), view.load_state("stats") or {}
            ended = view.load_state(ENDED) or "cut off"
        waiting = counts[State.UNASKED] + counts[State.QUEUED]
        to_others = sum(pending(path).values())
        found.append(Standing(name, stats.get("pages", 0), waiting, to_others, now.get(number, ended)))
    return found


def in_words(now: ShardNow) -> str:
    """What a shard does or waits for."""
    match now.state:
        case "turn":
            return f"waits {now.until:.0f} s for {now.host} ({WAITS.get(now.why or '', now.why)})"
        case "working":
            return "fetches"
        case "starting" | "down":
            return "its worker is being started" + " again" * (now.state == "down")
        case "pages":
            return "waits for pages of the limit"
        case "robots":
            return "waits for robots.txt files that could not be reached"
        case "resting":
            return "nothing is left; waits for what others find"
        case "stopped":
            return "stopped"


def _told(folder: Path) -> dict[int, str]:
    """What the process that runs a crawl left word of."""
    try:
        kept = json.loads((folder / STATUS).read_text(encoding="ascii"))
        return {int(row["number"]): str(row["words"]) for row in kept["shards"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
