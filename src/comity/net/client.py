"""Client: what AsyncClient does, as plain calls for programs without an event loop.

It runs an AsyncClient on a loop of its own in one background thread, so there is one stack and one behaviour.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from comity import urls
from comity.net.async_client import NO_HEADERS, AsyncClient
from comity.net.clock import Clock
from comity.net.response import Head, Response
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

    @property
    def settings(self) -> ClientSettings:
        return self._client.settings

    def __enter__(self) -> Self:
        if self._loop is not None:
            raise RuntimeError("the client is open already")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="comity", daemon=True)
        self._thread.start()
        try:
            self._run(self._client.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None:
            self._run(_cancel_all())  # calls of other threads end with an error
            self._run(self._client.__aexit__(kind, error, trace))
            self._run(self._loop.shutdown_default_executor())
            self._stop()

    def check(self, url: str) -> Decision:
        """As `AsyncClient.check`."""
        known = self._client.check_now(urls.normalise(url))  # reads only, so any thread may
        return self._run(self._client.check(url)) if known is None else known

    def is_allowed(self, url: str) -> bool:
        """As `AsyncClient.is_allowed`."""
        return self.check(url).may_fetch

    def get(
        self, url: str, *, headers: Mapping[str, str] = NO_HEADERS, params: Mapping[str, str] = NO_HEADERS
    ) -> Response:
        """As `AsyncClient.get`."""
        return self._run(self._client.get(url, headers=headers, params=params))

    def head(
        self, url: str, *, headers: Mapping[str, str] = NO_HEADERS, params: Mapping[str, str] = NO_HEADERS
    ) -> Response:
        """As `AsyncClient.head`."""
        return self._run(self._client.head(url, headers=headers, params=params))

    def retrieve(self, url: str, **options: Any) -> Any:
        """As `AsyncClient.retrieve`."""
        return self._run(self._client.retrieve(url, **options))

    @contextmanager
    def stream(
        self, url: str, *, headers: Mapping[str, str] = NO_HEADERS, params: Mapping[str, str] = NO_HEADERS
    ) -> "Iterator[Stream]":
        """As `AsyncClient.stream`; the body is read by `for part in response.chunks()`."""
        opening = self._client.stream(url, headers=headers, params=params)
        response = self._run(_entered(opening))
        parts = response.chunks()
        try:
            yield Stream(response, lambda: self._run(_next(parts)))
        finally:
            self._run(_closed(parts))
            self._run(_left(opening))

    def crawl_delay(self, url: str) -> float | None:
        """As `AsyncClient.crawl_delay`: no I/O."""
        return self._client.crawl_delay(url)

    def clear_cache(self) -> None:
        """As `AsyncClient.clear_cache`."""

        async def clear() -> None:
            self._client.clear_cache()

        if self._loop is not None:
            self._run(clear())

    def inspect(self) -> Mapping[str, RobotsResult]:
        """As `AsyncClient.inspect`."""
        return self._client.inspect()

    def _stop(self) -> None:
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise RuntimeError("use the client as a context manager: with comity.Client(...) as client")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise RuntimeError("the client was closed during the call") from None
        except BaseException:
            future.cancel()  # the caller was interrupted: leave nothing running
            raise


async def _cancel_all() -> None:
    """End every other task of this loop."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Stream:
    """A response whose body is still to come; all that is known of its head is `head`."""

    def __init__(self, head: Head, read: Any) -> None:
        self.head = head
        self._read = read

    def chunks(self) -> Iterator[bytes]:
        """The decoded body in parts as they arrive; errors as for `AsyncClient.stream`."""
        while (part := self._read()) is not None:
            yield part


async def _entered(opening: Any) -> Any:
    return await opening.__aenter__()


async def _left(opening: Any) -> None:
    await opening.__aexit__(None, None, None)


async def _next(parts: Any) -> bytes | None:
    part: bytes | None = await anext(parts, None)
    return part


async def _closed(parts: Any) -> None:
    await parts.aclose()
