"""Traps: URLs without end are left out, each by name; ordinary sites never meet a limit."""

import gzip
import itertools
import json
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity import InvalidURL
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding.traps import MAX_FORMS_PER_PATH, Bitmap, Trap, Traps, dated, redirect_trap
from comity.frontier.state_overlay import StateOverlay
from comity_pages import urls

TODAY = date(2026, 11, 21)
HOST = "http://a.example"


def traps(*, facts: StateOverlay | None = None, **settings: Any) -> Traps:
    limits = CrawlSettings(**settings)
    return Traps(limits.max_url_length, limits.max_path_segments, today=TODAY, facts=facts)


def named(trap: Trap | None) -> str | None:
    return None if trap is None else trap.name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/" + "x" * 2100, "long-url"),
        ("/" + "/".join(str(number) for number in range(30)), "deep-path"),
        ("/en/shop/en/shop/en/shop/", "repeated-segments"),
        ("/a/b/c/a/b/c/a/b/c", "repeated-segments"),
        ("/x/css/css/css/css/css/", "repeated-segments"),
        ("/a/1/a/2/a/3/a/4/a/", "repeated-segments"),
        ("/a/b/a/b", None),
        ("/shop/all/all/all/all/1", None),
        ("/tiles/0/0/0/0/0/0/0.png", None),
        ("/2011/11/11/11", None),
        ("//////////", None),
    ],
)
def test_a_url_is_a_trap_by_its_looks(path: str, name: str | None) -> None:
    assert named(traps().judge(HOST + path)) == name
    assert traps(max_url_length=None, max_path_segments=None).judge(HOST + "/" + "y" * 9000) is None


def test_every_rule_takes_its_limits_from_the_settings_of_the_crawl() -> None:
    assert named(traps(max_url_length=30).judge(HOST + "/" + "x" * 20)) == "long-url"
    assert named(traps(max_path_segments=2).judge(HOST + "/1/2/3")) == "deep-path"


def test_redirects_in_a_row_are_a_trap() -> None:
    assert redirect_trap(HOST, 10) is None
    assert redirect_trap(HOST, 11) == Trap("redirect-chain", "11 hops lead to it; the limit is 10")


@pytest.mark.parametrize("written", ["/cal/{:%Y/%m/%d}/", "/cal?day={:%Y-%m-%d}", "/cal?view=day&date={:%Y%m%d}"])
def test_a_calendar_without_end_is_left_two_years_from_now(written: str) -> None:
    judge = traps()
    day, depth, refused = TODAY, 0, 0
    while depth < 4000:
        url = HOST + written.format(day)
        trap = judge.judge(url, depth=depth)
        if trap is not None:
            assert trap.name == "calendar"
            assert day > TODAY + timedelta(700)
            refused += 1
        depth, day = depth + 1, day + timedelta(1)
    assert refused > 3000
    assert judge.judge(HOST + written.format(TODAY), depth=9) is None, "what is near stays"
    assert judge.judge(HOST + "/other" + written.format(day), depth=9) is None


def test_year_month_and_day_may_be_parameters_of_their_own() -> None:
    judge = traps()
    urls_ = [f"{HOST}/c?year={2026 + month // 12}&month={month % 12 + 1}" for month in range(400)]
    found = [judge.judge(url, depth=depth) for depth, url in enumerate(urls_)]
    assert {named(trap) for trap in found[:20]} == {None}
    assert {named(trap) for trap in found[40:]} == {"calendar"}


def test_an_archive_is_no_calendar_without_end() -> None:
    judge = traps()
    for number in range(60_000):  # a newspaper since 1862, page by page backwards
        day = TODAY - timedelta(number)
        assert judge.judge(f"{HOST}/archive/{day:%Y/%m/%d}/", depth=number) is None
    for year in range(2027, 2100):  # eclipses, all linked from one page
        assert judge.judge(f"{HOST}/eclipse/{year}-08-12", depth=2) is None
    for number in range(100):  # far away, but told apart by more than a date
        assert judge.judge(f"{HOST}/2099/01/{number % 28 + 1:02}/title-{number}", depth=99) is None


def test_filters_that_combine_freely_are_left() -> None:
    judge = traps()
    values = {"colour": 12, "size": 9, "brand": 20, "sort": 4, "page": 10}
    names = list(values)
    combined = itertools.product(*(range(count) for count in values.values()))
    let_pass = 0
    for number, combination in enumerate(itertools.islice(combined, 0, 86_400, 7)):
        query = "&".join(f"{name}={value}" for name, value in zip(names, combination, strict=True))
        trap = judge.judge(f"{HOST}/shop?{query}")
        let_pass += trap is None
        assert named(trap) in (None, "facets"), number
    assert 400 < let_pass < 1200
    assert judge.judge(f"{HOST}/shop?page=3") is None, "the plain pages stay"


def test_a_path_with_ever_new_lists_of_parameters_is_left() -> None:
    judge = traps()
    names = [f"f{number}" for number in range(10)]
    found = [
        judge.judge(f"{HOST}/list?" + "&".join(f"{name}=1" for name in chosen))
        for size in (2, 3)
        for chosen in itertools.permutations(names, size)
    ]
    assert {named(trap) for trap in found} == {None, "parameters"}
    let_pass = sum(trap is None for trap in found)
    assert MAX_FORMS_PER_PATH * 0.9 < let_pass < MAX_FORMS_PER_PATH * 1.2


def test_ordinary_use_of_parameters_is_no_trap() -> None:
    judge = traps()
    for number in range(20_000):
        for url in (
            f"/article.php?id={number}",
            f"/viewtopic.php?f={number % 30}&t={number // 8}&start={number % 8 * 20}",
            f"/index.php?lang={'en' if number % 2 else 'de'}&cat={number // 60 % 40}&page={number // 2 % 30}",
            f"/w/index.php?title=T{number}&action={'edit' if number % 2 else 'history'}&section={number % 9}",
        ):
            assert judge.judge(HOST + url) is None, url


def test_what_proved_to_be_a_trap_is_known_in_the_next_run() -> None:
    facts: dict[str, Any] = {}
    kept = StateOverlay(facts.get)
    first = traps(facts=kept)
    day, form = f"{HOST}/cal?day=", f"{HOST}/list?"
    for number in range(1200):
        first.judge(f"{day}{TODAY + timedelta(number):%Y-%m-%d}", depth=number)
        first.judge(f"{form}a{number}=1&b=2")
        first.judge(f"{form}a={number % 7}&b={number % 11}&c={number % 13}&d={number % 3}&e={number % 5}")
        facts |= json.loads(json.dumps(kept.take()))
    assert len(facts) == 3
    assert kept.take() == {}
    later = traps(facts=StateOverlay(facts.get))
    assert named(later.judge(f"{day}2031-01-01")) == "calendar"
    assert named(later.judge(f"{form}new=1&b=2")) == "parameters"
    assert later.judge(f"{form}a3=1&b=2") is None
    assert named(later.judge(f"{form}a=8&b=8&c=8&d=8&e=8")) == "facets"


def test_memory_is_bounded_whatever_the_site_does() -> None:
    judge = traps()
    for number in range(30_000):
        judge.judge(f"{HOST}/{number}?a={number}&b={number}&c={number}")
        judge.judge(f"{HOST}/{number}/2026/01/01")
    held = [judge._facets._forms, judge._facets._choices, judge._calendars._calendars]
    assert {recent.cache_info().currsize for recent in held} == {4096}
    full = Bitmap(16_384)
    for number in range(40_000):
        full.add(str(number))
    assert sys.getsizeof(full._bits) < 2_200


def test_few_things_take_little_memory_and_are_counted_like_many() -> None:
    few = Bitmap(16_384)
    for number in range(32):
        few.add(f"/{number}")
    assert sum(map(sys.getsizeof, (few, few._bits, few._few))) < 400
    kept = Bitmap(16_384, bytes(few))
    for number in range(2_000):
        assert (f"/{number}" in few) == (f"/{number}" in kept)
        few.add(f"/{number}")
        kept.add(f"/{number}")
        assert few.count == kept.count
    assert bytes(few) == bytes(kept)
    assert few.count == pytest.approx(2_000, rel=0.05)


URLS = st.text(alphabet="ab/12?&=-.%;é[]0369", max_size=60)


@given(st.lists(st.tuples(URLS, st.integers(0, 40)), max_size=20))
def test_no_url_raises_and_the_same_url_is_judged_the_same_again(given_urls: list[tuple[str, int]]) -> None:
    judge = traps()
    for path, depth in given_urls:
        try:
            url = urls.normalise(f"{HOST}/{path}")
        except InvalidURL:
            continue
        found = judge.judge(url, depth=depth)
        assert judge.judge(url, depth=depth) == found
        assert found is None or found.why


@given(st.text(alphabet="0123456789-/?=&ymd", max_size=30))
def test_dates_are_read_or_not_and_never_raise(text: str) -> None:
    found = dated(f"{HOST}/{text}")
    assert found is None or found[1] > 0


def test_no_real_url_is_taken_for_a_trap(corpus: Path) -> None:
    judge = traps()
    count = 0
    with gzip.open(corpus / "google-verdicts.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            for _, url, *_ in json.loads(line)["cases"]:
                try:
                    url = urls.normalise(url)
                except InvalidURL:
                    continue
                count += 1
                assert judge.judge(url, depth=20) is None, url
    assert count > 30_000
