"""What the middlewares share: a request's turn, its signature, the robots.txt that is asked for first.

A middleware says how its library sends a request (`send`) and asks for a robots.txt (`ask`); docs/integrations.md
writes one. Requests have `url`, `method` and `headers`, answers `status` or `status_code`, `headers`, and `close` or
`aclose`.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from inspect import isawaitable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from comity.errors import AddressBlocked, FetchError
from comity.gate import FetchRobots
from comity.net import async_driver, blocking_driver
from comity.net.address import AddressGuard
from comity.net.async_driver import AsyncDriver
from comity.net.blocking_driver import Driver
from comity.net.client_settings import MAX_WAIT
from comity.net.names import in_thread, system_addresses
from comity.net.response import Response
from comity.net.turns import no_answer, robots_request_headers
from comity.policy import Decision, Policy
from comity_pages.urls import Url

MAX_ROUNDS = 4
SIGNATURE_HEADERS = ("Signature", "Signature-Input", "Signature-Agent")
Sign = Literal["always", "when_asked", "never"]


class Arriving(NamedTuple):
    """The answer to a request for a robots.txt whose body is still to come, as it was sent.

    Attributes:
        headers: names in any case.
        parts: of the body; an iterator that awaits where the library does.
        close: ends the answer; what it gives is awaited where it can be.
    """

    status: int
    headers: Mapping[str, str]
    parts: Any
    close: Callable[[], Any]


class RequestSigning:
    """Signs what a wrapper sends, each hop of a redirect anew; nothing where it has no identity. A copy reads the key
    again.

    Args:
        identity, sign: as of `ClientSettings`.

    Raises:
        InvalidSetting: the folder holds no identity, or its key cannot be used.
    """

    def __init__(self, identity: str | Path | None, sign: Sign) -> None:
        self._given = identity, sign
        self._signing: Any = None
        if identity is not None and sign != "never":
            from comity.signatures.folder import Signing  # late: few programs sign

            self._signing = Signing(Path(identity), time.time(), always=sign == "always")

    def __reduce__(self) -> tuple[Any, ...]:
        return RequestSigning, self._given

    def __call__(self, headers: Any, method: str, url: str) -> None:
        """Sign a request, in place of the signature of the hop before."""
        if self._signing is not None:
            for name in SIGNATURE_HEADERS:
                headers.pop(name, None)
            headers.update(self._signing.headers(method, url, time.time()))

    def again(self, method: str, url: str, status: int, headers: Mapping[str, Any]) -> bool:
        """Return whether an answer asks for a signature: then the request is sent once more."""
        return self._signing is not None and method in ("GET", "HEAD") and self._signing.asked(url, status, headers)


class _Sending:
    """What holds whether a library blocks or awaits.

    Args:
        policy: what may be done.
        max_wait: seconds that a request waits for its turn; a longer wait raises `comity.Postponed`. None: for ever.
        identity, sign: in whose name requests are signed, and when, as of `comity.ClientSettings`.
    """

    driven: Any  # by which kind of driver

    def __init__(
        self,
        policy: Policy | None = None,
        max_wait: float | None = MAX_WAIT,
        identity: str | None = None,
        sign: Sign = "always",
    ) -> None:
        self.driver = self.driven(policy, max_wait)
        self._guard = AddressGuard(self.driver.policy.allow_addresses, self.driver.policy.allow_hosts)
        self.sign = RequestSigning(identity, sign)

    def prepare(self, request: Any, url: str) -> None:
        """Put our name and signature into a request that may be sent now."""
        request.headers["User-Agent"] = self.driver.policy.agent
        self.sign(request.headers, request.method, url)

    def robots_headers(self, url: Url, conditions: Mapping[str, str], cause: Any) -> dict[str, str]:
        """Return the headers of the request for a robots.txt that another request needs."""
        known = cause.headers.get("Authorization")
        known = known.decode("latin-1") if isinstance(known, bytes) else known
        headers = robots_request_headers(self.driver.policy, url, conditions, str(cause.url), known)
        self.sign(headers, "GET", url)
        return headers

    def elsewhere(self, step: FetchRobots) -> str | None:
        """Return the host, in place of its own, that a site has us ask by a redirect of its robots.txt; None where that
        is its own: the same origin, or http and https of one host."""
        host, own = step.url.host, f"//{step.url.host}"
        if step.url.origin == step.origin or (step.origin.endswith(own) and step.url.origin.endswith(own)):
            return None
        return host.strip("[]")

    def judge(self, url: Url, addresses: Iterable[str]) -> None:
        """The library would connect to a host that only a site named: judge its addresses, and where we find none, as
        behind a proxy, its name.

        Raises:
            AddressBlocked
        """
        refusals = [self._guard.refusal(address, url.host) for address in addresses]
        if refusal := next(filter(None, [*refusals, self._guard.refusal_by_name(url.host)]), None):
            raise AddressBlocked.at(url, refusal)


class Sending(_Sending):
    """For a library that blocks; any thread may use it."""

    driven = Driver

    def send(
        self,
        request: Any,
        url: Url,
        send: Callable[[], Any],
        ask: Callable[[Url, dict[str, str]], Arriving],
        *errors: type[Exception],
    ) -> tuple[Any, Decision]:
        """Send a request in its turn; gives the answer and why it could be sent.

        Args:
            url: what the library sends; see `as_sent`.
            send: sends the request.
            ask: sends a GET with these headers and nothing else of the request's, and follows no redirect.
            errors: the library's errors for no answer.

        Raises:
            RobotsDisallowed, Postponed, CircuitOpen
        """

        def get(step: FetchRobots, conditions: dict[str, str], deadline: float) -> Response:
            if (host := self.elsewhere(step)) is not None:
                found: tuple[str, ...] = ()
                with suppress(OSError):
                    found = system_addresses(host)
                self.judge(step.url, found)
            with no_answer(step.url, *errors):
                arriving = ask(step.url, self.robots_headers(step.url, conditions, request))
                try:
                    return blocking_driver.read_robots(step.url, *arriving[:3], deadline)
                finally:
                    arriving.close()

        while True:
            with self.driver.turn(url, get) as go:
                self.prepare(request, url)
                answer = send()
                self.driver.headers_received(go, status := _status(answer), answer.headers)
            if not self.sign.again(request.method, url, status, answer.headers):
                return answer, go.decision
            answer.close()


class AsyncSending(_Sending):
    """For a library that awaits; one event loop uses it at a time."""

    driven = AsyncDriver

    async def check_redirect(self, step: FetchRobots) -> None:
        """Before a robots.txt is asked for: is it where a site may have us ask? Raises AddressBlocked."""
        if (host := self.elsewhere(step)) is not None:
            found: tuple[str, ...] = ()
            with suppress(OSError):
                found = await in_thread(host)
            self.judge(step.url, found)

    async def send(
        self,
        request: Any,
        url: Url,
        send: Callable[[], Awaitable[Any]],
        ask: Callable[[Url, dict[str, str]], Awaitable[Arriving]],
        *errors: type[Exception],
    ) -> tuple[Any, Decision]:
        """As `Sending.send`."""

        async def get(step: FetchRobots, conditions: dict[str, str]) -> Response:
            await self.check_redirect(step)
            with no_answer(step.url, *errors):
                arriving = await ask(step.url, self.robots_headers(step.url, conditions, request))
                try:
                    return await async_driver.read_robots(step.url, *arriving[:3])
                finally:
                    await _done(arriving.close())

        while True:
            async with self.driver.turn(url, get) as go:
                self.prepare(request, url)
                answer = await send()
                self.driver.headers_received(go, status := _status(answer), answer.headers)
            if not self.sign.again(request.method, url, status, answer.headers):
                return answer, go.decision
            await _done(answer.aclose() if hasattr(answer, "aclose") else answer.close())


def _status(answer: Any) -> int:
    return int(answer.status_code if hasattr(answer, "status_code") else answer.status)


async def _done(ended: Any) -> None:
    if isawaitable(ended):
        await ended


def as_sent(url: str, sent: Callable[[Url], str]) -> Url:
    """Return the URL to decide about and to send, which is sent by the library as it is.

    Args:
        sent: what the library sends for a URL: the whole URL, with the request target as it goes over the wire.

    Raises:
        InvalidURL
        FetchError: there is none.
    """
    found = Url(url)
    for _ in range(MAX_ROUNDS):
        form = sent(found)
        if form == found:
            return found
        found = Url(form)
    raise FetchError(f"the library would send {url} as {form}, which cannot be checked against robots.txt", url=url)


def without_empty_query(url: str) -> str:
    """Return a URL as libraries send it that leave out a query of no characters."""
    return url[:-1] if url.endswith("?") and url.count("?") == 1 else url
