"""Fetching a robots.txt: time-out and limits of its own. It goes around the gate (no recursion), never around the
address guard.
"""

from collections.abc import Callable

from comity.errors import ComityError
from comity.gate import FetchRobots
from comity.gate.machine import BUSY
from comity.gate.retry_after import retry_after
from comity.gate.robots_request import RobotsRequest
from comity.net.clock import Clock
from comity.net.exchange import Exchange
from comity.net.settings import ClientSettings
from comity.net.transport import Transport, timed_out
from comity.policy import Policy, RobotsResult


async def fetch_robots(
    step: FetchRobots,
    transport: Transport,
    policy: Policy,
    settings: ClientSettings,
    clock: Clock,
    *,
    on_exchange: Callable[[Exchange], None] | None = None,
) -> RobotsResult:
    """What a site answers when it is asked for its robots.txt; no answer is an answer too.

    Args:
        on_exchange: told of each request when it is over.
    """
    request = RobotsRequest(policy, step)
    timeout = settings.robots_timeout or settings.timeout
    result = None
    try:
        with transport.deadlines.within(timeout):
            while result is None:
                exchange = Exchange(step, "GET", request.url, clock.monotonic(), paced=request.url == step.url)
                body = error = None
                try:
                    answer = await transport.open("GET", request.url, headers=request.headers or None)
                    exchange.heard(answer.status, clock.monotonic())
                    if answer.status in BUSY:
                        exchange.retry_after = retry_after(answer.headers.get("Retry-After"), clock.wall())
                    body = await answer.read(settings.max_robots_body, cut=True)
                except BaseException as problem:
                    error = problem
                    raise
                finally:
                    exchange.lost(clock.monotonic())
                    exchange.over(exchange.end, body=body, error=error)
                    if on_exchange is not None:
                        on_exchange(exchange)
                result = request.answered(answer.status, answer.headers, body, at=clock.wall())
            return result
    except TimeoutError:
        return request.failed(timed_out(request.url, timeout), at=clock.wall())
    except ComityError as error:
        return request.failed(error, at=clock.wall())
