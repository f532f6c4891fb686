"""When what a crawl found out is made durable, and what follows once it is."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from comity.crawler.observe.stats import size
from comity.crawler.run.control import Control
from comity.crawler.run.results import ResultBuffer
from comity.crawler.run.run_config import RunConfig, RunResources
from comity.crawler.run.scheduler import Scheduler
from comity.crawler.run.waits import Waits
from comity.errors import StorageFull

COMMIT_SECONDS: Final = 0.5  # seconds, for each shard of a process, which so commits as often as one crawl does
MAX_COMMIT_SECONDS: Final = 2.0  # seconds, however many they are; one that has nothing to do commits at once
MAX_COMMIT_URLS: Final = 1000  # URLs settled or found


class Committer:
    """The commits of one run: one at a time, beside the fetches. `records` of the ledger, and `pages` over all runs,
    are committed. `state` gives what is to be saved with a commit, by name."""

    def __init__(
        self,
        config: RunConfig,
        resources: RunResources,
        results: ResultBuffer,
        waits: Waits,
        scheduler: Scheduler,
        control: Control,
        state: Callable[[], dict[str, Any]],
    ) -> None:
        self._listeners = config.listeners
        self._min_free, self._folder = config.settings.min_free_disk, config.folder
        self._resources = resources
        self._results = results
        self._waits = waits
        self._scheduler = scheduler
        self._control = control
        self._state = state
        self._is_shard = config.assignment is not None
        self._under_way: asyncio.Task[None] | None = None
        self._next = config.clock.monotonic() + COMMIT_SECONDS
        self._sent = resources.frontier.sent
        self.records = self.pages = 0

    @property
    def under_way(self) -> bool:
        """Whether one is, or is over and was not looked at yet."""
        return self._under_way is not None

    def settle(self) -> None:
        """Re-raise the finished commit's error, so that nothing more is committed; clear it if it succeeded."""
        if self._under_way is not None and self._under_way.done():
            self._under_way.result()
            self._under_way = None

    @property
    def is_held_up(self) -> bool:
        """Whether so much waits to be written that no request may be started."""
        memory = self._results.memory
        return memory.kept >= memory.limit or self._resources.sink.pending >= memory.limit

    def due(self) -> float | None:
        """When the next is to begin, if nothing else asks for one; None where there is nothing to commit."""
        return self._next if self._under_way is None and (self._results.waiting or self._scheduler.tasks) else None

    def begin(self, now: float) -> None:
        """Begin one if it is time, or much waits for it."""
        if now >= self._next or self._is_much():
            self._under_way = asyncio.get_running_loop().create_task(self.commit())
            self._under_way.add_done_callback(lambda _: self._control.wake())
            self._next = now + min(COMMIT_SECONDS * max(len(self._scheduler.siblings), 1), MAX_COMMIT_SECONDS)

    async def wait(self) -> None:
        """Until the one that is under way is over, whatever came of it."""
        if self._under_way is not None:
            await asyncio.wait([self._under_way])
            if not self._under_way.cancelled():
                self._under_way.exception()  # raised by `settle`, unless something else ends the run

    async def commit(self, *, final: bool = False) -> None:
        """Make everything so far durable, hand out new pages and give hosts with new URLs their turn. `final`: nothing
        more is to be written in this run."""
        for name, value in self._state().items():
            self._results.facts.put(name, value)
        stats, tally = replace(self._results.stats), self._results.collector.tally.copy()
        unsaved, collected = self._results.take(), self._resources.ledger.collect()
        work = partial(unsaved.write, self._resources, collected, self._results.facts.take(), stats, tally, final=final)
        written = asyncio.get_running_loop().run_in_executor(self._resources.writer, work)
        done, records, self.records, seconds = await asyncio.shield(written)
        self._results.committed(done.new, done.refusals)
        self._results.collector.committed(seconds)
        self.pages = stats.pages
        self._results.facts.committed()
        self._waits.committed()
        for name in unsaved.hosts:
            self._scheduler.found(name, () if name in unsaved.batch.resumed else done.queued.get(name, ()))
        listeners, sent = self._listeners, self._resources.frontier.sent
        if sent != self._sent:
            self._sent = sent
            listeners.sent()
        notices = [partial(listeners.page, page) for page in unsaved.pages] if listeners.page is not None else []
        notices += [partial(notify, *record) for notify in listeners.records for record in records]
        errors = []
        for notify in notices:  # all of it, whatever one says of it: no later run hands out what is kept
            try:
                notify()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        if self._min_free is not None and not final:
            free = shutil.disk_usage(self._folder).free
            if free < self._min_free:
                what = f"{size(free)} are free for {self._folder}, less than min_free_disk, {size(self._min_free)}"
                raise StorageFull(what, hint="make room, then continue with --resume")

    def _is_much(self) -> bool:
        pending, memory = self._results.unsaved.octets, self._results.memory
        is_much = self._results.size >= MAX_COMMIT_URLS or pending >= memory.limit // 8
        is_short = memory.is_short and pending > 0
        rests = self._is_shard and not self._scheduler.tasks and self._results.waiting
        return is_much or self.is_held_up or is_short or rests
