"""The ledger: a crawl that kept to the rules can be proved to have, and whoever changes the evidence is found out."""

import asyncio
import base64
import gzip
import hashlib
import json
import os
import random
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from clocks import FakeClock
from commands import comity, complaint, process
from examples import cases, first_of
from killing import finished, killed
from sites import HANGS, Site

from comity import AsyncClient, ClientSettings, Crawler, Policy
from comity.audit.prove import Proof, StillRunning, prove
from comity.audit.report.figures import gather
from comity.audit.report.page import CrawlView, html
from comity.crawler.storage.folder import FolderStorage
from comity.errors import Timeout
from comity.frontier.sqlite.database import lock
from comity.net.request_record import RequestRecord

LOOPBACK = ("127.0.0.0/8",)
ROBOTS = "User-agent: *\nCrawl-delay: 0.04\nDisallow: /no\nAllow: /no/but-yes\n"
Record = dict[str, Any]


def furnish(site: Site) -> None:
    """A site where everything happens that a ledger can tell of."""
    tried = []

    async def later(request: web.Request) -> web.StreamResponse:
        tried.append(request.path)
        return web.Response(text="at last") if len(tried) > 1 else web.Response(status=503)

    async def dropped(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    site.set("/robots.txt", ROBOTS + f"Sitemap: {site.url('/map.xml')}\n")
    site.set("/map.xml", f"<urlset><url><loc>{site.url('/hidden')}</loc></url></urlset>")
    site.link("/", "/a", "/no", "/no/x", "/no/but-yes", "/moved", "/later", "/dropped", "/missing", "/image")
    for path in ("/a", "/no/but-yes", "/new", "/hidden"):
        site.link(path)
    site.set("/moved", status=301, headers={"Location": "/new"})
    site.set("/later", later)
    site.set("/dropped", dropped)
    site.set("/image", b"\x89PNG\0\xff", content_type="image/png")


def crawl(
    folder: Path,
    *seeds: str,
    policy: Policy | None = None,
    clock: FakeClock | None = None,
    client: ClientSettings | None = None,
    sink: str | None = None,
    **settings: Any,
) -> Crawler:
    policy = policy or Policy(min_interval=0.02, backoff=0.05, allow_addresses=LOOPBACK)
    crawler = Crawler(
        seeds,
        FolderStorage(folder, clock=clock),
        policy=policy,
        settings=settings,
        client_settings=client,
        plugins={"sink": sink},
    )
    asyncio.run(crawler.run())
    return crawler


def read(folder: Path, name: str = "ledger") -> list[Record]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def write(folder: Path, records: list[Record], name: str = "ledger") -> None:
    text = "".join(line_of(record) if name == "ledger" else json.dumps(record) + "\n" for record in records)
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def line_of(record: Record) -> str:
    """A record as the ledger spells it: sorted keys, no spaces, the hash last."""
    said = {name: record[name] for name in sorted(record) if name != "hash"}
    return json.dumps({**said, "hash": record["hash"]}, separators=(",", ":")) + "\n"


def hash_of(record: Record) -> str:
    said = {name: value for name, value in record.items() if name != "hash"}
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def chain_again(records: list[Record]) -> list[Record]:
    """What a forger with patience does: every number, link, hash and seal made anew."""
    before = "0" * 64
    for number, record in enumerate(records, 1):
        record |= {"n": number, "prev": before}
        if record["kind"] == "seal":
            record |= {"count": number - 1, "final": before}
        before = record["hash"] = hash_of(record)
    return records


def forge_frontier(folder: Path, records: list[Record]) -> None:
    """The forger has the frontier too."""
    mark = json.dumps({"count": len(records), "hash": records[-1]["hash"]})
    with sqlite3.connect(folder / "frontier.sqlite") as database:
        database.execute("UPDATE fact SET value = ? WHERE key = 'ledger'", (mark,))
    database.close()


def find(records: list[Record], **wanted: Any) -> int:
    """The index of the first record that has these values; a `path` is the end of its URL."""
    path = wanted.pop("path", "")
    return next(
        index
        for index, record in enumerate(records)
        if all(record.get(name) == value for name, value in wanted.items()) and record.get("url", "").endswith(path)
    )


def found(folder: Path) -> list[str]:
    proof = prove(folder)
    assert proof.holds == (not proof.findings)
    return [str(finding) for finding in proof.findings]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished crawl; not to be written to."""
    folder = tmp_path_factory.mktemp("crawled") / "crawl"
    with Site() as site:
        furnish(site)
        crawl(folder, site.url("/"), retries=1)
        assert [record["url"] for record in read(folder) if record["kind"] == "request"] == [
            site.url(path) for path in site.paths()
        ]
    return folder


@pytest.fixture
def folder(crawled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(crawled, tmp_path / "crawl"))


@pytest.fixture(scope="module")
def few_records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished crawl whose ledger has few records of each kind; not to be written to."""
    folder = tmp_path_factory.mktemp("few") / "crawl"
    with Site() as site:
        site.set("/robots.txt", ROBOTS)
        site.link("/", "/a", "/no")
        site.link("/a")
        crawl(folder, site.url("/"), sitemaps=False)
    assert prove(folder).holds
    return folder


def test_a_crawl_is_proved_and_the_ledger_has_every_request_the_server_saw(crawled: Path) -> None:
    proof = prove(crawled)
    assert proof.findings == []
    assert (proof.requests, proof.refusals, proof.robots, proof.hosts, proof.runs) == (16, 2, 1, 1, 1)
    assert proof.records == proof.requests + proof.refusals + proof.robots + 2
    assert proof.unchecked == []


def test_the_ledger_says_what_was_kept_and_why(crawled: Path) -> None:
    records = read(crawled)
    page = records[find(records, kind="request", path="/no/but-yes")]
    assert (page["verdict"], page["line"], page["rule"]) == ("allowed_explicit", 4, "Allow: /no/but-yes")
    assert page["interval"] == 0.04
    assert page["kept"] >= 0.04
    assert page["sent"] <= page["head"] <= page["end"]
    refusal = records[find(records, kind="refusal", path="/no/x")]
    assert (refusal["verdict"], refusal["line"]) == ("disallowed_explicit", 3)
    retried = [record["status"] for record in records if record.get("url", "").endswith("/later")]
    assert retried == [503, 200]
    dropped = records[find(records, kind="request", path="/dropped")]
    assert dropped["status"] is None
    assert "closed the connection" in dropped["error"]


# Tampering, in each case: the folder is changed, and the record is named with what is wrong.


def changed(folder: Path, change: Callable[[Record], None], **wanted: Any) -> int:
    """Change one record without a new hash; its number."""
    records = read(folder)
    index = find(records, **wanted)
    change(records[index])
    write(folder, records)
    return index + 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("url", "http://127.0.0.1/somewhere-else"),
        ("verdict", "allowed_explicit"),
        ("line", 2),
        ("rule", "Allow: /"),
        ("sent", 1.0),
        ("robots_sha256", "0" * 64),
        ("status", 404),
        ("interval", 0.0),
        ("kept", 10.0),
    ],
)
def test_a_changed_field_is_found(folder: Path, name: str, value: Any) -> None:
    number = changed(folder, lambda record: record.update({name: value}), kind="request", path="/a")
    assert found(folder)[0] == f"ledger.jsonl, record {number}: it was changed: its hash does not fit its content"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("verdict", "allowed_explicit", "it says verdict 'allowed_explicit', robots.txt and policy say"),
        ("line", 4, "it says line 4, robots.txt and policy say None"),
        ("rule", "Allow: /", "it says rule 'Allow: /', robots.txt and policy say None"),
        ("robots_sha256", "0" * 64, "it stands before the robots.txt it cites was known"),
        ("robots_at", 1.0, "it stands before the robots.txt it cites was known"),
        ("interval", 0.01, "it says interval 0.01, robots.txt and policy say 0.04 s"),
        ("kept", 10.0, "it says that 10.0 s were kept"),
        ("status", 204, "the ledger has no request that fits it"),
        ("sha256", "0" * 64, "the ledger has no request that fits it"),
        ("host", "elsewhere.example", "its host is not 'elsewhere.example'"),
        ("purpose", "robots", "is not a robots.txt of"),
        ("method", "POST", "it was sent as 'POST'; comity sends only GET, HEAD, OPTIONS"),
        ("method", "get", "it was sent as 'get'; comity sends only GET, HEAD, OPTIONS"),
    ],
)
def test_a_lie_in_a_chain_made_anew_is_found_by_what_it_contradicts(
    folder: Path, name: str, value: Any, said: str
) -> None:
    records = read(folder)
    index = find(records, kind="request", path="/a")
    records[index][name] = value
    write(folder, chain_again(records))
    forge_frontier(folder, records)
    findings = found(folder)
    assert any(said in finding for finding in findings), findings
    if "no request" not in said:
        assert any(finding.startswith(f"ledger.jsonl, record {index + 1}: ") for finding in findings)


def test_a_request_made_out_to_be_for_another_url_is_found(folder: Path) -> None:
    records = read(folder)
    index = find(records, kind="request", path="/a")
    records[index]["url"] = records[index]["url"][:-2] + "/no/secret"
    write(folder, chain_again(records))
    forge_frontier(folder, records)
    findings = found(folder)
    assert f"ledger.jsonl, record {index + 1}: it was fetched, and the decision is otherwise: " in "".join(findings)
    assert "pages.jsonl, record" in findings[-1]


@pytest.mark.parametrize(
    "respelt",
    [
        lambda line: line.replace(b"{", b'{"url":"http://x/never","verdict":"allowed_by_rule",', 1),
        lambda line: line.replace(b",", b", ", 1),
        lambda line: line.replace(b"\n", b"\r\n"),
        lambda line: b" " + line,
        lambda line: line.replace(b"http", b"\\u0068ttp", 1),
        lambda line: line.replace(b'"hash":"', b'"hash":"0","hash":"'),
    ],
    ids=["a key given twice", "a space", "another line end", "a space before it", "an escape", "a hash given twice"],
)
def test_a_line_spelt_otherwise_is_found_though_its_hash_holds(folder: Path, respelt: Callable[[bytes], bytes]) -> None:
    lines = (folder / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    index = find(read(folder), kind="request", path="/a")
    lines[index] = respelt(lines[index])
    (folder / "ledger.jsonl").write_bytes(b"".join(lines))
    assert found(folder) == [
        f"ledger.jsonl, record {index + 1}: it was changed: comity writes the same record in other bytes"
    ]


def test_a_mark_of_byte_order_before_the_ledger_is_found(folder: Path) -> None:
    path = folder / "ledger.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert found(folder)[0].startswith("ledger.jsonl, record 1: it was changed: comity writes")


def test_a_record_removed_is_found(folder: Path) -> None:
    records = read(folder)
    index = find(records, kind="request", path="/a")
    del records[index]
    write(folder, records)
    assert found(folder)[0].startswith(f"ledger.jsonl, record {index + 1}: it does not follow the record before it")


def test_a_record_added_is_found(folder: Path) -> None:
    records = read(folder)
    index = find(records, kind="request", path="/a")
    records.insert(index, dict(records[index]))
    write(folder, records)
    assert found(folder)[0].startswith(f"ledger.jsonl, record {index + 2}: it does not follow the record before it")


def test_records_in_another_order_are_found(folder: Path) -> None:
    records = read(folder)
    index = find(records, kind="request", path="/a")
    records[index], records[index + 1] = records[index + 1], records[index]
    write(folder, records)
    assert found(folder)[0].startswith(f"ledger.jsonl, record {index + 1}: it does not follow the record before it")


def test_a_request_moved_to_an_earlier_time_is_found_by_its_interval(folder: Path) -> None:
    records = read(folder)
    index = find(records, kind="request", path="/a")
    earlier = records[index]["kept"] - 0.02  # half of the interval is left, however slow the machine was
    for name in ("sent", "head", "end", "kept"):
        records[index][name] -= earlier
    write(folder, chain_again(records))
    forge_frontier(folder, records)
    (first, *_) = found(folder)
    assert first.startswith(f"ledger.jsonl, record {index + 1}: it was sent 0.0")
    assert first.endswith("not 0.04 s")


OPEN = b"User-agent: *\nAllow: /\n"


def test_a_changed_robots_txt_is_found(folder: Path) -> None:
    records = read(folder)
    index = find(records, kind="robots")
    records[index]["body_base64"] = base64.b64encode(OPEN).decode()
    write(folder, records)
    assert found(folder)[0].startswith(f"ledger.jsonl, record {index + 1}: it was changed")
    write(folder, chain_again(records))
    forge_frontier(folder, records)
    assert found(folder)[0].startswith(f"ledger.jsonl, record {index + 1}: its body was changed: the hash is ")


def test_a_changed_robots_hash_is_found(folder: Path) -> None:
    records = read(folder)
    index = find(records, kind="robots")
    records[index]["robots_sha256"] = "f" * 64
    write(folder, chain_again(records))
    forge_frontier(folder, records)
    assert found(folder)[0].startswith(f"ledger.jsonl, record {index + 1}: its body was changed: the hash is ")


def test_a_robots_txt_changed_in_the_output_is_found(folder: Path) -> None:
    (robots,) = read(folder, "robots")
    robots["body_base64"] = base64.b64encode(OPEN).decode()
    write(folder, [robots], "robots")
    assert found(folder) == ["robots.jsonl, record 1: its body was changed: its hash differs"]
    robots["sha256"] = hashlib.sha256(OPEN).hexdigest()
    write(folder, [robots], "robots")
    (finding,) = found(folder)
    assert finding.startswith("robots.jsonl, record 1: the ledger has no robots.txt that fits it")


def test_a_robots_txt_put_in_with_its_whole_story_is_found_by_its_request(folder: Path) -> None:
    records = read(folder)
    index = find(records, kind="robots")
    forged = {"robots_sha256": hashlib.sha256(OPEN).hexdigest(), "body_base64": base64.b64encode(OPEN).decode()}
    records[index] |= forged
    write(folder, chain_again(records))
    forge_frontier(folder, records)
    assert found(folder)[0].startswith(
        f"ledger.jsonl, record {index + 1}: it says hash {forged['robots_sha256']}, the request"
    )


def test_a_cut_tail_is_found(folder: Path) -> None:
    records = read(folder)
    write(folder, records[:-3])
    number = len(records) - 3
    first, second, *_ = found(folder)
    assert first.startswith(f"ledger.jsonl, record {number}: the last record is not a seal")
    assert second.startswith(f"ledger.jsonl, record {number}: the ledger does not end where the frontier says it does")
    with (folder / "ledger.jsonl").open("rb+") as file:
        file.truncate(file.seek(0, os.SEEK_END) - 10)
    assert found(folder)[0] == f"ledger.jsonl, record {number}: the line is cut short"


def test_a_removed_seal_is_found(folder: Path) -> None:
    records = read(folder)
    assert records.pop()["kind"] == "seal"
    write(folder, records)
    forge_frontier(folder, records)
    (finding,) = found(folder)
    assert finding.startswith(f"ledger.jsonl, record {len(records)}: the last record is not a seal")


def test_a_page_without_a_request_is_found(folder: Path) -> None:
    pages = read(folder, "pages")
    write(folder, [*pages, {**pages[0], "url": pages[0]["url"] + "never"}], "pages")
    (finding,) = found(folder)
    assert finding.startswith(f"pages.jsonl, record {len(pages) + 1}: the ledger has no request that fits it")


def test_a_page_given_twice_is_found(folder: Path) -> None:
    pages = read(folder, "pages")
    write(folder, [*pages, pages[0]], "pages")
    assert found(folder)[0].startswith(f"pages.jsonl, record {len(pages) + 1}: ")


def test_a_body_that_was_exchanged_is_found(folder: Path) -> None:
    pages = read(folder, "pages")
    index = find(pages, path="/image")
    pages[index]["body_base64"] = base64.b64encode(b"another picture").decode()
    write(folder, pages, "pages")
    assert found(folder) == [f"pages.jsonl, record {index + 1}: its body was changed: its hash differs"]


@pytest.mark.parametrize("name", ["redirects", "failures"])
def test_a_redirect_or_failure_without_a_request_is_found(folder: Path, name: str) -> None:
    records = read(folder, name)
    write(folder, [*records, {**records[0], "url": "http://127.0.0.1/never"}], name)
    assert found(folder)[0].startswith(f"{name}.jsonl, record {len(records) + 1}: the ledger has no request")


def test_a_page_that_failed_by_our_own_fault_is_found(folder: Path) -> None:
    def change(records: list[Record]) -> None:
        records[0] |= {"by": "comity", "why": "cannot be processed: OperationalError: the connection is lost"}

    (finding,) = altered(folder, "failures", change)
    assert finding == (
        "failures.jsonl, record 1: it failed, and not by the site's fault: "
        "cannot be processed: OperationalError: the connection is lost"
    )


# An output from which something was taken, or in which something else than a body was changed


def altered(folder: Path, name: str, change: Callable[[list[Record]], object]) -> list[str]:
    """Change the records of one file; what is found then."""
    records = read(folder, name)
    change(records)
    write(folder, records, name)
    return found(folder)


@pytest.mark.parametrize("name", ["pages", "redirects", "failures", "robots"])
def test_a_record_taken_from_the_output_is_found(folder: Path, name: str) -> None:
    count = len(read(folder, name))
    (finding,) = altered(folder, name, list.pop)
    assert finding == f"{name}.jsonl: it holds {count - 1} {name}, the ledger says that {count} were written"
    (finding,) = altered(folder, name, list.clear)
    assert f"holds 0 {name}, the ledger says that {count} were" in finding
    (folder / f"{name}.jsonl").unlink()
    (finding,) = found(folder)
    assert f"holds 0 {name}, the ledger says that {count} were" in finding


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("pages", {"decision": {"verdict": "disallowed_explicit"}}, "the ledger has no request that fits it"),
        ("pages", {"decision": {"line": 3, "rule": "Disallow: /no"}}, "the ledger has no request that fits it"),
        ("pages", {"decision": {"robots_sha256": "0" * 64}}, "the ledger has no request that fits it"),
        ("pages", {"decision": None}, "its field 'decision' is missing or damaged"),
        ("redirects", {"decision": {"verdict": "disallowed_explicit"}}, "the ledger has no request that fits it"),
        ("redirects", {"to": "http://elsewhere.example/"}, "where it leads is not what its location says"),
        ("redirects", {"location": "/other"}, "the ledger has no request that fits it"),
        ("robots", {"status": 404}, "the ledger has no robots.txt that fits it"),
        ("robots", {"outcome": "unreachable"}, "the ledger has no robots.txt that fits it"),
    ],
)
def test_what_is_changed_beside_a_body_is_found(folder: Path, name: str, more: Record, said: str) -> None:
    def change(records: list[Record]) -> None:
        for field, value in more.items():
            records[0][field] = {**records[0][field], **value} if isinstance(value, dict) else value

    (finding,) = altered(folder, name, change)
    assert finding.startswith(f"{name}.jsonl, record 1: {said}")


def test_a_redirect_led_elsewhere_with_its_location_is_found(folder: Path) -> None:
    record = read(folder, "redirects")[0]
    changed = {"location": "/other", "to": record["to"].replace("/new", "/other")}
    (finding,) = altered(folder, "redirects", lambda records: records[0].update(changed))
    assert finding.startswith("redirects.jsonl, record 1: the ledger has no request that fits it")


@pytest.mark.parametrize("name", ["somebody:Else", "parquet", None])
def test_an_output_said_to_be_written_by_another_is_found(folder: Path, name: str | None) -> None:
    with sqlite3.connect(folder / "frontier.sqlite") as database:
        database.execute("UPDATE fact SET value = ? WHERE key = 'sink'", (json.dumps({"name": name}),))
    database.close()
    assert found(folder) == [f"frontier.sqlite: it says that {name!r} wrote the output, the ledger 'jsonl'"]
    assert prove(folder).unchecked == [], "it is read all the same"


def test_counts_count_all_runs_and_no_seal_says_fewer_than_the_one_before(site: Site, tmp_path: Path) -> None:
    furnish(site)
    crawl(tmp_path, site.url("/"), max_pages=2, retries=0)
    crawl(tmp_path, max_pages=None)
    assert found(tmp_path) == []
    records = read(tmp_path)
    first, last = (record for record in records if record["kind"] == "seal")
    assert first["written"]["pages"] == 2
    assert last["written"] == {
        name: len(read(tmp_path, name)) if (tmp_path / f"{name}.jsonl").exists() else 0 for name in last["written"]
    }
    last["written"] = {**last["written"], "pages": 1}
    write(tmp_path, chain_again(records))
    forge_frontier(tmp_path, records)
    assert any("fewer records were written than the seal before" in finding for finding in found(tmp_path))


def test_a_hash_made_anew_for_one_record_is_found_at_the_next(folder: Path) -> None:
    records = read(folder)
    index = find(records, kind="request", path="/a")
    records[index]["error"] = "nothing to see here"
    records[index]["hash"] = hash_of(records[index])
    write(folder, records)
    (finding,) = found(folder)
    assert finding.startswith(f"ledger.jsonl, record {index + 2}: it does not follow the record before it")


def test_a_whole_chain_made_anew_without_a_refusal_is_found_by_the_frontier(folder: Path) -> None:
    records = read(folder)
    del records[find(records, kind="refusal", path="/no/x")]
    write(folder, chain_again(records))
    write(folder, [refusal for refusal in read(folder, "refusals") if not refusal["url"].endswith("/x")], "refusals")
    (finding,) = found(folder)
    assert finding.startswith(
        f"ledger.jsonl, record {len(records)}: the ledger does not end where the frontier says it does"
    )
    forge_frontier(folder, records)
    assert found(folder) == [], "nothing inside the folder tells any more"
    noted = "a" * 64
    assert str(prove(folder, noted=noted).findings[0]).endswith("not the one noted"), "but a note outside of it does"


def test_a_refusal_that_only_one_file_knows_is_found(folder: Path) -> None:
    refusals = read(folder, "refusals")
    write(folder, refusals[1:], "refusals")
    number = find(read(folder), kind="refusal", url=refusals[0]["url"]) + 1
    assert found(folder) == [f"ledger.jsonl, record {number}: refusals.jsonl does not have this refusal"]
    write(folder, [*refusals, {**refusals[0], "url": "http://127.0.0.1/never"}], "refusals")
    assert "refusals.jsonl, record 3: the ledger has no refusal" in found(folder)[0]


def test_a_changed_policy_is_found(folder: Path) -> None:
    number = changed(folder, lambda record: record["policy"].update(min_interval=0.0), kind="run")
    assert found(folder)[0].startswith(f"ledger.jsonl, record {number}: it was changed")
    records = read(folder)
    records[0]["policy"] |= {"mode": "ignore"}
    write(folder, chain_again(records))
    forge_frontier(folder, records)
    number = find(records, kind="request", purpose="content") + 1
    assert f"ledger.jsonl, record {number}: it says verdict" in found(folder)[0]


def test_a_request_before_any_robots_txt_is_found(folder: Path) -> None:
    records = read(folder)
    records = [record for record in records if record["kind"] != "robots"]
    write(folder, chain_again(records))
    forge_frontier(folder, records)
    number = find(records, kind="request", purpose="content") + 1
    assert f"ledger.jsonl, record {number}: it stands before any robots.txt of http" in found(folder)[0]
    assert "robots.jsonl, record 1: the ledger has no robots.txt that fits it" in found(folder)[-1]


def test_missing_files_are_named(folder: Path, tmp_path: Path) -> None:
    (folder / "frontier.sqlite").rename(tmp_path / "frontier.sqlite")
    assert found(folder) == ["frontier.sqlite: it is missing: nothing says where the ledger ended"]
    (tmp_path / "frontier.sqlite").rename(folder / "frontier.sqlite")
    (folder / "failures.jsonl").unlink()
    (folder / "robots.jsonl").unlink()
    assert found(folder) == [
        "failures.jsonl: it holds 0 failures, the ledger says that 2 were written",
        "robots.jsonl: it holds 0 robots, the ledger says that 1 were written",
    ]
    assert prove(folder).unchecked == ["failures.jsonl", "robots.jsonl"]
    (folder / "ledger.jsonl").write_bytes(b"")
    assert "ledger.jsonl: it is empty" in found(folder)
    (folder / "ledger.jsonl").unlink()
    assert found(folder) == ["ledger.jsonl: it is missing"]


def test_a_crawl_that_is_still_running_is_not_judged(folder: Path) -> None:
    records = read(folder)
    write(folder, records[:-1])  # no seal yet
    held = lock(folder / "frontier.sqlite")
    try:
        with pytest.raises(StillRunning, match="still running"):
            prove(folder)
        said = process("prove", str(folder))
        assert (said.returncode, said.stdout) == (3, "")
        assert complaint(said).startswith(f"comity: {folder}: the crawl is still running")
    finally:
        held.close()
    assert found(folder)[0].startswith(f"ledger.jsonl, record {len(records) - 1}: the last record is not a seal")
    assert comity("prove", str(folder)).returncode == 1


# Damage of any kind


@pytest.mark.parametrize("name", first_of("ledger", "robots", "pages", "refusals"))
def test_damaged_files_give_findings_and_never_a_traceback(crawled: Path, tmp_path: Path, name: str) -> None:
    pick = random.Random(name)
    whole = (crawled / f"{name}.jsonl").read_bytes()
    junk = [b"\0", b"\xff\xfe", b"[]\n", b'{"n":1e999}\n', b"null\n", b"[" * 5000, b'"', b"}", b"\n\n", b"9" * 5000]
    for round_ in range(cases(40)):
        folder = Path(shutil.copytree(crawled, tmp_path / str(round_)))
        place = pick.randrange(len(whole))
        length = pick.choice([0, 0, 1, 5, 500])
        (folder / f"{name}.jsonl").write_bytes(whole[:place] + pick.choice(junk) + whole[place + length :])
        proof = prove(folder)
        assert isinstance(proof, Proof)
        assert name != "ledger" or not proof.holds
        shutil.rmtree(folder)


@pytest.mark.parametrize("value", first_of(None, True, "x", -1, 1e300, 10**400, [], {}, "\ud800"))
def test_a_field_of_any_value_gives_findings_and_never_a_traceback(
    few_records: Path, tmp_path: Path, value: Any
) -> None:
    folder = Path(shutil.copytree(few_records, tmp_path / "crawl"))
    records = read(folder)
    for index in (0, find(records, kind="robots"), find(records, kind="request", path="/a"), len(records) - 1):
        for name in records[index].keys() - {"count", "final"}:
            forged = [dict(record) for record in records]
            forged[index][name] = value
            if forged == records:
                continue
            write(folder, chain_again(forged) if name not in ("n", "prev", "hash", "kind") else forged)
            assert not prove(folder).holds
    (robots,) = read(folder, "robots")
    write(folder, records)
    for name in robots:
        write(folder, [{**robots, name: value}], "robots")
        assert isinstance(prove(folder), Proof)


# What honest crawls do


def test_several_origins_hops_and_failing_robots_files_are_proved(tmp_path: Path) -> None:
    with Site("127.0.0.2") as one, Site("127.0.0.3") as two, Site("127.0.0.4") as three, Site("127.0.0.5") as four:
        one.set("/robots.txt", status=301, headers={"Location": two.url("/elsewhere.txt")})
        two.set("/elsewhere.txt", "User-agent: *\nDisallow: /two\n")
        two.set("/robots.txt", status=503)
        three.set("/robots.txt", b"<html>no robots here</html>")
        for site in (one, two, three, four):
            site.link("/", "/one", "/two", "/three")
        crawl(tmp_path, *(site.url("/") for site in (one, two, three, four)), retries=0)
        proof = prove(tmp_path)
        assert proof.findings == []
        assert proof.requests == sum(len(site.seen) for site in (one, two, three, four))
        kinds = {record["outcome"] for record in read(tmp_path) if record["kind"] == "robots"}
        assert kinds == {"read", "unreachable", "unparsable", "unavailable"}


@pytest.mark.parametrize(
    "policy",
    [
        Policy(min_interval=0, allow_addresses=LOOPBACK),
        Policy(min_interval=0, cache_life=0, allow_addresses=LOOPBACK),
        Policy(min_interval=0.01, cache_life=0.02, allow_addresses=LOOPBACK),
        Policy(min_interval=0.01, cache_life=float("inf"), allow_addresses=LOOPBACK),
        Policy(min_interval=0.01, mode="ignore", allow_addresses=LOOPBACK),
        Policy(min_interval=0.01, mode="report_only", allow_addresses=LOOPBACK),
        Policy(min_interval=0.01, robots_fetch_counts=False, allow_addresses=LOOPBACK),
        Policy(min_interval=0.01, max_crawl_delay=0.001, allow_addresses=LOOPBACK),
        Policy(min_interval=0.01, pace_by="domain", allow_addresses=LOOPBACK),
        Policy(min_interval=0.01, pace_by="address", allow_addresses=LOOPBACK),
        Policy(min_interval=0.01, honour=(), robots_charset="declared", purposes=("search",), allow_addresses=LOOPBACK),
        Policy(min_interval=0.01, adaptive=2.0, breaker_failures=2, allow_addresses=LOOPBACK),
    ],
    ids=[
        "no wait",
        "no life",
        "short life",
        "endless life",
        "ignore",
        "report only",
        "robots apart",
        "delay refused",
        "by domain",
        "by address",
        "no wishes, declared charset",
        "adaptive, breaker",
    ],
)
def test_a_crawl_under_any_policy_is_proved(site: Site, tmp_path: Path, policy: Policy) -> None:
    delay = "Crawl-delay: 0.02\n" if policy.max_crawl_delay else ""
    site.set("/robots.txt", f"User-agent: *\n{delay}Disallow: /no\n")
    site.link("/", "/no", *(f"/{number}" for number in range(8)))
    for number in range(8):
        site.link(f"/{number}", "/")
    crawl(tmp_path, site.url("/"), policy=policy)
    proof = prove(tmp_path)
    assert proof.findings == []
    assert proof.requests == len(site.seen)


def test_the_first_page_waits_the_crawl_delay_that_its_robots_txt_has_just_named(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 0.1\n")
    site.link("/", "/a")
    site.link("/a")
    crawl(tmp_path, site.url("/"))
    assert min(site.intervals()) >= 0.1
    assert prove(tmp_path).holds


def test_retry_after_is_proved_to_have_been_kept(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    async def busy(request: web.Request) -> web.StreamResponse:
        return web.Response(status=503, headers={"Retry-After": "20"})

    site.link("/", "/busy", "/a")
    site.link("/a")
    site.set("/busy", busy)
    crawl(tmp_path, site.url("/"), clock=clock)
    assert found(tmp_path) == []
    records = read(tmp_path)
    index = find(records, kind="request", status=503) + 1
    gone = records[index]["sent"] - records[index - 1]["head"]
    assert gone >= 20
    for record in records[index:]:
        for name in ("sent", "head", "end", "at"):
            if record.get(name) is not None:
                record[name] -= 5
    records[index]["kept"] -= 5
    write(tmp_path, chain_again(records))
    forge_frontier(tmp_path, records)
    assert f"record {index + 1}: it was sent 5.0" in found(tmp_path)[0]
    assert "before the time that Retry-After named" in found(tmp_path)[0]


def test_a_robots_txt_that_is_too_old_is_found(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", "/1", "/2")
    site.link("/1")
    site.link("/2")
    policy = Policy(min_interval=2, cache_life=5, allow_addresses=LOOPBACK)
    crawl(tmp_path, site.url("/"), policy=policy, clock=clock, sitemaps=False)
    assert found(tmp_path) == []
    assert site.paths().count("/robots.txt") == 2, "it is asked for again when its life is over"
    records = read(tmp_path)
    second = find(records[5:], kind="robots") + 5
    cited = records[find(records, kind="robots")]
    late = [record for record in records[second:] if record.get("purpose") == "content"]
    for record in late:
        record["robots_at"] = cited["robots_at"]
    del records[second - 1 : second + 1]
    write(tmp_path, chain_again(records))
    write(tmp_path, read(tmp_path, "robots")[:1], "robots")
    forge_frontier(tmp_path, records)
    number = late[-1]["n"]
    assert f"ledger.jsonl, record {number}: the robots.txt it cites was too old" in found(tmp_path)


def test_retry_after_of_a_robots_txt_is_proved_to_have_been_kept(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    site.set("/robots.txt", status=503, headers={"Retry-After": "4000"})
    site.link("/")
    policy = Policy(on_unreachable="allow", max_retry_after=30, allow_addresses=LOOPBACK)
    crawl(tmp_path, site.url("/"), policy=policy, clock=clock, sitemaps=False)
    assert found(tmp_path) == []
    records = read(tmp_path)
    page = find(records, kind="request", purpose="content")
    assert records[page]["sent"] - records[page - 2]["head"] >= 30
    for name in ("sent", "head", "end"):
        records[page][name] -= 5
    records[page]["kept"] -= 5
    write(tmp_path, chain_again(records))
    forge_frontier(tmp_path, records)
    assert "before the time that Retry-After named" in found(tmp_path)[0]


def falls_ill(site: Site) -> Callable[[web.Request], Any]:
    """A robots.txt that is there once and unreachable from then on."""

    async def robots(request: web.Request) -> web.StreamResponse:
        if site.paths().count("/robots.txt") > 1:
            return web.Response(status=503)
        return web.Response(text="User-agent: *\nDisallow: /no\n", content_type="text/plain")

    return robots


def standing_crawl(site: Site, folder: Path, clock: FakeClock) -> None:
    site.set("/robots.txt", falls_ill(site))
    site.link("/", "/no", *(f"/{number}" for number in range(8)))
    for number in range(8):
        site.link(f"/{number}", f"/no/{number}")
    policy = Policy(min_interval=2, cache_life=5, failure_life=5, backoff=0, allow_addresses=LOOPBACK)
    crawl(folder, site.url("/"), policy=policy, clock=clock, sitemaps=False)


def test_the_last_good_copy_that_stands_in_is_proved(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    standing_crawl(site, tmp_path, clock)
    proof = prove(tmp_path)
    assert proof.findings == []
    assert proof.cached == 0
    sources = [record["source"] for record in read(tmp_path) if record["kind"] == "robots"]
    assert sources[0] == "request"
    assert set(sources[1:]) == {"standing"}
    assert proof.robots == site.paths().count("/robots.txt") == len(sources) >= 3


def test_a_good_copy_that_stood_in_for_a_site_that_answered_is_found(
    site: Site, tmp_path: Path, clock: FakeClock
) -> None:
    standing_crawl(site, tmp_path, clock)
    records = read(tmp_path)
    number = find(records, kind="robots", source="standing")
    records[number - 1]["status"] = 200
    write(tmp_path, chain_again(records))
    forge_frontier(tmp_path, records)
    assert found(tmp_path)[0] == (
        f"ledger.jsonl, record {number + 1}: it says that its site was unreachable, the request for it says status 200"
    )


def test_a_good_copy_that_stood_in_for_too_long_is_found(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    standing_crawl(site, tmp_path, clock)
    records = read(tmp_path)
    for record in records:
        if record.get("source") == "standing":
            record["unreachable_since"] -= 31 * 86_400
    write(tmp_path, chain_again(records))
    forge_frontier(tmp_path, records)
    number = find(records, kind="robots", source="standing") + 1
    assert found(tmp_path)[0].startswith(f"ledger.jsonl, record {number}: it stood in for 26784")


def test_a_site_said_to_be_unreachable_for_longer_than_the_ledger_knows_is_not_proved(
    site: Site, tmp_path: Path, clock: FakeClock
) -> None:
    site.set("/robots.txt", status=503)
    site.link("/", *(f"/{number}" for number in range(5)))
    for number in range(5):
        site.link(f"/{number}")
    policy = Policy(min_interval=2, failure_life=5, unreachable_life=6, on_unreachable="allow", backoff=0)
    policy = policy.with_changes(allow_addresses=LOOPBACK)
    crawl(tmp_path, site.url("/"), policy=policy, clock=clock, sitemaps=False)
    assert found(tmp_path) == []
    assert prove(tmp_path).cached == 0
    records = read(tmp_path)
    assert {"unknown_unreachable", "allowed_implicit"} <= {record.get("verdict") for record in records}
    records[find(records, kind="robots")]["unreachable_since"] -= 100
    write(tmp_path, chain_again(records))
    forge_frontier(tmp_path, records)
    assert prove(tmp_path).cached > 0


def test_a_copy_said_to_hold_for_longer_than_the_policy_says_is_found(folder: Path) -> None:
    records = read(folder)
    index = find(records, kind="robots")
    for life in (100_000.0, None):
        records[index]["life"] = life
        write(folder, chain_again(records))
        forge_frontier(folder, records)
        assert found(folder)[0].startswith(f"ledger.jsonl, record {index + 1}: it says that it holds for ")


def test_a_robots_txt_that_is_confirmed_is_proved(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    async def robots(request: web.Request) -> web.StreamResponse:
        headers = {"ETag": '"one"'}
        if request.headers.get("If-None-Match") == '"one"':
            return web.Response(status=304, headers=headers)
        return web.Response(text="User-agent: *\nDisallow: /no\n", headers=headers, content_type="text/plain")

    site.set("/robots.txt", robots)
    site.link("/", "/no", "/1", "/2", "/3")
    for number in range(1, 4):
        site.link(f"/{number}")
    policy = Policy(min_interval=2, cache_life=5, allow_addresses=LOOPBACK)
    crawl(tmp_path, site.url("/"), policy=policy, clock=clock, sitemaps=False)
    proof = prove(tmp_path)
    assert proof.findings == []
    assert proof.cached == 0
    records = read(tmp_path)
    assert [record["source"] for record in records if record["kind"] == "robots"][:2] == ["request", "renewed"]
    index = find(records, kind="robots", source="renewed")
    records[index - 1]["status"] = 200
    write(tmp_path, chain_again(records))
    forge_frontier(tmp_path, records)
    assert found(tmp_path)[0].startswith(
        f"ledger.jsonl, record {index + 1}: it says that an earlier copy was confirmed, the request for it says"
    )


def test_what_came_from_a_cache_is_counted_as_such(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    page = '<a href="/no">x</a><a href="/1">x</a>'
    site.set("/", page, headers={"Cache-Control": "max-age=3600"})
    site.set("/1", page, headers={"Cache-Control": "no-cache", "ETag": '"one"'})
    client = ClientSettings(cache=str(tmp_path / "cache.sqlite"), cache_pages=True)
    for name in ("one", "two"):
        crawl(tmp_path / name, site.url("/"), client=client, sitemaps=False)
        assert found(tmp_path / name) == []
    assert site.paths() == ["/robots.txt", "/", "/1", "/1"]
    first, second = prove(tmp_path / "one"), prove(tmp_path / "two")
    assert (first.cached, first.copies, first.requests) == (0, 0, 3)
    assert (second.cached, second.copies, second.requests) == (1, 1, 1)
    assert "unproved  1 robots.txt and 1 page from a cache" in comity("prove", str(tmp_path / "two")).stdout


@pytest.mark.parametrize("name", first_of("jsonl", "warc", "jsonl.gz", "jsonl.zst", "files"))
def test_a_crawl_in_any_format_is_proved(site: Site, tmp_path: Path, name: str) -> None:
    furnish(site)
    crawl(tmp_path, site.url("/"), sink=name, retries=0)
    proof = prove(tmp_path)
    assert proof.findings == []
    assert proof.requests == len(site.seen)
    assert (proof.unchecked, proof.unread) == ([], 0)


def relabelled(folder: Path, name: str, old: bytes, new: bytes) -> None:
    """Put other bytes into the output of a format, as its own library writes them."""
    if name == "warc":
        path = folder / "crawl-00001.warc.gz"
        rest, members = path.read_bytes(), []
        while rest:  # a record each
            member = zlib.decompressobj(wbits=31)
            members.append(gzip.compress(member.decompress(rest).replace(old, new)))
            rest = member.unused_data
        path.write_bytes(b"".join(members))
    elif name == "jsonl.gz":
        path = folder / "pages.jsonl.gz"
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(old, new)))
    elif name == "jsonl.zst":
        zstandard = pytest.importorskip("zstandard")
        path = folder / "pages.jsonl.zst"
        with zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True) as frames:
            text = frames.read()
        path.write_bytes(zstandard.compress(text.replace(old, new)))
    else:
        path = folder / "pages.jsonl"
        path.write_bytes(path.read_bytes().replace(old, new))


@pytest.mark.parametrize("name", first_of("jsonl", "warc", "jsonl.gz", "jsonl.zst"))
def test_a_page_changed_in_any_format_is_found(site: Site, tmp_path: Path, name: str) -> None:
    site.set("/", "<title>Harbour</title>The ferry leaves at nine.<a href='/b'>b</a>")
    site.set("/b", "caf\xe9".encode("latin-1"), content_type="text/html; charset=iso-8859-1")
    crawl(tmp_path, site.url("/"), sink=name, sitemaps=False)
    assert found(tmp_path) == []
    relabelled(tmp_path, name, b"at nine", b"at five")
    (finding,) = found(tmp_path)
    assert finding.endswith(": its body was changed: its hash differs")
    assert ", record " in finding


@pytest.mark.parametrize("name", first_of("warc", "files"))
def test_a_refusal_missing_in_any_format_is_found(site: Site, tmp_path: Path, name: str) -> None:
    furnish(site)
    crawl(tmp_path, site.url("/"), sink=name, retries=0)
    records = read(tmp_path)
    del records[find(records, kind="refusal")]
    write(tmp_path, chain_again(records))
    forge_frontier(tmp_path, records)
    (finding,) = found(tmp_path)
    assert ": the ledger has no refusal that fits it, for " in finding


@pytest.mark.parametrize("name", first_of("jsonl.gz", "jsonl.zst", "warc"))
def test_a_damaged_output_gives_findings_and_never_a_traceback(site: Site, tmp_path: Path, name: str) -> None:
    furnish(site)
    crawl(tmp_path / "crawl", site.url("/"), sink=name, retries=0)
    pick = random.Random(name)
    for path in sorted(tmp_path.glob("crawl/**/*")):
        if not path.name.endswith((".gz", ".zst")) or not path.stat().st_size:
            continue
        whole = path.read_bytes()
        for _ in range(cases(12)):
            place = pick.randrange(len(whole))
            path.write_bytes(whole[:place] + pick.choice([b"", b"\0", b"\xff" * 50]) + whole[place + 20 :])
            assert isinstance(prove(tmp_path / "crawl"), Proof)
        path.write_bytes(whole)
    assert prove(tmp_path / "crawl").holds
    next((tmp_path / "crawl").glob("crawl-*.gz" if name == "warc" else f"pages.{name}")).write_bytes(b"gone")
    assert not prove(tmp_path / "crawl").holds


def test_the_output_of_a_plug_in_is_said_not_to_be_compared(site: Site, tmp_path: Path) -> None:
    class Nowhere:
        pending = 0

        def open(self, folder: Path, committed: Any) -> None: ...
        def add(self, channel: str, record: Any, answer: Any = None) -> None: ...
        def flush(self, *, final: bool) -> None: ...
        def close(self) -> None: ...

    furnish(site)
    asyncio.run(
        Crawler(
            [site.url("/")],
            tmp_path,
            policy=Policy(min_interval=0, backoff=0.05, allow_addresses=LOOPBACK),
            plugins={"sink": Nowhere()},
        ).run()
    )
    assert found(tmp_path) == []
    (unchecked,) = prove(tmp_path).unchecked
    assert "plug-in" in unchecked
    assert "Nowhere" in unchecked
    assert "not read  the output, which the plug-in" in comity("prove", str(tmp_path)).stdout


def test_a_library_that_is_missing_is_named(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    furnish(site)
    crawl(tmp_path, site.url("/"), sink="warc", retries=0)
    monkeypatch.setitem(sys.modules, "warcio.archiveiterator", None)
    proof = prove(tmp_path)
    assert proof.holds
    (unchecked,) = proof.unchecked
    assert "pip install 'comity[warc]'" in unchecked


def test_a_text_that_was_re_coded_is_compared_where_that_can_be_done(site: Site, tmp_path: Path) -> None:
    site.link("/", "/utf-16", "/shift", "/broken", "/plain")
    site.set("/utf-16", "\ufeffs\xfcd".encode("utf-16le"), content_type="text/html; charset=utf-16")
    site.set("/shift", "<title>\u6e2f".encode("shift_jis"), content_type="text/html; charset=shift_jis")
    site.set("/broken", b"\xff\xfa<b>", content_type="text/html; charset=utf-8")
    site.set("/plain", "\xfcber".encode("latin-1"), content_type="text/plain; charset=iso-8859-1")
    crawl(tmp_path, site.url("/"), sitemaps=False)
    proof = prove(tmp_path)
    assert (proof.findings, proof.unread) == ([], 1)
    relabelled(tmp_path, "jsonl", "s\xfcd".encode(), "n\xf6rd".encode())
    assert [finding.what for finding in prove(tmp_path).findings] == ["its body was changed: its hash differs"]


def test_what_a_source_names_that_is_no_url_is_proved_too(site: Site, tmp_path: Path) -> None:
    class Source:
        async def urls(self) -> Any:
            yield site.url("/a")
            yield "no url at all"

    site.link("/a")
    policy = Policy(min_interval=0.01, allow_addresses=LOOPBACK)
    asyncio.run(Crawler([], tmp_path, policy=policy, plugins={"source": Source()}).run())
    assert found(tmp_path) == []
    assert [record["url"] for record in read(tmp_path) if record["kind"] == "unsent"] == ["no url at all"]


def test_a_stopped_crawl_and_its_continuation_are_one_chain(site: Site, tmp_path: Path) -> None:
    furnish(site)
    crawl(tmp_path, site.url("/"), max_pages=2)
    assert prove(tmp_path).runs == 1
    crawl(tmp_path, max_pages=None)
    proof = prove(tmp_path)
    assert proof.findings == []
    assert proof.runs == 2
    assert [record["kind"] for record in read(tmp_path)].count("seal") == 2


@pytest.mark.long
def test_a_killed_crawl_resumes_with_a_ledger_that_can_be_proved(site: Site, tmp_path: Path) -> None:
    count = 150

    async def page(request: web.Request) -> web.StreamResponse:
        number = int(request.path[1:])
        links = "".join(f'<a href="/{target}">x</a>' for target in (number * 2 + 1, number * 2 + 2) if target < count)
        return web.Response(text=f'<title>{number}</title>{links}<a href="/no/{number}">', content_type="text/html")

    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    for number in range(count):
        site.set(f"/{number}", page)
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "comity", "crawl", "-o", str(folder), "--delay", "0.01"]
    command += ["--allow-address", "127.0.0.0/8"]
    kills = killed(command, site, begin=[site.url("/0")], times=4, after=lambda: 40)
    assert kills >= 2
    cut_off = comity("prove", str(folder))
    assert cut_off.returncode == 1
    assert "is not a seal" in cut_off.stdout
    finished(command)
    proof = prove(folder)
    assert proof.findings == []
    assert proof.runs >= 3
    assert proof.refusals == count
    assert len(read(folder, "pages")) == count


def test_hosts_that_share_a_pace_while_one_body_takes_its_time_are_proved(tmp_path: Path) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        await response.write(b"slow")
        await asyncio.sleep(0.4)
        await response.write_eof(b"ly")
        return response

    with Site("127.0.0.1") as site:
        for path in ("/", "/1", "/2"):
            site.link(path, "/1", "/2")
        site.set("/slow", slow)
        names = {f"{name}.shared.example": "127.0.0.1" for name in ("a", "b")}
        seeds = [f"http://a.shared.example:{site.port}/slow", f"http://b.shared.example:{site.port}/"]
        policy = Policy(min_interval=0.05, pace_by="domain", allow_addresses=LOOPBACK)
        crawl(tmp_path, *seeds, policy=policy, client=ClientSettings(resolve=names), sitemaps=False)
    assert found(tmp_path) == []
    records = read(tmp_path)
    late = find(records, path="/slow", kind="request")
    following = [each for each in records[late + 1 :] if each["kind"] == "request"]
    assert min(each["sent"] for each in following) >= records[late]["end"], "nothing is asked while the body comes"
    # A ledger by whom bodies do not hold up, such as one of before: requests are recorded while the body came.
    after = records.index(following[1])
    records[late]["end"] = following[1]["end"] + 0.001
    heads = [each["head"] for each in records[:late] if each["kind"] == "request"]
    following[0]["kept"] = round(following[0]["sent"] - max(heads), 6)
    records.insert(after, records.pop(late))
    late = after
    write(tmp_path, chain_again(records))
    forge_frontier(tmp_path, records)
    assert found(tmp_path) == []
    meanwhile = [index for index in range(late) if records[index].get("sent", 0) > records[late]["head"]]
    assert meanwhile
    shift = records[meanwhile[0]]["sent"] - records[late]["head"] - 0.01
    records[late]["head"] += shift
    write(tmp_path, chain_again(records))
    forge_frontier(tmp_path, records)
    said = f"record {late + 1}: the request in record {meanwhile[0] + 1} was sent 0.010 s after its answer, not 0.05 s"
    assert any(said in finding for finding in found(tmp_path)), found(tmp_path)


# What the client tells of


def told(work: Callable[[AsyncClient], Any], **settings: Any) -> list[RequestRecord]:
    """The exchanges that a client tells of while it does some work."""
    exchanges: list[RequestRecord] = []

    async def run() -> None:
        policy = Policy(min_interval=0, backoff=0, allow_addresses=LOOPBACK)
        async with AsyncClient(policy, ClientSettings(**settings)) as client:
            client._session.on_request = exchanges.append
            await work(client)

    asyncio.run(run())
    return exchanges


def brief(exchanges: list[RequestRecord], site: Site) -> list[tuple[str, int | None, str | None]]:
    return [(exchange.url.removeprefix(site.url("")), exchange.status, exchange.error) for exchange in exchanges]


def test_the_client_tells_of_every_hop_and_every_retry(site: Site) -> None:
    furnish(site)

    async def work(client: AsyncClient) -> None:
        assert (await client.get(site.url("/moved"))).ok
        assert (await client.get(site.url("/later"))).ok

    exchanges = told(work)
    assert brief(exchanges, site) == [
        ("/robots.txt", 200, None),
        ("/moved", 301, None),
        ("/new", 200, None),
        ("/later", 503, None),
        ("/later", 200, None),
    ]
    assert [exchange.url for exchange in exchanges] == [site.url(path) for path in site.paths()]
    for exchange in exchanges:
        assert exchange.head is not None
        assert exchange.sent <= exchange.head <= exchange.end
    assert exchanges[-1].body == b"at last"


def test_the_client_tells_of_requests_without_an_answer(site: Site) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(HANGS)
        return web.Response()

    site.set("/slow", slow)
    site.set("/slower", slow)

    async def wait(client: AsyncClient) -> None:
        with pytest.raises(Timeout):
            await client._session.fetch(site.url("/slow"))

    async def give_up(client: AsyncClient) -> None:
        task = asyncio.ensure_future(client._session.fetch(site.url("/slower")))
        while "/slower" not in site.paths():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    waited, given_up = told(wait, timeout=2, robots_timeout=HANGS), told(give_up, timeout=HANGS)
    exchanges = [exchange for exchange in waited + given_up if exchange.origin is None]
    assert [exchange.status for exchange in exchanges] == [None, None]
    assert [exchange.head for exchange in exchanges] == [None, None]
    assert "within 2 s" in str(exchanges[0].error)
    assert exchanges[1].error == "cancelled"
    assert exchanges[0].end - exchanges[0].sent >= 2


def test_the_client_tells_once_of_a_stream_when_it_is_closed(site: Site) -> None:
    site.set("/a", b"whole")
    site.set("/moved", status=301, headers={"Location": "/a"})

    async def work(client: AsyncClient) -> None:
        async with client.stream(site.url("/moved")) as response:
            assert [part async for part in response.chunks()] == [b"whole"]
        with pytest.raises(KeyError):
            async with client.stream(site.url("/a")):
                raise KeyError("enough")

    assert brief(told(work), site)[1:] == [("/moved", 301, None), ("/a", 200, None), ("/a", 200, "'enough'")]


# The command


def test_the_command_says_so_and_exits_zero(crawled: Path) -> None:
    answer = comity("prove", str(crawled))
    assert answer.returncode == 0, answer.stdout
    assert answer.stdout.startswith("proved: ")
    last = read(crawled)[-1]["hash"]
    assert last in answer.stdout
    assert comity("prove", str(crawled), "--hash", last).returncode == 0
    assert comity("prove", str(crawled), "--hash", "0" * 64).returncode == 1


def page_of(folder: Path) -> str:
    return html(CrawlView(str(folder), gather(folder)))


def test_the_command_says_which_runs_did_not_enforce_robots_txt(site: Site, tmp_path: Path) -> None:
    furnish(site)
    lax = Policy(min_interval=0, backoff=0.05, mode="report_only", allow_addresses=LOOPBACK)
    blind = lax.with_changes(mode="ignore")
    crawl(tmp_path, site.url("/a"), retries=0, sitemaps=False, policy=lax.with_changes(mode="respect"))
    crawl(tmp_path, site.url("/"), retries=0, policy=lax)
    answer = comity("prove", str(tmp_path))
    assert answer.returncode == 0, answer.stdout
    proof = prove(tmp_path)
    assert (proof.unenforced, proof.disallowed) == ({2: "report_only"}, 2)
    assert answer.stdout.splitlines()[0] == (
        "proved: no early request, chain intact; "
        "robots.txt was not enforced in run 2 (mode report_only): 2 disallowed requests recorded"
    )
    assert "<div>Refusals were recorded, not enforced, in some runs.</div>" in page_of(tmp_path)
    crawl(tmp_path, retries=0, policy=blind)
    crawl(tmp_path, retries=0, policy=blind)
    crawl(tmp_path, retries=0, policy=lax.with_changes(mode="respect"))
    said = comity("prove", str(tmp_path)).stdout.splitlines()[0]
    assert "in run 2 (mode report_only) and in runs 3, 4 (mode ignore): 2 disallowed requests" in said
    page = page_of(tmp_path)
    assert "<div>robots.txt was not checked, in some runs.</div>" in page
    assert "<div>Refusals were recorded, not enforced, in some runs.</div>" in page


def test_the_command_says_so_of_a_crawl_without_robots_txt(site: Site, tmp_path: Path) -> None:
    furnish(site)
    policy = Policy(min_interval=0, backoff=0.05, mode="ignore", allow_addresses=LOOPBACK)
    crawl(tmp_path, site.url("/"), policy=policy, retries=0)
    said = comity("prove", str(tmp_path)).stdout.splitlines()[0]
    assert said == "proved: no early request, chain intact; robots.txt was not enforced in run 1 (mode ignore)"
    assert "<div>robots.txt was not checked.</div>" in page_of(tmp_path)


def test_the_command_names_the_record_and_exits_one(folder: Path) -> None:
    number = changed(folder, lambda record: record.update(line=1), kind="refusal")
    answer = comity("prove", str(folder))
    assert answer.returncode == 1
    assert f"ledger.jsonl, record {number}: it was changed" in answer.stdout
    answer = comity("prove", str(folder), "--json")
    assert answer.returncode == 1
    assert json.loads(answer.stdout)["findings"][0]["record"] == number


def test_a_folder_without_a_crawl_is_an_error_of_its_own(tmp_path: Path) -> None:
    answer = comity("prove", str(tmp_path))
    assert answer.returncode == 66
    assert "no crawl in" in complaint(answer)
