"""The engine: exact, explainable, never surprised by content."""

import base64
import copy
import gzip
import json
import pickle
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracle
import pytest
from examples import examples, first_of
from hypothesis import given
from hypothesis import strategies as st

from comity_robots import DIALECTS, Robots, parse
from comity_robots.errors import InvalidSetting, InvalidURL

pytestmark = pytest.mark.both_forms

CASES = sorted((Path(__file__).parents[3] / "tests" / "cases").glob("*.json"))


def cases() -> Iterator[Any]:
    for path in CASES:
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
            yield pytest.param(case, id=f"{path.stem}: {case['name']}")


# covers: L8, R6, R7, R8, R9, R10, R11, F2, F3, F6, F7, F8, F9, F10, F11, F14, F22, Y2, Y3, Y9
@pytest.mark.parametrize("case", list(cases()))
def test_written_cases(case: dict[str, Any]) -> None:
    robots = parse("\n".join(case["robots"]), case.get("dialect", "rfc9309"))
    for url, allowed, *line in case["answers"]:
        match = robots.explain(url, case["agent"])
        assert (robots.allowed(url, case["agent"]), match.allowed) == (allowed, allowed), (url, match.why)
        if line:
            assert (match.rule.line if match.rule else 0) == line[0], (url, match.why)


@pytest.mark.interpreted_long
@pytest.mark.parametrize(
    ("name", "every"),
    [("google-verdicts", 20), pytest.param("google-verdicts", 1, marks=pytest.mark.long), ("google-grammar", 1)],
)
def test_every_answer_of_googles_parser_agrees_in_verdict_and_line(corpus: Path, name: str, every: int) -> None:
    """Its verdict in each case; the line that decided in each, or to be quick in one of every `every` cases."""
    questions = wrong = 0
    with gzip.open(corpus / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        for text in file:
            record = json.loads(text)
            body = (
                (corpus / "robots" / record["file"]).read_bytes()
                if "file" in record
                else base64.b64decode(record["robots_b64"])
            )
            robots = parse(body, "google")
            for agent, url, allowed, line in record["cases"]:
                questions += 1
                wrong += robots.allowed(url, agent) != bool(allowed)
                if questions % every == 0:
                    match = robots.explain(url, agent)
                    wrong += (match.allowed, match.rule.line if match.rule else 0) != (bool(allowed), line)
    print(f"{name}: {questions} questions, {wrong} mismatches")
    assert questions == {"google-verdicts": 36_144, "google-grammar": 24_000}[name]
    assert wrong == 0


# Octets that files and URLs are made of, so that rules do match now and then.
words = st.sampled_from(
    [
        "/",
        "a",
        "b",
        "A",
        "/a",
        "/ab",
        "index.html",
        "*",
        "$",
        "%",
        "%2F",
        "%2f",
        "%61",
        "%C3%A4",
        "ä",
        "?",
        "=",
        "&",
        ";",
        ".",
        "~",
        "%7e",
        "\t",
        " ",
        ":",
        "%2A",
        "%24",
        "%zz",
        "x/y",
        "//",
        "�",
    ]
)
path = st.lists(words, max_size=7).map("".join)
label = st.sampled_from(
    [
        "User-agent: ",
        "user-agent:",
        "Allow: ",
        "Disallow: ",
        "disallow :",
        "Allow:",
        "Crawl-delay: ",
        "Sitemap: ",
        "Disalow: ",
        "Useragent ",
        "Disallow ",
        "Foo: ",
        "# ",
        "",
        "Host: ",
    ]
)
value = st.one_of(path, st.sampled_from(["*", "MyBot", "mybot/2.1", "MyBot 3", "OtherBot", "* x", "5", ""]))
line = st.builds("".join, st.tuples(label, value, st.sampled_from(["", " # c", "\0", " "])))
ending = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])
file = st.lists(st.tuples(line, ending).map("".join), max_size=14).map("".join)


# covers: F21, L5
@given(st.one_of(st.binary(max_size=300), file.map(lambda text: text.encode("utf-8", "surrogatepass"))), path)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_raises_on_any_octets(dialect: str, body: bytes, path: str) -> None:
    robots = parse(body, dialect)
    match = robots.explain("http://h/" + path, "MyBot/1.0")
    for _ in range(3):  # the first question is answered another way than the next
        assert match.allowed == robots.allowed("http://h/" + path, "MyBot/1.0")
    assert robots.decide_with_reason("http://h/" + path, "MyBot/1.0")[::3] == (match.allowed, match.why)
    robots.crawl_delay("MyBot")
    assert bytes(robots) == body
    assert "".join(line.raw for line in robots.lines).encode("utf-8", "surrogateescape") == body
    numbers = [record.line for record in robots.records()] + [group.line for group in robots.groups]
    assert all(1 <= number <= len(robots.lines) for number in numbers)
    assert isinstance(robots.parsable, bool)
    assert robots.sitemaps == tuple(record.value for record in robots.records("sitemap") if record.value)


@given(file, path)
@examples(600)
def test_the_rule_with_the_most_octets_wins(body: str, path: str) -> None:
    body, path = (text.replace("\ud800", "").replace("\0", "") for text in (body, path))
    path = "/" + path.replace("://", "")
    if path.startswith("//"):
        path = "/x" + path
    robots = parse(body)
    for _ in range(2):
        assert robots.allowed("http://example.com" + path, "MyBot/1.0") == oracle.allowed(body, path, "MyBot")


@given(st.lists(st.tuples(st.booleans(), path.map(lambda text: "/" + text)), min_size=30, max_size=60), path)
@pytest.mark.parametrize("dialect", ["rfc9309", "yoink", "robotstxt"])
def test_many_rules_answer_as_each_rule_by_itself(dialect: str, rules: list[tuple[bool, str]], path: str) -> None:
    body = "User-agent: *\n" + "\n".join(
        f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules
    ).replace("\ud800", "")
    robots = parse(body, dialect)
    for _ in range(3):  # the first question is answered another way than the next
        assert robots.allowed("http://h/" + path, "x") == robots.explain("http://h/" + path, "x").allowed


@pytest.mark.parametrize("form", ["rfc9309", "google", "gem", "none"])
@pytest.mark.parametrize("pattern", ["/a/inde%78.html", "/a/index.%68tm", "/%61/index.html", "/a/index.html%2F"])
def test_the_first_question_knows_an_index_page_however_it_is_written(pattern: str, form: str) -> None:
    robots = parse(f"User-agent: *\nDisallow: /\nAllow: {pattern}", f"rfc9309 index_html=true path_form={form}")
    for path in ("/a/", "/a/b", "/a", "/b"):
        robots = Robots(bytes(robots), robots.dialect)  # has not been asked yet
        first = robots.allowed(path, "MyBot")
        assert first == robots.allowed(path, "MyBot") == robots.explain(path, "MyBot").allowed, path


@pytest.mark.interpreted_long
def test_hostile_patterns_take_linear_time() -> None:
    for body in (
        "User-agent: *\n" + "Disallow: /*a*a*a*a*b\n" * 22_000,
        "User-agent: *\n" + "".join(f"Disallow: /*a*a*a*a*b{number}\n" for number in range(19_000)),
        "User-agent: *\nDisallow: /" + "*a" * 250_000,
        "User-agent: *\n" + "".join("Disallow: /" + "a" * number + "\n" for number in range(950)),
    ):
        robots = parse(body)
        assert not robots.truncated
        url = "http://h/" + "a" * 2000
        for _ in range(3):  # one pass; making the matcher; asking it
            started = time.process_time()
            robots.allowed(url, "x")
            assert time.process_time() - started < 60, "a quadratic or exponential case would take minutes"


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_line_numbers_count_every_line_end(end: str) -> None:
    robots = parse(end.join(["\ufeff# first", "User-agent: *", "", "Disallow: /a", "Disallow: /b"]))
    rule = robots.explain("/b", "x").rule
    assert rule is not None
    assert (rule.line, rule.text) == (5, "Disallow: /b")
    assert [line.kind for line in robots.lines] == ["comment", "user-agent", "blank", "disallow", "disallow"]


# covers: F14, R11, L6
def test_a_crawl_delay_belongs_to_the_agents_named_above_it() -> None:
    robots = parse(
        "User-agent: Slow\nCrawl-delay: 30\n\nUser-agent: *\nCrawl-delay: 2.5\nDisallow: /x\n"
        "User-agent: Odd\nCrawl-delay: soon\nCrawl-delay: -1\nCrawl-delay: inf\nCrawl-delay: nan\nCrawl-delay: 4\n"
    )
    assert robots.crawl_delay("Slow/1.0") == 30
    assert robots.crawl_delay("Other") == 2.5
    assert robots.crawl_delay("Odd") == 4
    assert parse("Crawl-delay: 3\nUser-agent: *\nDisallow:").crawl_delay("x") is None


@pytest.mark.parametrize("delays", [("2", "10"), ("10", "2"), ("10", "soon", "2")])
def test_of_several_crawl_delays_the_longest_counts_however_they_are_ordered(delays: tuple[str, ...]) -> None:
    lines = [f"Crawl-delay: {delay}" for delay in delays]
    assert parse("\n".join(["User-agent: x", *lines])).crawl_delay("x") == 10
    groups = [f"User-agent: x\n{line}\nDisallow: /a" for line in lines]  # merged (RFC 9309, 2.2.1)
    assert parse("\n".join(groups)).crawl_delay("x") == 10


# covers: R11, Y5
def test_other_records_are_kept_with_their_lines_and_disturb_nothing() -> None:
    robots = parse(
        "Sitemap: https://h/a.xml\nUser-agent: One\nRequest-rate: 1/10s\nUser-agent: Two\nContent-Usage: train-ai=n\n"
        "Disallow: /x\nsitemap:https://h/b.xml\nLicense: https://h/rsl.xml\nWhatever: else\n"
    )
    assert robots.sitemaps == ("https://h/a.xml", "https://h/b.xml")
    assert [(record.line, record.kind, record.agents) for record in robots.records()] == [
        (1, "sitemap", ()),
        (3, "request-rate", ("One",)),
        (5, "content-usage", ("Two",)),
        (7, "sitemap", ("Two",)),
        (8, "license", ("Two",)),
    ]
    assert not robots.allowed("/x", "One"), "a record between User-agent lines does not split the group"
    assert not robots.allowed("/x", "Two")


def test_only_the_first_500_kib_are_parsed_unless_asked() -> None:
    body = b"User-agent: *\nDisallow: /early\n" + b"#" * 600 * 1024 + b"\nDisallow: /late\n"
    robots = parse(body)
    assert robots.truncated
    assert (robots.allowed("/early", "x"), robots.allowed("/late", "x")) == (False, True)
    whole = parse(body, max_bytes=2**20)
    assert not whole.truncated
    assert not whole.allowed("/late", "x")


def test_a_limit_below_nothing_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="max_bytes"):
        parse(b"User-agent: *\nDisallow: /", max_bytes=-1)


def test_a_fragment_ends_a_url_whatever_it_holds() -> None:
    robots = parse("User-agent: *\nDisallow: /\nAllow: /$")
    for url in ("//h#x://y/", "//h#/y", "https://h#//y/z", "https://h/#/y", "/#x://y/"):
        assert robots.allowed(url, "x"), url
    for url in ("#x://y/", "h#x://y/"):
        with pytest.raises(InvalidURL):
            robots.allowed(url, "x")


def test_googles_parser_knows_no_agent_with_digits() -> None:
    """It cuts a file's names to letters, `-` and `_` and compares them with the whole name that it is asked about."""
    robots = parse("User-agent: MJ12bot\nDisallow: /", "google")
    asked = ("MJ12bot", "MJ12bot/v1.4", "MJ", "MJ/1.0", "Mozilla/5.0 (compatible; MJ12bot/1.4)")
    assert [robots.allowed("/", agent) for agent in asked] == [True, True, False, False, True]
    assert [robots.explain("/", agent).allowed for agent in asked] == [True, True, False, False, True]


def test_names_are_looked_for_in_our_name_without_version() -> None:
    for dialect in ("draft1996", "ladon", "yandex"):
        robots = parse("User-agent: bot\nDisallow: /b\n\nUser-agent: my\nDisallow: /m", dialect)
        assert robots.allowed("/b", "Crawler/1.0 (+https://example.com/bot)"), dialect
        assert not robots.allowed("/b", "SomeBot/1.0"), dialect
        assert not robots.allowed("/m", "Mozilla/5.0 (compatible; MySpider/1.0)"), dialect


@pytest.mark.parametrize("dialect", ["rfc9309", "google"])
def test_the_names_that_crawlers_send_in_other_forms_are_found(dialect: str) -> None:
    """As Applebot and Amazonbot do, and as FeedFetcher-Google does."""
    robots = parse("User-agent: MySpider\nDisallow: /m\n", dialect)
    browser = "Mozilla/5.0 (X11) AppleWebKit/605 (KHTML, like Gecko) Version/17.4 Safari/605"
    assert not robots.allowed("/m", f"{browser} (MySpider/0.1; +http://example.com/my)")
    assert not robots.allowed("/m", "MySpider; (+http://example.com/my)")
    assert robots.allowed("/m", browser)


def test_applebot_follows_what_is_said_to_googlebot_where_nothing_is_said_to_it() -> None:
    """support.apple.com/119829: "If robots instructions don't mention Applebot but mention Googlebot, ..."."""
    body = "User-agent: Googlebot\nDisallow: /g\n\nUser-agent: *\nDisallow: /s\n"
    robots = parse(body, "apple")
    assert [robots.allowed(path, "Applebot/0.1") for path in ("/g", "/s")] == [False, True]
    assert robots.explain("/g", "Applebot").rule == robots.groups[0].rules[0]
    named = parse(f"{body}\nUser-agent: applebot\nDisallow: /a\n", "apple")
    assert [named.allowed(path, "Applebot/0.1") for path in ("/g", "/s", "/a")] == [True, True, False]
    assert [parse(body).allowed(path, "Applebot/0.1") for path in ("/g", "/s")] == [True, False]
    assert not parse("User-agent: *\nDisallow: /s\n", "apple").allowed("/s", "Applebot")
    assert [robots.allowed(path, "MyBot/0.1") for path in ("/g", "/s")] == [True, False], "nor does any other agent"


def test_bing_keeps_to_the_crawl_delay_of_all_where_its_group_has_none() -> None:
    """Said by a program manager of Bing's: default directives are ignored in bingbot's group, except Crawl-delay."""
    body = "User-agent: *\nCrawl-delay: 7\nDisallow: /s\n\nUser-agent: bingbot\nDisallow: /b\n"
    assert (parse(body, "bing").crawl_delay("bingbot"), parse(body).crawl_delay("bingbot")) == (7, None)
    assert parse(body, "bing").allowed("/s", "bingbot")
    assert parse(body + "Crawl-delay: 2\n", "bing").crawl_delay("bingbot") == 2


def test_a_line_that_the_limit_cuts_is_not_read() -> None:
    robots = parse(b"User-agent: *\nDisallow: /a\nDisallow: /secret\n", max_bytes=40)
    assert robots.truncated
    assert not robots.allowed("/a", "x")
    assert robots.allowed("/secret-garden", "x")
    assert robots.allowed("/s", "x"), "the cut pattern would have forbidden this"
    assert len(robots.lines) == 2
    assert parse(b"User-agent: *", max_bytes=5).groups == ()


@pytest.mark.parametrize(
    ("body", "parsable"),
    [
        (b"", True),
        (b"# nothing but a comment\n\n", True),
        (b"\xef\xbb\xbf", True),
        (b"User-agent: *", True),
        (b"Sitemap: https://h/s.xml", True),
        (b"<!doctype html><html><body>404</body></html>", False),
        (b"\x89PNG\r\n\x1a\n\0\0\0", False),
        (b"Not found", False),
    ],
)
def test_a_body_without_one_known_line_is_not_parsable(body: bytes, parsable: bool) -> None:
    assert parse(body).parsable is parsable


def test_a_parsed_file_is_a_value() -> None:
    robots = parse("User-agent: *\nDisallow: /a")
    assert robots == parse(b"User-agent: *\nDisallow: /a")
    assert hash(robots) == hash(copy.copy(robots))
    assert robots != parse("User-agent: *\nDisallow: /a", "google")
    again: Robots = pickle.loads(pickle.dumps(robots))
    assert again == robots
    assert not again.allowed("/a", "x")
    assert str(robots) == "User-agent: *\nDisallow: /a"


@pytest.mark.interpreted_long
def test_many_threads_may_ask_at_once() -> None:
    robots = parse("\n".join(f"User-agent: bot{number}\nDisallow: /{number}" for number in range(200)))
    wrong: list[int] = []

    def ask(offset: int) -> None:
        for number in range(200):
            agent = (number + offset) % 200
            if robots.allowed(f"/{agent}", f"bot{agent}") or not robots.allowed("/x", f"bot{agent}"):
                wrong.append(agent)

    threads = [threading.Thread(target=ask, args=(offset * 37,)) for offset in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_lists_and_matrices_answer_as_single_questions() -> None:
    robots = parse("User-agent: a\nDisallow: /x\nUser-agent: b\nAllow: /\n")
    assert robots.allowed_many(["/x", "/y"], "a") == [False, True]
    assert robots.matrix(["/x", "/y"], ["a", "b"]) == {"/x": {"a": False, "b": True}, "/y": {"a": True, "b": True}}


def test_an_explanation_names_the_winner_and_why_the_others_lost() -> None:
    robots = parse("User-agent: *\nDisallow: /shop\nAllow: /shop/a\nDisallow: /shop/a\nDisallow: /*/a")
    match = robots.explain("https://h/shop/a?x=1#frag", "MyBot/1.0")
    assert match.allowed
    assert match.rule is not None
    assert match.rule.line == 3
    assert match.path == "/shop/a?x=1"
    assert [(rule.line, why) for rule, why in match.overridden] == [
        (4, "equally long, and Allow wins a tie"),
        (2, "5 bytes, line 3 has 7"),
        (5, "4 bytes, line 3 has 7"),
    ]
    assert match.why == "line 3, 'Allow: /shop/a', allows /shop/a?x=1"
    assert match.group is not None
    assert match.group.agents == ("*",)


SWAPPED = [("MyBot", "https://example.com/x"), ("MyBot/1.0 (+https://example.com/bot)", "https://example.com/x")]


@pytest.mark.parametrize(
    ("url", "agent"),
    [
        *SWAPPED,
        ("shop", "MyBot"),
        ("", "MyBot"),
        ("#f", "MyBot"),
        ("example.com/x", "MyBot"),
        ("a:b//c", "x"),
        ("http://[::1/x", "x"),
        ("http://[::1", "x"),
        ("//[::1/x", "x"),
        ("http://[::1#f", "x"),
        ("http://u]@[::1?q", "x"),
    ],
)
@pytest.mark.parametrize("dialect", ["rfc9309", "google", "robotstxt"])
def test_text_that_is_neither_url_nor_path_is_refused(dialect: str, url: str, agent: str) -> None:
    robots = parse("User-agent: *\nDisallow: /x", dialect)
    if dialect == "google" and url in ("", "#f"):  # as Google's parser has it
        assert robots.allowed(url, agent)
        return
    for ask in (
        robots.allowed,
        robots.allowed,
        robots.explain,
        robots.decide_with_reason,
        robots.usage,
        robots.deciding_line,
    ):
        with pytest.raises(InvalidURL, match="neither a URL nor a path"):
            ask(url, agent)
    with pytest.raises(InvalidURL):
        robots.allowed_many(["/", url], agent)


@pytest.mark.parametrize(("url", "agent"), SWAPPED)
def test_swapped_arguments_are_told(url: str, agent: str) -> None:
    with pytest.raises(InvalidURL, match="the agent looks like one: the URL comes first"):
        parse("").allowed(url, agent)


@pytest.mark.parametrize(
    "url",
    ["/x", "//h/x", "?a", "http://h", "https://h/x", "ftp+x://h/", "http://h#f", "//h", "http://[::1]/x[", "/[", "?["],
)
def test_urls_and_paths_of_all_kinds_are_answered(url: str) -> None:
    robots = parse("User-agent: *\nAllow: /")
    assert robots.allowed(url, "a")
    assert robots.explain(url, "a").allowed


class Text(str):
    """Text of a program's own."""


def test_other_types_are_refused_in_words() -> None:
    robots = parse("User-agent: *\nDisallow: /x")
    for ask in (robots.allowed, robots.allowed, robots.explain, robots.decide_with_reason):
        for url, agent, named in ((None, "a", "url"), (b"/x", "a", "url"), ("/x", None, "agent"), ("/x", [], "agent")):
            with pytest.raises(TypeError, match=f"^{named}: .* is text"):
                ask(url, agent)  # type: ignore[arg-type]
        answer = ask(Text("/x"), Text("a"))
        assert not (answer if isinstance(answer, bool) else answer[0] if isinstance(answer, tuple) else answer.allowed)
    for body in (None, 5, ["User-agent: *"]):
        with pytest.raises(TypeError, match="body: "):
            parse(body)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dialect: "):
        parse("", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="urls: "):
        robots.allowed_many("/x", "a")


@given(st.text(st.characters(codec=None, categories=["Cs", "L"]), max_size=8))
def test_any_text_is_read(text: str) -> None:
    robots = parse(f"User-agent: *\nDisallow: /{text}x\n")
    if text.isprintable() or not any("\udc80" <= char <= "\udcff" for char in text):
        for _ in range(2):
            assert not robots.allowed(f"/{text}x", "a")


def rules_of_all_kinds(count: int) -> str:
    return "User-agent: *\n" + "".join(
        f"Disallow: /{number % 7}/{number}\nAllow: /{number}*/%7e{number % 5}$\nDisallow: /{'a' * (number % 50)}\n"
        for number in range(count)
    )


@pytest.mark.parametrize(
    ("dialect", "count"),
    [*((dialect, 3) for dialect in DIALECTS), *first_of(*((dialect, 40) for dialect in DIALECTS), now=3)],
)
def test_a_matcher_answers_as_each_rule_by_itself(dialect: str, count: int) -> None:
    robots = parse(rules_of_all_kinds(count), dialect)
    for number in range(count + 1):
        for url in (
            f"/{number % 7}/{number}/x",
            f"/{number}/b/~{number % 5}",
            f"/{number}/~{number % 5}?",
            "/" + "a" * number,
        ):
            for _ in range(2):
                assert robots.allowed(url, "x") == robots.explain(url, "x").allowed, url
