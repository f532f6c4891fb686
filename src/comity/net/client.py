"""Client: the same as AsyncClient for programs without an event loop.

It runs an AsyncClient on a loop of its own in one background thread, so there is one stack and one behaviour.
"""

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from comity.net.async_client import AsyncClient
from comity.net.clock import Clock
from comity.net.response import Response
from comity.net.settings import ClientSettings
from comity.policy import Decision, Policy, RobotsResult

T = TypeVar("T")


class Client:
    """A polite HTTP client. Use it as a context manager; any thread may call it.

    Args:
        policy: what may be done; the default respects robots.txt and leaves a second between requests to one host.
        settings: how it is done: limits, time-outs, headers.
        clock: for tests.
    """

    def __init__(
        self, policy: Policy | None = None, settings: ClientSettings | None = None, *, clock: Clock | None = None
    ) -> None:
        self._client = AsyncClient(policy, settings, clock=clock)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def policy(self) -> Policy:
        return self._client.policy

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="comity", daemon=True)
        self._thread.start()
        self._run(self._client.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._run(self._client.__aexit__(kind, error, trace))
        self._run(loop.shutdown_default_executor())
        self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def check(self, url: str) -> Decision:
        """As `AsyncClient.check`."""
        return self._run(self._client.check(url))

    def is_allowed(self, url: str) -> bool:
        """As `AsyncClient.is_allowed`."""
        return self._run(self._client.is_allowed(url))

    def get(self, url: str) -> Response:
        """As `AsyncClient.get`."""
        return self._run(self._client.get(url))

    def head(self, url: str) -> Response:
        """As `AsyncClient.head`."""
        return self._run(self._client.head(url))

    def crawl_delay(self, url: str) -> float | None:
        """As `AsyncClient.crawl_delay`: no I/O."""
        return self._client.crawl_delay(url)

    def clear_cache(self) -> None:
        """As `AsyncClient.clear_cache`."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._client.clear_cache)

    def inspect(self) -> Mapping[str, RobotsResult]:
        """As `AsyncClient.inspect`."""
        return self._client.inspect()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise RuntimeError("use the client as a context manager: with comity.Client(...) as client")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the caller was interrupted: leave nothing running
            raise
