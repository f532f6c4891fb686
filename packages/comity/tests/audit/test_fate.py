"""What became of a URL in a crawl, and on which page it was found: `comity why`, `found_on`, the link graph, uses."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from commands import ALLOW, comity
from examples import first_of
from sites import Site

from comity import CrawlSettings
from comity.audit import evidence, stored
from comity.audit.url_status import explain_url, explain_urls
from comity.crawler.output.reader import CHECKED
from comity.errors import InvalidSetting

FORMATS = ("jsonl", "jsonl.gz", "jsonl.zst", "warc", "files")


def crawl(site: Site, folder: Path, *words: str, url: str | None = "/") -> str:
    told = comity(
        "crawl", *([] if url is None else [site.url(url)]), *ALLOW, "-q", "--delay", "0", "-o", str(folder), *words
    )
    assert told.returncode in (0, 2), told.stderr
    return told.stdout


def lines(folder: Path, channel: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{channel}.jsonl").read_text().splitlines()]


def fate(folder: Path, url: str) -> dict[str, Any]:
    told = comity("why", str(folder), url, "--json")
    answer: dict[str, Any] = json.loads(told.stdout)
    assert told.returncode == (0 if answer["met"] else 66), told.stderr
    return answer


@pytest.fixture
def shop(site: Site) -> Site:
    site.set("/robots.txt", "User-agent: *\nAllow: /open\nDisallow: /secret\n", content_type="text/plain")
    site.link("/", "/a", "/secret", "/moved", "/missing", "/old?print=1", "/d/d/d/d/d/d")
    site.link("/a", "/open/b")
    site.set("/open/b", "<p>the end")
    site.set("/moved", "", status=302, headers={"Location": "/target"})
    site.set("/target", "<p>target")
    return site


def test_one_question_opens_the_frontier_at_most_twice(
    shop: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl(shop, tmp_path)
    opened: list[str] = []
    connect = sqlite3.connect

    def counted(path: Any, *options: Any, **named: Any) -> sqlite3.Connection:
        opened.append(str(path))
        return connect(path, *options, **named)

    monkeypatch.setattr(sqlite3, "connect", counted)
    fates = {"/open/b": "kept", "/secret": "refused", "/missing": "failed", "/never/met": "not found"}
    for path, expected in fates.items():
        opened.clear()
        assert explain_url(tmp_path, shop.url(path)).fate == expected
        assert len([each for each in opened if "frontier.sqlite" in each]) <= 2, path


def test_questions_about_several_urls_open_and_read_a_crawl_once(
    shop: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl(shop, tmp_path)
    named = [shop.url(path) for path in ("/open/b", "/secret", "/never/met", "/nor/this", "/open/b")]
    alone = [explain_url(tmp_path, url) for url in named]
    read: list[str] = []
    for module, name in ((stored, "read_back"), (evidence, "read_lines")):
        counted = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, f=counted, n=name, **k: (read.append(n), f(*a, **k))[1])
    assert explain_urls(tmp_path, named) == alone
    assert [each.fate for each in alone] == ["kept", "refused", "not found", "not found", "kept"]
    assert sorted(read) == ["read_back", "read_back", "read_lines"], "the records, the links to what was not met, rules"


@pytest.mark.parametrize("form", first_of(*FORMATS))
def test_every_fate_is_told_with_the_page_that_named_the_url(shop: Site, tmp_path: Path, form: str) -> None:
    crawl(shop, tmp_path, "--exclude", "*print=", "--format", form)
    kept = fate(tmp_path, shop.url("/open/b"))
    assert (kept["fate"], kept["found_on"]) == ("kept", shop.url("/a"))
    assert "allowed by robots.txt line 2 (Allow: /open)" in kept["why"]
    refused = fate(tmp_path, shop.url("/secret"))
    assert (refused["fate"], refused["found_on"]) == ("refused", shop.url("/"))
    assert "line 3" in refused["why"]
    assert refused["records"][0]["decision"]["line"] == 3
    failed = fate(tmp_path, shop.url("/missing"))
    assert (failed["fate"], failed["found_on"]) == ("failed", shop.url("/"))
    assert "HTTP status 404" in failed["why"]
    moved = fate(tmp_path, shop.url("/moved"))
    assert (moved["fate"], moved["found_on"]) == ("redirected", shop.url("/"))
    assert fate(tmp_path, shop.url("/target"))["found_on"] == shop.url("/moved")
    trapped = fate(tmp_path, shop.url("/d/d/d/d/d/d"))
    assert (trapped["fate"], trapped["found_on"]) == ("trapped", shop.url("/"))
    excluded = fate(tmp_path, shop.url("/old?print=1"))
    assert (excluded["fate"], excluded["why"]) == ("out of scope", "the pattern *print= excludes it")
    elsewhere = fate(tmp_path, "https://elsewhere.example/x")
    assert elsewhere["fate"] == "out of scope"
    assert "it is not on" in elsewhere["why"]
    assert fate(tmp_path, shop.url("/nobody-names-it"))["fate"] == "not found"
    assert fate(tmp_path, shop.url("/secret/2"))["decision"]["line"] == 3
    assert fate(tmp_path, shop.url("/"))["found_on"] is None, "it was given by hand"


def test_links_that_were_left_out_are_counted_and_why_says_for_which_reason(site: Site, tmp_path: Path) -> None:
    page = '<a href="/a">a</a><a rel="nofollow" href="/sponsored">s</a><script>open("/by/script")</script>'
    site.set("/", page)
    site.set("/a", '<a href="/deep?utm_source=x">d</a><a href="/deep/2">e</a><a href="/">home</a>')
    site.set("/quiet", '<meta name=robots content=nofollow><a href="/behind">b</a>')
    words = (
        "crawl",
        site.url("/"),
        site.url("/quiet"),
        *ALLOW,
        "-o",
        str(tmp_path),
        "--delay",
        "0",
        "--max-depth",
        "1",
    )
    told = json.loads(comity(*words, "--json").stdout)
    assert (told["pages"], told["outside"], told["nofollow"]) == (3, 2, 2)
    for path, words_of_it, page in (
        ("/deep", "that is 1 links from the start, where no more are followed (--max-depth)", "/a"),
        ("/sponsored", "the link to it is marked nofollow (--follow-nofollow follows it)", "/"),
        ("/behind", "the page that links to it is marked nofollow (--follow-nofollow follows)", "/quiet"),
        ("/by/script", "only text or a script names it, not a link (--render runs scripts)", "/"),
        ("/orphan", "no crawled page links to it or names it", None),
        ("/by", "no crawled page links to it or names it", None),
        ("/script", "no crawled page links to it or names it", None),
    ):
        found = fate(tmp_path, site.url(path))
        assert (found["fate"], found["found_on"]) == ("not found", page and site.url(page)), path
        assert words_of_it in found["why"], path


def test_a_url_that_was_never_met_is_judged_by_the_robots_txt_that_the_crawl_has(shop: Site, tmp_path: Path) -> None:
    crawl(shop, tmp_path, "--scope", "any", "--purpose", "search")
    asked = len(shop.seen)
    refused = fate(tmp_path, shop.url("/secret/2"))
    assert refused["fate"] == "not found"
    assert re.search(r"robots.txt \(\S+Z\) would disallow it: line 3, 'Disallow: /secret'", refused["why"])
    assert (refused["decision"]["verdict"], refused["decision"]["line"]) == ("disallowed_explicit", 3)
    (met,) = lines(tmp_path, "refusals")
    assert refused["decision"] == met["decision"], "as of one that was met"
    fetched = fate(tmp_path, shop.url("/open/2"))
    assert "would allow it: line 2" in fetched["why"]
    shop.set("/robots.txt", "User-agent: *\nDisallow: /open\n")
    crawl(shop, tmp_path, "--refresh", url=None)
    assert "would disallow it: line 2" in fate(tmp_path, shop.url("/open/2"))["why"], "the last one counts"
    elsewhere = fate(tmp_path, "https://elsewhere.example/x")
    assert "has no robots.txt of https://elsewhere.example" in elsewhere["why"]
    assert elsewhere["decision"] is None
    assert not {seen.path for seen in shop.seen[asked:]} & {"/secret/2", "/open/2"}


def test_a_url_that_a_limit_left_waiting_says_so_and_when_it_has_its_turn(shop: Site, tmp_path: Path) -> None:
    crawl(shop, tmp_path, "--max-pages", "1")
    waits = fate(tmp_path, shop.url("/a"))
    assert (waits["fate"], waits["found_on"], waits["next_try"]) == (
        "queued",
        shop.url("/"),
        "by --resume with a higher limit",
    )
    assert "a limit ended the crawl" in waits["why"]
    crawl(shop, tmp_path, "--resume", "--max-pages", "none", url=None)
    (page,) = (page for page in lines(tmp_path, "pages") if page["url"] == shop.url("/a"))
    assert page["found_on"] == shop.url("/"), "the frontier remembers it from run to run"


def test_a_url_at_a_private_address_is_refused_by_our_own_rule_until_an_option_allows_it(
    shop: Site, tmp_path: Path
) -> None:
    with Site("127.0.0.2") as elsewhere:  # a crawl of which no address is allowed takes no folder
        elsewhere.link("/")
        allowed = ("--allow-address", "127.0.0.2/32", "--delay", "0")
        comity("crawl", elsewhere.url("/"), shop.url("/"), *allowed, "-q", "-o", str(tmp_path))
    (refusal,) = lines(tmp_path, "refusals")
    assert (refusal["url"], refusal["by"]) == (shop.url("/"), "policy")
    told = fate(tmp_path, shop.url("/"))
    assert (told["fate"], told["next_try"]) == ("refused", "once the policy changes")
    assert "127.0.0.1 is not a public address; to allow it: --allow-address 127.0.0.0/8" in told["why"]
    assert "unreachable" not in told["why"]
    assert shop.seen == []
    crawl(shop, tmp_path, "--resume", url=None)
    assert fate(tmp_path, shop.url("/"))["fate"] == "kept"
    assert comity("prove", str(tmp_path)).returncode == 0


def test_a_url_whose_robots_txt_is_unreachable_is_told_with_the_reason_and_so_is_the_resumed_crawl(
    shop: Site, tmp_path: Path
) -> None:
    shop.set("/robots.txt", status=503)
    reason = "robots.txt unreachable: HTTP status 503"
    allowed = ("--allow-address", "127.0.0.0/8", "-q", "-o", str(tmp_path / "out"))
    first = comity("crawl", shop.url("/"), *allowed)
    again = comity("crawl", *allowed, "--resume")
    assert (first.returncode, again.returncode) == (3, 3)
    assert reason in first.stderr
    assert reason in again.stderr
    told = fate(tmp_path / "out", shop.url("/"))
    assert told["fate"] == "waiting for robots.txt"
    assert reason in told["why"]


def test_a_refresh_remembers_where_a_url_was_found(shop: Site, tmp_path: Path) -> None:
    crawl(shop, tmp_path)
    shop.set("/open/b", "<p>another end")
    crawl(shop, tmp_path, "--refresh", url=None)
    (change,) = (each for each in lines(tmp_path, "changes") if each["change"] == "changed")
    assert (change["url"], change["found_on"]) == (shop.url("/open/b"), shop.url("/a"))
    told = comity("why", str(tmp_path), shop.url("/a"))
    assert "unchanged: refresh 1 found it unchanged" in told.stdout


# covers: Y8
def test_the_rules_that_a_crawl_learned_are_shown_site_by_site_without_a_request(shop: Site, tmp_path: Path) -> None:
    lines_of_it = (
        "User-agent: a",
        "User-agent: B",
        "Disallow: /secret",
        "Allow: /",
        "Crawl-delay: 0.01",
        "Sitemap: /s.xml",
    )
    shop.set("/robots.txt", "\n".join(lines_of_it), content_type="text/plain")
    crawl(shop, tmp_path, "--agent", "B/1.0")
    asked = len(shop.seen)
    told = comity("inspect", str(tmp_path), "--json")
    assert told.returncode == 0, told.stderr
    (site,) = json.loads(told.stdout)
    assert site["origin"] == shop.url("")
    wanted = {"outcome": "read", "agents": ["a", "B"], "rules": 2, "our_group": ["a", "B"], "crawl_delay": 0.01}
    assert {name: site["robots"][name] for name in wanted} == wanted
    assert site["robots"]["sitemaps"] == ["/s.xml"]
    text = comity("inspect", str(tmp_path)).stdout
    assert "agents      a, B" in text
    assert "groups      1; ours: a, B" in text
    assert "rules       2" in text
    assert len(shop.seen) == asked
    assert comity("inspect", str(tmp_path), shop.url("/")).returncode == 64


def test_where_there_is_no_crawl_why_says_so(tmp_path: Path) -> None:
    told = comity("why", str(tmp_path), "https://a.example/")
    assert (told.returncode, told.stdout) == (66, "")
    assert "no crawl in" in told.stderr


def test_the_keys_of_a_channel_are_the_same_in_every_record(shop: Site, tmp_path: Path) -> None:
    shop.set("/a", "plain", content_type="text/plain")
    crawl(shop, tmp_path)
    for channel in CHECKED:
        if (tmp_path / f"{channel}.jsonl").exists():
            assert len({tuple(sorted(record)) for record in lines(tmp_path, channel)}) <= 1, channel
    assert all(page["fetched_at"].endswith("Z") for page in lines(tmp_path, "pages"))


def test_the_link_graph_has_an_edge_for_each_link_with_its_words(site: Site, tmp_path: Path) -> None:
    site.set(
        "/", '<a href="/a" rel="nofollow author">The <b>first</b></a><a href="/b"><img alt="x"></a><a href="/b">B</a>'
    )
    site.set("/b", "<p>b")
    crawl(site, tmp_path, "--links")
    first, second = lines(tmp_path, "links")[:2]
    assert first == {
        "from": site.url("/"),
        "to": site.url("/a"),
        "text": "The first",
        "rel": "nofollow author",
    }
    assert (second["to"], second["text"], second["rel"]) == (site.url("/b"), "B", None)


@pytest.fixture
def stating(site: Site) -> Site:
    site.set(
        "/robots.txt",
        "User-agent: *\nContent-Usage: /yes train-ai=y\nAllow: /\n",
        content_type="text/plain",
    )
    site.link("/", "/yes", "/no")
    site.set("/yes", "<p>yes")
    site.set("/no", '<meta name="robots" content="noai"><p>no', headers={"Content-Usage": "train-ai=n"})
    return site


def test_each_page_says_what_is_stated_for_the_purposes_and_where(stating: Site, tmp_path: Path) -> None:
    crawl(stating, tmp_path, "--purpose", "train-ai")
    said = {page["url"]: page["usage"]["train-ai"] for page in lines(tmp_path, "pages")}
    assert said[stating.url("/")]["preference"] == "unknown"
    assert said[stating.url("/yes")]["preference"] == "allowed"
    assert said[stating.url("/yes")]["statements"][0]["source"] == "robots.txt line 2"
    no = said[stating.url("/no")]
    assert no["preference"] == "disallowed"
    assert {each["source"] for each in no["statements"]} == {"header Content-Usage", "meta robots"}


@pytest.mark.parametrize(("word", "kept"), [("allowed", {"/yes"}), ("not-disallowed", {"/", "/yes"})])
def test_only_what_is_stated_as_wanted_is_kept_and_the_rest_refused_by_usage(
    stating: Site, tmp_path: Path, word: str, kept: set[str]
) -> None:
    crawl(stating, tmp_path, "--only-if", f"train-ai={word}")
    assert {page["url"] for page in lines(tmp_path, "pages")} == {stating.url(path) for path in kept}
    refused = {record["url"]: record for record in lines(tmp_path, "refusals")}
    assert refused.keys() == {stating.url(path) for path in {"/", "/yes", "/no"} - kept}
    no = refused[stating.url("/no")]
    assert (no["by"], no["status"]) == ("usage", 200)
    assert "train-ai is disallowed" in no["why"]
    assert fate(tmp_path, stating.url("/no"))["fate"] == "refused"
    proof = comity("prove", str(tmp_path))
    assert proof.returncode == 0, proof.stdout


def test_a_crawl_leaves_out_what_is_granted_for_less_than_it_is_used_for(site: Site, tmp_path: Path) -> None:
    signals = "User-agent: *\nAllow: /\nContent-Signal: /less/ use=immediate\n"
    site.set("/robots.txt", signals, content_type="text/plain")
    site.link("/", "/less/a", "/header", "/more")
    site.set("/header", "<p>no", headers={"Content-Signal": "use=immediate"})
    site.set("/more", "<p>yes", headers={"Content-Signal": "use=full"})
    crawl(site, tmp_path, "--use", "reference")
    assert {page["url"] for page in lines(tmp_path, "pages")} == {site.url("/"), site.url("/more")}
    refused = {record["url"]: record for record in lines(tmp_path, "refusals")}
    assert (refused[site.url("/less/a")]["by"], refused[site.url("/less/a")]["status"]) == ("policy", None)
    assert (refused[site.url("/header")]["by"], refused[site.url("/header")]["status"]) == ("usage", 200)
    assert "/less/a" not in site.paths()
    assert "less than the use=reference of the policy" in refused[site.url("/header")]["why"]
    proof = comity("prove", str(tmp_path))
    assert proof.returncode == 0, proof.stdout


def test_what_was_refused_by_usage_is_judged_anew_when_other_uses_are_wanted(stating: Site, tmp_path: Path) -> None:
    def kept() -> list[str]:
        return sorted(page["url"].removeprefix(stating.url("")) for page in current(tmp_path))

    crawl(stating, tmp_path, "--only-if", "train-ai=allowed")
    assert kept() == ["/yes"]
    refused = fate(tmp_path, stating.url("/no"))
    assert (refused["fate"], refused["why"]) == ("refused", lines(tmp_path, "refusals")[1]["why"])
    assert "--only-if changes" in refused["next_try"]
    asked = len(stating.seen)
    crawl(stating, tmp_path, "--resume", url=None)
    assert [path for path in stating.paths()[asked:] if path != "/robots.txt"] == [], "nothing has changed"

    told = crawl(stating, tmp_path, "--resume", "--only-if", "train-ai=not-disallowed", "--json", url=None)
    assert kept() == ["/", "/yes"]
    assert (json.loads(told)["pages"], json.loads(told)["refused"]) == (2, 1)
    told = crawl(stating, tmp_path, "--resume", "--only-if", "none", "--json", url=None)
    assert kept() == ["/", "/no", "/yes"]
    assert (json.loads(told)["pages"], json.loads(told)["refused"]) == (3, 0)
    assert comity("prove", str(tmp_path)).returncode == 0


def test_a_refresh_judges_every_page_anew_by_the_uses_that_are_wanted_now(stating: Site, tmp_path: Path) -> None:
    stating.set("/yes", "<p>yes", headers={"ETag": '"1"'})

    def refreshed(*words: str) -> tuple[list[str], dict[str, Any]]:
        told = crawl(stating, tmp_path, "--refresh", "--json", *words, url=None)
        return sorted(page["url"].removeprefix(stating.url("")) for page in current(tmp_path)), json.loads(told)

    crawl(stating, tmp_path)
    kept, summary = refreshed("--only-if", "train-ai=allowed")
    assert kept == ["/yes"], "what was kept and is not wanted any more is out"
    assert (summary["unchanged"], summary["refused"]) == (1, 2)
    stating.set("/robots.txt", "User-agent: *\nContent-Usage: /yes train-ai=n\nAllow: /\n", content_type="text/plain")
    kept, summary = refreshed()
    assert kept == [], "the page is as it was, and what is stated about it is not"
    kept, summary = refreshed("--only-if", "none")
    assert kept == ["/", "/no", "/yes"]
    assert (summary["new"], summary["refused"]) == (3, 0)
    assert comity("prove", str(tmp_path)).returncode == 0


@pytest.mark.parametrize("text", ["train-ai", "train-ai=yes", "cooking=allowed"])
def test_a_condition_that_is_none_is_named(text: str) -> None:
    with pytest.raises(InvalidSetting, match="only_if"):
        CrawlSettings(only_if=(text,))


def test_headers_are_kept_by_choice(site: Site, tmp_path: Path) -> None:
    site.set("/", "<p>x", headers={"ETag": '"1"'})
    crawl(site, tmp_path, "--record-headers", "etag,content-language")
    (page,) = lines(tmp_path, "pages")
    assert page["headers"] == {"etag": '"1"', "content-language": None}


@pytest.mark.parametrize("name", ["Authorization: Bearer x", "a b", "étag"])
def test_what_is_no_name_of_a_header_cannot_be_recorded(name: str) -> None:
    with pytest.raises(InvalidSetting, match="is not the name of a response header"):
        CrawlSettings(record_headers=(name,))


@pytest.mark.parametrize("form", first_of(*FORMATS))
def test_the_current_pages_are_the_latest_of_each_url_without_those_that_are_gone(
    shop: Site, tmp_path: Path, form: str
) -> None:
    crawl(shop, tmp_path, "--format", form)
    before = {page["url"] for page in current(tmp_path)}
    assert before == {shop.url(path) for path in ("/", "/a", "/open/b", "/target")}
    shop.set("/open/b", "<title>new</title>")
    shop.set("/target", "", status=410)
    crawl(shop, tmp_path, "--refresh", url=None)
    after = {page["url"]: page for page in current(tmp_path)}
    assert after.keys() == before - {shop.url("/target")}
    assert (after[shop.url("/open/b")]["title"], after[shop.url("/open/b")]["refresh"]) == ("new", 1)
    assert after[shop.url("/a")]["refresh"] == 0
    assert fate(tmp_path, shop.url("/target"))["fate"] == "gone"
    assert comity("prove", str(tmp_path)).returncode == 0


@pytest.mark.parametrize("form", first_of(*FORMATS))
def test_what_a_refresh_found_of_a_page_that_was_kept_is_told_by_why_and_marked_in_pages(
    form: str, shop: Site, tmp_path: Path
) -> None:
    crawl(shop, tmp_path, "--format", form)
    shop.set("/robots.txt", "User-agent: *\nDisallow: /open\n", content_type="text/plain")
    shop.set("/target", "", status=500)
    crawl(shop, tmp_path, "--refresh", url=None)
    refused, failed = fate(tmp_path, shop.url("/open/b")), fate(tmp_path, shop.url("/target"))
    assert (refused["fate"], refused["decision"]) == ("refused", None)
    assert "line 2" in refused["why"]
    assert (failed["fate"], "500" in failed["why"]) == ("failed", True)
    marked = {page["url"]: page["since"] for page in current(tmp_path)}
    assert marked.pop(shop.url("/open/b")) == {"fate": "refused", "why": refused["why"], "refresh": 1}
    assert marked.pop(shop.url("/target"))["fate"] == "failed"
    assert set(marked.values()) == {None}
    shop.set("/robots.txt", "", content_type="text/plain")
    shop.set("/target", "<p>target")
    crawl(shop, tmp_path, "--refresh", url=None)
    assert fate(tmp_path, shop.url("/open/b"))["fate"] in ("kept", "unchanged")
    assert {page["since"] for page in current(tmp_path)} == {None}
    assert comity("prove", str(tmp_path)).returncode == 0


def current(folder: Path) -> list[dict[str, Any]]:
    told = comity("pages", str(folder))
    assert told.returncode == 0, told.stderr
    return [json.loads(line) for line in told.stdout.splitlines()]


def test_pages_that_were_written_and_are_no_longer_there_are_not_passed_over(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a")
    site.link("/a")
    crawl(site, tmp_path)
    (tmp_path / "pages.jsonl").write_text((tmp_path / "pages.jsonl").read_text().splitlines(keepends=True)[0])
    told = comity("pages", str(tmp_path))
    assert told.returncode == 66
    assert [json.loads(line)["url"] for line in told.stdout.splitlines()] == [site.url("/")]
    assert "1 of the 2 pages that were written can be read" in told.stderr


def test_a_parquet_folder_has_the_schema_where_nothing_was_written(site: Site, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    site.link("/", "/a")
    crawl(site, tmp_path, "--format", "parquet")
    assert parquet.read_table(tmp_path / "refusals").num_rows == 0
    pages = parquet.read_table(tmp_path / "pages")
    assert str(pages.schema.field("fetched_at").type) == "timestamp[ms, tz=UTC]"
    assert pages.column("url").to_pylist() == [site.url("/")]
