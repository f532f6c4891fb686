"""Client: what AsyncClient does, as plain calls for programs without an event loop.

It runs an AsyncClient on an event loop in one background thread, so there is one stack and one behaviour.

`check` and `fetch` ask one question and get one page, without a client to open and close. Each process has one for each
policy that is asked with, so that calls one after the other keep a host's pace and read its robots.txt once. They end
with the interpreter.
"""

import os
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar

from comity.client.async_client import Answered, AsyncClient, Progress
from comity.client.background import Background
from comity.errors import ComityError
from comity.net.client_settings import ClientSettings
from comity.net.clock import Clock
from comity.net.response import Response, Stream
from comity.net.session import ClientClosed
from comity.net.turns import NO_HEADERS
from comity.policy import Decision, Policy, RobotsResult
from comity_pages.urls import normalise

if TYPE_CHECKING:
    from comity.retrieve import Chooser, Extractor, Fetcher, Retrieved
    from comity_pages.signals.llms import Strategy

MAX_CLIENTS: Final = 16  # for as many policies; of more, those used longest ago are made anew
P = ParamSpec("P")
T = TypeVar("T")


class Client:
    """A polite HTTP client. Use it as a context manager, or call `close` when you are done; any thread may call it.

    It opens when it is first used. One that is closed can be opened again, by `with`. A process that is forked while
    it is open needs a new client.

    Args:
        policy: what may be done; the default respects robots.txt and leaves a second between requests to one host.
        settings: how it is done: limits, time-outs, headers.
        agent: the User-Agent header, instead of the policy's.
        delay: seconds between two requests to one host, instead of the policy's `min_interval`.
        fields: others of the policy's, such as `allow_addresses`, instead of its own.
        clock: for tests.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        settings: ClientSettings | None = None,
        *,
        agent: str | None = None,
        delay: float | None = None,
        clock: Clock | None = None,
        **fields: Any,
    ) -> None:
        self._client = AsyncClient(policy, settings, agent=agent, delay=delay, clock=clock, **fields)
        self._background: Background | None = None
        self._finalizer: weakref.finalize[..., Client] | None = None
        self._closed = self._entered = False
        self._changing = threading.Lock()  # while it is opened or closed

    def __repr__(self) -> str:
        return f"<comity.{type(self).__name__} of {self.policy.agent}>"

    @property
    def policy(self) -> Policy:
        return self._client.policy

    @property
    def settings(self) -> ClientSettings:
        return self._client.settings

    def __enter__(self) -> Self:
        if self._background is not None:
            self._background.check()
        if self._entered:
            raise RuntimeError("the client is open already")
        self._closed = False
        self._open()
        self._entered = True
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every connection. Calls of other threads end with a RuntimeError, and so do calls that come later; what
        was learned can still be read.
        """
        background = self._background
        if background is not None and background.forked:  # what it has open is the parent's
            _FORKED.append((background, self._client))
            self._closed, self._entered, self._background = True, False, None
            self._client = AsyncClient(self.policy, self.settings, clock=self._client._session.clock)
            return
        with self._changing:
            self._closed, self._entered = True, False
            background = self._background
        if background is not None:
            background.close(self._client.close())
            self._background = None
            if self._finalizer is not None:
                self._finalizer.detach()

    def check(self, url: str) -> Decision:
        """As `AsyncClient.check`."""
        text = normalise(url)
        (self._background or self._open()).check()
        known = self._client._session.driver.known(text)  # reads only, so any thread may
        return self._run(self._client.check, text) if known is None else known

    def is_allowed(self, url: str) -> bool:
        """As `AsyncClient.is_allowed`."""
        return self.check(url).may_fetch

    def get(
        self, url: str, *, headers: Mapping[str, str] = NO_HEADERS, params: Mapping[str, str] = NO_HEADERS
    ) -> Response:
        """As `AsyncClient.get`."""
        return self._run(self._client.get, url, headers=headers, params=params)

    def head(
        self, url: str, *, headers: Mapping[str, str] = NO_HEADERS, params: Mapping[str, str] = NO_HEADERS
    ) -> Response:
        """As `AsyncClient.head`."""
        return self._run(self._client.head, url, headers=headers, params=params)

    def get_many(
        self, urls: Iterable[str], *, headers: Mapping[str, str] = NO_HEADERS, progress: Progress | None = None
    ) -> Generator[tuple[str, Response | ComityError], None, None]:
        """As `AsyncClient.get_many`: `for url, result in client.get_many(urls): ...`"""
        given = [urls] if isinstance(urls, str) else list(urls)
        background = self._open()
        results = self._client.get_many(given, headers=headers)

        async def following() -> tuple[str, Response | ComityError]:
            return await anext(results)

        try:
            for done in range(1, len(given) + 1):
                each = background.run(following())
                if progress is not None:
                    progress(done, len(given))
                yield each
        finally:
            background.release(results.aclose)

    @contextmanager
    def stream(
        self, url: str, *, headers: Mapping[str, str] = NO_HEADERS, params: Mapping[str, str] = NO_HEADERS
    ) -> Iterator[Stream[Iterator[bytes]]]:
        """As `AsyncClient.stream`; the body is read by `for part in response.chunks()`."""
        background = self._open()
        opening = self._client.stream(url, headers=headers, params=params)
        response = background.run(_entered(opening))
        chunks = _Chunks(response, background)
        try:
            yield Stream(response, chunks)
        finally:
            chunks.is_over = True
            background.release(chunks.close)
            background.release(partial(opening.__aexit__, None, None, None))

    @contextmanager
    def _turn(self, url: str) -> Iterator[Answered]:
        """As `AsyncClient._turn`."""
        background = self._open()
        lent = self._client._turn(url)
        answered = background.run(_entered(lent))

        async def tell(status: int, headers: Mapping[str, str]) -> None:
            answered(status, headers)

        try:
            yield lambda status, headers: background.run(tell(status, headers))
        except BaseException as error:
            background.release(partial(lent.__aexit__, type(error), error, error.__traceback__))
            raise
        background.release(partial(lent.__aexit__, None, None, None))

    def retrieve(
        self,
        url: str,
        *,
        strategy: "Strategy" = "prefer",
        fetcher: "Fetcher | None" = None,
        extractor: "Extractor | None" = None,
        chooser: "Chooser | None" = None,
    ) -> "Retrieved":
        """As `AsyncClient.retrieve`."""
        return self._run(
            self._client.retrieve, url, strategy=strategy, fetcher=fetcher, extractor=extractor, chooser=chooser
        )

    def crawl_delay(self, url: str) -> float | None:
        """As `AsyncClient.crawl_delay`: no I/O."""
        return self._client.crawl_delay(url)

    def clear_cache(self) -> None:
        """As `AsyncClient.clear_cache`."""

        async def clear() -> None:
            self._client.clear_cache()

        self._run(clear)

    def inspect(self) -> Mapping[str, RobotsResult]:
        """As `AsyncClient.inspect`."""
        return self._client.inspect()

    def _open(self) -> Background:
        """Return the loop that calls run on, started where there is none.

        Raises:
            RuntimeError: the client is closed.
        """
        if (background := self._background) is not None:
            return background
        with self._changing:
            if self._background is None:
                if self._closed:
                    raise ClientClosed
                started = Background()
                try:
                    started.run(self._client.__aenter__())
                except BaseException:
                    started.close(self._client.close())
                    raise
                self._background = started
                self._finalizer = weakref.finalize(self, _abandoned, started, self._client)
            return self._background

    def _run(self, call: Callable[P, Coroutine[Any, Any, T]], *given: P.args, **named: P.kwargs) -> T:
        return (self._background or self._open()).run(call(*given, **named))


_FORKED: list[tuple[Background, AsyncClient]] = []
"""Loops and clients of the parent process. If they were collected in its fork, they would close what they have open."""


def _abandoned(background: Background, client: AsyncClient) -> None:
    """A client is no more, or the interpreter ends."""
    background.close(client.close())


for _name, _call in vars(Client).items():
    if callable(_call) and (_call.__doc__ or "").startswith(f"As `AsyncClient.{_name}`"):  # so that help tells it
        _call.__doc__ = getattr(AsyncClient, _name).__doc__


class _Chunks:
    """Gives a body in parts as they arrive on a background loop; errors as for `Stream.chunks`.

    Attributes:
        is_over: whether the block of the stream was left.
    """

    def __init__(self, response: Stream[AsyncIterator[bytes]], background: Background) -> None:
        self.is_over = False
        self._response = response
        self._background = background
        self._parts: AsyncIterator[bytes] | None = None

    def __call__(self) -> Iterator[bytes]:
        parts = self._response.chunks()
        if self._parts is None:
            self._parts = parts

        async def following() -> bytes | None:
            return await anext(parts, None)

        while (part := self._background.run(following())) is not None:
            yield part
            if self.is_over:
                url = self._response.url
                raise RuntimeError(f"the response from {url} is closed; read a stream inside its `with` block")

    async def close(self) -> None:
        if self._parts is not None:
            await self._parts.aclose()  # type: ignore[attr-defined]


async def _entered(opening: AbstractAsyncContextManager[T]) -> T:
    return await opening.__aenter__()


def check(url: str, policy: Policy | None = None, **fields: Any) -> Decision:
    """Decide about a URL without fetching it; robots.txt is fetched if need be.

    Args:
        policy, fields: as of `Client`: `comity.check(url, agent="MyBot/1.0")`.

    Raises:
        InvalidURL, Postponed
    """
    return _client(policy, fields).check(url)


def fetch(url: str, policy: Policy | None = None, **fields: Any) -> "Retrieved":
    """Return the page for a reader that is a program, as `Client.retrieve` and the command `comity fetch` do: its
    Markdown is `.markdown`.

    Args:
        policy, fields: as of `Client`: `comity.fetch(url, agent="MyBot/1.0")`.
    """
    return _client(policy, fields).retrieve(url)


def _client(policy: Policy | None, fields: dict[str, Any]) -> Client:
    asked_with = Client(policy, **fields).policy  # refuses, in words, what no policy has; it does not open
    return _of(asked_with, os.getpid())  # what a parent process has open is not its child's


@lru_cache(MAX_CLIENTS)
def _of(policy: Policy, _process: int) -> Client:
    return Client(policy)
