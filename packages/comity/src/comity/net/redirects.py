"""Redirects followed hop by hop, whoever sends the requests, and what goes along to another origin."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from comity.errors import TooManyRedirects
from comity.http_rules import next_hop
from comity.net.client_settings import CROSS_ORIGIN_HEADERS
from comity.net.response import Response
from comity_pages.urls import Url

AnyResponse = TypeVar("AnyResponse", bound=Response)


async def follow(
    url: Url,
    headers: Mapping[str, str],
    send: Callable[[Url, Mapping[str, str]], Awaitable[AnyResponse]],
    limit: int,
) -> AnyResponse:
    """Return the answer to a URL and the redirects from it; `send` asks for each hop and decides about it anew.

    Args:
        headers: of the request; what is meant for one origin stays there.
        limit: redirects that are followed at most.

    Raises:
        TooManyRedirects: there are more, or one leads where nothing can be fetched.
    """
    passed: list[Response] = []
    while True:
        response = await send(url, headers)
        if response.url != url:  # who sends has followed one of its own
            passed.append(Response(url=url, status=0, headers={}, body=b"", reason="followed elsewhere"))
            url = Url(response.url)
        response.history = tuple(passed)
        location = response.location
        if location is None:
            return response
        target, why = next_hop(url, location, [hop.url for hop in passed], limit, setting="max_redirects")
        if target is None:
            raise TooManyRedirects(f"{url} {why}: not followed", url=url)
        passed.append(response.head_only())
        if headers and target.origin != url.origin:
            headers = {name: value for name, value in headers.items() if name.lower() in CROSS_ORIGIN_HEADERS}
        url = target
