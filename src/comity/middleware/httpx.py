"""Transports for httpx that ask before each request, redirect hops included, and keep each host's pace.

from comity.middleware.httpx import AsyncComityTransport, ComityTransport
client = httpx.Client(transport=ComityTransport(comity.Policy(agent="MyBot/1.0")))
"""

from typing import Any, Self

from comity._extras import missing

try:
    import httpx
except ModuleNotFoundError as error:
    raise missing(error, "httpx", __name__) from None

from comity import Policy
from comity.errors import FetchError
from comity.gate import FetchRobots
from comity.middleware._wire import settled
from comity.net import blocking_driver, driver
from comity.net.client_settings import MAX_WAIT
from comity.net.robots_fetch import TIMEOUT, RobotsAnswer, RobotsBody, asked_with, fetch_robots, fetch_robots_blocking
from comity.policy import RobotsResult


class ComityTransport(httpx.BaseTransport):
    """Wraps a transport. A refused request raises `comity.RobotsDisallowed` and is not sent.

    The policy's agent is sent as User-Agent. `response.extensions["comity"]` is the decision.
    The address guard is not part of it: connections are the wrapped transport's.

    Args:
        policy: what may be done.
        transport: what sends, robots.txt too; by default a new `httpx.HTTPTransport`. Retries of its own (`retries=`)
            repeat failed connections only, and are not paced.
        max_wait: seconds that a request waits for its turn, which no time-out of the library counts; a longer wait
            raises `comity.Postponed`. None: for ever.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        transport: httpx.BaseTransport | None = None,
        *,
        max_wait: float | None = MAX_WAIT,
    ) -> None:
        self._driver = blocking_driver.Driver(policy, max_wait)
        self._wrapped = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request in its turn.

        Raises:
            comity.RobotsDisallowed, comity.Postponed, comity.CircuitOpen
        """
        policy = self._driver.policy

        def get(step: FetchRobots, conditions: dict[str, str], deadline: float) -> RobotsAnswer:
            response = self._wrapped.handle_request(_robots_request(step.url, conditions, policy, request))
            try:
                if response.is_stream_consumed:  # a transport that sends nothing, but makes its answers up
                    return _answer(response, response.content)
                body = RobotsBody(step.url, response.status_code, response.headers)
                return _answer(response, body.read(response.iter_raw(), deadline))
            finally:
                response.close()

        def robots(step: FetchRobots, hop: blocking_driver.Hop) -> RobotsResult:
            return fetch_robots_blocking(policy, step, hop, get, (httpx.HTTPError,))

        with self._driver.turn(_settled(request), robots) as go:
            request.headers["User-Agent"] = policy.agent
            response = self._wrapped.handle_request(request)
            self._driver.headers_received(go, response.status_code, response.headers.get("Retry-After"))
        response.extensions["comity"] = go.decision
        return response

    def __enter__(self) -> Self:
        self._wrapped.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        self._wrapped.__exit__(*failure)

    def close(self) -> None:
        self._wrapped.close()


class AsyncComityTransport(httpx.AsyncBaseTransport):
    """As `ComityTransport`, for `httpx.AsyncClient` on asyncio."""

    def __init__(
        self,
        policy: Policy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        max_wait: float | None = MAX_WAIT,
    ) -> None:
        self._driver = driver.AsyncDriver(policy, max_wait)
        self._wrapped = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """As `ComityTransport.handle_request`."""
        policy = self._driver.policy

        async def get(step: FetchRobots, conditions: dict[str, str]) -> RobotsAnswer:
            response = await self._wrapped.handle_async_request(_robots_request(step.url, conditions, policy, request))
            try:
                if response.is_stream_consumed:
                    return _answer(response, response.content)
                body = RobotsBody(step.url, response.status_code, response.headers)
                return _answer(response, await body.read_async(response.aiter_raw()))
            finally:
                await response.aclose()

        async def robots(step: FetchRobots, hop: driver.Hop) -> RobotsResult:
            return await fetch_robots(policy, step, hop, get, (httpx.HTTPError,))

        async with self._driver.turn(_settled(request), robots) as go:
            request.headers["User-Agent"] = policy.agent
            response = await self._wrapped.handle_async_request(request)
            self._driver.headers_received(go, response.status_code, response.headers.get("Retry-After"))
        response.extensions["comity"] = go.decision
        return response

    async def __aenter__(self) -> Self:
        await self._wrapped.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self._wrapped.__aexit__(*failure)

    async def aclose(self) -> None:
        await self._wrapped.aclose()


def _settled(request: httpx.Request) -> str:
    """The URL that is sent, which the request is given where its own would be sent in another form.

    Raises:
        comity.FetchError: the request's `target` extension names something else.
    """
    own = _sent(request.url)
    url = settled(own, lambda url: _sent(httpx.URL(url)))
    if url != own:
        host, request.url = request.url.netloc, httpx.URL(url)
        if request.headers.get("Host", "").encode() == host:
            request.headers["Host"] = request.url.netloc.decode()
    target = request.extensions.get("target", request.url.raw_path)
    if target != request.url.raw_path:
        raise FetchError(f"{url} is to be sent with the target {target!r}: put that into the URL", url=url)
    return url


def _sent(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode()}{url.raw_path.decode()}"


def _robots_request(url: str, conditions: dict[str, str], policy: Policy, cause: httpx.Request) -> httpx.Request:
    """A request for a robots.txt, with the time-outs of the request that needs it, as far as they are shorter."""
    given = cause.extensions.get("timeout", {})
    parts = ("connect", "read", "write", "pool")
    timeouts = {part: TIMEOUT if given.get(part) is None else min(given[part], TIMEOUT) for part in parts}
    headers = asked_with(policy, url, conditions, str(cause.url), cause.headers.get("Authorization"))
    return httpx.Request("GET", url, headers=headers, extensions={"timeout": timeouts})


def _answer(response: httpx.Response, body: bytes) -> RobotsAnswer:
    return RobotsAnswer(response.status_code, response.headers, body)
