"""Fetching a robots.txt: time-out and limits of its own. It goes around the gate's rules (no recursion), never around
the address guard, and each hop of a redirect waits for the turn of its host.
"""

from collections.abc import Awaitable, Callable

from comity import urls
from comity.errors import ComityError, Postponed
from comity.gate import FetchRobots
from comity.gate.machine import BUSY
from comity.gate.retry_after import retry_after
from comity.gate.robots_request import RobotsRequest
from comity.net.clock import Clock
from comity.net.exchange import Exchange
from comity.net.settings import ClientSettings
from comity.net.transport import MOST_GONE, Answer, ConnectionGone, Transport, timed_out
from comity.policy import Policy, RobotsResult


async def fetch_robots(
    step: FetchRobots,
    transport: Transport,
    policy: Policy,
    settings: ClientSettings,
    clock: Clock,
    *,
    turn: Callable[[str], Awaitable[FetchRobots]],
    on_exchange: Callable[[Exchange], None] | None = None,
) -> RobotsResult:
    """What a site answers when it is asked for its robots.txt; no answer is an answer too.

    Args:
        turn: waits until the URL that a redirect leads to may be asked, and gives the step for it.
        on_exchange: told of each request when it is over.

    Raises:
        Postponed: that would take too long.
    """
    request = RobotsRequest(policy, step)
    timeout = settings.robots_timeout or settings.timeout
    hop, gone = step, 0
    try:
        while True:
            answer: Answer | None
            exchange = Exchange(hop, "GET", request.url, clock.monotonic())
            try:
                with transport.deadlines.within(timeout):
                    answer, body = await _exchanged(request, exchange, transport, settings, clock)
            except ConnectionGone:
                if gone == MOST_GONE:
                    raise
                answer, gone = None, gone + 1
            finally:
                if on_exchange is not None:
                    on_exchange(exchange)
            if answer is not None:
                result = request.answered(answer.status, answer.headers, body, at=clock.wall(), cut=answer.cut)
                if result is not None:
                    return result
            hop = await turn(request.url)
    except TimeoutError:
        return request.failed(timed_out(request.url, timeout), at=clock.wall())
    except Postponed:
        raise
    except ComityError as error:
        return request.failed(error, at=clock.wall())


async def _exchanged(
    request: RobotsRequest, exchange: Exchange, transport: Transport, settings: ClientSettings, clock: Clock
) -> tuple[Answer, bytes]:
    """One request and its answer."""
    body = error = None
    headers = request.headers
    if exchange.origin is not None and urls.origin(request.url) == exchange.origin:  # to nobody that it redirects to
        headers = {**settings.credentials(exchange.origin), **headers}
    try:
        answer = await transport.open("GET", request.url, headers=headers or None)
        exchange.heard(answer.status, clock.monotonic())
        if answer.status in BUSY:
            exchange.retry_after = retry_after(answer.headers.get("Retry-After"), clock.wall())
        body = await answer.read(settings.max_robots_body, cut=True)
        return answer, body
    except BaseException as problem:
        error = problem
        raise
    finally:
        exchange.lost(clock.monotonic())
        exchange.over(exchange.end, body=body, error=error)
