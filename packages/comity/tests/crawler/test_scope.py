"""Scope and budgets: what belongs to a crawl, why, and where it stops."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from commands import comity
from conftest import missing
from hypothesis import given
from hypothesis import strategies as st
from sites import Site

from comity import Crawler, CrawlSettings, InvalidSetting, InvalidURL, Policy
from comity.audit.url_status import explain_url
from comity.crawler.finding import scope as scopes
from comity.crawler.finding.limits import Budget, Quota, Spent
from comity.crawler.finding.scope import BREADTHS, GROWN, SCOPE, Scope
from comity.crawler.run import commits
from comity.crawler.run.admission import URLFilter
from comity.domains import registrable
from comity.frontier.sqlite.store import View
from comity_pages import urls

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
WORDS = st.text(alphabet="ab/.*$?&=%é\ud800", max_size=12)


@pytest.fixture(autouse=True, scope="module")
def suffixes() -> None:
    try:
        import publicsuffixlist  # noqa: F401
    except ImportError:
        missing("the public suffix list", "pip install publicsuffixlist")


def crawl(folder: Path, *seeds: str, refresh: bool = False, **settings: Any) -> Crawler:
    crawler = Crawler(seeds, folder, policy=QUICK, settings={"sitemaps": False, **settings}, refresh=refresh)
    asyncio.run(crawler.run())
    return crawler


def pages(folder: Path, site: Site) -> set[str]:
    lines = (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    counted = Counter(json.loads(line)["url"].removeprefix(site.url("")) for line in lines)
    assert all(count == 1 for count in counted.values())
    return set(counted)


@pytest.mark.parametrize(
    ("by", "inside", "outside"),
    [
        ("host", "http://www.example.co.uk/", "https://example.co.uk/docs/"),
        ("domain", "https://cdn.example.co.uk/x", "https://other.co.uk/"),
        ("prefix", "http://www.example.co.uk/docs/a/b?c=/", "https://www.example.co.uk/docsy"),
        ("any", "https://other.example/", None),
    ],
)
def test_a_scope_lies_around_the_urls_given(by: Any, inside: str, outside: str | None) -> None:
    scope = Scope(by=by, given={"https://www.example.co.uk/docs/start?from=/x/"})
    assert scope.judge(inside).inside
    if outside is not None:
        judgement = scope.judge(outside)
        assert not judgement.inside
        assert "example.co.uk" in judgement.why


def test_patterns_are_those_of_robots_txt() -> None:
    excluded = ("*?print=", "http://a.example/news/old")
    scope = Scope(given={"http://a.example/"}, include=("/blog/*.html$", "/news"), exclude=excluded)
    verdicts = {
        "http://a.example/blog/x.html": "it is on a.example and the pattern /blog/*.html$ includes it",
        "http://a.example/blog/x.html5": "no pattern includes it",
        "http://a.example/news?x": "it is on a.example and the pattern /news includes it",
        "http://a.example/news?print=1": "the pattern *?print= excludes it",
        "http://a.example/news/older": "the pattern http://a.example/news/old excludes it",
        "https://a.example/news/older": "it is on a.example and the pattern /news includes it",
    }
    assert {url: scope.judge(url).why for url in verdicts} == verdicts


def test_depth_is_part_of_the_scope() -> None:
    scope = Scope(max_depth=2, given={"http://a.example/"})
    assert scope.holds("http://a.example/", depth=2)
    assert scope.judge("http://a.example/", depth=3).why == "it is 3 links from the start; the limit is 2"


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("a.b.example.co.uk", "example.co.uk"),
        ("somebody.github.io", "somebody.github.io"),
        ("github.io", "github.io"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("www.example.com.", "example.com"),
        ("www.xn--bcher-kva.example", "xn--bcher-kva.example"),
    ],
)
def test_registrables_come_from_the_public_suffix_list(host: str, domain: str) -> None:
    assert registrable(host) == domain


@pytest.mark.parametrize(
    ("origin", "target", "inside", "outside"),
    [
        (
            "http://a.example/docs/",
            "http://www.a.example/docs/",
            "http://www.a.example/docs/x",
            "http://www.a.example/",
        ),
        ("http://a.example/docs/", "http://a.example/login", "http://a.example/docs/x", "http://a.example/x"),
        ("http://a.example/", "http://a.example/en/", "http://a.example/en/x", "http://b.example/"),
        ("http://a.example/m/en", "http://a.example/m/en/", "http://a.example/m/en/x", "http://a.example/m/fr/"),
        ("http://a.example/m/en", "https://a.example/m/en/", "http://a.example/m/en/x", "http://a.example/m/fr/"),
        ("http://a.example/m", "http://a.example/m/index.html", "http://a.example/m/x", "http://a.example/x"),
        ("http://a.example/m", "http://www.a.example/m/", "http://www.a.example/m/x", "http://www.a.example/n"),
        ("http://a.example/m/en", "http://a.example/m/english", "http://a.example/m/x", "http://a.example/x"),
    ],
)
def test_a_redirect_of_a_given_url_moves_a_prefix_and_never_widens_it(
    origin: str, target: str, inside: str, outside: str
) -> None:
    scope = Scope(by="prefix", given={origin})
    scope.move(origin, target)
    assert not scope.move(origin, target), "it is followed once"
    assert scope.holds(inside)
    assert not scope.holds(outside)


@pytest.mark.parametrize("by", ["host", "domain", "prefix"])
def test_a_scope_grows_in_linear_time_though_all_that_was_given_redirects(
    by: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Counter[str]()
    anchor = scopes._anchor

    def counted(by: Any, url: str) -> str:
        steps[by] += 1
        return anchor(by, url)

    monkeypatch.setattr(scopes, "_anchor", counted)
    given = [f"http://n{number}.example/a/b" for number in range(400)]
    scope = CrawlSettings(scope=by).scope_around(given)
    for url in given:
        scope.move(url, url.replace(".example", ".www.example" if by != "domain" else "b.example"))
        scope.move(url, f"{url}/")
        assert scope.reaches(f"{urls.origin(url)}/")
    assert steps[by] < 12 * len(given), "a few for each, however many there are"


def test_what_a_crawl_remembers_of_its_scope_is_linear_in_what_it_was_given(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "COMMIT_SECONDS", 0.0)
    seeds = [site.url(f"/{number}/a/b") for number in range(40)]
    for number in range(len(seeds)):
        site.set(f"/{number}/a/b", status=302, headers={"Location": f"/to/{number}/x/"})
        site.link(f"/to/{number}/x/")
    saved, save_state = [], URLFilter.save_state

    def save(self: URLFilter) -> dict[str, Any]:
        saved.append(save_state(self))
        return saved[-1]

    monkeypatch.setattr(URLFilter, "save_state", save)
    crawl(tmp_path, *seeds, scope="prefix")
    written = sum(json.dumps(state).count("http:") for state in saved)
    assert len(seeds) < written <= 2 * len(seeds)


def test_where_a_seed_redirected_is_in_scope_in_later_runs_too(site: Site, tmp_path: Path) -> None:
    with Site("127.0.0.2") as other:
        site.set("/", status=301, headers={"Location": other.url("/")})
        other.link("/", "/1", "/2", "http://127.0.0.3/")
        other.link("/1", "/3")
        for path in ("/2", "/3"):
            other.link(path)
        crawl(tmp_path, site.url("/"), max_pages=1)
        with View(tmp_path / "frontier.sqlite") as view:
            assert view.load_states(GROWN) == {f"{GROWN}1": {"new": [other.url("/")], "lost": []}}
        assert explain_url(tmp_path, other.url("/9")).fate == "not found"
        assert explain_url(tmp_path, "http://127.0.0.3/9").fate == "out of scope"
        crawl(tmp_path, max_pages=None, exclude=("/nothing",))
        assert pages(tmp_path, other) == {"/", "/1", "/2", "/3"}
        with View(tmp_path / "frontier.sqlite") as view:
            assert view.load_states(GROWN) == {}
            assert sorted(view.load_state(SCOPE)["given"]) == [site.url("/"), other.url("/")]


@pytest.mark.parametrize(("by", "kept"), [("host", 3), ("domain", 2), ("prefix", 4), ("any", 1)])
def test_a_scope_that_is_widened_remembers_one_url_for_each_place(by: Any, kept: int) -> None:
    urls = [
        f"http://{host}/d/{number}" for number in range(100) for host in ("a.example", "www.a.example", "b.example")
    ]
    scope = Scope(by=by)
    assert scope.widen([*urls, "http://b.example/e/"])
    assert len(scope.given) == kept
    assert all(scope.holds(url) for url in urls)
    assert not scope.widen(urls)


@given(st.sampled_from(BREADTHS), st.lists(WORDS, max_size=3), st.lists(WORDS, max_size=3), WORDS)
def test_whatever_the_patterns_and_urls_are_both_questions_agree(
    by: Any, include: list[str], exclude: list[str], path: str
) -> None:
    try:
        scope = Scope(
            by=by,
            given={"http://a.example/a/"},
            include=tuple("/" + text for text in include),
            exclude=tuple("*" + text for text in exclude),
        )
        url = urls.normalise("http://a.example/" + path)
    except InvalidURL:
        return
    judgement = scope.judge(url)
    assert judgement.inside == scope.holds(url)
    assert judgement.why
    assert not scope.add("http://a.example/a/")
    assert scope.around("http://a.example/a/") == scope != scope.around("http://b.example/")
    assert Scope.from_dict(json.loads(json.dumps(scope.to_dict()))) == scope


@pytest.mark.parametrize(
    "wrong",
    [
        {"scope": "everything"},
        {"include": "blog"},
        {"include": ("blog",)},
        {"exclude": ("ftp://x/",)},
        {"max_bytes": 0},
        {"max_seconds": 0},
        {"max_seconds_per_host": float("inf")},
        {"max_pages_per_host": True},
        {"duplicates": "some"},
    ],
)
def test_settings_that_make_no_sense_are_refused_when_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting, match=next(iter(wrong))):
        CrawlSettings(**wrong)


def test_a_budget_counts_what_is_under_way_as_pages() -> None:
    budget = Budget(pages=3, bytes=100, seconds=10)
    assert budget.used_up(Spent(pages=1), 0.0, under_way=1) is None
    assert budget.used_up(Spent(pages=1), 0.0, under_way=2) == "pages"
    assert budget.used_up(Spent(bytes=100), 0.0) == "bytes"
    assert budget.used_up(Spent(seconds=4, since=1_000.0), 1_006.0) == "seconds"
    assert budget.in_words("pages") == "the limit of 3 pages is reached"


def test_the_time_between_two_runs_is_not_spent() -> None:
    facts: dict[str, Any] = {}
    for start in (1_000.0, 5_000.0):
        quota = Quota(Budget(seconds=10), Budget(seconds=8), facts.get)
        quota.started("a", start)
        assert quota.used_up(start + 3) is None
        facts |= json.loads(json.dumps(quota.save_state(start + 4)))
    assert facts == {"spent": [0, 0, 8.0, 0], "spent a": [0, 0, 8.0, 0]}
    quota = Quota(Budget(seconds=10), Budget(seconds=8), facts.get)
    assert quota.used_up(9_000.0) is None
    assert quota.used_up_on("a", 9_000.0) == "seconds"
    assert quota.used_up_on("b", 9_000.0) is None


def test_a_crawl_stays_below_its_prefix(site: Site, tmp_path: Path) -> None:
    site.link("/docs/", "/docs/a", "/about", "../up", "b?next=/docs/")
    for path in ("/docs/a", "/docs/b?next=/docs/", "/about", "/up"):
        site.link(path, "/docs/")
    crawl(tmp_path, site.url("/docs/"), scope="prefix")
    assert pages(tmp_path, site) == {"/docs/", "/docs/a", "/docs/b?next=/docs/"}
    assert "/about" not in site.paths()


def test_a_prefix_without_its_slash_is_the_directory_that_the_site_says_it_is(site: Site, tmp_path: Path) -> None:
    site.set("/manual/en", status=301, headers={"Location": "/manual/en/"})
    site.link("/manual/en/", "/manual/fr/", "/manual/en/a", "/manual/en/b")
    for path in ("/manual/fr/", "/manual/en/a", "/manual/en/b"):
        site.link(path, "/manual/fr/")
    crawl(tmp_path, site.url("/manual/en"), scope="prefix", max_pages=2)
    crawl(tmp_path, max_pages=9)
    assert pages(tmp_path, site) == {"/manual/en/", "/manual/en/a", "/manual/en/b"}
    crawl(tmp_path, refresh=True)
    assert "/manual/fr/" not in site.paths(), "in the first run, resumed, and in a refresh"


def test_the_url_given_is_crawled_whatever_the_patterns_say(site: Site, tmp_path: Path) -> None:
    site.link("/", "/blog/1", "/blog/2?print=1", "/shop")
    for path in ("/blog/1", "/blog/2?print=1", "/shop"):
        site.link(path, "/")
    crawl(tmp_path, site.url("/"), include=("/blog/",), exclude=("*?print=",))
    assert pages(tmp_path, site) == {"/", "/blog/1"}


def test_a_resumed_crawl_keeps_the_scope_it_was_begun_with(site: Site, tmp_path: Path) -> None:
    site.link("/", *(f"/in/{number}" for number in range(6)), "/out")
    for path in (*(f"/in/{number}" for number in range(6)), "/out"):
        site.link(path, "/out", "/in/0")
    crawl(tmp_path, site.url("/"), include=("/in/",), max_pages=2)
    crawl(tmp_path, max_pages=None)
    assert pages(tmp_path, site) == {"/", *(f"/in/{number}" for number in range(6))}
    crawl(tmp_path, site.url("/?again"), include=("/out",))
    assert "/out" not in site.paths(), "found before, under the other scope; it is not found again without a link"


def test_pages_per_host_are_kept_exactly_and_go_on_with_a_higher_limit(tmp_path: Path) -> None:
    with Site("127.0.0.2") as one, Site("127.0.0.3") as two:
        for site in (one, two):
            site.link("/", *(f"/{number}" for number in range(9)))
            for number in range(9):
                site.link(f"/{number}", "/")
        crawler = crawl(tmp_path, one.url("/"), two.url("/"), max_pages_per_host=4)
        assert crawler.stats.pages == 8
        crawler = crawl(tmp_path, max_pages_per_host=6)
        assert crawler.stats.pages == 12
        assert crawl(tmp_path).stats.pages == 12
        assert crawl(tmp_path, max_pages_per_host=None).stats.pages == 20
        assert len(one.seen) == len(two.seen) == 10 + 3, "every page once, robots.txt in each run that has room"


def test_bytes_and_seconds_end_a_crawl_and_leave_the_rest_for_later(site: Site, tmp_path: Path) -> None:
    site.link("/", *(f"/{number}" for number in range(20)))
    for number in range(20):
        site.set(f"/{number}", b"x" * 1000, content_type="text/plain")
    crawler = crawl(tmp_path / "bytes", site.url("/"), max_bytes=5_000, concurrency=1)
    assert 5_000 <= crawler.stats.body_bytes < 6_000
    assert crawler.end.limit_reached == "bytes"
    crawl(tmp_path / "bytes", max_bytes=None)
    assert len(pages(tmp_path / "bytes", site)) == 21
    slow = QUICK.with_changes(min_interval=0.3)
    crawler = Crawler(
        [site.url("/")], tmp_path / "seconds", policy=slow, settings=CrawlSettings(sitemaps=False, max_seconds=1.5)
    )
    asyncio.run(asyncio.wait_for(crawler.run(), 5))
    assert 1 <= crawler.stats.pages <= 5


def test_the_command_has_the_scope_and_the_limits(site: Site, tmp_path: Path) -> None:
    site.link("/docs/", "/docs/a", "/docs/b?print=1", "/docs/c", "/about")
    for path in ("/docs/a", "/docs/c", "/about"):
        site.set(path, "x" * 500, headers={"X-Robots-Tag": "nofollow"})
    words = ["crawl", site.url("/docs/"), "--delay", "0", "--allow-address", "127.0.0.0/8", "--json", "-o"]
    done = comity(*words, str(tmp_path / "one"), "--scope", "prefix", "--exclude", "*?print=")
    assert done.returncode == 0, done.stderr
    assert pages(tmp_path / "one", site) == {"/docs/", "/docs/a", "/docs/c"}
    summary = json.loads(done.stdout)
    assert (summary["pages"], summary["trapped"], summary["duplicates"]) == (3, 0, 1)
    done = comity(*words, str(tmp_path / "two"), "--include", "/about", "--max-seconds", "60", "--max-bytes", "9000")
    assert pages(tmp_path / "two", site) == {"/docs/", "/about"}
    done = comity(*words, str(tmp_path / "three"), "--scope", "galaxy")
    assert done.returncode != 0
    assert "scope: 'galaxy' is not one of host, domain, prefix, any" in done.stderr


def test_a_url_met_too_deep_is_taken_when_it_is_met_again_nearer(site: Site, tmp_path: Path) -> None:
    site.link("/a", "/b")
    site.link("/b", "/t")
    site.set("/z0", status=302, headers={"Location": "/z"})
    site.link("/z", "/t")
    site.link("/t")
    crawl(tmp_path, site.url("/a"), site.url("/z0"), max_depth=1, concurrency=1)
    assert site.paths().index("/b") < site.paths().index("/z")
    assert pages(tmp_path, site) == {"/a", "/b", "/z", "/t"}


def test_a_link_that_is_too_deep_is_counted_once_however_it_is_written(site: Site, tmp_path: Path) -> None:
    site.link("/?ref=1", "/a", "/b")
    site.link("/a", "/?ref=1", "/b", "/deep", "/deep?utm_source=x", "/deep;jsessionid=1", "/deep#part", "/deep?page=2")
    site.link("/b", "/a", "/deep", "/deep?gclid=y", "/deep?page=2", "/deeper")
    stats = crawl(tmp_path, site.url("/?ref=1"), max_depth=1).stats
    assert (stats.pages, stats.found, stats.outside) == (3, 3, 3), "/deep, /deep?page=2 and /deeper"


def test_what_was_outside_before_a_redirect_moved_the_scope_is_taken_up_after_it(site: Site, tmp_path: Path) -> None:
    other = site.url("").replace("127.0.0.1", "localhost")
    site.link("/", f"{other}/x")
    site.set("/moved", status=302, headers={"Location": f"{other}/home"})
    site.link("/home", f"{other}/x")
    site.link("/x")
    crawl(tmp_path, site.url("/"), site.url("/moved"), concurrency=1)
    assert site.paths().index("/") < site.paths().index("/moved")
    assert site.paths().count("/x") == 1
