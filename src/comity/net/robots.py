"""Fetching a robots.txt: time-out and limits of its own. It goes around the gate's rules (no recursion), never around
the address guard, and each hop of a redirect waits for the turn of its host.
"""

from collections.abc import Awaitable, Callable

from comity.errors import ComityError, Postponed
from comity.gate import FetchRobots
from comity.gate.robots_request import RobotsRequest
from comity.net.clock import Clock
from comity.net.settings import ClientSettings
from comity.net.transport import Transport, timed_out
from comity.policy import Policy, RobotsResult


async def fetch_robots(
    step: FetchRobots,
    transport: Transport,
    policy: Policy,
    settings: ClientSettings,
    clock: Clock,
    turn: Callable[[str], Awaitable[None]],
) -> RobotsResult:
    """What a site answers when it is asked for its robots.txt; no answer is an answer too.

    Args:
        turn: waits until the URL that a redirect leads to may be asked.

    Raises:
        Postponed: that would take too long.
    """
    request = RobotsRequest(policy, step)
    timeout = settings.robots_timeout or settings.timeout
    result = None
    try:
        while True:
            with transport.deadlines.within(timeout):
                answer = await transport.open("GET", request.url, headers=request.headers or None)
                body = await answer.read(settings.max_robots_body, cut=True)
            result = request.answered(answer.status, answer.headers, body, at=clock.wall())
            if result is not None:
                return result
            await turn(request.url)
    except TimeoutError:
        return request.failed(timed_out(request.url, timeout), at=clock.wall())
    except Postponed:
        raise
    except ComityError as error:
        return request.failed(error, at=clock.wall())
