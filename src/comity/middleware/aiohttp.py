"""A middleware for aiohttp's client that asks before each request, redirect hops included, and keeps each host's pace.

from comity.middleware.aiohttp import ComityMiddleware
session = aiohttp.ClientSession(middlewares=(ComityMiddleware(comity.Policy(agent="MyBot/1.0")),))
"""

import aiohttp

from comity import Policy
from comity.gate import FetchRobots
from comity.middleware._wire import RequestSigning, Sign
from comity.net.client_settings import MAX_WAIT
from comity.net.connections import LONGEST_LINE
from comity.net.driver import AsyncDriver
from comity.net.robots_fetch import RobotsAnswer, asked_with, no_answer, read_answer_async
from comity.net.transport import exact
from comity.urls import Url


class ComityMiddleware:
    """Put it last among the middlewares: then what others send is asked about too. One event loop uses it at a time.

    A refused request raises `comity.RobotsDisallowed` and is not sent. The policy's agent is sent as User-Agent.
    `response.comity` is the decision. The address guard is not part of it: connections are the session's.

    Args:
        policy: what may be done.
        max_wait: seconds that a request waits for its turn; a longer wait raises `comity.Postponed`. None: for ever.
            The wait counts in the session's total time-out too (300 s by default): a long Crawl-delay needs a longer.
        identity, sign: in whose name requests are signed, and when, as of `comity.ClientSettings`.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        max_wait: float | None = MAX_WAIT,
        identity: str | None = None,
        sign: Sign = "always",
    ) -> None:
        self._driver, self._sign = AsyncDriver(policy, max_wait), RequestSigning(identity, sign)

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Send a request in its turn.

        Raises:
            comity.RobotsDisallowed, comity.Postponed, comity.CircuitOpen
        """
        policy = self._driver.policy

        async def get(step: FetchRobots, conditions: dict[str, str]) -> RobotsAnswer:
            authorization = request.headers.get("Authorization")
            headers = asked_with(policy, step.url, conditions, str(request.url), authorization)
            self._sign(headers, "GET", step.url)
            # The session's connections without its cookies and headers, which a redirect would carry elsewhere.
            bare = aiohttp.ClientSession(
                connector=request.session.connector,
                connector_owner=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                max_line_size=LONGEST_LINE,
                max_field_size=LONGEST_LINE,
                proxy=request.proxy,
                proxy_auth=request.proxy_auth,
            )
            asked = bare.get(exact(step.url), headers=headers, allow_redirects=False, ssl=request.ssl)
            with no_answer(step.url, aiohttp.ClientError, OSError):
                async with bare, asked as answer:
                    parts = answer.content.iter_any()
                    found = await read_answer_async(step.url, answer.status, answer.headers, parts)
                    if found.cut:
                        answer.close()
                    return found

        url = exact(Url(str(request.url)))
        if url.raw_path_qs != request.url.raw_path_qs or url.authority != request.url.authority:
            if request.headers.get("Host") == request.url.host_port_subcomponent:
                request.headers["Host"] = str(url.host_port_subcomponent)
            request.url = url
        while True:
            async with self._driver.turn(str(url), get) as go:
                request.headers["User-Agent"] = policy.agent
                self._sign(request.headers, request.method, str(url))
                response = await handler(request)
                self._driver.headers_received(go, response.status, response.headers.get("Retry-After"))
            if not self._sign.again(request.method, str(url), response.status, response.headers):
                break
            response.close()
        response.comity = go.decision  # type: ignore[attr-defined]
        return response
