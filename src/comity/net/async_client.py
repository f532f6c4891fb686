"""AsyncClient: every request asks the gate first, every redirect hop again.

It drives the gate and does the I/O; it decides nothing itself.
"""

import asyncio
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Self

from multidict import CIMultiDictProxy

from comity import urls
from comity.errors import (
    ComityError,
    RobotsDisallowed,
    RobotsUnreachable,
    TooManyRedirects,
)
from comity.gate import FetchRobots, Gate, Go, Refuse, Wait
from comity.net.address import AddressGuard
from comity.net.clock import Clock
from comity.net.exchange import Exchange
from comity.net.response import Response
from comity.net.settings import ClientSettings
from comity.net.transport import RawAnswer, Transport
from comity.policy import Decision, Policy, RobotsResult

REDIRECTS = (301, 302, 303, 307, 308)
LONGEST_RETRY_AFTER = 86_400.0  # seconds; a site may not put us off for longer in one answer


class AsyncClient:
    """A polite HTTP client. Use it as an async context manager.

    Args:
        policy: what may be done; the default respects robots.txt and leaves a second between requests to one host.
        settings: how it is done: limits, time-outs, headers.
        clock: for tests.
    """

    def __init__(
        self, policy: Policy | None = None, settings: ClientSettings | None = None, *, clock: Clock | None = None
    ) -> None:
        self.policy = policy or Policy()
        self.settings = settings or ClientSettings()
        self._clock = clock or Clock()
        self._gate = Gate(self.policy)
        self._transport: Transport | None = None
        self._reports: dict[str, asyncio.Event] = {}
        self.on_robots: Callable[[RobotsResult], None] | None = None  # told of each robots.txt as it arrives
        self.on_exchange: Callable[[Exchange], None] | None = None  # told of each request when it is over

    async def __aenter__(self) -> Self:
        self._transport = Transport(self.settings, AddressGuard(self.policy.allow_addresses), self.policy.agent)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._transport is not None:
            await self._transport.close()
            self._transport = None

    # Questions

    async def check(self, url: str) -> Decision:
        """Decide about a URL without fetching it; robots.txt is fetched if need be.

        Raises:
            InvalidURL
        """
        url = urls.normalise(url)
        while True:
            step = self._gate.consult(url, self._clock.monotonic())
            if isinstance(step, Decision):
                return step
            await self._take(step)

    def check_now(self, url: str) -> Decision | None:
        """The decision if no I/O is needed for it, else None. `url` must be normalised."""
        return self._gate.known(url, self._clock.monotonic())

    async def is_allowed(self, url: str) -> bool:
        """Whether a URL may be fetched."""
        return (await self.check(url)).may_fetch

    def crawl_delay(self, url: str) -> float | None:
        """The site's Crawl-delay for us in seconds, from what is known already: no I/O."""
        result = self._gate.results().get(urls.origin(url))
        return (
            result.robots.crawl_delay(self.policy.agent) if result is not None and result.robots is not None else None
        )

    def clear_cache(self) -> None:
        """Forget every robots.txt."""
        self._gate.clear()

    def inspect(self) -> Mapping[str, RobotsResult]:
        """What was learned, origin by origin."""
        return self._gate.results()

    def ready_at(self, host: str) -> float:
        """When a host may be asked next, on the clock's monotonic time."""
        return self._gate.ready_at(host)

    # Requests

    async def get(self, url: str) -> Response:
        """GET a URL and follow redirects, each hop decided anew.

        Raises:
            InvalidURL, RobotsDisallowed, AddressBlocked, FetchError and its kinds
        """
        return await self._request("GET", url)

    async def head(self, url: str) -> Response:
        """HEAD, otherwise as `get`."""
        return await self._request("HEAD", url)

    async def _request(self, method: str, url: str) -> Response:
        url = urls.normalise(url)
        passed: list[str] = []
        while True:
            response = await self.fetch(url, method=method, redirects=tuple(passed))
            if response.location is None:
                return response
            target = urls.join(url, response.location)
            if target is None or target in passed or target == url or len(passed) >= self.settings.max_redirects:
                where = f"to {response.location!r}" if target is None else f"after {len(passed)} hops, to {target}"
                raise TooManyRedirects(f"{url} redirects {where}: not followed", url=url)
            passed.append(url)
            url = target

    async def fetch(self, url: str, *, method: str = "GET", redirects: tuple[str, ...] = ()) -> Response:
        """One request for a normalised URL, no redirect followed; waits for its turn.

        Raises:
            RobotsDisallowed, AddressBlocked, FetchError and its kinds
        """
        go = await self._permission(url)
        sent = self._clock.monotonic()
        heard: list[float] = []

        def on_head(status: int, later: float | None) -> None:
            heard.append(self._clock.wall())
            self._gate.answered(go, self._clock.monotonic(), status=status, retry_after=later)
            self._report(go.host)

        try:
            answer = await self._send(method, url, timeout=self.settings.timeout, decision=go.decision, on_head=on_head)
        finally:
            if not heard:
                self._gate.answered(go, self._clock.monotonic())
                self._report(go.host)
        return Response(
            url=url,
            status=answer.status,
            headers=answer.headers,
            all_headers=tuple(answer.headers.items()),
            body=answer.body,
            decision=go.decision,
            fetched_at=heard[0],
            elapsed=self._clock.monotonic() - sent,
            redirects=redirects,
        )

    async def _permission(self, url: str) -> Go:
        while True:
            step = self._gate.ask(url, self._clock.monotonic())
            match step:
                case Go():
                    return step
                case Refuse():
                    raise refusal(step.decision)
                case _:
                    await self._take(step)

    async def _take(self, step: FetchRobots | Wait) -> None:
        match step:
            case FetchRobots():
                await self._fetch_robots(step)
            case Wait(until=None):
                await self._reports.setdefault(step.host, asyncio.Event()).wait()
            case Wait(until=float() as until):
                await self._clock.sleep(max(until - self._clock.monotonic(), 0.0))

    def _report(self, host: str) -> None:
        event = self._reports.pop(host, None)
        if event is not None:
            event.set()

    async def _fetch_robots(self, step: FetchRobots) -> None:
        try:
            result = await self._robots_result(step)
        except BaseException:
            self._gate.robots_abandoned(step, self._clock.monotonic())
            self._report(urls.host(step.url))
            raise
        self._gate.robots_arrived(result, self._clock.monotonic())
        self._report(urls.host(step.url))
        if self.on_robots is not None:
            self.on_robots(result)

    async def _robots_result(self, step: FetchRobots) -> RobotsResult:
        """Ask for a robots.txt. It goes around the gate (no recursion), never around the address guard."""
        url = step.url
        passed: list[str] = []
        timeout = self.settings.robots_timeout or self.settings.timeout
        deadline = self._clock.monotonic() + timeout
        while True:
            try:
                left = max(deadline - self._clock.monotonic(), 0.001)
                answer = await self._send(
                    "GET",
                    url,
                    timeout=left,
                    max_body=self.settings.max_robots_body,
                    cut=True,
                    origin=step.origin,
                    paced=self.policy.robots_fetch_counts and not passed,
                )
            except ComityError as error:
                return RobotsResult.unreachable(
                    step.origin, url, str(error), fetched_at=self._clock.wall(), redirects=tuple(passed)
                )
            target = None
            problem = None
            if answer.status in REDIRECTS:
                target = urls.join(url, answer.headers.get("Location", ""))
                if target is None:
                    problem = f"redirects to {answer.headers.get('Location')!r}, which is no web address"
                elif target in passed or target == url:
                    problem = "redirects in a loop"
                elif len(passed) >= self.policy.robots_redirects:
                    problem = f"redirects more than {self.policy.robots_redirects} times"
            if target is None or problem is not None:
                return RobotsResult.from_response(
                    step.origin,
                    url,
                    answer.status,
                    answer.body,
                    fetched_at=self._clock.wall(),
                    dialect=self.policy.dialect,
                    headers={name.lower(): value for name, value in answer.headers.items()},
                    redirects=tuple(passed),
                    error=problem,
                )
            passed.append(url)
            url = target

    async def _send(
        self,
        method: str,
        url: str,
        *,
        timeout: float,
        max_body: int | None = None,
        cut: bool = False,
        origin: str | None = None,
        paced: bool = True,
        decision: Decision | None = None,
        on_head: Callable[[int, float | None], None] | None = None,
    ) -> RawAnswer:
        """Send one request and tell `on_exchange` of it; `on_head` is given the status and what Retry-After asks."""
        if self._transport is None:
            raise RuntimeError("use the client as a context manager: async with comity.AsyncClient(...) as client")
        limit = self.settings.max_body if max_body is None else max_body
        head: float | None = None
        status: int | None = None
        later: float | None = None
        body: bytes | None = None
        problem: str | None = "given up"

        def heard(code: int, headers: CIMultiDictProxy[str]) -> None:
            nonlocal head, status, later
            head, status = self._clock.monotonic(), code
            if code in (429, 503):
                later = retry_after(headers.get("Retry-After"), self._clock.wall())
            if on_head is not None:
                on_head(code, later)

        sent = self._clock.monotonic()
        try:
            answer = await self._transport.send(method, url, timeout=timeout, max_body=limit, cut=cut, on_head=heard)
            body, problem = answer.body, None
            return answer
        except ComityError as error:
            problem = str(error)
            raise
        finally:
            if self.on_exchange is not None:
                self.on_exchange(
                    Exchange(
                        url=url,
                        method=method,
                        origin=origin,
                        decision=decision,
                        paced=paced,
                        sent=sent,
                        head=head,
                        end=self._clock.monotonic(),
                        status=status,
                        body=body,
                        error=problem,
                        retry_after=later,
                    )
                )


def refusal(decision: Decision) -> RobotsDisallowed:
    """The error that says a decision refuses a URL, naming the agent and the rule."""
    kind = RobotsUnreachable if decision.verdict == "unknown_unreachable" else RobotsDisallowed
    return kind(
        f"{decision.url} may not be fetched by {decision.agent}: {decision.why}", url=decision.url, decision=decision
    )


def retry_after(value: str | None, wall: float) -> float | None:
    """Seconds that a Retry-After header asks for, in either of its forms (RFC 9110, 10.2.3), at most a day."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), LONGEST_RETRY_AFTER)
    try:
        return min(max(parsedate_to_datetime(value).timestamp() - wall, 0.0), LONGEST_RETRY_AFTER)
    except (ValueError, OverflowError):
        return None
