"""The parts of a retrieval that a caller can replace, and the checks their answers pass.

A fetcher, extractor or chooser may hold a model or a browser: what it answers is not trusted. Whatever it names is
asked about at robots.txt like any other URL, and of its headers only those of content negotiation are sent.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from multidict import CIMultiDict, CIMultiDictProxy

from comity.errors import AddressBlocked, ComityError, PartFailed, TooLarge
from comity.gate.steps import refusal
from comity.net import ClientSettings, Response
from comity.net.address import AddressGuard
from comity.net.redirects import follow
from comity.policy import Decision, Policy
from comity_pages import urls
from comity_pages.signals.llms import Candidate
from comity_pages.urls import Url
from comity_robots.shown import short


class HttpClient(Protocol):
    """The part of `comity.AsyncClient` that a retrieval uses."""

    policy: Policy
    settings: ClientSettings

    async def check(self, url: str) -> Decision: ...
    async def get(self, url: str, *, headers: Mapping[str, str]) -> Response: ...


class Answer(Protocol):
    """What a fetcher returns: `url` is the one that answered, `body` has any content coding removed."""

    @property
    def url(self) -> str: ...
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


Choice = tuple[str, Mapping[str, str]]
Fetcher = Callable[[str, Mapping[str, str]], Answer | Awaitable[Answer]]
Extractor = Callable[[str, str], str | Awaitable[str]]
Chooser = Callable[[str, tuple[Candidate, ...]], Choice | Awaitable[Choice | None] | None]

NEGOTIATION = {"accept": "Accept", "accept-language": "Accept-Language"}
DEFAULT_HEADERS = {"Accept": "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1"}
_MAX_HEADER_CHARS = 1000


async def fetch(client: HttpClient, fetcher: Fetcher | None, url: str, headers: Mapping[str, str]) -> Response:
    """Fetch a URL and follow its redirects, asking about each hop. `request_headers` of the answer are the given ones
    alone.

    Raises:
        RobotsDisallowed, AddressBlocked, FetchError and its kinds
        PartFailed: the fetcher failed.
    """

    if fetcher is None:
        response = await client.get(url, headers=headers)
    else:
        response = await follow(Url(url), headers, partial(_send, client, fetcher), client.settings.max_redirects)
    response.request_headers = headers
    return response


async def _send(client: HttpClient, fetcher: Fetcher, url: Url, headers: Mapping[str, str]) -> Response:
    await _require(client, url)
    # Compiled code takes no subclass.
    answer = _checked_answer(await call_plugin("fetcher", fetcher, str(url), dict(headers), about=url), url)
    if len(answer.body) > client.settings.max_body:
        raise TooLarge(f"the body of {url} is over {client.settings.max_body} bytes", url=url)
    if answer.url != url:  # it followed a redirect of its own
        await _require(client, answer.url)
    return answer


async def _require(client: HttpClient, url: str) -> None:
    """Check that a fetcher may be handed a URL: the policy allows it, and it names no address that is not public.

    Raises:
        RobotsDisallowed, AddressBlocked
    """
    host = urls.host(url)
    guard = AddressGuard(client.policy.allow_addresses, client.policy.allow_hosts)
    if (why := guard.refusal_by_name(host)) is not None:
        raise AddressBlocked(f"{host}: {why}", url=url)
    require(await client.check(url))


def require(decision: Decision) -> None:
    """Raises RobotsDisallowed: the decision is no."""
    if not decision.may_fetch:
        raise refusal(decision)


async def choose(
    chooser: Chooser, url: str, candidates: tuple[Candidate, ...]
) -> tuple[str | None, dict[str, str], tuple[str, ...]]:
    """Ask a chooser for a URL; return it with the headers that are sent and the names of those that are not.

    Raises:
        PartFailed: it raised an error, or its answer is no URL with headers.
    """
    answer = await call_plugin("chooser", chooser, url, candidates, about=url)
    if answer is None:
        return None, {}, ()
    try:
        wanted, headers = answer
        pairs = [(str(name), str(value)) for name, value in dict(headers or {}).items()]
    except (TypeError, ValueError):
        raise PartFailed(
            f"the chooser answered {short(repr(answer))}", url=url, hint="None, or a URL and a mapping of headers"
        ) from None
    if not isinstance(wanted, str) or not urls.is_http(wanted):
        raise PartFailed(f"the chooser chose {short(repr(wanted))}, which is not an http or https URL", url=url)
    sent: dict[str, str] = {}
    refused: list[str] = []
    for name, value in pairs:
        known = NEGOTIATION.get(name.strip().lower())
        if known is not None and value.isprintable() and value.isascii() and len(value) <= _MAX_HEADER_CHARS:
            sent[known] = value
        else:
            refused.append(name[:100])
    return urls.normalise(wanted), sent, tuple(refused)


async def call_plugin(part: str, function: Callable[..., Any], *arguments: Any, about: str) -> Any:
    """Call a plug-in and return its answer; a function that is not async runs in a thread.

    Raises:
        PartFailed: it raised an error that is not comity's own.
    """
    try:
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        answer = await asyncio.to_thread(function, *arguments)
        return await answer if inspect.isawaitable(answer) else answer
    except ComityError:
        raise
    except Exception as error:
        raise PartFailed(f"the {part} raised {type(error).__name__}: {error}", url=about) from error


def _checked_answer(answer: Any, url: str) -> Response:
    """Raises PartFailed: it is not what a fetcher may answer."""
    try:
        status, body, final = answer.status, answer.body, answer.url
        given = getattr(answer, "all_headers", None) or dict(answer.headers).items()
        headers = CIMultiDictProxy(CIMultiDict([(str(name), str(value)) for name, value in given]))
    except (AttributeError, TypeError, ValueError) as error:
        raise PartFailed(
            f"the fetcher answered {short(repr(answer))}: {error}",
            url=url,
            hint="it needs url, status, headers and body",
        ) from None
    if isinstance(status, bool) or not isinstance(status, int) or not isinstance(body, bytes):
        raise PartFailed(
            f"the fetcher answered status {short(repr(status))} and a body of type {type(body).__name__}", url=url
        )
    if not isinstance(final, str) or not urls.is_http(final):
        raise PartFailed(
            f"the fetcher says that {short(repr(final))} answered, which is not an http or https URL", url=url
        )
    now = time.time()
    return Response(url=urls.normalise(final), status=status, headers=headers, body=body, fetched_at=now)
