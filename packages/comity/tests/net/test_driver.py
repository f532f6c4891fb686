"""What drives a gate, on a loop and in threads: turns that are given back, robots.txt over several hops."""

import asyncio
import gzip
import itertools
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sites import HANGS

import comity
from comity.gate import FetchRobots, Step
from comity.net import turns
from comity.net.async_driver import AsyncDriver
from comity.net.blocking_driver import Driver, Get, read_robots
from comity.net.response import Response
from comity.net.turns import MAX_ROBOTS_BYTES, RobotsRequest
from comity.policy import Policy, RobotsResult

POLICY = Policy(agent="MyBot/1.0", min_interval=0.1, robots_fetch_counts=False, backoff=0)
STEP = FetchRobots("https://example.com", "https://example.com/robots.txt")
PAGE = "https://example.com/page"


def rules(step: FetchRobots, conditions: Any = None, deadline: float = 0.0) -> Response:
    return Response(url=step.url, status=200, headers={}, body=b"User-agent: *\nDisallow: /no\n")


async def async_rules(step: FetchRobots, conditions: Any) -> Response:
    return rules(step)


def asked_of(get: Get) -> RobotsResult:
    """What a driver makes of the answers of a site."""
    driver = Driver(POLICY)
    driver.decision(PAGE, get)
    return driver.gate.robots.results()[STEP.origin]


def test_a_block_that_fails_gives_its_turn_back() -> None:
    driver = Driver(POLICY)
    with pytest.raises(ZeroDivisionError), driver.turn(PAGE, rules):
        _ = 1 / 0
    with driver.turn(PAGE, rules) as go:
        assert go.decision.may_fetch


def test_a_refusal_takes_no_time() -> None:  # covers: L7
    driver = Driver(POLICY.with_changes(min_interval=30))
    with driver.turn(PAGE, rules):
        pass
    started = time.monotonic()
    with pytest.raises(comity.RobotsDisallowed, match="line 2"), driver.turn("https://example.com/no", rules):
        pass
    assert time.monotonic() - started < 25


def test_threads_of_one_host_take_turns() -> None:
    driver = Driver(POLICY.with_changes(min_interval=0.02))
    inside, seen, asked = [], [], []

    def once(step: FetchRobots, conditions: Any, deadline: float = 0.0) -> Response:
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
        thread.join(HANGS)
    assert asked == [STEP]
    assert [count for count, _ in seen] == [1] * 8
    times = [moment for _, moment in seen]
    assert min(later - earlier for earlier, later in itertools.pairwise(times)) >= 0.02


def test_when_a_fetch_of_robots_txt_is_broken_off_the_next_caller_fetches() -> None:
    driver = Driver(POLICY)

    def interrupted(step: FetchRobots, conditions: Any, deadline: float = 0.0) -> Response:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), driver.turn(PAGE, interrupted):
        pass
    with driver.turn(PAGE, rules) as go:
        assert go.decision.may_fetch


def test_when_the_fetching_task_is_cancelled_a_waiting_one_fetches() -> None:
    async def run() -> None:
        driver = AsyncDriver(POLICY)
        begun = asyncio.Event()

        async def never(step: FetchRobots, conditions: Any, deadline: float = 0.0) -> Response:
            begun.set()
            await asyncio.sleep(60)
            raise AssertionError

        async def ask(robots: Callable[[FetchRobots, Any], Awaitable[Response]]) -> bool:
            async with driver.turn(PAGE, robots) as go:
                return go.decision.may_fetch

        first = asyncio.create_task(ask(never))
        await begun.wait()
        second = asyncio.create_task(ask(async_rules))
        await asyncio.sleep(0.01)
        first.cancel()
        assert await asyncio.wait_for(second, HANGS)

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
        async with asyncio.timeout(HANGS), driver.turn(PAGE, async_rules):
            pass

    asyncio.run(run())


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("/robots.txt", "in a loop"),
        ("mailto:x@example.com", "which cannot be fetched"),
        ("", "without a Location"),
        (None, "more than the limit of 5 redirects (robots_redirects)"),
    ],
)
def test_a_robots_txt_that_redirects_to_no_end_is_unavailable(location: str | None, why: str) -> None:
    asked: list[str] = []

    def get(step: FetchRobots, conditions: dict[str, str], deadline: float) -> Response:
        asked.append(step.url)
        to = f"/{len(asked)}" if location is None else location
        return Response(url=step.url, status=302, headers={"LOCATION": to}, body=b"")

    result = asked_of(get)
    assert result.kind == "unavailable"
    assert why in str(result.error)
    assert len(asked) == (6 if location is None else 1)


def test_a_failure_on_the_way_is_unreachable_and_says_where() -> None:
    request = RobotsRequest(POLICY, STEP)
    headers = {"Location": "https://other.example/robots.txt"}
    assert request.answered(Response(url=STEP.url, status=301, headers=headers, body=b""), at=0.0) is None
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

    assert len(read_robots(STEP.url, 200, {}, parts(), time.monotonic() + HANGS).body) == MAX_ROBOTS_BYTES
    assert taken == 16


def test_a_robots_txt_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MAX_ROBOTS_SECONDS", 0.05)

    def trickle() -> Iterator[bytes]:
        while True:
            time.sleep(0.01)
            yield b"#"

    with pytest.raises(TimeoutError):
        read_robots(STEP.url, 200, {}, trickle(), time.monotonic() + 0.05)

    async def slow(step: FetchRobots, conditions: dict[str, str]) -> Response:
        await asyncio.sleep(60)
        raise AssertionError

    driver = AsyncDriver(POLICY)
    asyncio.run(driver.decision(PAGE, slow))
    assert driver.gate.robots.results()[STEP.origin].kind == "unreachable"


SLOW = b"User-agent: *\nCrawl-delay: 99999999999\n"
PATIENT = POLICY.with_changes(robots_fetch_counts=True)


def delayed(step: FetchRobots, conditions: Any, deadline: float = 0.0) -> Response:
    return Response(url=step.url, status=200, headers={}, body=SLOW)


async def async_delayed(step: FetchRobots, conditions: Any, deadline: float = 0.0) -> Response:
    return Response(url=step.url, status=200, headers={}, body=SLOW)


def test_a_turn_that_comes_too_late_is_not_waited_for() -> None:
    driver = Driver(PATIENT)
    started = time.monotonic()
    for _ in range(2):
        with pytest.raises(comity.Postponed, match="raise max_wait") as caught, driver.turn(PAGE, delayed):
            pass
        assert caught.value.seconds > 600
    assert time.monotonic() - started < 25


def test_a_turn_that_comes_too_late_is_not_waited_for_on_asyncio() -> None:
    async def run() -> None:
        driver = AsyncDriver(PATIENT)

        async def ask() -> None:
            async with driver.turn(PAGE, async_delayed):
                raise AssertionError("it was let through")

        async with asyncio.timeout(HANGS):
            outcomes = await asyncio.gather(*(ask() for _ in range(5)), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [comity.Postponed] * 5

    asyncio.run(run())


def test_a_retry_after_of_a_day_is_not_waited_for() -> None:
    driver = Driver(POLICY)
    with driver.turn(PAGE, rules) as go:
        driver.headers_received(go, 503, {"retry-after": "86400"})
    with pytest.raises(comity.Postponed) as caught, driver.turn(PAGE, rules):
        pass
    assert caught.value.seconds > 600


def test_without_a_limit_one_sleep_is_no_longer_than_a_clock_can_take() -> None:
    ended = threading.Event()
    driver = Driver(PATIENT, max_wait=None)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            with driver.turn(PAGE, delayed):
                pass
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    threading.Thread(target=work, daemon=True).start()
    assert not ended.wait(0.2), errors

    async def run() -> None:
        waiting = AsyncDriver(PATIENT, max_wait=None)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), waiting.turn(PAGE, async_delayed):
                pass

    asyncio.run(run())


def test_who_waits_for_another_request_does_so_within_the_limit() -> None:
    driver = Driver(POLICY, max_wait=0.15)
    with (
        driver.turn(PAGE, rules),
        pytest.raises(comity.Postponed, match=r"within 0\.15 s"),
        driver.turn(PAGE, rules),
    ):
        pass

    async def run() -> None:
        waiting = AsyncDriver(POLICY, max_wait=0.15)

        async def ask() -> None:
            async with waiting.turn(PAGE, async_rules):
                raise AssertionError("it was let through")

        async with waiting.turn(PAGE, async_rules):  # one waits for this request's answer, two wait in line
            outcomes = await asyncio.gather(*(ask() for _ in range(3)), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [comity.Postponed] * 3

    asyncio.run(run())


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), True, "soon"])
def test_a_limit_is_a_number_of_seconds(seconds: Any) -> None:
    with pytest.raises(comity.InvalidSetting, match="max_wait"):
        Driver(POLICY, seconds)
    with pytest.raises(comity.InvalidSetting, match="max_wait"):
        AsyncDriver(POLICY, seconds)


BREAKING = POLICY.with_changes(min_interval=0, breaker_failures=2, breaker_recovery=60)


def test_a_host_that_fails_again_and_again_is_left_alone() -> None:
    driver = Driver(BREAKING)
    with driver.turn(PAGE, rules) as go:
        driver.headers_received(go, 500)
    with pytest.raises(ConnectionResetError), driver.turn(PAGE, rules):
        raise ConnectionResetError
    with pytest.raises(comity.CircuitOpen), driver.turn(PAGE, rules):
        pass

    async def run() -> None:
        other = AsyncDriver(BREAKING)
        for _ in range(2):
            async with other.turn(PAGE, async_rules) as go:
                other.headers_received(go, 503)
        with pytest.raises(comity.CircuitOpen):
            async with other.turn(PAGE, async_rules):
                pass

    asyncio.run(run())


def test_an_answer_in_between_shows_that_the_host_is_well() -> None:
    driver = Driver(BREAKING)
    for status in (500, 404, 500, 200, 500):
        with driver.turn(PAGE, rules) as go:
            driver.headers_received(go, status)
    with driver.turn(PAGE, rules):
        pass


def test_what_is_broken_off_on_our_side_says_nothing_about_the_host() -> None:
    driver = Driver(BREAKING)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), driver.turn(PAGE, rules):
            raise KeyboardInterrupt
    with driver.turn(PAGE, rules) as go:
        assert go.decision.may_fetch

    async def run() -> None:
        backing_off = BREAKING.with_changes(backoff=30, max_backoff=60)
        other = AsyncDriver(backing_off, max_wait=5)

        async def hang() -> None:
            async with other.turn(PAGE, async_rules):
                await asyncio.sleep(60)

        for _ in range(3):
            hanging = asyncio.create_task(hang())
            await asyncio.sleep(0.01)
            hanging.cancel()
            await asyncio.gather(hanging, return_exceptions=True)
        async with other.turn(PAGE, async_rules) as go:
            assert go.decision.may_fetch

    asyncio.run(run())


def questions_to(driver: AsyncDriver | Driver) -> list[str]:
    """The URLs that its gate is asked about from now on."""
    asked: list[str] = []
    ask = driver.gate.ask

    def noted(url: str, now: float) -> Step:
        asked.append(url)
        return ask(url, now)

    driver.gate.ask = noted  # type: ignore[method-assign]
    return asked


def test_a_turn_wakes_one_of_those_who_wait() -> None:
    """Counted in questions to the gate: were all woken for each turn, they would be half the square of the callers."""
    callers = 60

    async def run() -> int:
        driver = AsyncDriver(POLICY.with_changes(min_interval=0.001))
        asked = questions_to(driver)

        async def work(number: int) -> int:
            async with driver.turn(PAGE, async_rules) as go:
                driver.headers_received(go, 200)
            return number

        await asyncio.gather(*(work(number) for number in range(callers)))
        assert not driver._lines
        return len(asked)

    assert callers <= asyncio.run(run()) <= 6 * callers


def test_a_turn_wakes_one_of_the_threads_that_wait() -> None:
    """Counted as above, for the driver that blocks."""
    callers = 60
    driver = Driver(POLICY.with_changes(min_interval=0.001))
    asked = questions_to(driver)

    def work(_: int) -> None:
        with driver.turn(PAGE, rules) as go:
            driver.headers_received(go, 200)

    with ThreadPoolExecutor(callers) as threads:
        list(threads.map(work, range(callers)))
    assert not driver._lines
    assert callers <= len(asked) <= 6 * callers


def test_a_thread_that_gives_up_in_line_holds_up_nobody() -> None:
    driver = Driver(POLICY.with_changes(min_interval=0.001), max_wait=0.3)
    outcomes: list[str] = []

    def work(_: int) -> None:
        try:
            with driver.turn(PAGE, rules):
                outcomes.append("served")
        except comity.Postponed:
            outcomes.append("postponed")

    with ThreadPoolExecutor(4) as threads:
        with driver.turn(PAGE, rules):
            list(threads.map(work, range(4)))
        assert outcomes == ["postponed"] * 4
        list(threads.map(work, range(4)))
    assert outcomes[4:] == ["served"] * 4
    assert not driver._lines


def test_a_refusal_does_not_wait_in_line() -> None:  # covers: L7
    async def run() -> None:
        driver = AsyncDriver(POLICY)
        async with driver.turn(PAGE, async_rules):
            waiting = asyncio.create_task(driver.permission(PAGE, async_rules))
            await asyncio.sleep(0.01)
            with pytest.raises(comity.RobotsDisallowed):
                async with asyncio.timeout(HANGS), driver.turn("https://example.com/no", async_rules):
                    pass
            waiting.cancel()

    asyncio.run(run())


def test_a_compressed_robots_txt_is_read() -> None:
    text = b"User-agent: *\nDisallow: /no\n"
    for coding, packed in (("gzip", gzip.compress(text)), ("deflate", zlib.compress(text)), ("identity", text)):
        parts = (packed[at : at + 1] for at in range(len(packed)))
        answer = read_robots(STEP.url, 200, {"content-encoding": coding}, parts, time.monotonic() + HANGS)
        assert answer.body == text


def test_a_compressed_robots_txt_grows_to_its_limit_and_no_further() -> None:
    bomb = gzip.compress(b"#" * 50_000_000)
    answer = read_robots(STEP.url, 200, {"Content-Encoding": "gzip"}, [bomb], time.monotonic() + HANGS)
    assert len(answer.body) == MAX_ROBOTS_BYTES


def test_a_coding_that_nobody_asked_for_makes_robots_txt_unreachable() -> None:
    def get(step: FetchRobots, conditions: dict[str, str], deadline: float) -> Response:
        headers = {"Content-Encoding": "br"}
        return read_robots(step.url, 200, headers, [b"anything"], deadline)

    result = asked_of(get)
    assert (result.kind, "not requested" in str(result.error)) == ("unreachable", True)
