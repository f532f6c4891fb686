"""The frontier loses no URL and gives none out twice, whatever happens to the process, the machine or the disk."""

from __future__ import annotations  # arrays cannot be subscripted before Python 3.12

import hashlib
import shutil
import sqlite3
import sys
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from examples import cases, first_of
from frontier_work import memory_folder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from in_memory import MemoryStore
from postgres import Server
from stores import Held, PostgresStore, SqliteStore

from comity.errors import StorageError
from comity.frontier.postgresql.database import address
from comity.frontier.postgresql.store import PostgresFrontier, PostgresView
from comity.frontier.rules import DurableFrontier
from comity.frontier.sqlite import seen
from comity.frontier.sqlite import store as store_module
from comity.frontier.sqlite.database import open_for_reading
from comity.frontier.sqlite.store import Frontier, View
from comity.frontier.values import Batch, Entry, EntryKind, Found, LeaseLost, Message, State, Visit

Store = SqliteStore | PostgresStore | MemoryStore
HOSTS = ("a.example", "b.example", "c.example")


def nothing(_new: int, _refusals: list[dict[str, Any]]) -> dict[str, Any]:
    return {}


def found(path: str, host: str = "a.example", **values: Any) -> Found:
    return Found(
        **{"url": f"http://{host}/{path}", "host": host, "depth": 1, "kind": EntryKind.PAGE, "state": State.QUEUED}
        | values
    )


@pytest.fixture(params=first_of("sqlite", "memory", "postgresql", now=2))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Where a frontier may lie: what a test says of it holds for each."""
    if request.param != "postgresql":
        yield MemoryStore() if request.param == "memory" else SqliteStore(tmp_path)
        return
    made = PostgresStore(request.getfixturevalue("postgres"))
    yield made
    made.remove()


Write = Callable[[int, list[dict[str, Any]]], dict[str, Any]]


@pytest.fixture
def frontier(store: Store) -> Iterator[DurableFrontier]:
    with store.open() as opened:
        yield opened


@pytest.fixture
def in_sqlite(tmp_path: Path) -> Iterator[Any]:
    with Frontier(tmp_path / "frontier.sqlite") as opened:
        yield opened


@pytest.fixture
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorted runs appear and merge after a few URLs instead of millions."""
    monkeypatch.setattr(seen, "MAX_FRESH", 10)
    monkeypatch.setattr(seen, "BLOCK", 4)
    monkeypatch.setattr(seen, "SLICE", 1)


def commit(frontier: DurableFrontier, batch: Batch, write: Write) -> None:
    """Commit a batch; what `write` makes of the number of new URLs and the refusals among them is saved with it."""
    with frontier.commit(batch) as made:
        made.facts |= write(made.new, made.refusals)


def urls(entries: list[Entry]) -> list[str]:
    return [entry.url for entry in entries]


def test_a_host_is_served_by_priority_then_sitemaps_then_in_the_order_found(frontier: DurableFrontier) -> None:
    commit(
        frontier,
        Batch(
            found=[
                found("late", priority=5),
                found("first"),
                found("second"),
                found("map", kind=EntryKind.SITEMAP),
                found("urgent", priority=-1),
                found("other", "b.example", priority=-9),
            ]
        ),
        nothing,
    )
    commit(frontier, Batch(found=[found("third")]), nothing)
    entries = frontier.waiting("a.example", but_not=(), most=10)
    assert [url.rpartition("/")[2] for url in urls(entries)] == ["urgent", "map", "first", "second", "third", "late"]
    assert [entry.priority for entry in entries] == [-1, 0, 0, 0, 0, 5]
    held = [entry.id for entry in entries[:2]]
    assert frontier.waiting("a.example", but_not=held, most=2) == entries[2:4]
    assert list(frontier.hosts()) == ["a.example", "b.example"]


@pytest.mark.parametrize(
    "url", ["http://a.example/", "https://a.example:8443/x?y", "http://user@a.example/x", "http://a.example.org/"]
)
def test_a_url_comes_out_as_it_went_in(frontier: DurableFrontier, url: str) -> None:
    commit(frontier, Batch(found=[found("", url=url, depth=7, hops=3, state=State.UNASKED)]), nothing)
    (entry,) = frontier.waiting("a.example", but_not=(), most=10)
    assert (entry.url, entry.depth, entry.hops, entry.attempts, entry.kind) == (url, 7, 3, 0, EntryKind.PAGE)


def test_what_became_of_urls_is_counted(frontier: DurableFrontier) -> None:
    refused = found("no", state=State.REFUSED, refusal={"url": "no"})
    said: list[tuple[int, list[dict[str, Any]]]] = []

    def write(new: int, refusals: list[dict[str, Any]]) -> dict[str, Any]:
        said.append((new, refusals))
        return {"lengths": {"pages": new}}

    batch = Batch(found=[found("1"), found("2"), found("3", state=State.UNASKED), found("1"), refused, refused])
    commit(frontier, batch, write)
    commit(frontier, batch, write)
    assert said == [(4, [{"url": "no"}]), (0, [])]
    assert frontier.load_state("lengths") == {"pages": 0}
    first, second, third = frontier.waiting("a.example", but_not=(), most=10)
    commit(frontier, Batch(settled=[(State.DONE, first.id), (State.FAILED, third.id)], retried=[second.id]), nothing)
    commit(frontier, Batch(settled=[(State.DONE, first.id)]), nothing)  # said twice, counted once
    assert frontier.counts() == {
        State.UNASKED: 0,
        State.QUEUED: 1,
        State.DONE: 1,
        State.REFUSED: 1,
        State.FAILED: 1,
    }
    (left,) = frontier.waiting("a.example", but_not=(), most=10)
    assert left.attempts == 1


def test_the_id_of_a_settled_url_is_not_given_to_another(store: Store) -> None:
    for path in ("1", "2"):
        with store.open() as frontier:
            commit(frontier, Batch(found=[found(path)]), nothing)
            (entry,) = frontier.waiting("a.example", but_not=(), most=10)
            assert entry.id == int(path)
            commit(frontier, Batch(settled=[(State.DONE, entry.id)]), nothing)
            assert list(frontier.hosts()) == []


@pytest.mark.usefixtures("small_runs")
def test_a_failing_write_leaves_everything_as_it_was(frontier: DurableFrontier) -> None:
    def fail(_new: int, _refusals: list[dict[str, Any]]) -> dict[str, Any]:
        raise StorageError("no room")

    for start in range(0, 100, 10):
        batch = Batch(found=[found(str(n)) for n in range(start, start + 10)])
        with pytest.raises(StorageError, match="no room"):
            commit(frontier, batch, fail)
        assert sum(frontier.counts().values()) == start
        commit(frontier, batch, nothing)
    assert len(frontier.waiting("a.example", but_not=(), most=1000)) == 100


def test_one_process_at_a_time(store: Store) -> None:
    with store.open(), pytest.raises(StorageError, match="in use by another crawl"):
        store.open()
    with store.open():
        pass


@pytest.mark.parametrize("begun", [True, False])
def test_a_frontier_is_opened_though_somebody_is_just_opening_it_to_read(tmp_path: Path, begun: bool) -> None:
    path = tmp_path / "frontier.sqlite"
    if begun:
        with Frontier(path):
            pass
    # As a reader who builds the index of the journal, where there is one: it may then hold the lock of those who write.
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE" if begun else "BEGIN")
        other.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        letting_go = threading.Timer(0.2, other.execute, ("ROLLBACK",))
        letting_go.start()
        with Frontier(path) as frontier:
            assert frontier.counts()[State.QUEUED] == 0
        letting_go.join()


def test_the_file_of_another_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "frontier.sqlite"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE url (id)")
    db.commit()
    db.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match="another version"):
        Frontier(path)
    assert path.read_bytes() == before
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StorageError):
        Frontier(path)


@pytest.mark.usefixtures("small_runs")
def test_a_damaged_run_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "frontier.sqlite"
    with Frontier(path) as frontier:
        for start in range(0, 30, 10):
            commit(frontier, Batch(found=[found(str(n)) for n in range(start, start + 10)]), nothing)
    run = next((tmp_path / "frontier.seen").glob("*.run"))
    run.write_bytes(run.read_bytes()[:-8])
    with pytest.raises(StorageError, match="damaged"):
        Frontier(path)
    run.unlink()
    with pytest.raises(StorageError, match=r"\.run|\.seen"):
        Frontier(path)


@pytest.mark.usefixtures("small_runs")
def test_runs_stay_few_and_nothing_lies_around(request: pytest.FixtureRequest) -> None:
    root = memory_folder()
    request.addfinalizer(lambda: shutil.rmtree(root))
    folder = root / "frontier.seen"
    folder.mkdir()
    (folder / "00000007.run").write_bytes(b"what a crash left")
    with Frontier(root / "frontier.sqlite") as opened:
        frontier: Any = opened
        assert list(folder.iterdir()) == []
        most = 0
        for start in range(0, 3000, 10):
            commit(frontier, Batch(found=[found(str(n)) for n in range(start, start + 10)]), nothing)
            most = max(most, *frontier._store._db.execute("SELECT count(*) FROM sorted_run").fetchone())
        assert 2 < most <= 10
        (fresh,) = frontier._store._db.execute("SELECT sum(length(fingerprints)) / 8 FROM fresh").fetchone()
        (sorted_,) = frontier._store._db.execute("SELECT sum(size) FROM sorted_run").fetchone()
        assert fresh <= 20
        assert fresh + sorted_ == 3000


WORD = st.integers(0, 2**64 - 1) | st.integers(0, 300)


@pytest.mark.both_forms
@given(st.lists(st.sets(WORD, min_size=1), min_size=1, max_size=4), st.sets(WORD), st.integers(1, 9))
def test_runs_hold_what_was_written_and_merge_to_their_union(
    groups: list[set[int]], asked: set[int], block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(seen, "BLOCK", block)
        patch.setattr(seen, "SLICE", 2)
        folder = memory_folder()
        stack.callback(shutil.rmtree, folder)

        def run(number: int, pieces: Iterable[array[int]]) -> seen.SortedRun:
            path = folder / f"{number}.run"
            *_, size = seen.write_run(path, pieces)
            opened = seen.SortedRun(path, number, size)
            stack.callback(opened.close)
            return opened

        apart: list[set[int]] = []
        for group in groups:
            apart.append(group.difference(*apart))
        written = [run(n, [array("Q", sorted(words))]) for n, words in enumerate(apart) if words]
        for opened, words in zip(written, filter(None, apart), strict=True):
            assert set(opened.contained(sorted(asked | words))) == words
        merged = run(9, seen.merge_runs(written))
        everything = set().union(*groups)
        assert len(merged) == len(everything)
        assert merged.contained(sorted(asked | everything)) == sorted(everything)
        assert merged.contained(sorted(asked)) == sorted(asked & everything)


def test_a_run_that_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    writing = seen.write_run(tmp_path / "1.run", [array("Q", [1, 2]), array("Q", [3])])
    assert next(writing) == 2
    writing.close()
    assert list(tmp_path.iterdir()) == []


def test_a_full_database_says_so_and_goes_on_once_there_is_room(in_sqlite: Any) -> None:
    frontier = in_sqlite
    (pages,) = frontier._store._db.execute("PRAGMA page_count").fetchone()
    frontier._store._db.execute(f"PRAGMA max_page_count = {pages + 5}")
    batch = Batch(found=[found(f"{n}/{'x' * 100}") for n in range(1000)])
    with pytest.raises(StorageError, match="no room"):
        commit(frontier, batch, nothing)
    assert sum(frontier.counts().values()) == 0
    frontier._store._db.execute("PRAGMA max_page_count = 1000000")
    commit(frontier, batch, nothing)
    assert frontier.counts()[State.QUEUED] == 1000


def test_to_open_a_view_costs_the_same_however_many_hosts_were_met(
    in_sqlite: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = 0

    def counted(path: Path) -> sqlite3.Connection:
        nonlocal work
        work = 0
        db = open_for_reading(path)
        db.set_progress_handler(step, 20)
        return db

    def step() -> None:
        nonlocal work
        work += 1

    monkeypatch.setattr(store_module, "open_for_reading", counted)
    costs = []
    for hosts in (range(10), range(10, 3_000)):
        commit(in_sqlite, Batch(found=[found("", f"h{number}.example") for number in hosts]), nothing)
        with View(tmp_path / "frontier.sqlite") as view:
            assert view.load_state("seeds", "none") == "none"
            costs.append(work)
            view.counts()
            assert work > 10 * costs[-1] or hosts.stop == 10, "what looks at every host is told from what does not"
    assert costs[1] <= costs[0] + 1


@pytest.mark.both_forms
def test_few_fingerprints_in_memory_are_objects_of_their_own(in_sqlite: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "MAX_NEWEST", 100)
    monkeypatch.setattr(seen, "MAX_FRESH", 1_000)
    most = in_memory = 0
    for start in range(0, 3_000, 60):
        batch = Batch(found=[found(f"{number}") for number in range(start, start + 60)])
        commit(in_sqlite, batch, lambda new, _: {"new": new})
        assert in_sqlite.load_state("new") == 60
        commit(in_sqlite, batch, lambda new, _: {"new": new})
        assert in_sqlite.load_state("new") == 0, "each is known, wherever it is kept"
        most = max(most, len(in_sqlite._store.seen._newest))
        in_memory = max(in_memory, len(in_sqlite._store.seen._fresh))
    assert most < 100
    assert 100 < in_memory < 1_100


def test_others_may_look_while_the_crawl_writes(frontier: DurableFrontier, store: Store) -> None:
    commit(frontier, Batch(found=[found("1"), found("2"), found("1", "b.example")]), nothing)
    with store.view() as view:
        (entry,) = frontier.waiting("b.example", but_not=(), most=1)
        commit(frontier, Batch(settled=[(State.DONE, entry.id)]), nothing)
        assert view.counts()[State.QUEUED] == 3, "the view is of one instant"
    with store.view() as view:
        assert [(each.host, each.waiting, each.done) for each in view.busiest(10)] == [
            ("a.example", 2, 0),
            ("b.example", 0, 1),
        ]
        assert urls(view.waiting("a.example", 1)) == ["http://a.example/1"]
        assert view.host("c.example") is None


def test_a_view_of_nothing_says_that_there_is_no_crawl(tmp_path: Path, postgres: Server) -> None:
    with pytest.raises(StorageError, match="no crawl in"):
        View(tmp_path / "none" / "frontier.sqlite")
    with pytest.raises(StorageError, match="no crawl in"):
        PostgresView(address(postgres.url("none")), 0)


def visit(path: str, host: str = "a.example", **values: Any) -> Visit:
    return Visit(f"http://{host}/{path}", 1, "0" * 64, 1.5, 2.5, **values)


def test_a_new_beginning_forgets_what_was_met_and_keeps_what_was_visited(store: Store) -> None:
    waits = ["https://a.example:8443/x?y=1", "http://a.example/z", "http://u:p@a.example/", "https://b.example/ü"]
    with store.open() as frontier:
        first = [found("1"), found("2"), found("map", kind=EntryKind.SITEMAP)]
        first += [
            Found(url, url.split("/")[2].rpartition("@")[2].partition(":")[0], 3, EntryKind.PAGE, State.QUEUED)
            for url in waits
        ]
        commit(frontier, Batch(found=first), nothing)
        ids = {entry.url: entry.id for entry in frontier.waiting("a.example", but_not=(), most=9)}
        settled = [(State.DONE, ids[first[0].url]), (State.FAILED, ids[first[1].url])]
        visits = [visit("1", etag='"e"', modified="then")]
        commit(frontier, Batch(settled=settled, visits=visits, owed=[(first[1].url, 2, None)]), nothing)
        for name in ("spent", "spent a.example", "page x"):
            frontier.save_state(name, 1)

        def fails(last: int) -> dict[str, Any]:
            raise RuntimeError

        with pytest.raises(RuntimeError):
            frontier.start_refresh(forget=("spent", "spent *"), save=fails)
        assert (frontier.load_state("spent"), frontier.counts()[State.DONE]) == (1, 1)
        commit(frontier, Batch(found=first), lambda new, _: {"new": new})
        assert frontier.load_state("new") == 0

        frontier.start_refresh(forget=("spent", "spent *"), save=lambda last: {"last": last})
        assert [frontier.load_state(name) for name in ("spent", "spent a.example", "page x")] == [None, None, 1]
        assert set(frontier.counts().values()) == {0}
        assert not list(frontier.hosts())
    with store.open() as frontier:
        last = frontier.load_state("last")
        assert {each.url: each.depth for each in frontier.visits.until(last)} == {
            first[0].url: 1,
            first[1].url: 2,
        } | dict.fromkeys(waits, 3)
        before = next(frontier.visits.until(last))
        assert (before.url, before.depth) == (first[0].url, 1)
        assert frontier.visits.of(first[0].url) == visits[0]
        assert frontier.visits.of(waits[0]) == Visit(waits[0], 3)
        commit(frontier, Batch(found=first), lambda new, _: {"new": new})
        assert frontier.load_state("new") == len(first)
        assert min(entry.id for entry in frontier.waiting("a.example", but_not=(), most=9)) > max(ids.values())


def test_what_was_visited_again_is_no_longer_before_a_refresh(store: Store) -> None:
    with store.open() as frontier:
        commit(frontier, Batch(visits=[visit("1"), visit("2"), visit("3")]), nothing)
        frontier.start_refresh(forget=(), save=lambda last: {"last": last})
        last = frontier.load_state("last")
        commit(frontier, Batch(stated=[(7.5, visit("2").url), (8.5, "https://a.example/unknown")]), nothing)
        assert frontier.visits.of(visit("2").url) == visit("2", stated=7.5)
        assert frontier.visits.of("https://a.example/unknown") is None
        owed = [(visit(name).url, 9, None) for name in ("2", "3")]
        commit(frontier, Batch(visits=[visit("3")], gone=[visit("1").url], owed=owed), nothing)
        assert [each.url for each in frontier.visits.until(last)] == [visit("2").url]
        assert frontier.visits.of(visit("2").url) == visit("2", stated=7.5), "a failure leaves what is known"
        frontier.start_refresh(forget=(), save=lambda last: {"last": last})
        assert [each.url for each in frontier.visits.until(frontier.load_state("last"))] == [
            visit("2").url,
            visit("3").url,
        ]
        assert frontier.visits.of(visit("2").url) == visit("2")


def test_what_was_met_before_a_new_beginning_is_new_again(frontier: DurableFrontier) -> None:
    for _ in range(2):
        commit(frontier, Batch(found=[found("1"), found("2")]), lambda new, _: {"new": new})
        assert frontier.load_state("new") == 2
        assert [entry.url for entry in frontier.waiting("a.example", but_not=(), most=9)] == [
            "http://a.example/1",
            "http://a.example/2",
        ]
        frontier.start_refresh(forget=(), save=lambda last: {})


def paths(frontier: DurableFrontier) -> list[str]:
    return [entry.url.rpartition("/")[2] for entry in frontier.waiting("a.example", but_not=(), most=9)]


def test_what_was_put_off_has_its_turn_once_its_host_is_asked_again(store: Store) -> None:
    with store.open() as frontier:
        commit(frontier, Batch(found=[found("1"), found("2")]), nothing)
        first, _ = frontier.waiting("a.example", but_not=(), most=9)
        for _ in range(2):  # said twice, put off once
            commit(frontier, Batch(postponed=[first.id]), nothing)
        assert paths(frontier) == ["2"]
        with store.view() as view:
            standing = view.queue_entry(first.url, "a.example")
            assert standing is not None
            assert (standing.postponed, standing.attempts) == (True, 1)
            assert [entry.url for entry in view.waiting("a.example", 9)][1:] == [first.url]
        commit(frontier, Batch(resumed=["a.example"]), nothing)
        assert paths(frontier) == ["1", "2"]


def test_what_our_settings_kept_out_waits_again_once_they_are_others(store: Store) -> None:
    def again(*judged: Any) -> dict[str, Any]:
        return {"judged": [[each.left, each.back, each.refused] for each in judged]}

    with store.open() as frontier:
        never = found("never", state=State.REFUSED, by_policy=True, refusal={"url": "never"})
        commit(frontier, Batch(found=[never, found("policy"), found("usage"), found("deep", depth=9)]), nothing)
        ids = {each.url.rpartition("/")[2]: each.id for each in frontier.waiting("a.example", but_not=(), most=9)}
        refused = [(State.REFUSED, ids["policy"]), (State.REFUSED, ids["usage"])]
        commit(frontier, Batch(settled=refused, by_policy=refused[:1], by_usage=[ids["usage"]]), nothing)
        assert paths(frontier) == ["deep"]
        with store.view() as view:
            found_aside = [
                view.queue_entry(f"http://a.example/{name}", "a.example") for name in ("never", "policy", "usage")
            ]
            assert [each and each.aside for each in found_aside] == ["policy", "policy", "usage"]
        frontier.refilter(lambda _url, depth, _kind: depth < 9, policy=False, usage=True, save=again)
        assert (paths(frontier), frontier.load_state("judged")) == (["usage"], [[0, 1, 1], [1, 0, 0]])
        frontier.refilter(lambda *_: True, policy=True, usage=False, save=again)
        assert frontier.load_state("judged") == [[0, 2, 2], [0, 1, 0]]
        assert sorted(paths(frontier)) == ["deep", "never", "policy", "usage"]
        assert list(frontier.counts().values()) == [3, 1, 0, 0, 0]


def test_what_concerns_other_shards_is_kept_until_they_have_it(store: Store) -> None:
    told = (0, Message("http://b.example/"))
    with store.open() as frontier:
        commit(frontier, Batch(messages=[told, told], taken={0: 7}), nothing)
        commit(frontier, Batch(messages=[told]), nothing)  # told once
        assert (frontier.sent, frontier.taken) == ({0: 1}, {0: 7})
    with store.open() as frontier:
        commit(frontier, Batch(messages=[(0, Message("http://b.example/2"))], delivered={0: 1}), nothing)
        assert (frontier.sent, frontier.taken) == ({0: 2}, {0: 7})


class Crashes(RuleBasedStateMachine):
    """The frontier beside a dict and a list, with the power cut between any two statements it sends to its disk."""

    @initialize()
    def begin(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(seen, "MAX_FRESH", 10)
        self.patch.setattr(seen, "BLOCK", 4)
        self.patch.setattr(seen, "SLICE", 1)
        self.patch.setattr(store_module.os, "urandom", bytes)  # the same fingerprints each time
        self.root = memory_folder()
        self.copies = 0
        self.folder = self.root / "0"
        self.folder.mkdir()
        self.frontier = self.opened()
        self.states: dict[str, State] = {}
        self.order: list[tuple[int, int, int, str, str]] = []  # priority, page, number, host, url: what waits
        self.commits = 0

    def teardown(self) -> None:
        if hasattr(self, "frontier"):
            self.frontier.__exit__()
            shutil.rmtree(self.root)
            self.patch.undo()

    def waiting(self) -> dict[str, list[str]]:
        queues: dict[str, list[str]] = {}
        for _, _, _, host, url in sorted(self.order):
            queues.setdefault(host, []).append(url)
        return queues

    def apply(self, batch: Batch, settled: dict[str, State]) -> int:
        """What the batch means, said with a dict and a list."""
        for url, state in settled.items():
            self.states[url] = state
            self.order = [each for each in self.order if each[4] != url]
        new = 0
        for each in batch.found:
            if each.url not in self.states:
                new += 1
                self.states[each.url] = each.state
                if each.state < State.DONE:
                    self.order.append(
                        (each.priority, each.kind is EntryKind.PAGE, len(self.states), each.host, each.url)
                    )
        self.commits += 1
        return new

    @rule(
        numbers=st.lists(st.integers(0, 300), max_size=40),
        priority=st.integers(-2, 2),
        data=st.data(),
        end=st.none() | st.tuples(st.integers(0, 40), st.booleans()),
    )
    def commit(self, numbers: list[int], priority: int, data: st.DataObject, end: tuple[int, bool] | None) -> None:
        """Commit a batch; where `end` says so the machine stops at its n-th statement or in `write`."""
        batch = Batch()
        for number in numbers:
            host = HOSTS[number % 3]
            kind = EntryKind.SITEMAP if number % 17 == 0 else EntryKind.PAGE
            state = State.REFUSED if number % 11 == 0 else State.QUEUED
            batch.found.append(found(str(number), host, kind=kind, state=state, priority=priority))
        settled: dict[str, State] = {}
        for host in HOSTS:
            entries = self.frontier.waiting(host, but_not=(), most=5)
            for entry in data.draw(st.lists(st.sampled_from(entries), unique_by=lambda e: e.id)) if entries else ():
                settled[entry.url] = data.draw(st.sampled_from([State.DONE, State.FAILED]))
                batch.settled.append((settled[entry.url], entry.id))
        said: list[int] = []

        def write(new: int, _refusals: list[dict[str, Any]]) -> dict[str, Any]:
            said.append(new)
            return {"commits": self.commits}

        before = (dict(self.states), list(self.order), self.commits)
        new = self.apply(batch, settled)
        if self.carry_out(batch, write, end, before[2]):
            if self.frontier.load_state("commits", 0) == before[2]:
                self.states, self.order, self.commits = before
            assert self.frontier.load_state("commits", 0) == self.commits
        else:
            assert said == [new]

    def carry_out(self, batch: Batch, write: Any, end: tuple[int, bool] | None, commits: int) -> bool:
        """Commit; whether the machine stopped meanwhile. Then the frontier is what was found on the disk."""
        image: list[Path] = []
        statements = 0

        def cut(_statement: str = "") -> None:
            nonlocal statements
            statements += 1
            if end is not None and statements >= end[0] and not image:
                self.copies += 1
                image.append(self.root / str(self.copies))
                shutil.copytree(self.folder, image[0])

        def write_and_cut(new: int, refusals: list[dict[str, Any]]) -> dict[str, Any]:
            if end is not None and end[1]:
                cut()
            state: dict[str, Any] = write(new, refusals) | {"commits": commits + 1}
            return state

        db = self.frontier._store._db
        db.set_trace_callback(cut)
        commit(self.frontier, batch, write_and_cut)
        db.set_trace_callback(None)
        if image:
            self.frontier.__exit__()
            self.folder = image[0]
            self.frontier = self.opened()
        return bool(image)

    def opened(self) -> Any:
        return Frontier(self.folder / "frontier.sqlite")

    @rule()
    def open_again(self) -> None:
        self.frontier.__exit__()
        self.frontier = self.opened()

    @precondition(lambda self: self.states)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        def write(_new: int, _refusals: list[dict[str, Any]]) -> dict[str, Any]:
            raise StorageError("no room")

        numbers = data.draw(st.lists(st.integers(0, 300), max_size=20))
        with pytest.raises(StorageError):
            commit(self.frontier, Batch(found=[found(str(n), HOSTS[n % 3]) for n in numbers]), write)

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "frontier"):
            return
        queues = {host: urls(self.frontier.waiting(host, but_not=(), most=1000)) for host in self.frontier.hosts()}
        assert queues == self.waiting()
        expected = [sum(state == each for each in self.states.values()) for state in State]
        assert list(self.frontier.counts().values()) == expected


TestCrashes = Crashes.TestCase
TestCrashes.settings = settings(
    max_examples=cases(40), stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)


class Cut(Exception):
    """The process is gone."""


class PostgresCrashes(Crashes):
    """The same in PostgreSQL: the process dies between any two of its statements, or before the last is answered, and
    another has its shard; should it wake up after all, it can change nothing."""

    store: PostgresStore

    def opened(self) -> Held:
        return Held(self.store.where, "holder")

    def teardown(self) -> None:
        super().teardown()
        self.store.clear()

    def carry_out(self, batch: Batch, write: Any, end: tuple[int, bool] | None, commits: int) -> bool:
        statements = 0

        def cut() -> None:
            nonlocal statements
            statements += 1
            if end is not None and statements >= end[0]:
                raise Cut

        def write_and_cut(new: int, refusals: list[dict[str, Any]]) -> dict[str, Any]:
            if end is not None and end[1]:
                raise Cut
            state: dict[str, Any] = write(new, refusals)
            return state

        zombie = self.frontier

        def counted(method: Any) -> Any:
            return lambda *values, **options: (cut(), method(*values, **options))[1]

        with pytest.MonkeyPatch.context() as patch:
            for name in ("execute", "cursor"):
                patch.setattr(zombie._store._db, name, counted(getattr(zombie._store._db, name)))
            try:
                commit(zombie, batch, write_and_cut)
            except Cut:
                pass
            else:
                return False
        self.frontier = self.opened()
        with pytest.raises(LeaseLost):
            commit(zombie, Batch(found=[found("zombie")]), nothing)
        with pytest.raises(LeaseLost):
            zombie.save_state("commits", -1)
        PostgresFrontier.__exit__(zombie)
        zombie._lease.close()
        return True


@pytest.mark.long
def test_the_same_holds_in_postgresql_whoever_dies_or_wakes_up(postgres: Server) -> None:
    store = PostgresStore(postgres)
    run_state_machine_as_test(
        type("OnServer", (PostgresCrashes,), {"store": store}),
        settings=settings(
            max_examples=40, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
    store.remove()


def test_a_layout_of_the_tables_has_a_number_that_no_earlier_one_had() -> None:
    """Who changes the tables takes the next number, so that comity refuses those of before in words."""
    from comity.crawler.storage import tables
    from comity.frontier.postgresql import database as store
    from comity.frontier.sqlite import database as file

    in_store = store._SCHEMA + store._PARTITION + tables._TABLES + tables._HEARD
    layouts = file.SCHEMA.replace(f"user_version = {file.FORMAT}", ""), in_store
    kept = [hashlib.sha256(layout.encode("ascii")).hexdigest()[:16] for layout in layouts]
    assert (file.FORMAT - (sys.byteorder != "little"), kept[0]) == (6, "f1a164dadd5c9585")
    # `confirmed` of an order came later, and is added to crawls that lack it: see CrawlStore.begin_run.
    assert (store.FORMAT, kept[1]) == (7, "18f81c39b6725524")
