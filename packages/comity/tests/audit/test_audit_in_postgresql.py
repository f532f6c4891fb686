"""Reading what a crawl in PostgreSQL wrote: the folders of its machines together are one crawl."""

import asyncio
import hashlib
import json
import os
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from commands import ALLOW, comity
from postgres import Server
from sites import HANGS, Handler, Site
from stores import drop

from comity import CrawlSettings, Policy
from comity.audit.chain import Proof
from comity.audit.prove import prove
from comity.crawler.cluster.jobs import Job
from comity.crawler.cluster.member import Member, worker_of
from comity.crawler.output.ledger import START, canonical
from comity.crawler.storage import tables
from comity.crawler.storage.leases import NEXT_TOKEN
from comity.crawler.storage.manifest import CrawlManifest, StoreMark
from comity.crawler.storage.placement import shard_of
from comity.crawler.storage.store import CrawlStore, PartRow
from comity.crawler.storage.stored_config import settings_to_dict
from comity.frontier.postgresql import database
from comity.net import ClientSettings
from comity.policy.policy import policy_to_dict

HOSTS = 6
PAGES = 10
HALF = 5
SHARDS = 4
INTERVAL = 0.1
POLICY = Policy(min_interval=INTERVAL, allow_addresses=("127.0.0.0/8",))


class Crawl:
    """A crawl in a store, worked by processes in this one, each of which stands for a machine with its own folder."""

    def __init__(self, server: Server, seeds: list[str], policy: Policy = POLICY) -> None:
        self.url = server.url(f"audited_{os.getpid()}_{time.monotonic_ns()}")
        self.store = CrawlStore(database.address(self.url))
        self.settings = CrawlSettings(scope="any", sitemaps=False)
        self.policy = policy
        self.manifest = CrawlManifest(
            SHARDS, seeds=seeds, policy=policy_to_dict(policy), settings=settings_to_dict(self.settings)
        )
        with self.store.open() as db:
            tables.make(db, self.store.where, SHARDS, asdict(self.manifest), lease=600.0)

    def machine(self, folder: Path) -> Member:
        folder.mkdir()
        StoreMark(str(self.store.where), self.store.crawl().run.crawl, self.store.where.without_password).write(folder)
        name = f"{folder.name}:{time.monotonic_ns()}"
        run = self.store.crawl().run
        manifest = replace(self.manifest, crawl=run.crawl, run=run.number)
        job = Job(folder, name, manifest, self.policy, self.settings, ClientSettings(), self.url, 600.0)
        return worker_of(job, lambda *_: None)

    def remove(self) -> None:
        with closing(self.store), self.store.open() as db:
            drop(db, self.store.where)


async def until(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(HANGS):
        while not holds():
            await asyncio.sleep(0.02)


@dataclass(frozen=True)
class Written:
    """A crawl that is over: two machines, `a` and `b`; a shard was taken from `a` without its knowledge."""

    folder: Path
    crawl: Crawl
    sites: list[Site]
    parts: list[PartRow]

    @property
    def machines(self) -> list[str]:
        return [str(self.folder / name) for name in "ab"]

    @property
    def store(self) -> tuple[str, str]:
        """What the commands that read it are told of its store."""
        return "--store", self.crawl.url

    def copied(self, to: Path) -> list[str]:
        """The folders of both, elsewhere: to be changed."""
        for name in "ab":
            shutil.copytree(self.folder / name, to / name)
        return [str(to / name) for name in "ab"]

    def of(self, machine: str) -> list[PartRow]:
        return [part for part in self.parts if part.holder.startswith(f"{machine}:")]

    @property
    def pages(self) -> set[str]:
        return {site.url(f"/{page}") for site in self.sites for page in range(PAGES)}

    def held_by(self, machine: str) -> Site:
        """A site of whose shard nobody but a machine had anything."""
        others = {part.shard for part in self.parts if not part.holder.startswith(f"{machine}:")}
        return next(site for site in self.sites if shard_of(site.address, SHARDS) not in others)


@pytest.fixture(scope="module")
def written(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    folder, joined = tmp_path_factory.mktemp("machines"), threading.Event()
    with ExitStack() as stack:
        sites = [stack.enter_context(Site(f"127.0.0.{number + 1}")) for number in range(HOSTS)]
        for site in sites:
            site.set("/robots.txt", "User-agent: *\nDisallow: /private/\n")
            site.link("/0", *(f"/{page}" for page in range(1, PAGES)), "/private/x")
            for page in range(1, PAGES):
                site.set(f"/{page}", f"<p>{page}</p>")
            site.set(f"/{HALF}", _when(joined))
        for site, other in zip(sites, [*sites[1:], sites[0]], strict=True):
            site.set("/1", f'<p>1</p><a href="{other.url("/0")}">the next</a>')
        crawl = Crawl(postgres, [site.url("/0") for site in sites])
        stack.callback(crawl.remove)
        asyncio.run(_work(crawl, sites, folder, joined))
        parts = [part for part in crawl.store.parts() if part.ledger is not None]
        yield Written(folder, crawl, sites, parts)


def _when(event: threading.Event) -> Handler:
    """A page that is not answered before something has happened."""

    async def handler(_: web.Request) -> web.StreamResponse:
        while not event.is_set():
            await asyncio.sleep(0.02)
        return web.Response(text="<p>at last</p>", content_type="text/html")

    return handler


async def _work(crawl: Crawl, sites: list[Site], folder: Path, joined: threading.Event) -> None:
    def first(query: str) -> Any:
        with crawl.store.open() as db:
            return db.execute(query).fetchone()[0]

    one = asyncio.ensure_future(crawl.machine(folder / "a").run(lambda _: None))
    await until(lambda: all(f"/{HALF}" in site.paths() for site in sites))
    await until(lambda: all(_asked(folder / "a", site) for site in sites))
    other = asyncio.ensure_future(crawl.machine(folder / "b").run(lambda _: None))
    await until(lambda: first("SELECT count(*) FROM member") == 2)
    taken = shard_of(sites[0].address, SHARDS)
    with crawl.store.open() as db, db.transaction():  # as if its lease had run out and another had had it
        db.execute(f"UPDATE fence SET token = {NEXT_TOKEN}, commits = 0 WHERE shard = %s", (taken,))
        db.execute(
            "UPDATE shard SET token = fence.token, holder = NULL FROM fence WHERE shard = number AND number = %s",
            (taken,),
        )
    await until(lambda: first("SELECT count(*) FROM part WHERE holder LIKE 'b:%'"))
    joined.set()
    await asyncio.gather(one, other)


def _asked(folder: Path, site: Site) -> bool:
    """Whether a request to a site is written in a ledger."""
    ledgers = folder.glob("*/ledger.jsonl")
    return any(f'"url":"{site.url("/0")}"'.encode() in path.read_bytes() for path in ledgers)


def test_the_machines_folders_together_are_proved_as_one_crawl(written: Written) -> None:
    assert written.of("a")
    assert written.of("b"), "both had shards"
    assert max(Counter(part.shard for part in written.parts).values()) > 1, "one shard had two holders"
    told = comity("prove", *written.machines, *written.store)
    assert (told.returncode, told.stdout.splitlines()[0]) == (
        0,
        "proved: no disallowed fetch, no early request, chain intact",
    ), told
    proof = prove([Path(each) for each in written.machines], store=written.crawl.url)
    assert (proof.hosts, proof.refusals) == (HOSTS, HOSTS)
    assert proof.requests >= HOSTS * (PAGES + 1)
    noted = comity("prove", *reversed(written.machines), *written.store, "--hash", proof.hash)
    assert noted.returncode == 0, noted
    assert "not the one noted" in comity("prove", *written.machines, *written.store, "--hash", "0" * 64).stdout


def test_the_parts_of_a_machine_whose_folder_was_not_given_are_named(written: Written, tmp_path: Path) -> None:
    mine, elsewhere = written.machines[0], written.of("b")
    told = comity("prove", mine, *written.store)
    assert told.returncode == 1
    assert f"not proved: {len(elsewhere)} finding" in told.stdout
    for part in elsewhere:
        assert f"{part.name}: it is not here; b has it in {written.machines[1]}" in told.stdout
    listed = comity("pages", mine, *written.store)
    assert listed.returncode == 2
    assert {line for line in listed.stderr.splitlines() if "it is not here" in line} == {
        f"comity: {part.name}: it is not here; b has it in {written.machines[1]}" for part in elsewhere
    }
    assert {json.loads(line)["url"] for line in listed.stdout.splitlines()} < written.pages
    report = tmp_path / "report.html"
    reported = comity("report", mine, *written.store, "-o", str(report))
    assert all(part.name in reported.stderr for part in elsewhere), reported
    for part in elsewhere:
        assert f"missing</span><div>{part.name}: it is not here; b has it in " in report.read_text()


def test_the_pages_of_all_machines_are_listed_once(written: Written) -> None:
    told = comity("pages", *written.machines, *written.store)
    assert told.returncode == 0, told
    found = [json.loads(line)["url"] for line in told.stdout.splitlines()]
    assert (set(found), len(found)) == (written.pages, len(written.pages))


@pytest.mark.long
def test_the_report_is_of_all_machines(written: Written, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    told = comity("report", *written.machines, *written.store, "-o", str(report))
    assert (told.returncode, told.stderr) == (0, ""), told
    text = report.read_text()
    assert f"<h1>comity <span>{HOSTS} hosts</span></h1>" in text
    assert f"<b>{len(written.pages)}</b>" in text.replace("dd>", "b>"), "pages as the summary said"
    assert "it is not here" not in text


@pytest.mark.long
def test_what_was_written_after_the_last_commit_is_not_read(written: Written, tmp_path: Path) -> None:
    machines = written.copied(tmp_path)
    followed = next(part for part in written.parts if part.shard == _displaced(written))
    for name in ("pages.jsonl", "ledger.jsonl"):
        path = tmp_path / "a" / followed.name / name
        with path.open("ab") as file:
            file.write(path.read_bytes().splitlines(keepends=True)[-1] + b'{"url": "http://cut.off/')
    assert comity("prove", *machines, *written.store).returncode == 0
    told = comity("pages", *machines, *written.store)
    assert (told.returncode, len(told.stdout.splitlines())) == (0, len(written.pages))


def _displaced(written: Written) -> int:
    return shard_of(written.sites[0].address, SHARDS)


@pytest.mark.long
def test_the_pace_of_a_host_is_proved_from_one_holder_to_the_next(written: Written, tmp_path: Path) -> None:
    machines = [Path(each) for each in written.copied(tmp_path)]
    before, after = [part for part in written.parts if part.shard == _displaced(written)][-2:]
    paths = [Path(*next(tmp_path.glob(f"*/{part.name}")).parts, "ledger.jsonl") for part in (before, after)]
    last, first = [[json.loads(line) for line in path.read_bytes().splitlines()] for path in paths]
    heads = {each["pace"]: each["head"] or each["end"] for each in last if each["kind"] == "request"}
    gaps = [each["sent"] - heads[each["pace"]] for each in first if each["kind"] == "request" and each["pace"] in heads]
    assert gaps, "a host was asked by both"
    assert _early(prove(machines, store=written.crawl.url)) == 0
    moved = min(gaps) - INTERVAL / 2  # so that half of it is left
    _rewrite(paths[1], first, lambda record: _shifted(record, -moved) | _exact(record))
    assert _early(prove(machines, store=written.crawl.url)) >= 1
    _rewrite(paths[1], first, lambda record: _shifted(record, -moved) | _within(record, INTERVAL))
    assert _early(prove(machines, store=written.crawl.url)) == 0, "the clocks of the two may have differed by so much"
    _rewrite(paths[1], first, lambda record: _shifted(record, -moved) | _within(record, 1e6))
    assert "its clock cannot have been wrong by 1e+06 s" in [
        finding.what for finding in prove(machines, store=written.crawl.url).findings
    ]


def _early(proof: Proof) -> int:
    return sum("after the previous answer" in finding.what for finding in proof.findings)


def _shifted(record: dict[str, Any], seconds: float) -> dict[str, Any]:
    names = ("at", "sent", "head", "end", "robots_at")
    return {name: value + seconds if name in names and value is not None else value for name, value in record.items()}


def _exact(record: dict[str, Any]) -> dict[str, Any]:
    return _within(record, 0.0)


def _within(record: dict[str, Any], seconds: float) -> dict[str, Any]:
    return {"clock_within": seconds} if record["kind"] == "run" else {}


def _rewrite(path: Path, records: list[dict[str, Any]], change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write a ledger anew, chained as it should be."""
    lines, before = [], START
    for record in records:
        said = {name: value for name, value in change(record).items() if name != "hash"} | {"prev": before}
        if said["kind"] == "seal":
            said["final"] = before
        data = canonical(said)
        before = hashlib.sha256(data).hexdigest()
        lines.append(b'%s,"hash":"%s"}\n' % (data[:-1], before.encode()))
    path.write_bytes(b"".join(lines))


def _found(written: Written, machines: list[Path], about: PartRow) -> list[str]:
    """What is wrong with the runs in one part's ledger."""
    said = prove(machines, store=written.crawl.url).findings
    return [each.what for each in said if each.file == f"{about.name}/ledger.jsonl" and each.record == 1]


@pytest.mark.long
def test_a_part_that_a_worker_of_an_earlier_run_wrote_is_found_out(written: Written, tmp_path: Path) -> None:
    machines = [Path(each) for each in written.copied(tmp_path)]
    before, after = [part for part in written.parts if part.shard == _displaced(written)][-2:]
    path = Path(*next(tmp_path.glob(f"*/{before.name}")).parts, "ledger.jsonl")
    records = [json.loads(line) for line in path.read_bytes().splitlines()]

    def of_run(number: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return lambda record: record | ({"run": number} if record["kind"] == "run" else {})

    _rewrite(path, records, of_run(1))
    assert _found(written, machines, after) == []
    _rewrite(path, records, of_run(2))
    assert "it is of run 2, and the last to begin was 1" in _found(written, machines, before)
    assert _found(written, machines, after) == ["it is of run 1, which was over: run 2 stands before it"]
    _rewrite(path, records, lambda record: record | ({"crawl": "0" * 16} if record["kind"] == "run" else {}))
    assert "it is a run of another crawl" in _found(written, machines, before)


@pytest.mark.long
def test_a_part_with_another_policy_than_its_run_s_is_found_out(written: Written, tmp_path: Path) -> None:
    machines = [Path(each) for each in written.copied(tmp_path)]
    part = written.of("b")[-1]
    path = tmp_path / "b" / part.name / "ledger.jsonl"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    looser = policy_to_dict(POLICY.with_changes(min_interval=0))
    _rewrite(path, records, lambda record: record | ({"policy": looser} if record["kind"] == "run" else {}))
    assert "its policy differs from the policy of run 1" in _found(written, machines, part)


@contextmanager
def _changed(written: Written, table: str, change: str) -> Iterator[None]:
    """A table of the store changed, for a while."""
    with closing(database.connect(written.crawl.store.where)) as db:
        db.execute(f"CREATE TEMPORARY TABLE before AS SELECT * FROM {table}")
        db.execute(change)
        try:
            yield
        finally:
            db.execute(f"DELETE FROM {table}")
            db.execute(f"INSERT INTO {table} SELECT * FROM before")


@pytest.mark.long
def test_a_part_that_was_begun_after_its_worker_s_run_was_over_is_found_out(written: Written) -> None:
    part = written.parts[-1]
    assert part.run == 1
    with _changed(written, "part", f"UPDATE part SET run = 2 WHERE (shard, token) = ({part.shard}, {part.token})"):
        found = _found(written, [Path(each) for each in written.machines], part)
    assert found == ["it is of run 1, and the part was begun in run 2"]


@pytest.mark.long
def test_a_part_whose_marker_another_has_erased_is_found_out(written: Written) -> None:
    machines = [Path(each) for each in written.machines]
    shard = _displaced(written)
    (finding,) = [part.ledger["written"]["pages"] for part in written.parts if part.shard == shard][:1]
    assert finding > 0, "it holds pages"
    first = min(part.token for part in written.parts if part.shard == shard)
    with _changed(written, "part", f"UPDATE part SET ledger = NULL, sink = NULL WHERE token = {first}"):
        said = [each.what for each in prove(machines, store=written.crawl.url).findings]
    assert any(f"shard-{shard:03} counts" in what and "pages that it kept, and its parts hold" in what for what in said)
    assert prove(machines, store=written.crawl.url).findings == []


@pytest.mark.long
def test_a_parcel_that_was_sent_and_not_taken_is_found_out(written: Written) -> None:
    machines = [Path(each) for each in written.machines]
    with closing(database.connect(written.crawl.store.where)) as db:
        pairs = db.execute("SELECT shard, value FROM fact WHERE key = 'taken_chain' AND value <> '{}'").fetchall()
    shard, text = pairs[0]
    sender = next(iter(json.loads(text)))
    said = f"shard-{shard:03} has not taken what shard-{int(sender):03} sent to it: one is not what it was"
    other = json.dumps(json.loads(text) | {sender: "0" * 16})
    for change in (
        f"UPDATE fact SET value = '{other}' WHERE shard = {shard} AND key = 'taken_chain'",
        f"UPDATE fact SET value = '{{}}' WHERE shard = {shard} AND key IN ('taken', 'taken_chain')",
    ):
        with _changed(written, "fact", change):
            assert said in [each.what for each in prove(machines, store=written.crawl.url).findings]
    assert prove(machines, store=written.crawl.url).findings == []


def test_a_changed_part_is_found_out_wherever_it_lies(written: Written, tmp_path: Path) -> None:
    machines = written.copied(tmp_path)
    part = tmp_path / "b" / written.of("b")[-1].name
    lines = (part / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (part / "ledger.jsonl").write_bytes(b"".join(lines[:-1]))
    told = comity("prove", *machines, *written.store)
    assert told.returncode == 1
    assert f"{part.name}/ledger.jsonl" in told.stdout
    (part / "ledger.jsonl").write_bytes(b"".join(lines))
    (part / "pages.jsonl").write_bytes(b"")
    assert f"{part.name}/" in comity("prove", *machines, *written.store).stdout
    shutil.rmtree(part)
    assert f"{part.name}: it is not here" in comity("prove", *machines, *written.store).stdout


def test_what_became_of_a_url_is_told_from_whichever_machine_has_it(written: Written) -> None:
    site = written.held_by("a")
    urls = [site.url(path) for path in ("/1", "/private/x", "/never")]
    told = comity("why", *written.machines, *written.store, *urls, "--json")
    assert told.returncode == 66, told
    kept, refused, never = map(json.loads, told.stdout.splitlines())
    assert (kept["fate"], kept["found_on"]) == ("kept", site.url("/0"))
    assert refused["fate"] == "refused"
    assert "line 2" in refused["why"]
    assert (never["fate"], never["decision"]["verdict"]) == ("not found", "allowed_implicit")
    (elsewhere,) = [comity("why", written.machines[1], *written.store, urls[0], "--json")]
    unknown = json.loads(elsewhere.stdout)
    assert elsewhere.returncode == 2
    assert unknown["fate"] == "unknown"
    assert f"a has it in {written.machines[0]}" in unknown["why"]


@pytest.mark.long
def test_what_a_host_waits_for_is_told_of_a_crawl_in_a_store(postgres: Server, site: Site, tmp_path: Path) -> None:
    site.link("/0", "/1", "/2")
    site.set("/1", status=503, headers={"Retry-After": "3000"})
    site.set("/2", status=503, headers={"Retry-After": "3000"})
    crawl = Crawl(postgres, [site.url("/0")])

    def hosts() -> list[dict[str, Any]]:
        told = comity("frontier", "--store", crawl.url, "--json")
        assert told.returncode == 0, told
        found: list[dict[str, Any]] = json.loads(told.stdout)["hosts"]
        return found

    async def work() -> None:
        told: list[Callable[[Any], None]] = []
        machine = crawl.machine(tmp_path / "a")
        working = asyncio.ensure_future(machine.run(told.append))
        await until(lambda: "/1" in site.paths() or "/2" in site.paths())
        async with asyncio.timeout(HANGS):
            while (found := await asyncio.to_thread(hosts))[0]["why"] != "retry_after":
                await asyncio.sleep(0.05)
        assert 2000 < found[0]["until"] - time.time() < 3100
        told[0](("stop",))
        await working

    asyncio.run(work())
    shown = comity("frontier", "--store", crawl.url)
    assert "(Retry-After)" in shown.stdout or "Retry-After" in shown.stdout, shown
    assert comity("frontier", "stop", "--store", crawl.url, site.address).returncode == 0
    assert "stopped by the operator" in comity("frontier", "--store", crawl.url).stdout
    (waiting,) = [comity("why", str(tmp_path / "a"), site.url("/1"), "--json", "--store", crawl.url)]
    assert "comity frontier go --store URL" in (json.loads(waiting.stdout)["next_try"] or ""), waiting
    crawl.remove()


def test_folders_that_are_not_one_crawl_are_refused_in_words(
    written: Written, postgres: Server, site: Site, tmp_path: Path
) -> None:
    plain, mine = tmp_path / "plain", written.machines[0]
    site.set("/")
    assert comity("crawl", site.url("/"), *ALLOW, "-q", "--delay", "0", "-o", str(plain)).returncode == 0
    other = Crawl(postgres, [site.url("/")])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        nobody = f"postgresql://comity@127.0.0.1:{taken.getsockname()[1]}/postgres"
        for command in ("prove", "pages", "report"):
            for words, said in (
                ((mine, str(plain)), f"{plain}: no part of a crawl in a store lies there"),
                ((str(plain), str(tmp_path)), "they hold no parts of one crawl in a store"),
                ((str(plain), "--store", other.url), f"{plain} holds no part of a crawl in a store"),
                ((mine, "--store", other.url), f"{mine} holds parts of another crawl than the one that is now in"),
                ((mine, "--store", nobody), "name another address of it with --store URL"),
                ((str(Path(mine, written.of("a")[0].name)),), "holds one machine's part of the crawl"),
                ((mine,), "a folder does not decide where to connect"),
            ):
                report = ("-o", str(tmp_path / "report.html")) if command == "report" else ()
                told = comity(command, *words, *report)
                assert told.returncode not in (0, 1, 2), (command, words)
                assert said in told.stderr, (command, words, told)
                assert "Traceback" not in told.stderr
    other.remove()
    assert "no crawl in" in comity("prove", mine, "--store", other.url).stderr


@pytest.mark.long
def test_a_crawl_that_is_worked_on_is_not_proved(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CrawlStore, "is_running", lambda _: True)
    told = comity("prove", *written.machines, *written.store)
    assert told.returncode == 3
    assert "still running" in told.stderr


def test_the_folder_keeps_the_address_of_its_store_without_a_password() -> None:
    url = "postgresql://me:se%63ret@h:1/d?host=/run/x&p%61ssword=secret&sslpassword=secret&sslmode=require&crawl=one"
    assert database.address(url).without_password == "postgresql://me@h:1/d?host=/run/x&sslmode=require&crawl=one"
    where = database.address("postgresql://h/d")
    assert database.address(where.without_password) == where
    assert replace(where, name="two").without_password == "postgresql://h/d?crawl=two"


@pytest.mark.long
def test_a_crawl_in_a_store_is_refreshed_by_whichever_machine_and_read_as_one(postgres: Server, tmp_path: Path) -> None:
    with ExitStack() as stack:
        sites = [stack.enter_context(Site(f"127.0.0.{number + 1}")) for number in range(3)]
        for number, site in enumerate(sites):
            site.link("/", "/same", "/other", "/gone", sites[(number + 1) % 3].url("/same"))
            for path in ("/same", "/other", "/gone"):
                site.set(path, f"<p>{path}</p>", headers={"ETag": '"1"'})
        url = postgres.url(f"refreshed_{os.getpid()}_{time.monotonic_ns()}")
        words, given = ["--store", url, "-q", "--json"], [*ALLOW, "--delay", "0"]
        first = ["--scope", "any", "--delay", "0", "--shards", str(SHARDS), "-o", str(tmp_path / "a")]
        told = comity("crawl", *(site.url("/") for site in sites), *ALLOW, *words, *first)
        assert json.loads(told.stdout)["pages"] == 12, told
        sites[0].set("/other", "<p>another</p>")
        sites[1].set("/gone", status=410)
        sites[2].link("/", "/same", "/other", "/gone", "/new")
        sites[2].set("/new")
        again = comity("crawl", "--refresh", *given, *words, "--max-pages", "2", "-o", str(tmp_path / "b"))
        told = json.loads(again.stdout)
        assert told["ended"] == "the limit of 2 pages is reached", again
        assert told["unasked"] + told["left"] > 0
        again = comity("crawl", "--resume", *given, *words, "--max-pages", "100", "-o", str(tmp_path / "b"))
        told = json.loads(again.stdout)
        assert (told["new"], told["changed"], told["gone"], told["unchanged"]) == (1, 2, 1, 9), again
        assert told["unasked"] == 0
        machines = [str(tmp_path / name) for name in "ab"]
        listed = Counter(json.loads(line)["url"] for line in comity("pages", *machines, *words[:2]).stdout.splitlines())
        before = {site.url(path) for site in sites for path in ("/", "/same", "/other", "/gone")}
        assert listed == Counter(before - {sites[1].url("/gone")} | {sites[2].url("/new")})
        proved = comity("prove", *machines, *words[:2])
        assert proved.returncode == 0, proved
        gone = json.loads(comity("why", *machines, *words[:2], sites[1].url("/gone"), "--json").stdout)
        assert gone["fate"] == "gone"
        third = comity("crawl", "--refresh", *given, *words, "-o", str(tmp_path / "a"))
        assert json.loads(third.stdout)["unchanged"] == 12, third
        where = database.address(url)
        with closing(database.connect(where)) as db:
            db.execute("UPDATE shard SET state = 'stopped' WHERE number = 0")
            refused = comity("crawl", "--refresh", *given, *words, "-o", str(tmp_path / "a"))
            assert "is not finished (finish it first, with --resume)" in refused.stderr, refused
            drop(db, where)
