"""The state of one server: the client that all tools share, what was read, the crawls. It knows nothing of the
protocol."""

import tempfile
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final, Self

from comity import AsyncClient, ClientSettings, Policy
from comity.errors import StorageError
from comity.mcp.content_store import RobotsFile, Store
from comity.mcp.crawls import CrawlLimits, Crawls
from comity_pages import urls
from comity_pages.reader_processes import ReaderProcesses

MAX_WAIT_SECONDS: Final = 60.0  # of an answer, for its turn


class Service:
    """What the tools work with. Use it as an async context manager.

    Args:
        folder: where crawls are written; None for a folder that is removed at the end.
    """

    def __init__(
        self, policy: Policy, settings: ClientSettings, limits: CrawlLimits, folder: Path | None = None
    ) -> None:
        self.policy = policy
        self._crawling = settings
        # A page is read by somebody who waits for it; the settings' own ten minutes are for programs.
        self.settings = replace(settings, max_wait=min(settings.max_wait or MAX_WAIT_SECONDS, MAX_WAIT_SECONDS))
        self.limits = limits
        self.store = Store()
        self.readers = ReaderProcesses()
        self._given = folder
        self.folder: Path
        self.crawls: Crawls
        self.client: AsyncClient
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self._given is None:
            self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="comity-mcp-")))
        else:
            try:
                self._given.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StorageError(f"{self._given} cannot be used: {error.strerror}") from error
            self.folder = self._given.resolve()
        self.client = await self._stack.enter_async_context(AsyncClient(self.policy, self.settings))
        self.crawls = Crawls(self.client, self._crawling, self.limits, self.folder, self.store)
        self._stack.push_async_callback(self.crawls.close)
        self._stack.callback(self.readers.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def remember_robots(self, url: str) -> str | None:
        """Keep the robots.txt of a URL's site; return its hash, None if there is none."""
        result = self.client.inspect().get(urls.origin(url))
        if result is None or result.sha256 is None:
            return None
        found = RobotsFile(result.url, result.body, result.fetched_at)
        self.store.robots.put(result.sha256, found, len(result.body))
        return result.sha256
