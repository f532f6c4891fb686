"""Fetching a robots.txt: redirects, time-out and limits of its own. It goes around the gate (no recursion), never
around the address guard.
"""

from comity import urls
from comity.errors import ComityError
from comity.gate import FetchRobots
from comity.net.clock import Clock
from comity.net.settings import ClientSettings
from comity.net.transport import Transport, timed_out
from comity.policy import Policy, RobotsResult

REDIRECTS = (301, 302, 303, 307, 308)


async def fetch_robots(
    step: FetchRobots, transport: Transport, policy: Policy, settings: ClientSettings, clock: Clock
) -> RobotsResult:
    """What a site answers when it is asked for its robots.txt; no answer is an answer too."""
    passed: list[str] = []
    timeout = settings.robots_timeout or settings.timeout
    try:
        with transport.deadlines.within(timeout):
            return await _follow(step, passed, transport, policy, settings, clock)
    except TimeoutError:
        error: ComityError = timed_out(step.url, timeout)
    except ComityError as failure:
        error = failure
    url = passed[-1] if passed else step.url
    return RobotsResult.unreachable(
        step.origin, url, str(error), policy=policy, fetched_at=clock.wall(), redirects=tuple(passed)
    )


async def _follow(
    step: FetchRobots,
    passed: list[str],
    transport: Transport,
    policy: Policy,
    settings: ClientSettings,
    clock: Clock,
) -> RobotsResult:
    url = step.url
    while True:
        conditions = step.cached.validators if step.cached is not None and step.cached.url == url else None
        answer = await transport.open("GET", url, headers=conditions)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        if answer.status == 304 and conditions and step.cached is not None:
            answer.close()
            return step.cached.renewed(policy, headers, clock.wall())
        target = None
        problem = None
        if answer.status in REDIRECTS:
            location = answer.headers.get("Location", "")
            target = urls.join(url, location)
            if target is None:
                problem = f"redirects to {location!r:.200}, which is no web address"
            elif target in passed or target == url:
                problem = "redirects in a loop"
            elif len(passed) >= policy.robots_redirects:
                problem = f"redirects more than {policy.robots_redirects} times"
        body = await answer.read(settings.max_robots_body, cut=True)
        if target is None or problem is not None:
            return RobotsResult.from_response(
                step.origin,
                url,
                answer.status,
                body,
                policy=policy,
                fetched_at=clock.wall(),
                headers=headers,
                redirects=tuple(passed),
                error=problem,
            )
        passed.append(url)
        url = target
