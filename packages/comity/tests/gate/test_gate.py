"""The gate tells the next step from URLs, answers and the time; it does no I/O and reads no clock."""

import math
from pathlib import Path

import pytest

from comity.gate import CircuitOpen, FetchRobots, Gate, Go, OutsideVisitTime, Refuse, Resolve, Wait
from comity.gate import robots_cache as robots_files
from comity.gate.machine import diagram
from comity.gate.throttle import Throttles
from comity.http_rules import retry_after
from comity.policy import Policy, RobotsResult
from comity_pages import urls
from comity_pages.urls import Url

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


def test_copies_of_old_count_towards_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots_files, "MAX_CACHE_BYTES", 100_000)
    gate = Gate(Policy(min_interval=0))
    for number in range(40):
        origin = f"http://h{number}.example"
        step = gate.ask(origin + "/", 0.0)
        assert isinstance(step, FetchRobots)
        old = robots(b"#" * 10_000 + b"\nUser-agent: *\nDisallow: /no", origin=origin)
        assert gate.robots_at_hand(step, old, 0.0, age=10 * 86_400.0) is not None
        down = RobotsResult.unreachable(origin, step.url, "down", policy=gate.policy, fetched_at=1.8e9)
        assert gate.robots_arrived(down, 0.0).stale
    assert 10_000 < sum(len(result.body) for result in gate.robots.results().values()) <= 100_000


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
    gate.finished(step, 101.0)
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


def test_a_request_rate_slows_a_host_in_its_hours_only() -> None:
    gate = opened(Policy(min_interval=1), b"User-agent: *\nRequest-rate: 1/60s 0600-0845")
    for clock, interval in ((5 * 3600.0, 1), (6 * 3600.0, 60), (9 * 3600.0, 1)):
        go = gate.ask(URL, clock)
        assert isinstance(go, Go)
        assert go.decision.delay == interval
        gate.headers_received(go, clock, 200)
        assert gate.ask(URL, clock) == Wait(clock + interval, "a.example")


def test_with_an_interval_a_body_is_read_before_the_next_request_starts() -> None:
    gate = opened(Policy(min_interval=1))
    go = gate.ask(URL, 1.0)
    assert isinstance(go, Go)
    gate.headers_received(go, 1.0, 200, body="read")
    assert gate.ask(URL, 50.0) == Wait(None, "a.example")
    gate.sweep(10_000.0)
    assert gate.ask(URL, 50.0) == Wait(None, "a.example"), "a host that is being read is not forgotten"
    gate.finished(go, 50.0)
    assert isinstance(gate.ask(URL, 50.0), Go)


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
    gate.headers_received(step, 0.0, 200)
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
    gate.finished(step, 0.0)
    assert gate.ask(URL, 1.0) == Wait(3.0, "a.example")


# covers: L13
def test_retry_after_holds_the_host_off() -> None:
    gate = opened(Policy(min_interval=1))
    step = gate.ask(URL, 1.0)
    assert isinstance(step, Go)
    gate.headers_received(step, 1.0, 429, retry_after=120.0)
    assert gate.ask(URL, 2.0) == Wait(121.0, "a.example")


def test_the_document_draws_the_table_as_it_is() -> None:
    drawn = (Path(__file__).parents[4] / "docs" / "gate.md").read_text("utf-8")
    assert f"```mermaid\n{diagram()}\n```" in drawn


# covers: L13
def test_both_forms_of_retry_after_are_read_and_cut_to_the_cap() -> None:
    assert retry_after("120", 0.0) == 120.0
    assert retry_after("Thu, 01 Jan 1970 00:02:00 GMT", 60.0) == 60.0
    assert retry_after("Thu, 01 Jan 1970 00:02:00 GMT", 600.0) == 0.0
    for wrong in (None, "", "soon", "-5", "1e9", "12 minutes"):
        assert retry_after(wrong, 0.0) is None
    gate = opened(Policy(min_interval=1, max_retry_after=10.0))
    step = gate.ask(URL, 1.0)
    assert isinstance(step, Go)
    gate.headers_received(step, 1.0, 503, retry_after=9_999.0)
    assert gate.ask(URL, 2.0) == Wait(11.0, "a.example")


# covers: L12
def test_a_circuit_opens_after_failed_calls_and_one_probe_decides() -> None:
    gate = opened(Policy(min_interval=0, backoff=0, breaker_failures=2, breaker_recovery=30))

    def call(now: float, *, good: bool) -> None:
        step = gate.ask(URL, now)
        assert isinstance(step, Go)
        gate.headers_received(step, now, 200 if good else 500)
        gate.finished(step, now)

    call(0.0, good=False)
    call(1.0, good=True)
    call(2.0, good=False)
    call(3.0, good=False)
    assert gate.ask(URL, 4.0) == CircuitOpen(33.0, "a.example")
    assert isinstance(gate.ask("http://b.example/", 4.0), FetchRobots), "other hosts are not held up"
    probe = gate.ask(URL, 33.0)
    assert isinstance(probe, Go)
    assert isinstance(gate.ask(URL, 33.0), CircuitOpen), "one probe at a time"
    gate.headers_received(probe, 34.0, 500)
    assert not gate.finished(probe, 34.0, again_until=100.0), "the probe decides at once"
    assert gate.ask(URL, 35.0) == CircuitOpen(64.0, "a.example")
    call(64.0, good=True)
    call(65.0, good=True)


def test_a_site_receives_visits_in_its_hours_only() -> None:
    gate = opened(Policy(min_interval=0), b"User-agent: *\nVisit-time: 0600-0845")
    assert gate.ask(URL, 0.0) == OutsideVisitTime(6 * 3600.0, "a.example")
    assert isinstance(gate.ask(URL, 6 * 3600.0), Go)
    assert isinstance(gate.ask(URL, 9 * 3600.0), OutsideVisitTime)
    assert isinstance(
        opened(Policy(min_interval=0, honour=()), b"User-agent: *\nVisit-time: 0600-0845").ask(URL, 0), Go
    )


def test_a_host_that_fails_is_left_alone_for_longer_each_time_and_trusted_again_slowly() -> None:
    gate = opened(Policy(min_interval=1, backoff=1, max_backoff=8))
    now, waits = 1.0, []
    for status in (500, None, 503, 429, 500, 200, 200, 200, 200):
        step = gate.ask(URL, now)
        assert isinstance(step, Go)
        if status is not None:
            gate.headers_received(step, now, status)
        gate.finished(step, now)
        waits.append(gate.throttles.ready_at("a.example") - now)
        now = gate.throttles.ready_at("a.example")
    assert waits == [1, 2, 4, 8, 8, 4, 2, 1, 1]


def test_a_slow_site_is_left_alone_for_a_multiple_of_its_response_time() -> None:
    gate = opened(Policy(min_interval=1, adaptive=3))
    step = gate.ask(URL, 1.0)
    assert isinstance(step, Go)
    gate.headers_received(step, 5.0, 200)
    assert gate.throttles.ready_at("a.example") == 5.0 + 3 * 4.0


def test_hosts_of_one_domain_or_address_share_a_pace_where_the_policy_says_so() -> None:
    gate = opened(Policy(min_interval=9, pace_by="domain"))
    assert gate.pace_of("www.example.co.uk") == "example.co.uk"
    assert gate.ask("http://www.a.example/", 1.0) == Wait(9.0, "a.example")
    gate = Gate(Policy(min_interval=9, pace_by="address"))
    assert gate.ask(URL, 0.0) == Resolve("a.example")
    gate.resolved("a.example", "192.0.2.1")
    gate.resolved("b.example", "192.0.2.1")
    assert isinstance(gate.ask(URL, 0.0), FetchRobots)
    gate.robots_arrived(robots(), 0.0)
    assert gate.ask("http://b.example/", 1.0) == Wait(9.0, "192.0.2.1")


def test_an_order_about_a_host_holds_for_its_address_once_that_is_known() -> None:
    gate = Gate(Policy(min_interval=1, pace_by="address"))
    gate.throttles.order("a.example", 30.0)
    gate.resolved("a.example", "192.0.2.1")
    assert gate.throttles.orders == {"192.0.2.1": 30.0}


def test_of_two_orders_about_hosts_that_turn_out_to_share_an_address_the_slower_one_holds() -> None:
    gate = Gate(Policy(min_interval=1, pace_by="address"))
    gate.throttles.order("a.example", 30.0)
    gate.throttles.order("b.example", 2.0)
    gate.resolved("a.example", "192.0.2.1")
    gate.resolved("b.example", "192.0.2.1")
    assert gate.throttles.orders == {"192.0.2.1": 30.0}


def test_paces_survive_a_restart() -> None:
    gate = opened(Policy(min_interval=60))
    later = Gate(gate.policy)
    later.throttles.restore_delays(gate.throttles.delays(10.0), 1_000.0)
    assert later.ask(URL, 1_049.9) == Wait(1_050.0, "a.example")


def test_after_a_crash_hosts_that_nothing_is_known_of_wait_too() -> None:
    gate = opened(Policy(min_interval=2))
    gate.throttles.restore_delays({"a.example": 5.0}, 100.0, others=2.0)
    assert gate.throttles.ready_at("a.example") == 105.0
    assert gate.throttles.ready_at("b.example") == 102.0
    assert gate.ask("http://b.example/", 101.0) == Wait(102.0, "b.example")
    assert gate.throttles.intervals() == {}
    gate.robots_arrived(robots(b"User-agent: *\nCrawl-delay: 7\n"), 105.0)
    assert isinstance(gate.ask(URL, 200.0), Go)
    assert gate.throttles.intervals() == {"a.example": 7.0}
    later = Gate(gate.policy)
    later.throttles.restore_delays({}, 0.0, intervals=gate.throttles.intervals())
    assert later.throttles.intervals() == {"a.example": 7.0}, "known before it is asked again"


def test_an_order_of_the_operator_holds_for_the_next_request_and_may_be_lifted() -> None:
    gate = opened(Policy(min_interval=1))
    gate.throttles.order("a.example", 30.0)
    assert gate.ask(URL, 5.0) == Wait(30.0, "a.example")
    step = gate.ask(URL, 30.0)
    assert isinstance(step, Go)
    gate.headers_received(step, 31.0, 200)
    gate.finished(step, 31.0)
    assert gate.ask(URL, 40.0) == Wait(61.0, "a.example")
    assert gate.pause("a.example", 40.0).ordered == 30.0
    gate.throttles.order("a.example", 0.0)
    assert gate.ask(URL, 31.5) == Wait(32.0, "a.example"), "the policy's interval is kept all the same"
    step = gate.ask(URL, 32.0)
    assert isinstance(step, Go)
    gate.headers_received(step, 32.0, 503, retry_after=50.0)
    gate.finished(step, 32.0)
    gate.throttles.order("a.example", 100.0)
    gate.throttles.order("a.example", 0.0)
    assert gate.throttles.ready_at("a.example") == 82.0, "what the site asked for is not lifted"
    gate.throttles.order("new.example", 30.0)
    assert gate.throttles.ready_at("new.example") <= 0.0, "it was not asked for anything yet"


def test_an_order_that_is_lifted_leaves_the_waits_of_an_earlier_run_as_they_are() -> None:
    gate = opened(Policy(min_interval=1))
    gate.throttles.restore_delays({"a.example": 60.0, "b.example": 60.0}, 100.0, others=2.0)
    for host, seconds in (("a.example", 5.0), ("b.example", 500.0), ("new.example", 5.0)):
        gate.throttles.order(host, seconds)
        gate.throttles.order(host, seconds / 2)
        gate.throttles.order(host, 0.0)
    assert gate.throttles.delays(100.0) == {"a.example": 60.0, "b.example": 60.0, "new.example": 2.0}


def test_an_order_that_is_lifted_between_two_runs_takes_its_own_wait_along_and_no_other() -> None:
    gate = opened(Policy(min_interval=1))
    gate.throttles.order("a.example", 300.0)
    step = gate.ask(URL, 300.0)
    assert isinstance(step, Go)
    assert gate.throttles.unordered(300.5) == {"a.example": 1.0}, "as if it were answered now"
    gate.headers_received(step, 301.0, 503, retry_after=50.0)
    gate.finished(step, 301.0)
    assert gate.throttles.delays(311.0) == {"a.example": 290.0}
    assert gate.throttles.unordered(311.0) == {"a.example": 40.0}
    for lifted, left in ((False, 290.0), (True, 40.0)):
        later = Gate(gate.policy)
        later.throttles.restore_delays(
            gate.throttles.delays(311.0), 0.0, unordered=gate.throttles.unordered(311.0), others=1.0
        )
        later.throttles.order("a.example", 300.0)
        if lifted:
            later.throttles.order("a.example", 0.0)
        assert later.throttles.delays(0.0) == {"a.example": left}


def test_a_host_that_is_stopped_waits_without_end_for_robots_txt_too() -> None:
    gate = opened(Policy(min_interval=1))
    gate.stopped.update(("a.example", "b.example"))
    assert gate.ask(URL, 100.0) == Wait(math.inf, "a.example")
    assert gate.ask("http://b.example/", 100.0) == Wait(math.inf, "b.example")
    assert gate.pause("a.example", 100.0).until == math.inf
    gate.stopped.clear()
    assert isinstance(gate.ask(URL, 100.0), Go)
    assert isinstance(gate.ask("http://b.example/", 100.0), FetchRobots)


def test_a_robots_txt_that_another_gate_asks_a_host_of_ours_for_takes_its_turn_and_its_answer_counts() -> None:
    gate = opened(Policy(min_interval=3, backoff=10))
    asked = FetchRobots("https://b.example", Url("https://a.example/theirs.txt"))
    assert gate.robots_redirected(asked, asked.url, 1.0) == Wait(3.0, "a.example")
    assert gate.robots_redirected(asked, asked.url, 3.0) == asked
    assert gate.ask(URL, 4.0) == Wait(None, "a.example")
    assert gate.release_robots_turn(asked, 10.0, good=False, retry_after=60.0) == "a.example"
    assert gate.ask(URL, 10.0) == Wait(70.0, "a.example")
    assert gate.throttles.of("a.example").backoff == 10.0
    gate.stopped.add("a.example")
    assert gate.robots_redirected(asked, asked.url, 100.0) == Wait(math.inf, "a.example")


# covers: L2
@pytest.mark.parametrize("status", [200, 404, 503])
def test_without_a_life_no_answer_of_robots_txt_is_asked_for_again(status: int) -> None:
    for policy in (Policy.preset("ladon", mode="respect"), Policy(cache_life=math.inf, failure_life=math.inf)):
        gate = opened(policy, status=status)
        step = gate.ask(URL, 400 * 86_400.0)
        assert isinstance(step, Go if policy.on_unreachable == "allow" or status != 503 else Refuse)


def two_origins(delay: bytes, **settings: object) -> Gate:
    """A gate that knows the robots.txt of two ports of a host, of which the second asks for a Crawl-delay."""
    gate = opened(Policy(min_interval=1, **settings))  # type: ignore[arg-type]
    assert isinstance(gate.ask("http://a.example:8080/", 10.0), FetchRobots)
    slow = robots(b"User-agent: *\nCrawl-delay: " + delay, origin="http://a.example:8080", policy=gate.policy)
    gate.robots_arrived(slow, 10.0)
    return gate


def test_the_delay_of_one_origin_does_not_put_off_another_one_of_its_host() -> None:
    gate = two_origins(b"1e308")
    assert gate.ask("http://a.example:8080/", 10.0) == Wait(10.0 + 1e308, "a.example")
    assert gate.ask(URL, 10.0) == Wait(11.0, "a.example")
    step = gate.ask(URL, 11.0)
    assert isinstance(step, Go)
    gate.headers_received(step, 11.5, 200)
    gate.finished(step, 11.5)
    assert isinstance(gate.ask(URL, 12.5), Go)
    assert isinstance(gate.ask("http://a.example:9090/", 12.5), Wait), "one request at a time all the same"


def test_a_robots_txt_of_another_origin_waits_for_the_policys_interval_only() -> None:
    gate = two_origins(b"5000")
    assert gate.ask("http://a.example:9090/", 10.0) == Wait(11.0, "a.example")
    step = gate.ask("http://a.example:9090/", 11.0)
    assert isinstance(step, FetchRobots)
    assert step.interval == 1.0


def test_an_origin_keeps_its_own_delay_to_every_request_of_its_host_and_over_a_restart() -> None:
    gate = two_origins(b"30")
    step = gate.ask(URL, 11.0)
    assert isinstance(step, Go)
    gate.headers_received(step, 11.0, 200)
    gate.finished(step, 11.0)
    assert gate.ask("http://a.example:8080/", 12.0) == Wait(41.0, "a.example")
    assert gate.ask(URL, 11.5) == Wait(12.0, "a.example")
    assert gate.throttles.delays(11.5) == {"a.example": 29.5}, "who comes later knows hosts only"
    assert gate.throttles.intervals() == {"a.example": 30.0}
    faster = robots(b"", origin="http://a.example:8080", policy=gate.policy)
    gate.robots_arrived(faster, 11.5)
    assert gate.throttles.intervals() == {}


def test_what_else_than_their_interval_hosts_wait_for_is_told() -> None:
    throttles = Throttles(Policy(min_interval=1, backoff=4, breaker_failures=2, breaker_recovery=90))
    for name in ("calm", "busy", "failing", "broken"):
        throttles.of(name).ready_at(1.0)
        throttles.of(name).started(0.0)
    throttles.of("calm").answered(1.0)
    throttles.of("busy").answered(1.0, retry_after=30.0)
    throttles.of("failing").answered(1.0, good=False)
    throttles.of("broken").answered(1.0)
    circuit = throttles.of("broken").circuit
    assert circuit is not None
    for _ in range(2):
        circuit.finished(1.0, good=False)
    assert throttles.reasons(1.0) == {
        "busy": (30.0, "retry_after"),
        "failing": (4.0, "back_off"),
        "broken": (90.0, "circuit_open"),
    }
    assert throttles.reasons(95.0) == {}


def test_a_host_whose_interval_became_longer_than_a_throttle_is_kept_is_not_forgotten_before_it_is_over() -> None:
    throttles = Throttles(Policy(min_interval=1.0))
    host = throttles.of("h.example")
    host.started(0.0)
    host.answered(0.0)
    assert host.ready_at(1200.0) == 1200.0, "another origin that shares the pace asks for more"
    throttles.sweep(700.0)
    assert throttles.of("h.example").ready_at(1200.0) == 1200.0
    throttles.sweep(1300.0)
    assert not throttles.all
