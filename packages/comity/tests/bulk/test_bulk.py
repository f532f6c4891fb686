"""Verdicts over columns: each row has the answer that `comity.policy` gives for its URL."""

import contextlib
import ctypes
import gzip
import json
import mmap
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import InvalidSetting, InvalidURL
from comity.policy import OriginPolicy, Policy, RobotsResult
from comity_pages import urls
from comity_robots import dialects, engine, parse

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")

from comity import bulk  # noqa: E402

PURPOSES = ("search", "ai-input", "train-ai", "use")


def expected(
    url: str | None,
    captures: dict[str, tuple[int | None, bytes]],
    policy: Policy,
    read_before: dict[str, RobotsResult] | None = None,
) -> tuple[Any, ...]:
    """Verdict, recommendation, may_fetch, line, crawl_delay and usages, by the scalar way.

    Args:
        read_before: what was read for this policy, by origin, to be added to.
    """
    results = {} if read_before is None else read_before
    try:
        normal = urls.normalise(url)  # type: ignore[arg-type]
    except (InvalidURL, TypeError, AttributeError):
        return (None,) * 9
    origin = urls.origin(normal)
    if origin not in captures:
        return (None,) * 9
    if origin not in results:
        status, body = captures[origin]
        where = f"{origin}/robots.txt"
        results[origin] = (
            RobotsResult.unreachable(origin, where, "no answer", policy=policy, fetched_at=0.0)
            if status is None
            else RobotsResult.from_response(origin, where, status, body, policy=policy, fetched_at=0.0)
        )
    result = results[origin]
    decision = OriginPolicy(policy, result).decide(normal)
    read = result.kind == "read" and result.robots is not None and policy.mode != "ignore"
    delay = result.robots.crawl_delay(policy.asked_as) if read and result.robots else None
    return (
        decision.verdict,
        decision.recommendation,
        decision.may_fetch,
        decision.rule.line if decision.rule else None,
        delay,
        *(decision.usage.preference(purpose) for purpose in PURPOSES),
    )


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    names = ["verdict", "recommendation", "may_fetch", "line", "crawl_delay", *bulk.USAGE.values()]
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def check(asked: Any, captures: dict[str, tuple[int | None, bytes]], agents: list[str], **options: Any) -> None:
    base = options.get("policy") or Policy()
    table = bulk.verdicts(asked, robots_table(captures), agents, **options)
    wanted = []
    for policy in (base.with_changes(agent=agent) for agent in agents):
        results: dict[str, RobotsResult] = {}
        wanted += [expected(url, captures, policy, results) for url in asked_list(asked)]
    found = rows_of(table)
    assert len(found) == len(wanted)
    for row, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert one == other, (table["url"][row].as_py(), table["agent"][row].as_py(), table["rule"][row].as_py())


def asked_list(asked: Any) -> list[str | None]:
    return asked if isinstance(asked, list) else asked.to_pylist()


def robots_table(captures: dict[str, tuple[int | None, bytes]]) -> Any:
    return pa.table(
        {
            "origin": list(captures),
            "status": pa.array([status for status, _ in captures.values()], pa.int32()),
            "body": pa.array([body for _, body in captures.values()], pa.binary()),
        }
    )


AGENTS = ["MyBot", "GPTBot", "Googlebot/2.1", "comity", "bingbot"]
FILES = [
    b"User-agent: *\nDisallow: /a\nAllow: /a/b$\nDisallow: /*.php\nCrawl-delay: 2.5\n",
    (
        b"User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\n"
        b"User-agent: *\nDisallow:\nContent-Signal: ai-train=no, use=reference\n"
    ),
    b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /%7euser\rDisallow: /\xc3\xa9t\xc3\xa9\r\nAllow: /q?x=*&y\r\n",
    b"Content-Usage: search=y\nUser-agent: mybot\nCrawl-delay: 1e1\nContent-Usage: /a train-ai=n\nDisallow: /b\n",
    b"<html>no such page</html>",
    b"",
    b"Disallow: /\n# nobody is meant\n",
    b"\n".join([b"User-agent: *", *(b"Disallow: /p%d/\nAllow: /p%d/x*y" % (n, n) for n in range(200))]),
    b"User-agent: *\nDisallow: /$\nDisallow: *\nAllow: /robots\nDisallow: /a*a*a\nUser-agent: gptbot\nAllow: /",
]
STATUSES: list[int | None] = [200, 200, 200, 203, 301, 304, 401, 404, 410, 429, 500, 503, 100, 600, None]
PATHS = st.text(st.sampled_from("/ab.?*$%#é~;px1287efE\\\ud7ff|'\"&=y"), max_size=30)
HOSTS = st.sampled_from(
    [  # noqa: RUF005 (octets, not a list)
        "a.example",
        "A.example",
        "b.example:8080",
        "b.example",
        "x",
        "münchen.example",
        "a;b.example",
        "127.0.0.1",
        "[::1]",
    ]
    + ["xn--mnchen-3ya.example", "a.example:80", "u:p@a.example", "a.example.", "0x7f.1", ""]
)
SCHEMES = st.sampled_from(["http://", "https://", "HTTP://", "http:/", "ftp://", "//", ""])
URLS = st.one_of(
    st.none(),
    st.text(max_size=20),
    st.builds("{}{}{}{}".format, SCHEMES, HOSTS, st.sampled_from(["/", "", "?", "#"]), PATHS),
)
ORIGINS = sorted(
    {
        urls.origin(f"{scheme}{host}")
        for scheme in ("http://", "https://")
        for host in ("a.example", "b.example:8080", "x", "münchen.example", "a;b.example", "127.0.0.1", "[::1]")
    }
)


@pytest.mark.both_forms
@examples(60)
@given(st.lists(URLS, max_size=12), st.data())
def test_any_text_gets_the_answer_that_policy_gives(asked: list[str | None], data: st.DataObject) -> None:
    asked = [each for each in asked if each is None or each.isascii() or _encodable(each)]
    captures = {
        origin: (data.draw(st.sampled_from(STATUSES)), data.draw(st.sampled_from(FILES)))
        for origin in data.draw(st.sets(st.sampled_from(ORIGINS)))
    }
    check(pa.array(asked, pa.string()), captures, data.draw(st.permutations(AGENTS)))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@pytest.mark.both_forms
@pytest.mark.parametrize(
    "size", [1, 40, pytest.param(3000, marks=pytest.mark.interpreted_long)], ids=lambda size: f"{size} URLs"
)
def test_few_and_many_urls_of_an_origin_are_judged_alike(size: int) -> None:
    chance = random.Random(size)
    pieces = ["/", "a", "b", "p17", "p99", ".php", "x", "y", "?x=", "%7Euser", "été", "robots.txt", "$", "*"]
    captures: dict[str, tuple[int | None, bytes]] = {
        f"https://h{n}.example": (200, body) for n, body in enumerate(FILES)
    }
    asked = [
        f"https://h{chance.randrange(len(FILES))}.example/" + "".join(chance.choices(pieces, k=chance.randrange(6)))
        for _ in range(size)
    ]
    check(asked, captures, AGENTS[:2] if size > 40 else AGENTS, threads=2)


@pytest.mark.parametrize("dialect", ["google", "bing", "apple", "yandex", "draft1996", "robotstxt", "yoink", "f9"])
def test_every_dialect_is_read_as_it_is_for_one_url(dialect: str) -> None:
    captures: dict[str, tuple[int | None, bytes]] = {
        f"https://h{n}.example": (200, body) for n, body in enumerate(FILES)
    }
    asked = [
        f"{origin}{path}"
        for origin in captures
        for path in ("/", "/a", "/a/b", "/x.php", "/p7/xzy", "/robots.txt", "/été;x")
    ]
    check(asked, captures, AGENTS, policy=Policy(dialect=dialect))


@pytest.mark.parametrize(
    "policy",
    [
        Policy(mode="ignore"),
        Policy(mode="report_only"),
        Policy(on_unreachable="allow"),
        Policy(on_unavailable="disallow_401_403"),
        Policy(on_unparsable="disallow"),
        Policy(max_crawl_delay=1),
        Policy(use="full"),
        Policy(use="reference"),
    ],
    ids=lambda policy: (
        f"{policy.mode} {policy.on_unreachable} {policy.on_unavailable} {policy.on_unparsable} {policy.use}"
    ),
)
def test_every_status_means_what_the_policy_says(policy: Policy) -> None:
    statuses = dict.fromkeys(STATUSES)
    captures = {
        f"https://s{n}f{m}.example": (status, body) for n, status in enumerate(statuses) for m, body in enumerate(FILES)
    }
    asked = [f"{origin}{path}" for origin in captures for path in ("/a", "/robots.txt", "/./robots.txt")]
    check(asked, captures, ["MyBot", "GPTBot"], policy=policy)


@pytest.mark.both_forms
def test_rows_in_no_order_get_the_answers_of_rows_in_order() -> None:
    chance = random.Random(3)
    hosts, paths = range(40), ("/a", "/a/b", "/x%41", "/robots.txt", "/c/./d", "/e?f=1")
    bodies = ["".join(f"User-agent: *\nDisallow: /{chance.choice('abcex')}\nAllow: /a/{n}\n") for n in hosts]
    robots = pa.table({"origin": [f"https://h{n}.example" for n in hosts], "body": bodies})
    every = [f"https://h{n}.example{path}" for n in (*hosts, "none") for path in paths]
    size = 300_000 if engine.COMPILED else 3_000  # more than are put in order at a time, where any are
    several = [chance.randrange(len(every)) for _ in range(size)]
    expected = bulk.verdicts(pa.array(every), robots, ["a", "b"])
    given = pa.array(every).take(pa.array(several))
    rows = pa.array([*several, *(len(every) + row for row in several)])
    for threads in (1, 2):
        found = bulk.verdicts(given, robots, ["a", "b"], threads=threads)
        for name in ("verdict", "recommendation", "may_fetch", "line", "rule", "reason"):
            kind = getattr(found[name].type, "value_type", found[name].type)
            assert found[name].cast(kind).equals(expected[name].take(rows).cast(kind)), name


def test_kinds_of_text_column_make_no_difference() -> None:
    texts = [
        "https://a.example/a/b",
        None,
        "https://A.example/x",
        "no URL",
        "https://a.example/y.php",
        "https://a.example/a",
    ]
    captures: dict[str, tuple[int | None, bytes]] = {"https://a.example": (200, FILES[0])}
    plain = pa.array(texts, pa.string())
    wanted = rows_of(bulk.verdicts(plain, robots_table(captures), AGENTS))
    for column in (
        texts,
        plain.cast(pa.large_string()),
        plain.cast(pa.string_view()),
        plain.dictionary_encode(),
        pa.chunked_array([plain.slice(0, 2), plain.slice(2, 0), plain.slice(2)]),
        pa.chunked_array([plain.slice(0, 3).dictionary_encode(), plain.slice(3).dictionary_encode()]),
        pa.concat_arrays([pa.array(["left out"]), plain]).slice(1),
    ):
        assert rows_of(bulk.verdicts(column, robots_table(captures), AGENTS)) == wanted


def test_columns_without_rows_and_of_nothing_are_no_error() -> None:
    robots = robots_table({"https://a.example": (200, b"")})
    assert bulk.verdicts(pa.array([], pa.string()), robots, "MyBot").num_rows == 0
    assert bulk.verdicts(pa.chunked_array([], pa.string()), robots, "MyBot").num_rows == 0
    assert bulk.verdicts(pa.nulls(2), robots, "MyBot")["reason"].to_pylist() == ["the URL is null"] * 2
    nothing = bulk.verdicts(["https://a.example/"], robots.slice(0, 0), "MyBot")
    assert nothing["reason"].to_pylist() == ["no robots.txt for this origin"]


def test_octets_that_are_no_text_are_no_url() -> None:
    broken = pa.array([b"https://a.example/ok", b"\xff\xfe", b"https://a.example/\xff"]).view(pa.string())
    table = bulk.verdicts(broken, robots_table({"https://a.example": (200, b"")}), "MyBot")
    assert table["verdict"].to_pylist() == ["allowed_implicit", None, None]


@pytest.mark.both_forms
def test_the_capture_then_in_force_decides() -> None:
    day = 86_400
    robots = pa.table(
        {
            "origin": ["https://a.example"] * 4 + ["https://b.example"],
            "status": [200, 503, 404, 200, 200],
            "body": [b"User-agent: *\nDisallow: /x", b"", b"", b"User-agent: *\nDisallow: /y", b""],
            "fetched_at": [10 * day, 11 * day, 12 * day, 13 * day, None],
        }
    )
    ask = "https://a.example/x"

    def at(when: Any) -> tuple[Any, Any]:
        table = bulk.verdicts([ask], robots, "MyBot", at=when)
        return table["verdict"][0].as_py(), table["reason"][0].as_py()

    assert at(9 * day) == (None, "no robots.txt for this origin at that time")
    assert at(10 * day) == ("disallowed_explicit", "a rule disallows it")
    assert at(11.5 * day) == ("disallowed_explicit", "a rule disallows it")  # the last good copy stands in
    assert at(12 * day) == ("allowed_implicit", "robots.txt is unavailable (HTTP status 404)")
    assert at(None) == ("allowed_implicit", "no rule matches")
    times = pa.array([10 * day, 13 * day, 1], pa.timestamp("s", "UTC"))
    many = bulk.verdicts([ask, ask, "https://b.example/"], robots, "MyBot", at=times)
    assert many["verdict"].to_pylist() == ["disallowed_explicit", "allowed_implicit", "allowed_implicit"]


def test_a_wide_table_has_a_row_for_each_url() -> None:
    robots = robots_table({"https://a.example": (200, FILES[1])})
    table = bulk.verdicts(["https://a.example/1", "https://a.example/2"], robots, ["MyBot", "GPTBot"], wide=True)
    assert table.num_rows == 2
    assert table["MyBot.may_fetch"].to_pylist() == [True, True]
    assert table["GPTBot.rule"].to_pylist() == ["Disallow: /"] * 2


def test_what_cannot_be_asked_is_said_in_words() -> None:
    robots = robots_table({"https://a.example": (200, b"")})
    for arguments, words in (
        (("https://a.example/", robots, "MyBot"), "several URLs"),
        ((pa.array([1, 2]), robots, "MyBot"), "column of text"),
        ((["https://a.example/"], robots.drop_columns(["body"]), "MyBot"), "no column 'body'"),
        ((["https://a.example/"], robots, []), "name at least one"),
        ((["https://a.example/"], robots, ["MyBot", "MyBot"]), "named twice"),
        ((["https://a.example/"], robots, "Mozilla/5.0"), "no product token"),
    ):
        with pytest.raises(InvalidSetting, match=words):
            bulk.verdicts(*arguments)


def test_a_rule_is_shown_as_a_decision_cites_it() -> None:
    body = "User-agent: *\n  Disallow: /é{}  # why\n".format("x" * 400).encode()
    url = "https://a.example/é" + "x" * 500
    table = bulk.verdicts([url], robots_table({"https://a.example": (200, body)}), "MyBot")
    result = RobotsResult.from_response("https://a.example", "", 200, body, policy=Policy(agent="MyBot"), fetched_at=0)
    cited = OriginPolicy(Policy(agent="MyBot"), result).decide(urls.normalise(url)).rule
    assert cited is not None
    assert (table["line"][0].as_py(), table["rule"][0].as_py()) == (cited.line, cited.text)


def test_a_rule_of_any_length_is_laid_out() -> None:
    octets = (1 << 24) // 3  # as they are compared three times as many, which is more than 24 bits count
    body = b"User-agent: *\nDisallow: /%s\nDisallow: /b\n" % (b"\xff" * octets)
    policy = Policy(dialect=dialects.Dialect(name="long", max_bytes=len(body)))
    asked = [f"https://a.example/{path}" for path in ("a", "b", "%FF" * octets, "%FF" * (octets - 1))]
    table = bulk.verdicts(asked, robots_table({"https://a.example": (200, body)}), "MyBot", policy=policy)
    assert table["line"].to_pylist() == [None, 3, 2, None]


@pytest.mark.skipif(sys.platform != "linux", reason="mprotect is called as Linux has it")
@pytest.mark.parametrize("ending", ["Allow:", "Allow: ", "Allow: /", "Allow: /a*", "Allow", "A", "Disallow: /a$", "\r"])
def test_nothing_behind_a_column_is_read(ending: str) -> None:
    body = f"User-agent: *\rDisallow: /x\r\n{ending}".encode()
    asked = ["https://a.example/x", "https://a.example/a"]
    robots = pa.table({"origin": ["https://a.example"], "body": before_the_unreadable(pa.array([body]))})
    wanted = bulk.verdicts(asked, robots_table({"https://a.example": (200, body)}), "MyBot")
    assert bulk.verdicts(before_the_unreadable(pa.array(asked)), robots, "MyBot").equals(wanted)


def before_the_unreadable(column: Any) -> Any:
    """A column whose octets end where memory that may be read ends."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + page), ctypes.c_size_t(page), 0) == 0
    valid, offsets, octets = column.buffers()
    size = sum(len(each) for each in column.cast(pa.binary()).to_pylist())
    memory[page - size : page] = octets.to_pybytes()[:size]
    moved = pa.foreign_buffer(address + page - size, size, memory)
    return pa.Array.from_buffers(column.type, len(column), [valid, offsets, moved])


def test_the_corpus_gets_the_same_answers_as_its_files_one_by_one(corpus: Path) -> None:
    captures: dict[str, tuple[int | None, bytes]] = {}
    asked, agents = [], set()
    with gzip.open(corpus / "google-verdicts.jsonl.gz", "rt") as lines:
        for number, line in enumerate(lines):
            if number % 7:
                continue
            entry = json.loads(line)
            body = (corpus / "robots" / entry["file"]).read_bytes()
            for agent, url, *_ in entry["cases"]:
                asked.append(url)
                agents.add(agent)
                with contextlib.suppress(InvalidURL):
                    captures.setdefault(urls.origin(url), (200, body))
    assert len(captures) > 300
    check(asked, captures, ["MyBot", *sorted(agents)[:2]])
    check(asked[:600], captures, ["GPTBot"], policy=Policy(dialect="google"))


@pytest.mark.parametrize("rules", ["User-agent: *", "\nUser-agent: *\nDisallow: /" + "x" * 5000, b"User-agent: *"])
def test_the_text_of_a_robots_txt_is_told_what_is_accepted_instead(rules: str | bytes) -> None:
    with pytest.raises(InvalidSetting, match=r"text of a robots\.txt.*'origin': 'https://example\.com'"):
        bulk.verdicts(["https://example.com/"], rules, "MyBot")


def test_each_agent_has_the_crawl_delay_of_its_own_groups() -> None:
    body = (
        "User-agent: one\nUser-agent: two\nCrawl-delay: 3\nDisallow: /a\n"
        "User-agent: three\nCrawl-delay: x\nDisallow: /a\nUser-agent: four\nCrawl-delay: 2\nDisallow: /a\n"
        "User-agent: four\nCrawl-delay: 7\nDisallow: /b\nUser-agent: *\nCrawl-delay: 1\nDisallow: /c\n"
    )
    agents = ["one", "other", "two", "three", "four", "another"]
    found = bulk.verdicts(["https://e.com/x"], [{"origin": "https://e.com", "body": body}], agents, wide=True)
    said = [found[f"{agent}.crawl_delay"][0].as_py() for agent in agents]
    assert said == [3, 1, 3, None, 7, 1] == [parse(body).crawl_delay(agent) for agent in agents]
