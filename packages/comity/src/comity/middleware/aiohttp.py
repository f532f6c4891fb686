"""A middleware for aiohttp's client that asks before each request, redirect hops included, and keeps each host's pace.

from comity.middleware.aiohttp import ComityMiddleware
session = aiohttp.ClientSession(middlewares=(ComityMiddleware(comity.Policy(agent="MyBot/1.0")),))
"""

import aiohttp

from comity.middleware.sending import Arriving, AsyncSending
from comity.net.connections import MAX_LINE_BYTES
from comity.net.transport import to_yarl
from comity_pages.urls import Url


class ComityMiddleware(AsyncSending):
    """Put it last among the middlewares: then what others send is asked about too. One event loop uses it at a time.

    A refused request raises `comity.RobotsDisallowed` and is not sent. The policy's agent is sent as User-Agent.
    `response.comity` is the decision. The address guard is not part of it: connections are the session's. A wait counts
    in the session's total time-out too (300 s by default): a long Crawl-delay needs a longer.
    """

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Send a request in its turn. Raises comity.RobotsDisallowed, comity.Postponed, comity.CircuitOpen."""

        async def ask(robots_url: Url, headers: dict[str, str]) -> Arriving:
            # The session's connections without its cookies and headers, which a redirect would carry elsewhere.
            bare = aiohttp.ClientSession(
                connector=request.session.connector,
                connector_owner=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                max_line_size=MAX_LINE_BYTES,
                max_field_size=MAX_LINE_BYTES,
                proxy=request.proxy,
                proxy_auth=request.proxy_auth,
            )
            async with bare:
                answer = await bare.get(to_yarl(robots_url), headers=headers, allow_redirects=False, ssl=request.ssl)
            return Arriving(answer.status, answer.headers, answer.content.iter_any(), answer.close)

        decided = Url(str(request.url))
        url = to_yarl(decided)
        if url.raw_path_qs != request.url.raw_path_qs or url.authority != request.url.authority:
            if request.headers.get("Host") == request.url.host_port_subcomponent:
                request.headers["Host"] = str(url.host_port_subcomponent)
            request.url = url
        answer, decision = await self.send(
            request, decided, lambda: handler(request), ask, aiohttp.ClientError, OSError
        )
        answer.comity = decision
        return answer  # type: ignore[no-any-return]
