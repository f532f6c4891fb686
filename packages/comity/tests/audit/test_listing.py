"""The URLs of a crawl, a page at a time with what became of each, at a cost that does not grow with the crawl."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import ALLOW, comity
from postgres import Server
from sites import Site
from stores import PostgresStore, SqliteStore, Store

from comity.audit.broken import linking
from comity.audit.listing import ListedURL, listing
from comity.audit.url_status import explain_url
from comity.errors import InputError
from comity.frontier.values import Batch, EntryKind, Found, QueuedURL, State, Visit


@pytest.fixture
def shop(site: Site) -> Site:
    site.set("/robots.txt", "User-agent: *\nDisallow: /secret\n")
    site.link("/", "/a", "/secret", "/moved", "/missing", "/d/d/d/d/d/d/d", "/b%C3%BCcher_100%25")
    site.link("/a", "/missing", "/b")
    site.set("/b", "<a href=missing>relative</a>")
    site.set("/moved", "", status=302, headers={"Location": "/target"})
    site.set("/target", "<p>target")
    return site


def crawl(site: Site, folder: Path, *words: str) -> None:
    told = comity("crawl", site.url(), *ALLOW, "-q", "--delay", "0", "-o", str(folder), *words)
    assert told.returncode in (0, 2), told.stderr


def everything(folder: Path | list[Path], store: str | None = None, **which: object) -> list[ListedURL]:
    """All pages of a listing."""
    found: list[ListedURL] = []
    after = ""
    while True:
        told = listing(folder, store=store, after=after, **which)  # type: ignore[arg-type]
        found += told.urls
        if told.after is None:
            return found
        assert told.after != after, "it goes on"
        after = told.after


@pytest.mark.parametrize("words", [(), pytest.param(("--workers", "2", "--shards", "3"), marks=pytest.mark.long)])
def test_every_url_is_listed_once_with_its_state_and_the_words_of_why(
    shop: Site, tmp_path: Path, words: tuple[str, ...]
) -> None:
    crawl(shop, tmp_path / "out", "--max-pages", "3", *words)
    for most in (1, 2, 50):
        found = everything(tmp_path / "out", most=most)
        assert len({each.url for each in found}) == len(found)
        states = {each.url.removeprefix(shop.url("/")): each.state for each in found}
        assert {"": "kept", "secret": "refused", "d/d/d/d/d/d/d": "skipped"}.items() <= states.items()
        assert set(states.values()) >= {"kept", "refused", "skipped", "queued"}
    for each in found:
        told = explain_url(tmp_path / "out", each.url)
        assert (told.fate, told.found_on) == (each.fate, each.found_on)
        assert told.why.removeprefix(f"{each.url}: ").startswith(each.why)


def test_urls_are_found_by_state_and_by_a_part_of_the_url_or_of_the_reason(shop: Site, tmp_path: Path) -> None:
    crawl(shop, tmp_path)

    def paths(**which: str) -> set[str]:
        return {each.url.removeprefix(shop.url("/")) for each in everything(tmp_path, **which)}

    assert paths(state="kept") == {"", "a", "b", "target"}
    assert paths(state="redirected") == {"moved"}
    assert paths(state="failed") == {"missing", "b%C3%BCcher_100%25"}
    assert paths(state="queued") == set()
    assert paths(sought="TARG") == {"target", "moved"}, "a redirect's reason names its target"
    assert paths(sought="bücher") == paths(sought="BÜCHER_") == {"b%C3%BCcher_100%25"}
    assert paths(sought="0%2") == {"b%C3%BCcher_100%25"}, "what SQL takes as a pattern is none"
    assert paths(sought="%") == paths(sought="_") == {"b%C3%BCcher_100%25"}
    assert paths(sought='"') == set()
    assert paths(sought="404") == {"missing", "b%C3%BCcher_100%25"}
    assert paths(sought="\\") == set()


@pytest.mark.parametrize("form", ["warc", "jsonl.gz"])
def test_of_an_output_that_is_not_in_json_lines_the_ledger_tells(shop: Site, tmp_path: Path, form: str) -> None:
    crawl(shop, tmp_path, "--format", form)
    found = {each.url: each for each in everything(tmp_path)}
    assert (found[shop.url("/missing")].state, found[shop.url("/secret")].state) == ("failed", "refused")
    assert "404" in found[shop.url("/missing")].why
    assert "line 2" in found[shop.url("/secret")].why
    assert shop.url("/moved") not in found or found[shop.url("/moved")].state != "failed"
    assert "not in JSON Lines" in listing(tmp_path, state="skipped").missing[0]


def test_a_failure_that_a_refresh_has_mended_is_listed_as_fetched(shop: Site, tmp_path: Path) -> None:
    crawl(shop, tmp_path)
    shop.set("/missing", "<p>found")
    told = comity("crawl", *ALLOW, "-q", "--delay", "0", "-o", str(tmp_path), "--refresh")
    assert told.returncode in (0, 2), told.stderr
    (found,) = everything(tmp_path, sought="missing")
    assert (found.state, found.fate) == ("kept", "kept")


def test_one_question_looks_at_so_many_rows_and_says_where_it_stopped(site: Site, tmp_path: Path) -> None:
    site.link("/", *(f"/{number}" for number in range(60)), "/last")
    for number in (*range(30), "last"):
        site.set(f"/{number}", "page")
    crawl(site, tmp_path)
    told, asked = listing(tmp_path, sought="last", looks=10), 1
    assert (told.urls, told.looked) == ([], 10)
    while told.after is not None and not told.urls:
        before = told
        told, asked = listing(tmp_path, sought="last", looks=10, after=before.after or ""), asked + 1
        assert told.looked <= 10 + 5, "a line counts as more than one row"
    assert [each.url for each in told.urls] == [site.url("/last")]
    assert asked > 2


def test_a_place_that_is_none_and_a_state_that_is_none_are_told(shop: Site, tmp_path: Path) -> None:
    crawl(shop, tmp_path)
    for wrong in ("x", "fetched/0", "fetched/0@", "fetched/0@-1", "fetched/0@1e3", f"fetched/0@{'9' * 40}", "@"):
        with pytest.raises(InputError, match="no place in this crawl"):
            listing(tmp_path, after=wrong)
    with pytest.raises(InputError, match="no state"):
        listing(tmp_path, state="lost")
    with pytest.raises(InputError):
        listing(tmp_path / "nothing")


def test_a_line_that_is_being_written_and_one_that_is_damaged_are_passed_over(shop: Site, tmp_path: Path) -> None:
    crawl(shop, tmp_path)
    whole = everything(tmp_path, state="failed")
    with (tmp_path / "failures.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"url": 7}\n[]\nno JSON\n{"url": "http://x.example/", "why": null}\n{"url": "http://y.example/')
    assert everything(tmp_path, state="failed")[: len(whole)] == whole
    assert "y.example" not in str(everything(tmp_path, state="failed"))


def test_the_pages_that_link_to_a_url_are_named_and_whether_all_were_looked_at(shop: Site, tmp_path: Path) -> None:
    crawl(shop, tmp_path)
    pages, everything_read = linking(tmp_path, shop.url("/missing"))
    assert (set(pages), everything_read) == ({shop.url("/"), shop.url("/a"), shop.url("/b")}, True)
    assert linking(tmp_path, shop.url("/nothing")) == ([], True)
    pages, everything_read = linking(tmp_path, shop.url("/missing"), looks=10)
    assert (len(pages), everything_read) == (1, False)


def test_what_became_of_a_url_is_told_without_reading_the_records_of_others(
    shop: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from comity.crawler.output import reader

    crawl(shop, tmp_path)
    read: list[bytes] = []
    loaded = reader.load
    monkeypatch.setattr(reader, "load", lambda data: (read.append(data), loaded(data))[1])
    assert explain_url(tmp_path, shop.url("/target")).fate == "kept"
    assert read
    assert all(shop.url("/target").encode() in data for data in read)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        yield SqliteStore(tmp_path)
        return
    made = PostgresStore(request.getfixturevalue("postgres"))
    yield made
    made.remove()


def test_both_stores_list_the_same_in_steps_of_bounded_size(store: Store) -> None:
    urls = [f"https://h{number % 3}.example/x_{number}" for number in range(30)]
    with store.open() as frontier:
        found = [
            Found(url, url.split("/")[2], 1, EntryKind.PAGE, State.QUEUED, found_on="https://a.example/")
            for url in urls
        ]
        visits = [Visit(url, 1, "digest", 5.0, 6.0) for url in urls[:20]] + [Visit("https://h0.example/owed", 1)]
        with frontier.commit(Batch(found=found, visits=visits)):
            pass
    with store.view() as view:
        for table, wanted in (("waiting", urls), ("visit", urls[:20])):
            told: list[str] = []
            after: int | None = 0
            while after is not None:
                page = view.listed(table, "", after=after, most=4, looks=7)  # type: ignore[arg-type]
                assert page.looked <= 7
                assert len(page.urls) <= 4
                told += [url for _, url, _ in page.urls]
                after = page.last
            assert told == wanted
            (one,) = view.listed(table, "x_17", after=0, most=4, looks=1000).urls  # type: ignore[arg-type]
            assert one[1] == urls[17]
            assert isinstance(one[2], QueuedURL if table == "waiting" else Visit)
        assert view.listed("aside", "", after=0, most=4, looks=7).last is None


@pytest.mark.long
def test_a_crawl_in_a_store_is_listed_by_the_address_of_the_store_alone(
    postgres: Server, shop: Site, tmp_path: Path
) -> None:
    url = postgres.url(f"listed_{os.getpid()}")
    crawl(shop, tmp_path / "a", "--store", url, "--shards", "2", "--max-pages", "3")
    found = everything([], store=url)
    assert found == everything(tmp_path / "a", store=url)
    assert {each.state for each in found} >= {"kept", "refused", "skipped"}
    for each in found:
        assert explain_url([], each.url, store=url).fate == each.fate
