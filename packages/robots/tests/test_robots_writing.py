"""Writing, changing and comparing robots.txt files: what is not meant to change does not."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_robots import file

from comity_robots import (
    DIALECTS,
    GroupText,
    Robots,
    UseChange,
    add_rule,
    build,
    compare,
    diff,
    differences,
    expectations,
    parse,
    remove_rule,
)
from comity_robots.differences import between_agents
from comity_robots.errors import InvalidSetting
from comity_robots.values import Rule

FILE = (
    "# ours\r\nUser-agent: a\r\nUser-agent: b # two\r\nDisallow: /x\r\nAllow: /x/y\r\n\r\nUser-agent: *\r\nDisallow: /z"
)


def test_a_new_file_reads_back_as_what_was_meant() -> None:
    robots = build(
        [
            GroupText(agents=["MyBot", "OtherBot"], rules=[(False, "/a"), (True, "/a/b$")], crawl_delay=2.5),
            GroupText(agents=["*"], rules=[(False, "")]),
        ],
        sitemaps=["https://example.com/s.xml"],
        comment="Who may come\nand where to",
    )
    assert str(robots) == (
        "# Who may come\n# and where to\n\nUser-agent: MyBot\nUser-agent: OtherBot\nCrawl-delay: 2.5\nDisallow: /a\n"
        "Allow: /a/b$\n\nUser-agent: *\nDisallow:\n\nSitemap: https://example.com/s.xml\n"
    )
    assert [robots.allowed(path, "OtherBot") for path in ("/a", "/a/b", "/a/b/c")] == [False, True, False]
    assert robots.crawl_delay("MyBot") == 2.5


@pytest.mark.parametrize(
    "group",
    [
        GroupText(agents=[]),
        GroupText(agents=[""]),
        GroupText(agents=["My#Bot"]),
        GroupText(agents=["MyBot/1.0"]),
        GroupText(agents=["*"], rules=[(False, "private")]),
        GroupText(agents=["*"], rules=[(False, "/a\nDisallow: /")]),
        GroupText(agents=["*"], rules=[(False, "/a#b")]),
        GroupText(agents=["*"], rules=[(True, "/a ")]),
        GroupText(agents=["*"], crawl_delay=-1),
    ],
)
def test_what_could_not_be_read_back_is_refused(group: GroupText) -> None:
    with pytest.raises(InvalidSetting):
        build([group])


def test_a_rule_is_added_to_the_agents_own_group_and_every_other_line_stays() -> None:
    robots = parse("User-agent: a\n# keep\nDisallow: /x # why\n\nUser-agent: *\nDisallow: /z\n")
    assert str(add_rule(robots, "A", allow=True, pattern="/x/y")) == (
        "User-agent: a\n# keep\nDisallow: /x # why\nAllow: /x/y\n\nUser-agent: *\nDisallow: /z\n"
    )


def test_an_agent_named_for_the_first_time_takes_the_rules_of_the_star_group_along() -> None:
    changed = add_rule(parse(FILE), "c", allow=False, pattern="/new")
    assert str(changed).startswith(FILE)
    assert [changed.allowed(path, "c") for path in ("/new", "/z", "/y")] == [False, False, True]
    assert changed.allowed("/new", "d")
    assert "\r\nUser-agent: c\r\nDisallow: /z\r\nDisallow: /new\r\n" in str(changed)


@pytest.mark.parametrize("odd", [b"\xc2\xa0", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe3\x80\x80", b"\xe4", b"\x1c"])
def test_rules_that_are_copied_keep_every_octet(odd: bytes) -> None:
    everybodys = parse(b"User-agent: *\nDisallow: /x" + odd + b"\nAllow:\n")
    added = add_rule(everybodys, "a", allow=False, pattern="/y")
    assert added.body.count(b"Disallow: /x" + odd + b"\n") == 2
    assert [(change.agent, change.pattern) for change in diff(everybodys, added).changes] == [("a", "/y")]
    shared = parse(b"User-agent: a\nUser-agent: b\nDisallow: /x" + odd + b"\nDisallow: /y\n")
    removed = remove_rule(shared, "a", allow=False, pattern="/y")
    assert [(change.agent, change.pattern) for change in diff(shared, removed).changes] == [("a", "/y")]


def test_an_agent_that_shares_a_group_gets_one_of_its_own() -> None:
    added = add_rule(parse(FILE), "b", allow=False, pattern="/only-b")
    assert [added.allowed("/only-b", agent) for agent in "ab"] == [True, False]
    assert [added.allowed("/x", agent) for agent in "ab"] == [False, False]
    removed = remove_rule(parse(FILE), "b", allow=False, pattern="/x")
    assert [removed.allowed("/x", agent) for agent in "ab"] == [False, True]
    assert not removed.allowed("/z", "c")


@pytest.mark.parametrize("odd", ["\u2028", "\u0085", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_only_cr_and_lf_end_a_line(odd: str) -> None:
    text = f"User-agent: a\n# one{odd}two\nDisallow: /x\nDisallow: /y{odd}z\nDisallow: /q\n"
    assert str(remove_rule(parse(text), "a", allow=False, pattern="/x")) == text.replace("Disallow: /x\n", "")
    assert str(add_rule(parse(text), "a", allow=True, pattern="/n")) == text + "Allow: /n\n"


def test_an_agent_that_is_given_a_group_keeps_its_delay_and_its_preferences() -> None:
    star = (
        "User-agent: *\nCrawl-delay: 7\nRequest-rate: 1/5\nVisit-time: 0100-0200\nContent-Usage: train-ai=n\n"
        "Content-Signal: /x ai-train=no\nDisallow: /z\n"
    )
    shared = f"User-agent: z\nDisallow: /\n\nUser-agent: own\nCrawl-delay: 3\n{star.replace('*', 'both')}"
    for changed, agent in (
        (add_rule(parse(star), "own", allow=False, pattern="/new"), "own"),
        (remove_rule(parse(shared.replace("both", "own")), "own", allow=False, pattern="/z"), "own"),
        (remove_rule(parse(star.replace("*", "own\nUser-agent: b")), "own", allow=False, pattern="/z"), "own"),
    ):
        assert changed.crawl_delay(agent) in (3, 7)
        assert changed.request_rate(agent) is not None
        assert changed.visit_time(agent) is not None
        assert changed.usage("/y", agent).preference("train-ai") == "disallowed"
        assert [each.text for each in changed.usage("/x", agent).statements if each.path] == ["ai-train=no"]


def test_what_would_stand_where_nobody_reads_is_refused() -> None:
    nearly = parse("User-agent: *\nDisallow: /x\n" + "#" * (500 * 1024 - 40) + "\n")
    with pytest.raises(InvalidSetting, match="are read"):
        add_rule(nearly, "MyBot", allow=True, pattern="/y")
    large = parse("User-agent: *\nDisallow: /x\n" + "# more\n" * 100_000 + "Disallow: /late\n")
    for change in (add_rule, remove_rule):
        with pytest.raises(InvalidSetting, match="smaller"):
            change(large, "*", allow=False, pattern="/x")
    assert not add_rule(parse(large.body, max_bytes=10**6), "*", allow=False, pattern="/n").allowed("/late", "x")


def test_a_new_file_that_is_not_read_to_its_end_is_refused() -> None:
    rules = [(False, f"/{number:050}") for number in range(10_000)]
    group = GroupText(agents=["*"], rules=rules)
    with pytest.raises(InvalidSetting, match="are read"):
        build([group])
    with pytest.raises(InvalidSetting, match="are read"):
        build([], comment="x\n" * 300_000)
    assert not build([group], dialect="rfc9309 max_bytes=1000000").allowed(rules[-1][1], "x")


def test_groups_without_rules_do_not_run_into_each_other() -> None:
    robots = build(
        [
            GroupText(agents=["a"]),
            GroupText(agents=["b"], crawl_delay=1234567),
            GroupText(agents=["c"], rules=[(False, "/")]),
        ]
    )
    assert [robots.allowed("/x", agent) for agent in "abc"] == [True, True, False]
    assert [len(group.agents) for group in robots.groups] == [1, 1, 1]
    assert [robots.crawl_delay(agent) for agent in "abc"] == [None, 1234567, None]


record = st.one_of(
    st.sampled_from(["Crawl-delay: 1", "Crawl-delay: 2", "Request-rate: 1/9", "Visit-time: 0100-0200", "# c", ""]),
    st.sampled_from(["Content-Usage: train-ai=n", "Content-Usage: /a train-ai=y", "Content-Signal: search=no"]),
    st.sampled_from(["Sitemap: https://h/s", "Odd: 1"]),
)
rule = st.sampled_from(["Disallow: /a", "Allow: /a/b", "Disallow: /*b$", "Disallow: /", "Disallow:", "Allow: /x"])
named = st.sampled_from(["MyBot", "OtherBot", "*", "Third"]).map("User-agent: {}".format)
groups_of_lines = st.lists(st.one_of(named, named, record, rule, rule), max_size=14).map("\n".join)


@given(
    groups_of_lines, st.sampled_from(["MyBot", "OtherBot", "New"]), st.booleans(), st.sampled_from(["/a", "/*b$", "/"])
)
def test_whatever_else_is_said_to_anybody_stays(body: str, agent: str, allow: bool, pattern: str) -> None:
    robots = parse(body)

    def said(changed: Robots, other: str) -> Any:
        stated = [changed.usage(url, other).to_dict() for url in ("/y", "/ab")]
        for each in stated:
            # What is meant for others alone is named too where nothing is said to this one.
            to_this_one = (one for one in each["statements"] if not one["note"].startswith("it is meant for "))
            each["statements"] = sorted((one["text"], str(one["path"])) for one in to_this_one)
        pace = changed.crawl_delay(other), changed.request_rate(other), changed.visit_time(other)
        return (*pace, *[each["statements"] for each in stated]) if changed.allowed("/y", other) else pace

    for changed in (
        add_rule(robots, agent, allow=allow, pattern=pattern),
        remove_rule(robots, agent, allow=allow, pattern=pattern),
    ):
        for other in ("MyBot", "OtherBot", "Third", "New", "Somebody"):
            if other != agent:
                assert said(changed, other) == said(robots, other)
                for path in ("/", "/a", "/ab", "/a/b", "/x/y"):
                    assert changed.allowed(path, other) == robots.allowed(path, other)
            assert said(changed, other)[:3] == said(robots, other)[:3]


def test_removing_what_is_not_there_gives_the_same_file() -> None:
    robots = parse(FILE)
    assert remove_rule(robots, "a", allow=True, pattern="/nowhere") is robots
    assert (
        str(remove_rule(add_rule(robots, "*", allow=True, pattern="/q"), "*", allow=True, pattern="/q"))
        == FILE + "\r\n"
    )


@given(file, st.sampled_from(["MyBot", "OtherBot", "*", "New"]), st.booleans(), st.sampled_from(["/a", "/*b$", "/"]))
def test_a_change_for_one_agent_leaves_all_others_alone(body: str, agent: str, allow: bool, pattern: str) -> None:
    body = body.replace("\ud800", "").replace("\0", "")
    robots = parse(body)
    others = [other for other in ("MyBot", "OtherBot", "Somebody") if other != agent]
    assume(agent != "*")
    for changed in (
        add_rule(robots, agent, allow=allow, pattern=pattern),
        remove_rule(robots, agent, allow=allow, pattern=pattern),
    ):
        for path in ("/", "/a", "/ab", "/a/b", "/x/y"):
            for other in others:
                assert changed.allowed(path, other) == robots.allowed(path, other)
    assert remove_rule(robots, agent, allow=allow, pattern=pattern) == robots or pattern in body


def test_text_that_means_the_same_is_no_difference() -> None:
    old = parse("User-agent: a\nDisallow: /x\n\nUser-agent: *\nDisallow: /z\nDisallow: /y\n")
    new = parse("#\nuser-agent: *\ndisallow: /y\ndisallow: /z\n\nuser-agent: A\ndisallow: /x\nDisallow: /x/y\n")
    assert not diff(old, new)


def test_a_difference_names_agents_paths_and_lines() -> None:
    old = parse("User-agent: *\nDisallow: /x\nCrawl-delay: 1\nSitemap: https://h/1\n")
    new = parse(
        "User-agent: *\nDisallow: /x\nAllow: /x/open\nCrawl-delay: 9\nSitemap: https://h/2\nUser-agent: a\nDisallow: /"
    )
    found = diff(old, new)
    assert [(change.agent, change.pattern, change.allowed) for change in found.changes] == [
        ("*", "/x/open", True),
        ("a", "/", False),
    ]
    gained = found.changes[0]
    assert gained.before is not None
    assert gained.after is not None
    assert (gained.before.line, gained.after.line) == (2, 3)
    assert found.delays == {"*": (1.0, 9.0), "a": (1.0, None)}
    assert (found.sitemaps_added, found.sitemaps_removed) == (("https://h/2",), ("https://h/1",))


@pytest.mark.parametrize(
    ("line", "other", "name"),
    [
        ("Content-Usage: train-ai=n", "Content-Usage: train-ai=y", "usage"),
        ("Content-Usage: train-ai=n", "Content-Usage: /x train-ai=n", "usage"),
        ("Content-Signal: ai-train=no", "", "usage"),
        ("Request-rate: 1/10", "Request-rate: 1/20", "rates"),
        ("Visit-time: 0100-0200", "", "hours"),
    ],
)
def test_whatever_else_is_said_to_an_agent_is_compared_too(line: str, other: str, name: str) -> None:
    old, new = (parse(f"User-agent: a\n{text}\nDisallow: /x\n") for text in (line, other))
    found = diff(old, new)
    assert set(getattr(found, name)) == {"a"}
    assert found
    assert not diff(old, parse(f"# new\nUser-agent: A/2\n{line.replace(': ', ':')} # why\nDisallow: /x\n"))


def test_a_change_of_licence_is_a_difference() -> None:
    found = diff(parse("License: https://h/1\n"), parse("License: https://h/2\n"))
    assert (found.licences_added, found.licences_removed) == (("https://h/2",), ("https://h/1",))
    assert found


def test_a_change_of_clean_param_is_a_difference() -> None:
    found = diff(parse("Clean-param: sid /a\n"), parse("Clean-param: ref /a\n"))
    assert (found.parameters_added, found.parameters_removed) == (("ref /a",), ("sid /a",))
    assert found


def test_a_group_of_very_many_agents_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []
    paths = differences.shown_paths

    def noting(pattern: bytes, *args: Any) -> Iterator[bytes]:
        compared.append(pattern)
        return paths(pattern, *args)

    monkeypatch.setattr(differences, "shown_paths", noting)
    agents = "".join(f"User-agent: bot{n}\n" for n in range(500))
    old = agents + "".join(f"Disallow: /{n}*z\n" for n in range(500))
    found = diff(parse(old), parse(old.replace("/7*z", "/7*y")))
    assert len({change.agent for change in found.changes}) == 500
    assert len(compared) <= 2 * 500


def test_agents_with_a_shared_group_and_one_of_their_own_have_the_shared_one_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    matcher = differences.matcher

    def noting(ranks: Any, dialect: Any) -> Any:
        made.append(len(ranks))
        return matcher(ranks, dialect)

    monkeypatch.setattr(differences, "matcher", noting)
    shared = "".join(f"User-agent: bot{n}\n" for n in range(500)) + "".join(f"Disallow: /{n}*z\n" for n in range(500))
    own = "".join(f"User-agent: bot{n}\nAllow: /own{n}\n" for n in range(500))
    found = diff(parse(shared + own), parse(shared + own.replace("/own", "/our")))
    assert {(change.agent, change.pattern) for change in found.changes} == set()  # both are allowed anyway
    found = diff(parse(shared + own), parse(shared + own.replace("Allow: /own", "Disallow: /own")))
    assert [(change.agent, change.pattern, change.allowed) for change in found.changes] == [
        (f"bot{n}", f"/own{n}", False) for n in range(500)
    ]
    assert sum(made) <= 10 * 500


@given(file, file, st.sampled_from(sorted(DIALECTS)))
def test_a_change_names_the_rules_that_decide(old: str, new: str, dialect: str) -> None:
    for change in diff(parse(old, dialect), parse(new, dialect)).changes:
        before, after = change.before, change.after
        assert _lets(after) is change.allowed
        assert _lets(before) is not change.allowed


def _lets(rule: Rule | None) -> bool:
    """Whether a URL may be fetched by the rule that decides; an empty Disallow disallows nothing."""
    return rule is None or rule.allow or not rule.pattern


def test_a_group_that_states_nothing_stands_in_the_place_of_everybodys() -> None:
    star = "User-agent: *\nContent-Usage: train-ai=n\nDisallow: /x\n"
    found = diff(parse(star), parse(star + "User-agent: a\nDisallow: /x\n"))
    assert found.usage == {"a": (("Content-Usage: train-ai=n",), ())}
    (change,) = found.uses["a"]
    assert change == UseChange("train-ai", "Content-Usage", None, "disallowed", "unknown")


def test_each_use_that_is_stated_otherwise_is_named_with_its_path() -> None:
    was = "User-agent: *\nContent-Signal: search=yes, ai-train=yes\nContent-Usage: /a train-ai=y\n"
    now = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-Usage: /b train-ai=y\n"
    assert diff(parse(was), parse(now)).uses == {
        "*": (
            UseChange("train-ai", "Content-Signal", None, "allowed", "disallowed"),
            UseChange("train-ai", "Content-Usage", "/a", "allowed", "unknown"),
            UseChange("train-ai", "Content-Usage", "/b", "unknown", "allowed"),
        )
    }
    assert diff(parse(was), parse(f"# words\n{was}")).uses == {}


def test_files_with_very_many_agents_are_compared() -> None:
    many = "".join(f"User-agent: bot{n}\nCrawl-delay: {n}\nDisallow: /{n}\n" for n in range(4_000))
    found = diff(parse(many), parse(many.replace("Disallow: /7\n", "Disallow: /8\n")))
    assert [(change.agent, change.pattern, change.allowed) for change in found.changes] == [
        ("bot7", "/7", True),
        ("bot7", "/8", False),
    ]
    assert not found.delays


patterns = st.lists(st.tuples(st.booleans(), st.text("ab/", min_size=1, max_size=4)), max_size=6)


@given(patterns, patterns, st.text("ab/", max_size=6))
def test_without_wildcards_no_change_of_a_verdict_goes_unnoticed(
    old: list[tuple[bool, str]], new: list[tuple[bool, str]], path: str
) -> None:
    first, second = (
        build([GroupText(agents=["*"], rules=[(allow, "/" + pattern) for allow, pattern in rules])])
        for rules in (old, new)
    )
    if first.allowed("/x" + path, "bot") != second.allowed("/x" + path, "bot"):
        assert diff(first, second)
    if first.allowed("/" + path.lstrip("/"), "bot") != second.allowed("/" + path.lstrip("/"), "bot"):
        assert diff(first, second)
    assert not diff(first, first)


OCTETS = "abx/"
URLS = ["https://h/" + "".join(letters) for size in range(5) for letters in itertools.product(OCTETS, repeat=size)]


def _some_rules(chance: random.Random, count: int) -> list[str]:
    found = []
    for _ in range(count):
        path = "/" + "".join(chance.choice("aab/**") for _ in range(chance.randint(0, 4)))
        path = path.removeprefix("/") if path.startswith("/*") and chance.random() < 0.2 else path
        found.append(f"{chance.choice(('Allow', 'Disallow'))}: {path}{'$' * (chance.random() < 0.3)}\n")
    return found


def _missed(pairs: int, seed: int, dialect: str) -> list[tuple[str, str]]:
    """Random pairs of files of which `diff` does not tell what trying every short path shows."""
    chance = random.Random(seed)
    missed = []
    for _ in range(pairs):
        rules = _some_rules(chance, chance.randint(0, 5))
        other = [*rules]
        for _ in range(chance.randint(1, 2)):
            place = chance.randint(0, len(other))
            other[place : place + chance.randint(0, 1)] = _some_rules(chance, chance.randint(0, 1))
        own, another = (_some_rules(chance, chance.randint(0, 2)) for _ in range(2))
        texts = [
            "User-agent: *\n" + "".join(one) + "User-agent: bot\n" + "".join(two) + "Allow: /\n"
            for one, two in ((rules, own), (other, another))
        ]
        old, new = (parse(text, dialect) for text in texts)
        found = diff(old, new)
        assert not found.undecided
        for agent, asked in (("*", "anybody"), ("bot", "bot")):
            was, now = (robots.allowed_many(URLS, asked) for robots in (old, new))
            told = [change for change in found.changes if change.agent == agent]
            if {after for before, after in zip(was, now, strict=True) if before != after} - {e.allowed for e in told}:
                missed.append((texts[0], texts[1]))
            for change in told:
                verdicts = [robots.allowed(f"https://h{change.path}", asked) for robots in (old, new)]
                assert verdicts == [not change.allowed, change.allowed], (texts, change)
    return missed


@pytest.mark.parametrize("dialect", ["rfc9309", "google", "draft1996", "robotstxt", "yoink"])
def test_no_change_goes_unnoticed_where_wildcards_meet(dialect: str) -> None:
    assert _missed(100, 1, dialect) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_no_change_of_a_hundred_thousand_goes_unnoticed(seed: int) -> None:
    assert _missed(10_000, seed, "rfc9309") == []


def test_a_change_that_shows_only_where_two_patterns_meet_is_found() -> None:
    old = parse("User-agent: *\nDisallow: /shop/\n")
    (change,) = diff(old, parse(f"{old}Allow: /*/free$\n")).changes
    assert (change.pattern, change.path, change.allowed) == ("/*/free$", "/shop/free", True)
    # Two others stand between: neither's own paths show it.
    old = parse("User-agent: *\nDisallow: /a*b\nAllow: /*c*d\n")
    (change,) = diff(old, parse(f"{old}Disallow: /*x$\n")).changes
    assert not parse(f"{old}Disallow: /*x$\n").allowed(change.path, "bot")


def test_a_pattern_of_whose_paths_only_some_changed_is_told_with_one_that_did() -> None:
    old, new = (parse(f"User-agent: *\nDisallow: {path}\n") for path in ("/a", "/a$"))
    assert [change.paths for change in diff(old, new).changes] == ["some paths of /a, such as /ax"]
    assert [change.paths for change in diff(new, old).changes] == ["some paths of /a, such as /ax"]
    assert [change.paths for change in diff(parse(""), new).changes] == ["/a$"]
    assert [change.paths for change in diff(parse(""), old).changes] == ["/a"]


def test_what_cannot_be_decided_with_a_bounded_effort_is_said() -> None:
    old = parse("User-agent: *\nDisallow: /\nAllow: /*x*y*z\n")
    found = diff(old, parse(f"{old}" + "".join(f"Disallow: /*{n}*y*a\n" for n in range(1500))))
    assert found.undecided
    assert found  # "no change" would be a guess


@pytest.mark.parametrize(
    "line",
    ["GPTBot not /a;* not /b", "GPTBot not /a not /b", "a yes /x b yes /y", "GPTBot not /a b", "not /a", "a /b not"],
)
def test_expectations_that_nothing_separates_are_none(line: str) -> None:
    with pytest.raises(expectations.NoExpectation):
        list(expectations.read(line))


def test_expectations_are_separated_by_a_semicolon_and_a_space() -> None:
    found = expectations.read("GPTBot not /a; * NO /b;c ;\nSogou web  spider yes /d # why\nnot not /e")
    assert [(each.line, each.agent, each.path, each.allowed) for each in found] == [
        (1, "GPTBot", "/a", False),
        (1, "*", "/b;c", False),
        (2, "Sogou web spider", "/d", True),
        (3, "not", "/e", False),
    ]


def test_dialects_are_compared_about_one_url() -> None:
    comparison = compare(parse("User-agent: *\nDisalow: /a\nAllow: /b\nDisallow: /b"), "/a", "MyBot")
    assert set(comparison.matches) == set(DIALECTS)
    assert not comparison.agree
    assert not comparison.matches["google"].allowed
    assert "google" in comparison.why
    assert compare(parse(""), "/a", "MyBot").agree


# covers: L6, F14
def test_an_agent_with_a_group_of_its_own_does_not_take_the_delay_of_the_star_group() -> None:
    robots = parse("User-agent: *\nCrawl-delay: 10\nDisallow: /x\n\nUser-agent: Fast\nDisallow: /y\n")
    assert robots.crawl_delay("Fast") is None
    assert robots.crawl_delay("Other") == 10


def test_two_agents_are_compared_by_the_groups_that_apply_to_each_however_they_call_themselves() -> None:
    robots = parse(
        "User-agent: one\nUser-agent: two\nDisallow: /both\n\n"
        "User-agent: two\nDisallow: /two\n\nUser-agent: *\nDisallow: /"
    )
    agent = "Mozilla/5.0 (compatible; one/1.0)"
    found = between_agents(robots, agent, "two/2.0").changes
    assert [(each.agent, each.pattern, each.allowed) for each in found] == [("two/2.0", "/two", False)]
    assert not between_agents(robots, "three", "four")
    (change, *_) = between_agents(robots, "three", "one").changes
    assert change.allowed
