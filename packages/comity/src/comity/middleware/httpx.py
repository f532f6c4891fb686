"""Transports for httpx and httpx2 that ask before each request, redirect hops included, and keep each host's pace.

from comity.middleware.httpx import AsyncComityTransport, ComityTransport
client = httpx.Client(transport=ComityTransport(comity.Policy(agent="MyBot/1.0")))

Neither library is imported here: the request says which of them it is of.
"""

import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self, cast

from comity_pages._extras import missing

if find_spec("httpx2") is None and find_spec("httpx") is None:
    raise missing(ModuleNotFoundError(name="httpx"), "httpx", __name__)

from comity import Policy
from comity.errors import FetchError
from comity.middleware.sending import Arriving, AsyncSending, Sending, Sign, as_sent
from comity.net.client_settings import MAX_WAIT
from comity.net.turns import MAX_ROBOTS_SECONDS
from comity_pages.urls import Url

if TYPE_CHECKING:
    import httpx
    import httpx2

    class _Transport(httpx.BaseTransport, httpx2.BaseTransport):  # type: ignore[misc]
        """A transport of both."""

    class _AsyncTransport(httpx.AsyncBaseTransport, httpx2.AsyncBaseTransport):  # type: ignore[misc]
        """A transport of both."""
else:
    _Transport = _AsyncTransport = object


class ComityTransport(_Transport):
    """Wraps a transport. A refused request raises `comity.RobotsDisallowed` and is not sent.

    The policy's agent is sent as User-Agent. `response.extensions["comity"]` is the decision.
    The address guard is not part of it: connections are the wrapped transport's.

    Args:
        policy: what may be done.
        transport: what sends, robots.txt too; by default a new `HTTPTransport` of the client's library. Retries of
            its own (`retries=`) repeat failed connections only, and are not paced.
        max_wait: seconds that a request waits for its turn, which no time-out of the library counts; a longer wait
            raises `comity.Postponed`. None: for ever.
        identity, sign: in whose name requests are signed, and when, as of `comity.ClientSettings`.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        transport: "httpx.BaseTransport | httpx2.BaseTransport | None" = None,
        *,
        max_wait: float | None = MAX_WAIT,
        identity: str | None = None,
        sign: Sign = "always",
    ) -> None:
        self._sending, self._wrapped = Sending(policy, max_wait, identity, sign), cast("Any", transport)

    def handle_request(self, request: Any) -> Any:
        """Send a request in its turn. Raises comity.RobotsDisallowed, comity.Postponed, comity.CircuitOpen."""
        library, url = _library(request), _as_sent(request)
        if self._wrapped is None:
            self._wrapped = library.HTTPTransport()
        send = self._wrapped.handle_request

        def ask(robots_url: Url, headers: dict[str, str]) -> Arriving:
            answer = send(_robots_request(robots_url, headers, request))
            made_up = answer.is_stream_consumed  # by a transport that sends nothing
            return Arriving(*_head(answer), [answer.content] if made_up else answer.iter_raw(), answer.close)

        answer, decision = self._sending.send(request, url, lambda: send(request), ask, library.HTTPError)
        answer.extensions["comity"] = decision
        return answer

    def __enter__(self) -> Self:
        if self._wrapped is not None:
            self._wrapped.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        if self._wrapped is not None:
            self._wrapped.__exit__(*failure)

    def close(self) -> None:
        if self._wrapped is not None:
            self._wrapped.close()


class AsyncComityTransport(_AsyncTransport):
    """As `ComityTransport`, for `httpx.AsyncClient` on asyncio."""

    def __init__(
        self,
        policy: Policy | None = None,
        transport: "httpx.AsyncBaseTransport | httpx2.AsyncBaseTransport | None" = None,
        *,
        max_wait: float | None = MAX_WAIT,
        identity: str | None = None,
        sign: Sign = "always",
    ) -> None:
        self._sending, self._wrapped = AsyncSending(policy, max_wait, identity, sign), cast("Any", transport)

    async def handle_async_request(self, request: Any) -> Any:
        """As `ComityTransport.handle_request`."""
        library, url = _library(request), _as_sent(request)
        if self._wrapped is None:
            self._wrapped = library.AsyncHTTPTransport()
        send = self._wrapped.handle_async_request

        async def ask(robots_url: Url, headers: dict[str, str]) -> Arriving:
            answer = await send(_robots_request(robots_url, headers, request))
            return Arriving(*_head(answer), _parts(answer), answer.aclose)

        answer, decision = await self._sending.send(request, url, lambda: send(request), ask, library.HTTPError)
        answer.extensions["comity"] = decision
        return answer

    async def __aenter__(self) -> Self:
        if self._wrapped is not None:
            await self._wrapped.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> None:
        if self._wrapped is not None:
            await self._wrapped.__aexit__(*failure)

    async def aclose(self) -> None:
        if self._wrapped is not None:
            await self._wrapped.aclose()


def _library(request: Any) -> Any:
    """httpx or httpx2, whichever a request, or the class that its class extends, is of."""
    of = (kind.__module__.partition(".")[0] for kind in type(request).__mro__)
    return sys.modules[next(name for name in of if name in ("httpx", "httpx2"))]


def _as_sent(request: Any) -> Url:
    """Return the URL that is sent, which the request is given where its own would be sent in another form.

    Raises:
        comity.FetchError: the request's `target` extension names something else.
    """
    own = _sent(request.url)
    url = as_sent(own, lambda url: _sent(type(request.url)(url)))
    if url != own:
        host, request.url = request.url.netloc, type(request.url)(url)
        if request.headers.get("Host", "").encode() == host:
            request.headers["Host"] = request.url.netloc.decode()
    target = request.extensions.get("target", request.url.raw_path)
    if target != request.url.raw_path:
        raise FetchError(f"{url} would be sent with the target {target!r}: put that into the URL", url=url)
    return url


def _sent(url: Any) -> str:
    return f"{url.scheme}://{url.netloc.decode()}{url.raw_path.decode()}"


def _robots_request(url: Url, headers: dict[str, str], cause: Any) -> Any:
    """Return a request for a robots.txt, with the time-outs of the request that needs it as far as they are shorter."""
    given = cause.extensions.get("timeout", {})
    parts = ("connect", "read", "write", "pool")
    timeouts = {
        part: MAX_ROBOTS_SECONDS if given.get(part) is None else min(given[part], MAX_ROBOTS_SECONDS) for part in parts
    }
    return _library(cause).Request("GET", str(url), headers=headers, extensions={"timeout": timeouts})


def _head(answer: Any) -> tuple[int, Any]:
    """Return status and headers; an answer that was made up is decoded already."""
    headers = answer.headers
    if answer.is_stream_consumed:
        headers = {name: value for name, value in headers.items() if name.lower() != "content-encoding"}
    return answer.status_code, headers


async def _parts(answer: Any) -> AsyncIterator[bytes]:
    if answer.is_stream_consumed:
        yield answer.content
        return
    async for part in answer.aiter_raw():
        yield part
