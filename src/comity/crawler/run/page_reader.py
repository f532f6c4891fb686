"""Reads a page that was fetched: its tags, what an expander makes of it, what is stated about its use.

It reads what came, asks for nothing and writes nothing: what came of the page is an outcome.
"""

import asyncio
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Final

from comity.crawler import plugins
from comity.crawler.finding.duplicates import fingerprint_of
from comity.crawler.output.records import may_say_not_found, read_meta, read_response, says_not_found
from comity.crawler.run.given import Given
from comity.crawler.run.outcomes import Kept, PageRead, RefusedByUsage, Unchanged
from comity.crawler.run.uses import Uses
from comity.frontier import Entry, Visit
from comity.net import Response
from comity.net.loop_slices import LoopSlices

if TYPE_CHECKING:
    from comity.crawler.rendering import Rendered

SMALL: Final = 8 * 1024  # bytes that take as long to read as a page takes however small it is
LARGE: Final = 64 * 1024  # bytes of a page that takes some tenths of a millisecond to read
HUGE: Final = 512 * 1024  # bytes of a page that is read in another thread: some milliseconds


class Reader:
    """Reads the pages of one crawl.

    Args:
        given: with the policy whose agent `robots` metas and headers may name.
        executor: for what takes long and needs nothing of the crawl's.
    """

    def __init__(self, given: Given, executor: Executor) -> None:
        policy, self.settings = given.policy, given.settings
        self._agent = policy.asked_as
        self._plugins = given.plugins
        use = policy.use if policy.mode == "respect" else None  # the most that is done with what is fetched
        self._uses = Uses(policy.purposes, self.settings.only_if, policy.asked_as, use)
        self._executor = executor
        self._slices = LoopSlices(LARGE)

    async def read(
        self, entry: Entry, response: Response, before: Visit | None = None, rendered: "Rendered | None" = None
    ) -> PageRead:
        """Read a page.

        Args:
            before: its last visit, in a refresh.
            rendered: the page after its scripts ran, which counts instead; the response goes to the output as it is.

        Raises:
            PluginError: the expander failed.
        """
        size, loop = len(response.body), asyncio.get_running_loop()
        if size < HUGE:  # answers of many hosts may come at the same moment
            await self._slices.take(size + SMALL)
        shown = response if rendered is None else rendered.shown(response)
        read_it = partial(read_response, response) if rendered is None else partial(rendered.read, response)
        read = read_it() if size < HUGE else await loop.run_in_executor(self._executor, read_it)
        meta = read_meta(response, read, agent=self._agent)
        expanded = self._plugins.expand(shown)
        named = plugins.following(read, expanded, response.url)
        stated = self._uses.stated(response, read)
        usage = self._uses.record(stated)
        if (why := self._uses.refusal(stated)) is not None:
            return RefusedByUsage(
                entry=entry, answer=response, before=before, named=named, meta=meta, why=why, usage=usage
            )
        if before is not None and before.digest == response.sha256:
            return Unchanged(entry=entry, answer=response, before=before, named=named, meta=meta, by="content")
        fingerprint = None
        if read is not None and self.settings.duplicates == "near":
            # Tens of thousands of words take their time, and the interpreter lets others go on meanwhile.
            make = partial(fingerprint_of, shown.body, read.encoding)
            fingerprint = await loop.run_in_executor(self._executor, make)
        soft_404 = None
        if read is not None and may_say_not_found(read):
            soft_404 = await loop.run_in_executor(self._executor, says_not_found, shown, read)
        return Kept(
            entry=entry,
            answer=response,
            before=before,
            named=named,
            meta=meta,
            shown=shown,
            read=read,
            made=expanded.records,
            stated=stated,
            usage=usage,
            fingerprint=fingerprint,
            soft_404=soft_404,
            misfit=expanded.misfit,
            rendered=None if rendered is None else rendered.record(response),
            headers=self.settings.record_headers,
            has_graph=self.settings.link_graph,
        )
