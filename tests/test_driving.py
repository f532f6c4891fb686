"""What the wrappers share, without any library: turns that are given back, robots.txt over several hops."""

import asyncio
import itertools
import threading
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest

import comity
from comity.gate import FetchRobots
from comity.gate.robots_request import RobotsRequest
from comity.integrations import _robots_request
from comity.integrations._driving import AsyncDriver, Driver
from comity.integrations._robots_request import Answer, Body, body_of, robots_result
from comity.policy import Policy, RobotsResult

POLICY = Policy(agent="MyBot/1.0", min_interval=0.1, robots_fetch_counts=False, backoff=0)
STEP = FetchRobots("https://example.com", "https://example.com/robots.txt")
PAGE = "https://example.com/page"


def rules(step: FetchRobots, text: bytes = b"User-agent: *\nDisallow: /no\n") -> RobotsResult:
    return RobotsResult.from_response(step.origin, step.url, 200, text, fetched_at=0.0, policy=POLICY)


async def async_rules(step: FetchRobots) -> RobotsResult:
    return rules(step)


def test_a_block_that_fails_gives_its_turn_back() -> None:
    driver = Driver(POLICY)
    with pytest.raises(ZeroDivisionError), driver.turn(PAGE, rules):
        _ = 1 / 0
    with driver.turn(PAGE, rules) as turn:
        assert turn.decision.may_fetch


def test_a_refusal_takes_no_time() -> None:  # covers: L7
    driver = Driver(POLICY.with_changes(min_interval=30))
    with driver.turn(PAGE, rules):
        pass
    started = time.monotonic()
    with pytest.raises(comity.RobotsDisallowed, match="line 2"), driver.turn("https://example.com/no", rules):
        pass
    assert time.monotonic() - started < 5


def test_threads_of_one_host_take_turns() -> None:
    driver = Driver(POLICY.with_changes(min_interval=0.02))
    inside, seen, asked = [], [], []

    def once(step: FetchRobots) -> RobotsResult:
        asked.append(step)
        time.sleep(0.05)
        return rules(step)

    def work() -> None:
        with driver.turn(PAGE, once):
            inside.append(1)
            seen.append((len(inside), time.monotonic()))
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert asked == [STEP]
    assert [count for count, _ in seen] == [1] * 8
    times = [moment for _, moment in seen]
    assert min(later - earlier for earlier, later in itertools.pairwise(times)) >= 0.02


def test_when_a_fetch_of_robots_txt_is_broken_off_the_next_caller_fetches() -> None:
    driver = Driver(POLICY)

    def interrupted(step: FetchRobots) -> RobotsResult:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), driver.turn(PAGE, interrupted):
        pass
    with driver.turn(PAGE, rules) as turn:
        assert turn.decision.may_fetch


def test_when_the_fetching_task_is_cancelled_a_waiting_one_fetches() -> None:
    async def run() -> None:
        driver = AsyncDriver(POLICY)
        begun = asyncio.Event()

        async def never(step: FetchRobots) -> RobotsResult:
            begun.set()
            await asyncio.sleep(60)
            raise AssertionError

        async def ask(robots: Callable[[FetchRobots], Awaitable[RobotsResult]]) -> bool:
            async with driver.turn(PAGE, robots) as turn:
                return turn.decision.may_fetch

        first = asyncio.create_task(ask(never))
        await begun.wait()
        second = asyncio.create_task(ask(async_rules))
        await asyncio.sleep(0.01)
        first.cancel()
        assert await asyncio.wait_for(second, 5)

    asyncio.run(run())


def test_a_cancelled_request_gives_its_turn_back() -> None:
    async def run() -> None:
        driver = AsyncDriver(POLICY)

        async def hang() -> None:
            async with driver.turn(PAGE, async_rules):
                await asyncio.sleep(60)

        hanging = asyncio.create_task(hang())
        await asyncio.sleep(0.01)
        hanging.cancel()
        async with asyncio.timeout(5), driver.turn(PAGE, async_rules):
            pass

    asyncio.run(run())


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("/robots.txt", "in a loop"),
        ("mailto:x@example.com", "no web address"),
        ("", "in a loop"),
        (None, "more than 5 times"),
    ],
)
def test_a_robots_txt_that_redirects_to_no_end_is_unavailable(location: str | None, why: str) -> None:
    asked: list[str] = []

    def get(url: str, deadline: float) -> Answer:
        asked.append(url)
        return Answer(302, {"LOCATION": f"/{len(asked)}" if location is None else location}, b"")

    result = robots_result(POLICY, STEP, get, (OSError,))
    assert result.kind == "unavailable"
    assert why in str(result.error)
    assert len(asked) == (6 if location is None else 1)


def test_a_failure_on_the_way_is_unreachable_and_says_where() -> None:
    request = RobotsRequest(POLICY, STEP)
    assert request.answered(301, {"Location": "https://other.example/robots.txt"}, b"", at=0.0) is None
    result = request.failed(ConnectionResetError(), at=0.0)
    assert (result.kind, result.error) == ("unreachable", "ConnectionResetError")
    assert result.url == "https://other.example/robots.txt"
    assert result.redirects == (STEP.url,)


def test_of_a_long_robots_txt_only_the_start_is_read() -> None:
    taken = 0

    def parts() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield b"#" * 65_536

    assert len(body_of(Body(STEP.url, 200, {}), parts(), time.monotonic() + 5)) == _robots_request.LONGEST
    assert taken == 16


def test_a_robots_txt_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_robots_request, "TIMEOUT", 0.05)

    def trickle() -> Iterator[bytes]:
        while True:
            time.sleep(0.01)
            yield b"#"

    with pytest.raises(TimeoutError):
        body_of(Body(STEP.url, 200, {}), trickle(), time.monotonic() + 0.05)

    async def slow(url: str) -> Answer:
        await asyncio.sleep(60)
        raise AssertionError

    result = asyncio.run(_robots_request.async_robots_result(POLICY, STEP, slow, (TimeoutError,)))
    assert result.kind == "unreachable"
