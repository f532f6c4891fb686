"""The gate tells the next step from URLs, answers and the time; it does no I/O and reads no clock."""

from comity import urls
from comity.gate import FetchRobots, Gate, Go, Refuse, Wait
from comity.policy import Policy, RobotsResult

URL = "http://a.example/page"


def robots(
    body: bytes = b"",
    status: int = 200,
    origin: str = "http://a.example",
    headers: dict[str, str] | None = None,
    policy: Policy | None = None,
) -> RobotsResult:
    return RobotsResult.from_response(
        origin, origin + "/robots.txt", status, body, fetched_at=1.8e9, policy=policy or Policy(), headers=headers
    )


def opened(policy: Policy, body: bytes = b"", now: float = 0.0, **more: object) -> Gate:
    """A gate that knows the robots.txt of a.example since `now`."""
    gate = Gate(policy)
    assert isinstance(gate.ask(URL, now), FetchRobots)
    gate.robots_arrived(robots(body, policy=policy, **more), now)  # type: ignore[arg-type]
    return gate


# covers: W2
def test_robots_txt_comes_before_the_first_page() -> None:
    step = Gate(Policy()).ask(URL, 0.0)
    assert step == FetchRobots("http://a.example", "http://a.example/robots.txt")


def test_one_caller_fetches_robots_txt_and_the_others_wait() -> None:
    gate = Gate(Policy())
    assert isinstance(gate.ask(URL, 0.0), FetchRobots)
    assert gate.ask(URL, 0.0) == Wait(None, "a.example")
    assert gate.consult("http://a.example/other", 0.0) == Wait(None, "a.example")


def test_a_robots_fetch_that_was_given_up_is_handed_to_the_next_caller() -> None:
    gate = Gate(Policy(min_interval=0))
    step = gate.ask(URL, 0.0)
    assert isinstance(step, FetchRobots)
    gate.robots_abandoned(step, 1.0)
    assert isinstance(gate.ask(URL, 1.0), FetchRobots)


# covers: L7
def test_a_refusal_takes_no_slot_and_no_waiting_time() -> None:
    gate = opened(Policy(), b"User-agent: *\nDisallow: /no")
    assert isinstance(gate.ask("http://a.example/no", 0.0), Refuse)
    assert isinstance(gate.ask(URL, 1.0), Go)


# covers: L6, Y4, F15
def test_the_next_request_starts_one_interval_after_the_last_answer() -> None:
    gate = opened(Policy(min_interval=1), b"User-agent: *\nCrawl-delay: 5")
    step = gate.ask(URL, 5.0)
    assert isinstance(step, Go)
    assert gate.ask(URL, 100.0) == Wait(None, "a.example"), "the first is still on its way"
    gate.answered(step, 101.0)
    assert gate.ask(URL, 105.9) == Wait(106.0, "a.example")
    assert isinstance(gate.ask(URL, 106.0), Go)


def test_a_host_waits_alone() -> None:
    gate = opened(Policy(min_interval=60))
    assert isinstance(gate.ask(URL, 60.0), Go)
    assert isinstance(gate.ask("http://b.example/", 60.0), FetchRobots)


# covers: L11
def test_the_robots_fetch_counts_for_politeness_unless_told_otherwise() -> None:
    assert opened(Policy(min_interval=2)).ask(URL, 0.0) == Wait(2.0, "a.example")
    assert isinstance(opened(Policy(min_interval=2, robots_fetch_counts=False)).ask(URL, 0.0), Go)


def test_without_an_interval_requests_overlap() -> None:
    gate = opened(Policy(min_interval=0))
    assert all(isinstance(gate.ask(URL, 0.0), Go) for _ in range(3))


# covers: L3
def test_scheme_host_and_port_each_have_their_own_file() -> None:
    gate = opened(Policy(min_interval=0), b"User-agent: *\nDisallow: /")
    assert isinstance(gate.ask(URL, 0.0), Refuse)
    for other in ("https://a.example/page", "http://a.example:8080/page", "http://www.a.example/page"):
        assert isinstance(gate.ask(other, 0.0), FetchRobots)
    same = urls.normalise("HTTP://A.example:80/page")
    assert isinstance(gate.ask(same, 0.0), Refuse), "the default port is the same origin"


# covers: F12, F13, F20, Y6
def test_a_copy_is_used_until_its_life_is_over() -> None:
    gate = opened(Policy(min_interval=0, cache_life=3600))
    assert isinstance(gate.ask(URL, 3599.0), Go)
    assert isinstance(gate.ask(URL, 3600.0), FetchRobots)


def test_http_freshness_sets_the_life_within_a_minute_and_a_day() -> None:
    def life(headers: dict[str, str]) -> tuple[bool, bool]:
        gate = opened(Policy(min_interval=0), headers=headers)
        assert isinstance(gate.ask(URL, 0.0), Go)
        return isinstance(gate.ask(URL, 59.0), Go), isinstance(gate.ask(URL, 86_399.0), Go)

    assert life({}) == (True, True)
    assert life({"cache-control": "max-age=600"}) == (True, False)
    assert life({"cache-control": "no-store"}) == (True, False)
    year = opened(Policy(min_interval=0), headers={"cache-control": "public, max-age=31536000"})
    assert isinstance(year.ask(URL, 0.0), Go)
    assert isinstance(year.ask(URL, 86_400.0), FetchRobots)


def test_a_copy_that_is_stale_on_arrival_still_decides_once() -> None:
    gate = opened(Policy(min_interval=1, cache_life=0))
    assert isinstance(gate.ask(URL, 1.0), Go)


# covers: F20
def test_an_unreachable_robots_txt_is_remembered_for_a_while_and_asked_again() -> None:
    gate = opened(Policy(min_interval=0, failure_life=300), status=503)
    assert isinstance(gate.ask(URL, 299.0), Refuse)
    assert isinstance(gate.ask(URL, 300.0), FetchRobots)


def test_the_last_good_copy_stays_in_force_while_the_site_is_unreachable() -> None:
    gate = opened(Policy(min_interval=0), b"User-agent: *\nDisallow: /no")
    step = gate.ask(URL, 0.0)
    assert isinstance(step, Go)
    gate.answered(step, 0.0, status=200)
    assert isinstance(gate.ask(URL, 90_000.0), FetchRobots)
    gate.robots_arrived(robots(status=500), 90_000.0)
    assert isinstance(gate.ask("http://a.example/no", 90_001.0), Refuse)
    assert isinstance(gate.ask(URL, 90_001.0), Go)


# covers: W10, Y7, L4
def test_mode_ignore_asks_for_no_robots_txt_and_keeps_the_pace() -> None:
    gate = Gate(Policy(mode="ignore", min_interval=3))
    step = gate.ask(URL, 0.0)
    assert isinstance(step, Go)
    assert step.decision.verdict == "skipped_by_user_policy"
    gate.answered(step, 0.0)
    assert gate.ask(URL, 1.0) == Wait(3.0, "a.example")


# covers: L13
def test_retry_after_holds_the_host_off() -> None:
    gate = opened(Policy(min_interval=1))
    step = gate.ask(URL, 1.0)
    assert isinstance(step, Go)
    gate.answered(step, 1.0, status=429, retry_after=120.0)
    assert gate.ask(URL, 2.0) == Wait(121.0, "a.example")
