"""The board of a crawl: who has which shard, how many pages each may keep, and when all is over."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from comity import CrawlSettings
from comity.crawler.finding.limits import Spent
from comity.crawler.observe.snapshot import ShardStatus
from comity.crawler.storage.board import BoardInMemory, BoardState, Heartbeat, ShardRow, adjusted_quota
from comity.crawler.storage.crawl_output import FINISHED


def board(shards: int, members: int, most: int | None = None) -> BoardInMemory:
    settings = CrawlSettings(max_pages=most)
    return BoardInMemory(settings, members, most, {number: Spent() for number in range(shards)}, 0.0)


def at(number: int, state: Any = "resting", **values: Any) -> dict[int, tuple[int, ShardStatus]]:
    return {number: (1, ShardStatus(number, state=state, **values))}


def asks(statuses: Mapping[int, tuple[int, ShardStatus]], **values: Any) -> Heartbeat:
    return Heartbeat(dict(statuses), processed={number: {} for number in statuses}, take=False, **values)


def holding(*holders: str | None) -> list[ShardRow]:
    return [ShardRow(number, holder=holder, now=ShardStatus(number)) for number, holder in enumerate(holders)]


@pytest.mark.parametrize(
    ("holders", "members", "held", "room"),
    [
        ((None, None, None, None), 1, 0, 4),
        ((None, None, None, None), 3, 0, 1),  # one each, before somebody has two
        (("a", "b", None, None), 3, 1, 0),
        (("a", "b", None, None), 3, 0, 1),
        (("a", "b", "c", None), 3, 1, 1),
        (("a", None), 3, 0, 1),
        (("a", None), 3, 1, 0),
    ],
)
def test_who_has_its_share_takes_no_more_before_all_others_have_theirs(
    holders: tuple[str | None, ...], members: int, held: int, room: int
) -> None:
    """Who lets a shard go for another would take it again at once."""
    assert BoardState(holding(*holders), members, None, None, 0.0).room(held) == room


def test_shards_are_given_once_and_again_when_their_worker_is_dead() -> None:
    its = board(3, 2)
    assert its.round("a", Heartbeat()).taken == [(0, 1)]
    assert its.round("b", Heartbeat()).taken == [(1, 1)]
    assert its.round("a", Heartbeat()).taken == [(2, 1)]
    assert its.round("b", Heartbeat()).taken == []
    its.round("a", asks(at(0, "working")))
    its.remove_members("a")
    assert [row.now.state for row in its.status().rows] == ["down", "starting", "down"]
    its.round("a", asks(at(0, "working")))
    assert its.status().rows[0].now.state == "down", "what a dead one said comes too late"
    assert its.round("c", Heartbeat(busy=frozenset({0}))).taken == [(2, 2)]


def test_a_limit_is_shared_out_and_what_one_gives_back_another_has() -> None:
    its = board(2, 1, most=10)
    its.round("a", Heartbeat())
    assert its.round("a", asks(at(0, "pages", granted=0))).granted == {0: 0}
    granted = 0
    while (more := its.round("a", asks(at(0, "pages", granted=granted), quota_requests=[(0, 1)])).granted[0]) > granted:
        granted = more
    assert granted == 10
    both = at(0, granted=10, spare=8, spent=Spent(pages=2)) | at(1, "pages", granted=0)
    assert its.round("a", asks(both, quota_requests=[(1, 1)])).lacking
    answer = its.round("a", asks(both, returned=[(0, 1, 2)], quota_requests=[(1, 1)]))
    assert (answer.granted, answer.ended) == ({0: 2, 1: 2}, None)


def test_a_crawl_is_over_once_nothing_is_left_in_any_shard_and_nothing_between_them() -> None:
    its = board(2, 1)
    its.round("a", Heartbeat())
    assert its.round("a", asks(at(0, "working") | at(1))).ended is None
    told = its.round("a", asks(at(0, sent={1: 3}) | at(1)))
    assert (told.ended, told.mail) == (None, [(0, 1)])
    told = its.round("a", asks(at(0, sent={1: 3}) | at(1, taken={0: 3})))
    assert (told.ended, told.delivered, told.over) == (FINISHED, {(0, 1): 3}, False)
    for number in (0, 1):
        its.release("a", number, 1, "ended", ShardStatus(number))
    assert its.round("a", asks({})).over


@pytest.mark.parametrize(("wanted", "spare", "over"), [(True, 0, True), (True, 1, False), (False, 1, True)])
def test_nothing_is_over_while_pages_of_the_limit_are_on_their_way(wanted: bool, spare: int, over: bool) -> None:
    state: Any = "pages" if wanted else "resting"
    rows = [
        replace(row, granted=5, now=ShardStatus(row.number, state=state, granted=5, spare=spare))
        for row in holding("a", "a")
    ]
    settings = CrawlSettings(max_pages=100)
    assert (BoardState(rows, 1, 0, None, 0.0).why_over(settings) is not None) is over
    assert BoardState([replace(row, granted=6) for row in rows], 1, 0, None, 0.0).why_over(settings) is None, (
        "not told yet"
    )
    assert BoardState(rows, 1, 0, None, 7.0).why_over(CrawlSettings(max_seconds=7.0)) == "seconds"


def test_a_worker_takes_again_what_it_has_not_heard_that_it_has() -> None:
    """The connection broke while it took a shard: it is its own on the board, and nobody works it."""
    look = BoardState([ShardRow(0, holder="a"), ShardRow(1, holder="b"), ShardRow(2), ShardRow(3)], 2, None, None, 0.0)
    asked = Heartbeat(busy=frozenset({3}))
    assert [row.number for row in look.to_take("a", asked, set())] == [0, 2]
    assert [row.number for row in look.to_take("a", asked, {0})] == [2]


@pytest.mark.parametrize(
    ("pool", "granted", "kept", "then"),
    [(10, 5, 2, (13, 2)), (10, 5, None, (8, 7)), (1, 0, None, (0, 1)), (0, 4, None, (0, 4))],
)
def test_what_a_shard_is_granted_leaves_the_pool(
    pool: int, granted: int, kept: int | None, then: tuple[int, int]
) -> None:
    assert adjusted_quota(pool, granted, 2, kept) == then
