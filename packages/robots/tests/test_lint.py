"""Findings people really make: each has an example that shows it and a near miss that does not."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from urllib.robotparser import RobotFileParser

import pytest
from commands import comity as command
from examples import first_of
from growth import grows_in_proportion
from hypothesis import example, given
from hypothesis import strategies as st
from test_robots import file

from comity_robots import DIALECTS, known_agents, parse
from comity_robots.lint import CODES, Finding, collapsed, fixed

A = "User-agent: a\n"
EXAMPLES: dict[str, tuple[str, str]] = {
    # code: (shows it, does not)
    "agent-policy-token": ("User-agent: __usage_ai-training\nDisallow: /x", "User-agent: _usage\nDisallow: /x"),
    "path-not-encoded": (A + "Disallow: /caf\u00e9", A + "Disallow: /caf%C3%A9"),
    "agent-list": ("User-agent: Googlebot, Bingbot\nDisallow: /x", "User-agent: Sogou web spider\nDisallow: /x"),
    "agent-unknown": ("User-agent: Googelbot\nDisallow: /x", "User-agent: Googlebot-Image\nDisallow: /x"),
    "agent-with-space": ("User-agent: Offline Explorer\nDisallow: /x", "User-agent: Slurp\nDisallow: /x"),
    "agent-with-wildcard": ("User-agent: Mediapartners-Google*\nDisallow: /x", "User-agent: *\nDisallow: /x"),
    "blocks-resources": (
        "User-agent: *\nDisallow: /css/",
        "User-agent: *\nDisallow: /wp-includes/\nAllow: /wp-includes/*.js",
    ),
    "blocked-with-next-group": (
        "User-agent: bingbot\nCrawl-delay: 5\n\nUser-agent: BadBot\nDisallow: /",
        "User-agent: bingbot\nCrawl-delay: 5\nDisallow:\n\nUser-agent: BadBot\nDisallow: /",
    ),
    "crawl-delay-repeated": (A + "Crawl-delay: 5\nCrawl-delay: 9\nDisallow: /x", A + "Crawl-delay: 5\nDisallow: /x"),
    "groups-run-together": (
        "User-agent: one\n\nUser-agent: two\nDisallow: /x",
        "User-agent: one\n# and\nUser-agent: two\nDisallow: /x",
    ),
    "invisible-character": (A + "Disallow: /x\u00a0", A + "Disallow: /\u0645\u06cc\u200c\u062e  # \u00a0"),
    "read-otherwise": ("User-agent: *\nDisalow: /x\nDisallow: /y", "User-agent: *\nDisallow: /x\nDisallow: /y"),
    "sitemap-disallowed": (
        "User-agent: *\nDisallow: /s\nSitemap: https://h/s.xml",
        "User-agent: *\nDisallow: /\nUser-agent: Googlebot\nAllow: /\nSitemap: https://h/s.xml",
    ),
    "sitemap-repeated": ("Sitemap: https://h/s\nSitemap: https://h/s", "Sitemap: https://h/s\nSitemap: https://h/t"),
    "two-on-a-line": (A + "Disallow: /x Disallow: /y", A + "Disallow: /x"),
    "usage-ends-group": (
        A + "Content-Usage: train-ai=n\nUser-agent: b\nDisallow: /x",
        A + "Content-Usage: train-ai=n\nDisallow:\nUser-agent: b\nDisallow: /x",
    ),
    "agent-with-version": ("User-agent: a/1.0\nDisallow: /", "User-agent: a\nDisallow: /"),
    "allow-without-disallow": (A + "Allow: /x\nDisallow: /y", A + "Allow: /x/y\nDisallow: /x"),
    "backslash-in-path": (A + "Disallow: /a\\b", A + "Disallow: /a/b"),
    "bad-escape": (A + "Disallow: /100%", A + "Disallow: /100%25"),
    "byte-order-mark": ("\ufeff" + A + "Disallow: /", A + "Disallow: /"),
    "conflicting-rules": (A + "Disallow: /x\nAllow: /x", A + "Disallow: /x\nAllow: /x/y"),
    "content-value-unreadable": (
        A + "Content-Usage: train-ai=no\nDisallow: /",
        A + "Content-Usage: train-ai=n\nContent-Signal: ai-train=no, use=reference\nDisallow: /",
    ),
    "content-key-unknown": (A + "Content-Usage: ai=n\nDisallow: /", A + "Content-Usage: /x train-ai=n\nDisallow: /"),
    "crawl-delay-enormous": (A + "Crawl-delay: 86400\nDisallow: /", A + "Crawl-delay: 30\nDisallow: /"),
    "crawl-delay-ignored": ("User-agent: Googlebot\nCrawl-delay: 5\nDisallow: /", A + "Crawl-delay: 5\nDisallow: /"),
    "crawl-delay-unreadable": (A + "Crawl-delay: 5s\nDisallow: /", A + "Crawl-delay: 0.5\nDisallow: /"),
    "disallow-star": (A + "Disallow: *", A + "Disallow: /"),
    "dollar-in-middle": (A + "Disallow: /a$b", A + "Disallow: /ab$"),
    "double-wildcard": (A + "Disallow: /**/b", A + "Disallow: /*/b"),
    "duplicate-group": (A + "Disallow: /x\n" + A + "Disallow: /y", A + "Disallow: /x\nUser-agent: b\nDisallow: /y"),
    "duplicate-rule": (A + "Disallow: /x\nDisallow: /x", A + "Disallow: /x\nDisallow: /y"),
    "empty-agent": ("User-agent:\nDisallow: /", A + "Disallow: /"),
    "encoded-unreserved": (A + "Disallow: /%7Eme", A + "Disallow: /a%2Fb"),
    "everything-disallowed": ("User-agent: *\nDisallow: /", A + "Disallow: /"),
    "full-url-as-path": (A + "Disallow: https://h/x", A + "Disallow: /x"),
    "glued-comment": (A + "Disallow: /x#part", A + "Disallow: /x # part"),
    "group-without-rules": (A, A + "Disallow:"),
    "html-instead-of-text": ("<!DOCTYPE html><p>User-agent", A + "Disallow: /"),
    "line-too-long": (A + "Disallow: /" + "x" * 20_000, A + "Disallow: /" + "x" * 2_000),
    "misspelt-record": (A + "Dissalow: /x\nDisallow: /", A + "Disallow: /"),
    "missing-colon": (A + "Disallow /x\nDisallow: /", A + "Disallow: /x"),
    "noindex-in-robots": (A + "Noindex: /x\nDisallow: /", A + "Disallow: /x"),
    "not-utf-8": (A + "Disallow: /k\udce4se", A + "Disallow: /käse"),
    "nul-octet": (A + "Disallow: /x\0", A + "Disallow: /x"),
    "path-without-slash": (A + "Disallow: x", A + "Disallow: *x"),
    "rate-unreadable": (
        A + "Request-rate: slow\nVisit-time: at night\nDisallow: /",
        A + "Request-rate: 1/10s\nVisit-time: 06:00-08:45\nVisit-time: 0600 0845\nRequest-rate: 3/15\nDisallow: /",
    ),
    "record-without-agent": ("Disallow: /x", A + "Disallow: /x"),
    "redundant-rule": (A + "Disallow: /x\nDisallow: /x/y", A + "Disallow: /x\nAllow: /x/y\nDisallow: /x/y/z"),
    "robots-disallowed": (A + "Disallow: /robots.txt", A + "Disallow: /robots"),
    "sitemap-not-absolute": ("Sitemap: /s.xml", "Sitemap: https://h/s.xml"),
    "space-in-path": (A + "Disallow: /a b", A + "Disallow: /a%20b"),
    "too-large": (A + "Disallow: /\n" + "# padding\n" * 60_000, A + "Disallow: /"),
    "trailing-wildcard": (A + "Disallow: /x*", A + "Disallow: /x"),
    "unknown-record": ("Frobnicate: 5", "# Frobnicate: 5"),
    "entity-in-path": (A + "Disallow: /*?a=1&amp;b=", A + "Disallow: /*?a=1&b="),
    "group-opens": (
        A + "Disallow: /x\n\nUser-agent: *\nDisallow: /private",
        A + "Disallow: /x\nDisallow: /private\n\nUser-agent: b\nDisallow:\n\nUser-agent: *\nDisallow: /private",
    ),
    "hides-resized-images": (A + "Disallow: /cdn-cgi/", A + "Disallow: /cdn-cgi/l/"),
    "licence-not-absolute": ("License: /rsl.xml", "License: https://h/rsl.xml"),
    "not-robots-txt": ('{"error": "not found"}', "Frobnicate: 5"),
    "preference-for-blocked": (
        "User-agent: *\nAllow: /\n\nUser-agent: b\nDisallow: /\n\nContent-Signal: ai-train=no",
        "User-agent: *\nAllow: /\nContent-Signal: ai-train=no\n\nUser-agent: b\nDisallow: /",
    ),
    "preference-not-for-named": (
        "User-agent: *\nAllow: /\nContent-Signal: ai-train=no\n\nUser-agent: b\nAllow: /",
        "User-agent: *\nAllow: /\nContent-Signal: ai-train=no\n\nUser-agent: b\nDisallow: /",
    ),
    "preferences-contradict": (
        A + "Content-Usage: /x train-ai=n\nContent-Usage: /x train-ai=y\nDisallow: /",
        A + "Content-Usage: /x train-ai=n\nContent-Usage: /y train-ai=y\nDisallow: /",
    ),
    "regex-in-path": (A + "Disallow: /a\\d+", A + "Disallow: /.*\nDisallow: /*.print.*"),
    "url-without-label": ("https://h/sitemap.xml", "Sitemap: https://h/sitemap.xml"),
    "yandex-only": ("Host: example.com", "Sitemap: https://example.com/"),
}
EXAMPLES["unreachable-rule"] = (A + "Disallow: /x$\nAllow: /*x$", A + "Disallow: /x\nAllow: /x/y")


def codes(text: str) -> set[str]:
    return {finding.code for finding in parse(text.encode("utf-8", "surrogateescape")).lint()}


def test_every_code_has_an_example() -> None:
    assert set(EXAMPLES) == set(CODES)
    assert len(CODES) >= 25


@pytest.mark.both_forms
@pytest.mark.parametrize("code", CODES)
def test_a_finding_is_shown_where_it_is_and_not_where_it_is_not(code: str) -> None:
    shows, does_not = EXAMPLES[code]
    assert code in codes(shows)
    assert code not in codes(does_not)


def test_a_file_without_faults_has_no_findings() -> None:
    text = (
        "# ours\nUser-agent: *\nDisallow: /private/\nAllow: /private/open\n\nSitemap: https://example.com/sitemap.xml\n"
    )
    assert codes(text) == set()


def test_a_finding_names_the_line_and_the_fix() -> None:
    (finding,) = parse("User-agent: a\n\nDisallow: private/\n").lint()
    assert (finding.line, finding.severity, finding.suggestion) == (3, "error", "Disallow: /private/")


@pytest.mark.parametrize("code", CODES)
def test_what_a_finding_suggests_is_what_it_would_write(code: str) -> None:
    for finding in parse(EXAMPLES[code][0].encode("utf-8", "surrogateescape")).lint():
        if finding.replacement is None:
            continue
        written = [line for line in finding.replacement.split("\n") if line]
        assert all(line in finding.suggestion for line in written), finding
        assert written or finding.suggestion.startswith("remove it"), finding


@given(st.one_of(st.binary(max_size=200), file.map(lambda text: text.encode("utf-8", "surrogatepass"))))
@pytest.mark.parametrize("dialect", first_of(*DIALECTS))
def test_nothing_raises_on_any_octets(dialect: str, body: bytes) -> None:
    robots = parse(body, dialect)
    for finding in robots.lint():
        assert finding.code in CODES
        assert 1 <= finding.line <= max(len(robots.lines), 1)
        assert finding.message
        assert finding.suggestion


@pytest.mark.parametrize(
    "line",
    [
        "Content-Usage: train-ai=no",
        "Content-Usage: train-ai=n,",
        "Content-Usage: /x train-ai=maybe",
        "Content-Signal: ai-train=nope",
        "Content-Signal: search",
        "Visit-time: 9999-9999",
        "Request-rate: 0/10",
        "Request-rate: 1/0",
        "Request-rate: 1/10 9999-9999",
    ],
)
def test_a_statement_that_the_engine_cannot_read_is_an_error(line: str) -> None:
    found = parse(A + line + "\nDisallow: /x\n").lint()
    assert [(finding.line, finding.severity) for finding in found] == [(2, "error")], found


# Rules that meet: few letters, much that repeats, covers or contradicts, encoded twins, wildcards, shared agents.
pattern = st.one_of(
    st.text("ab/*", max_size=4).map(lambda text: "/" + text),
    st.text("ab/*$", max_size=4),
    st.sampled_from(
        ["/", "", "*", "**", "/a$", "/%61", "/%2a", "/a%2Fb", "/*a$", "/a b", "/~", "/%7E", "/a$b", "a", "/robots.txt"]
    ),
)
rule = st.tuples(st.sampled_from(["Allow", "Disallow"]), pattern).map(lambda parts: f"{parts[0]}: {parts[1]}\n")
agents = st.lists(
    st.sampled_from(["one", "two", "*", "One/1.0", "one bot", "two 2", "Googlebot", ""]), min_size=1, max_size=2
).map(lambda names: "".join(f"User-agent: {name}\n" for name in names))
between = st.sampled_from(["", "", "", "", "", "\n", "Useragent: two\n", "Dissalow: /a\n", "# c\n", "Crawl-delay: 1\n"])
group = st.tuples(
    agents,
    st.sampled_from(["", "Crawl-delay: 1\n"]),
    st.lists(st.tuples(rule, between).map("".join), max_size=6).map("".join),
).map("".join)
robots_txt = st.lists(group, max_size=4).map("".join)
PATHS = ["/" + "".join(letters) for size in range(5) for letters in itertools.product("ab/", repeat=size)]
PATHS += [
    "/*",
    "/$",
    "/a%2Fb",
    "/a/b/a/b/a",
    "/%61",
    "/~",
    "/%7e",
    "/a%20b",
    "/a$b",
    "/c",
    "/ac",
    "/cac",
    "/robots.txt",
    "/robots.txt?",
]
ASKED = ["one", "two/1.0", "One Bot/2", "three", "Googlebot", "googlebot one two"]
ADVISED = ["rfc9309", "google", "bing", "yandex", "draft1996", "yoink"]


def verdicts(body: str, dialect: str) -> list[bool]:
    robots = parse(body, dialect)
    return [allowed for agent in ASKED for allowed in robots.allowed_many([f"http://h{path}" for path in PATHS], agent)]


def urllib_verdicts(body: str) -> list[bool]:
    parser = RobotFileParser()
    parser.parse(body.splitlines())
    return [parser.can_fetch(agent, f"http://h{path}") for agent in ASKED for path in PATHS]


def followed(body: str, findings: Iterable[Finding]) -> str:
    """The file with every finding's advice followed."""
    lines: list[str | None] = list(body.split("\n"))
    for finding in findings:
        lines[finding.line - 1] = finding.replacement or None
    return "\n".join(line for line in lines if line is not None)


@example("User-agent: a\nDisallow: //\nAllow: /\nAllow: /**\n")  # redundant where the first match decides
@given(robots_txt)
@pytest.mark.parametrize("dialect", first_of(*ADVISED))
def test_following_advice_changes_no_verdict_unless_the_finding_says_so(dialect: str, body: str) -> None:
    before = verdicts(body, dialect)
    safe = {}
    for finding in parse(body, dialect).lint():
        if finding.replacement is not None and not finding.changes:
            safe[finding.line] = finding
            assert verdicts(followed(body, [finding]), dialect) == before, finding
    fixed_body = followed(body, safe.values())
    assert verdicts(fixed_body, dialect) == before, "all at once"
    for other in DIALECTS:
        assert verdicts(fixed_body, other) == verdicts(body, other), other
    assert urllib_verdicts(fixed_body) == urllib_verdicts(body)


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        # The group keeps an agent away from the rules for all others.
        (
            "User-agent: Googlebot\nAllow: /\n\nUser-agent: *\nDisallow: /\n",
            {"everything-disallowed"},
        ),
        ("User-agent: a\nAllow: /a/\nDisallow: /a/\n", {"conflicting-rules"}),
        # Another agent of the group has a rule elsewhere that this one beats.
        (
            "User-agent: a\nUser-agent: b\nDisallow: /x\nDisallow: /x/y\nUser-agent: b\nAllow: /x/\n",
            {"duplicate-group"},
        ),
        ("User-agent: a\nDisallow: /x\nAllow: /*z\nDisallow: /x/y\n", set()),  # /x/yz
        ("User-agent: a\nDisallow: /x\nAllow: /*/z\nDisallow: /x/y\n", {"redundant-rule"}),
        ("User-agent: a\nDisallow: /~x\nDisallow: /%7Ex\n", {"encoded-unreserved", "duplicate-rule"}),
        ("User-agent: a\nDisallow: /ax\nAllow: /*x\n", {"unreachable-rule"}),
    ],
)
def test_what_is_said_of_rules_holds_for_all_agents_and_paths(body: str, codes: set[str]) -> None:
    assert {finding.code for finding in parse(body).lint()} == codes


def test_a_group_is_never_advised_away() -> None:
    assert parse("User-agent: a\nAllow: /\n\nUser-agent: b\nDisallow: /x\n").lint() == ()
    (finding,) = parse("User-agent: a\nDisallow: /robots.txt$\n\nUser-agent: b\nDisallow: /x\n").lint()
    assert (finding.code, finding.replacement) == ("robots-disallowed", None)


@pytest.mark.parametrize(
    ("body", "line", "changes"),
    [
        (A + "Disallow: /x\nDisallow: /x/y\n", 3, False),
        (A + "Disallow: /x\nDisallow: /x\n", 3, False),
        (A + "Disallow: /x*\n", 2, True),  # without wildcards the pattern matches what has an asterisk
        (A + "Disallow: *\n", 2, True),
        (A + "Disallow: /x\nDisallow: /x/*y\n", 3, False),
        (A + "Disallow: /*x\nDisallow: /a/x\n", 3, True),  # without wildcards nothing covers it
        (A + "Disallow: /x/y\nAllow: /x/y/z\nDisallow: /x\n", 2, True),  # the first that matches decides
        (A + "Disallow: /x\n\nDisallow: /x/y\n", 4, True),  # urllib.robotparser ends the group at the blank line
        (A + "Disallow: /x\nUseragent: b\nDisallow: /x/y\n", 4, True),  # Google's parser begins a group for b there
        (A + "Allow: /x/y/index.html\nDisallow: /x\nDisallow: /x/y/z\n", 4, True),  # Google's parser allows /x/y/
        ("User-agent: b/1.0\nDisallow: /x\n", 1, True),  # urllib.robotparser compares the version too
        ("Sitemap: https://h/s\nSitemap: https://h/s\n", 2, False),
        ("Sitemap: https://h/s\nUser-agent: a\nSitemap: https://h/s\nUser-agent: b\nCrawl-delay: 5\n", 3, True),
        (A + "Crawl-delay: 10s\nDisallow: /\n", 2, True),
        (A + "Sitemap https://h/s\nDisallow: /\n", 2, True),
    ],
)
def test_a_fix_is_safe_only_where_every_known_parser_reads_the_same(body: str, line: int, changes: bool) -> None:
    found = [each for each in parse(body).lint() if each.line == line and each.replacement is not None]
    assert [each.changes for each in found] == [changes]


@pytest.mark.long
def test_the_corpus_is_linted_without_a_fault_of_ours(corpus: Path) -> None:
    counts = Counter(
        finding.code for path in (corpus / "robots").iterdir() for finding in parse(path.read_bytes()).lint()
    )
    print("\n".join(f"{code:26}{count:7}" for code, count in counts.most_common()))
    assert len(counts) >= 25


PAGE = (Path(__file__).parents[3] / "docs" / "lint.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### ([a-z0-9-]+)\n(.*?)(?=^### |\Z)", PAGE, re.MULTILINE | re.DOTALL))
UNSHOWN = {"line-too-long", "too-large"}  # what takes pages


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_section_with_why_an_example_and_a_fix_that_holds(code: str) -> None:
    severity, meaning = CODES[code]
    assert f"| [`{code}`](#{code}) | {severity} | {meaning} |" in PAGE
    section = SECTIONS[code]
    assert re.match(r"\*\*Why\.\*\* \S.*\*\*Fix\.\*\* \S", section, re.DOTALL)
    blocks = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    if code in UNSHOWN:
        return
    for escape, char in (("\\u00a0", "\u00a0"), ("\\ufeff", "\ufeff"), ("\\xe4", "\udce4"), ("\\0", "\0")):
        blocks = [block.replace(escape, char) for block in blocks]
    faulty, mended = blocks
    assert code in codes(faulty)
    assert code not in codes(mended)


def test_the_documentation_has_no_section_too_many() -> None:
    assert list(SECTIONS) == list(CODES)


def test_the_commands_lint_and_diff(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("User-agent: *\nDisallow: private\n")
    (tmp_path / "new.txt").write_text("User-agent: *\nDisallow: /private\nCrawl-delay: 3\n")
    linted = command("lint", "old.txt", "new.txt", cwd=tmp_path)
    assert linted.returncode == 2
    assert linted.stdout.startswith(
        "old.txt:2: error: path-without-slash 'private' matches nothing; "
        "write Disallow: /private (changes what is read)\n"
    )
    assert command("lint", "new.txt", cwd=tmp_path).returncode == 0
    differing = command("diff", "old.txt", "new.txt", cwd=tmp_path)
    assert differing.returncode == 2
    assert differing.stdout == (
        "disallowed  * may no longer fetch /private  (NEW, line 2: Disallow: /private)\n*: Crawl-delay none -> 3 s\n"
    )
    assert command("diff", "old.txt", "old.txt", cwd=tmp_path).returncode == 0
    missing = command("lint", "nowhere.txt", cwd=tmp_path)
    assert missing.returncode == 66
    assert "nowhere.txt" in missing.stderr


def advice(line: str, code: str) -> tuple[str, str | None]:
    """What a line under `User-agent: a` is told; suggestion and replacement."""
    found = [each for each in parse(A + line + "\nDisallow: /other\n").lint() if each.code == code and each.line == 2]
    assert len(found) == 1, found
    return found[0].suggestion, found[0].replacement


@pytest.mark.parametrize(
    ("line", "code", "replacement"),
    [
        # A blank at the end would not be read: `/a ` is `/a`, which disallows /ab too.
        ("Disallow: /a *", "trailing-wildcard", "Disallow: /a%20"),
        ("Disallow: .js", "path-without-slash", "Disallow: /*.js"),
        ("Allow: .css$", "path-without-slash", "Allow: /*.css$"),
        ("Disallow: ./x", "path-without-slash", "Disallow: /x"),
        ("Disallow: '/x'", "path-without-slash", "Disallow: /x"),
        ("Disallow: \u201c/x\u201d", "path-without-slash", "Disallow: /x"),
        ("Disallow: ?sort", "path-without-slash", "Disallow: /*?sort"),
        ("Disallow: utm_source=", "path-without-slash", "Disallow: /*utm_source="),
        ("Disallow: index.php", "path-without-slash", "Disallow: /index.php"),
        ("Disallow: none", "path-without-slash", "Disallow:"),
        ("Disallow: shop.example.com/x", "path-without-slash", None),
        ("Disallow: https://h/x", "full-url-as-path", "Disallow: /x"),
        ("Disallow: https://h/*", "full-url-as-path", None),  # `Disallow: /*` would be everything
        ("Crawl-delay: 10s", "crawl-delay-unreadable", "Crawl-delay: 10"),
        ("Crawl-delay: 10,5", "crawl-delay-unreadable", "Crawl-delay: 10.5"),
        ("Crawl-delay: 500ms", "crawl-delay-unreadable", "Crawl-delay: 0.5"),
        ("Crawl-delay: 2 min", "crawl-delay-unreadable", "Crawl-delay: 120"),
        ("Crawl-delay: slow", "crawl-delay-unreadable", None),
        ("Crawl-delay: 1h", "crawl-delay-unreadable", "Crawl-delay: 3600"),
        ("Crawl-delay: 1 day", "crawl-delay-unreadable", "Crawl-delay: 86400"),
        ("Crawl-delay: 1/10", "crawl-delay-unreadable", None),
        ("Crawl-delay: 0x10", "crawl-delay-unreadable", None),
        ("Crawl-delay: 10-20", "crawl-delay-unreadable", None),
        ("Crawl-delay: 1,000", "crawl-delay-unreadable", None),
        ("Crawl-delay: 1_0", "crawl-delay-unreadable", None),
        ("Crawl-delay: 1e2", "crawl-delay-unreadable", None),
        ("Crawl-delay: \u0661\u0660", "crawl-delay-unreadable", None),
        ("Crawl-delay: \uff11\uff10", "crawl-delay-unreadable", None),
        ("Sitemap: //e.com/x.xml", "sitemap-not-absolute", "Sitemap: https://e.com/x.xml"),
        ("Sitemap: www.e.com/x.xml", "sitemap-not-absolute", "Sitemap: https://www.e.com/x.xml"),
        ("Sitemap: http:/e.com/x.xml", "sitemap-not-absolute", "Sitemap: http://e.com/x.xml"),
        ("Sitemap: sitemap.xml", "sitemap-not-absolute", None),
        ("Sitemap:", "sitemap-not-absolute", ""),
        ("Disallow: /x Disallow: /y", "two-on-a-line", "Disallow: /x\nDisallow: /y"),
        ("Disallow: /x /y", "two-on-a-line", "Disallow: /x\nDisallow: /y"),
        ("Sitemap: https://h/a https://h/b", "two-on-a-line", "Sitemap: https://h/a\nSitemap: https://h/b"),
        ("User-agent: b Disallow: /x", "two-on-a-line", "User-agent: b\nDisallow: /x"),
        ("Allow: Sitemap: https://h/a", "two-on-a-line", "Sitemap: https://h/a"),
        ("Disallow:\u00a0/x", "invisible-character", "Disallow: /x"),
        ("Disallow\u200b: /x", "invisible-character", "Disallow: /x"),
        ("User-agent: Mozilla/5.0 (compatible; Googlebot/2.1)", "agent-with-version", "User-agent: Googlebot"),
        ("User-agent: b/1.0", "agent-with-version", "User-agent: b"),
        ("User-agent: Mozilla/4.0 (compatible; MSIE 4.0; Windows 95)", "agent-unknown", None),
        ("User-agent: http://www.example.com/crawler", "agent-unknown", None),
        ("User-agent: Googelbot", "agent-unknown", "User-agent: Googlebot"),
        ("User-agent: GPT-Bot", "agent-unknown", "User-agent: GPTBot"),
        ("User-agent: Google Bot", "agent-unknown", "User-agent: Googlebot"),
        ("User-agent: ChatGPT", "agent-unknown", None),
        ("User-agent: Yahoo!", "agent-unknown", "User-agent: Slurp"),
        ("User-agent: Mediapartners (Google)", "agent-unknown", "User-agent: Mediapartners-Google"),
        ("User-agent: Googlebot, Bingbot", "agent-list", "User-agent: Googlebot\nUser-agent: Bingbot"),
        ("User-agent: Googlebot Bingbot", "agent-list", "User-agent: Googlebot\nUser-agent: Bingbot"),
        ("User-agent: *MJ12bot*", "agent-with-wildcard", "User-agent: MJ12bot"),
    ],
)
def test_advice_is_what_the_author_means(line: str, code: str, replacement: str | None) -> None:
    suggestion, written = advice(line, code)
    assert written == replacement, suggestion


def test_an_escape_cut_off_by_an_asterisk_is_no_bad_one() -> None:
    # `%*` matches every escape: `%25` in its place would match one.
    assert "bad-escape" not in codes(A + "Disallow: /*URL%*\nDisallow: /*x%2*\n")


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        ("Disallow: /x\n", "put 'User-agent: *' above it"),
        ("Crawl-delay: 5\nDisallow: /x\nUser-agent: a\nDisallow:\n", "put 'User-agent: *' above line 1"),
        ("Content-Signal: ai-train=no\nDisallow: /x\n", "put 'User-agent: *' above line 1"),
        # '*' would share the rules of the group below
        ("Crawl-delay: 5\nUser-agent: a\nDisallow: /\n", "move it below the User-agent line it is meant for"),
        # '*' would be allowed what it is not
        (
            "Allow: /\nUser-agent: *\nDisallow: /\n",
            "move it below the User-agent line it is meant for: line 2 if for everybody, else another",
        ),
        # '*' above it would disallow for all what is meant for one
        (
            "User-agent GPTBot\nDisallow: /\n\nUser-agent: a\nAllow: /\n",
            "mend the User-agent line that it belongs to: line 1",
        ),
        ("\nAgent: GPTBot\nDisallow: /\n", "mend the User-agent line that it belongs to: line 2"),
        ("User-agents: GPTBot\nCrawl-delay: 2\n", "mend the User-agent line that it belongs to: line 1"),
        ("User-agent\nDisallow: /\n", "mend the User-agent line that it belongs to: line 1"),
    ],
)
def test_no_advice_about_a_record_without_agent_merges_groups(body: str, advice: str) -> None:
    assert {each.suggestion for each in parse(body).lint() if each.code == "record-without-agent"} == {advice}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<pre>User-agent: *\nDisallow: /a</pre>\n", "html-instead-of-text"),
        (b"<script>x</script>\nUser-agent: *\nDisallow: /a\n", "html-instead-of-text"),
        (b"<meta charset=utf-8>\n", "html-instead-of-text"),
        ("\ufeffUser-agent: *\nDisallow: /\n".encode("utf-16-le"), "not-robots-txt"),
        ("User-agent: *\nDisallow: /\n".encode("utf-16-be"), "not-robots-txt"),
        (b'{"detail": "Not Found"}', "not-robots-txt"),
        (b"{\\rtf1 User-agent: *\\par}", "not-robots-txt"),
        (b"{\\rtf1\\ansi\n\\f0 User-agent: *\\\nDisallow: /\\\n}", "not-robots-txt"),
        (b"\x89PNG\r\n\x1a\n", "not-robots-txt"),
        (b"Not Found\n", "not-robots-txt"),
        (b"User-agent: *\nDisallow: /x\n<!-- cached -->\n", "html-instead-of-text"),
    ],
)
def test_a_file_that_is_something_else_is_an_error(body: bytes, said: str) -> None:
    errors = {finding.code for finding in parse(body).lint() if finding.severity == "error"}
    assert errors == {said}


@pytest.mark.parametrize("body", ["", "# none\n", "Frobnicate: 5\n", "User-agent *\nDisallow /\n", "\n \n"])
def test_a_file_that_is_nearly_a_robots_txt_is_not_called_another(body: str) -> None:
    assert "not-robots-txt" not in codes(body)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        # Cloudflare's text stands before the site's own.
        (
            "User-agent: *\nAllow: /\n\nUser-agent: *\nDisallow: /\n",
            (5, "line 2 (Allow: /) says the opposite to '*', and wins"),
        ),
        (
            "User-agent: *\nDisallow: /x\n\nUser-agent: *\nAllow: /x\n",
            (2, "line 5 (Allow: /x) says the opposite to '*', and wins"),
        ),
    ],
)
def test_rules_of_merged_groups_that_say_the_opposite_are_found(body: str, found: tuple[int, str]) -> None:
    assert [(each.line, each.message) for each in parse(body).lint() if each.code == "conflicting-rules"] == [found]


def test_a_rule_that_another_group_of_the_agent_has_is_found() -> None:
    found = parse("User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: a\nDisallow: /x\n").lint()
    assert [(each.line, each.code, each.changes) for each in found if each.code == "duplicate-rule"] == [
        (6, "duplicate-rule", True)
    ]
    found = parse("User-agent: a\nDisallow: /x\n\nUser-agent: a\nUser-agent: b\nDisallow: /x\n").lint()
    assert not [each for each in found if each.code == "duplicate-rule"]  # b needs it


def test_a_duplicate_group_names_the_line_of_the_agent_itself() -> None:
    (finding,) = parse(
        "User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: c\nUser-agent: b\nDisallow: /y\n"
    ).lint()
    assert (finding.line, finding.message) == (6, "'b' is named in line 2 too")


@pytest.mark.parametrize(
    ("line", "code", "replacement"),
    [
        (
            "Content-Signal: search=yes ai-train=no",
            "content-value-unreadable",
            "Content-Signal: search=yes, ai-train=no",
        ),
        (
            "Content-Usage: /r/ train-ai=n search=n",
            "content-value-unreadable",
            "Content-Usage: /r/ train-ai=n, search=n",
        ),
        ("Content-Usage:", "content-value-unreadable", None),
        ("Content-Usage: /x", "content-value-unreadable", None),
        ("Content-Signal: ,", "content-value-unreadable", None),
        ("Disallow-all: /a", "misspelt-record", "Disallow: /a"),
        ("Disallow-all:", "misspelt-record", None),
        ("Sitemap-url: https://h/s", "misspelt-record", "Sitemap: https://h/s"),
        ("Sitemap index: https://h/s", "misspelt-record", "Sitemap: https://h/s"),
        ("x" * 64 + ": 5", "unknown-record", None),
        ("https://h/sitemap.xml", "url-without-label", "Sitemap: https://h/sitemap.xml"),
        ("Disallow: /x;Disallow: /y", "two-on-a-line", "Disallow: /x\nDisallow: /y"),
        ("Disallow: /a?b=1&amp;c=2", "entity-in-path", "Disallow: /a?b=1&c=2"),
        ("Disallow: /a\\d*", "regex-in-path", None),
        ("Disallow: /(a|b)/", "regex-in-path", None),
        ("Disallow: /private/.*", "regex-in-path", None),
        ("User-agent: Mediapartners(Googlebot)", "agent-unknown", None),
        ("User-agent: semrush", "agent-unknown", "User-agent: SemrushBot"),
        ("User-agent: Ahrefs", "agent-unknown", "User-agent: AhrefsBot"),
        ("User-agent: yahoo", "agent-unknown", "User-agent: Slurp"),
        ("User-agent: baidu", "agent-unknown", "User-agent: Baiduspider"),
        ("User-agent: majestic", "agent-unknown", "User-agent: MJ12bot"),
        ("User-agent: LinkedIn", "agent-unknown", "User-agent: LinkedInBot"),
        ("User-agent: Common Crawl", "agent-unknown", "User-agent: CCBot"),
        ("User-agent: Open-AI", "agent-unknown", None),
        ("User-agent: facebook", "agent-unknown", None),
    ],
)
def test_a_line_that_is_read_otherwise_than_meant_is_found(line: str, code: str, replacement: str | None) -> None:
    suggestion, written = advice(line, code)
    assert written == replacement, suggestion


@pytest.mark.parametrize(
    "body",
    [
        "User-agent: *\nDisallow: /profiles/\nDisallow: /scripts/\n",  # Drupal's own file
        "User-agent: *\nDisallow: /track/pixel.gif\n",
    ],
)
def test_what_no_page_needs_to_be_shown_is_no_resource(body: str) -> None:
    assert "blocks-resources" not in codes(body)


def test_two_vocabularies_that_contradict_each_other_are_found() -> None:
    body = A + "Content-Signal: ai-train=no\nContent-Usage: train-ai=y\nDisallow: /x\n"
    (finding,) = (each for each in parse(body).lint() if each.code == "preferences-contradict")
    assert (finding.line, finding.message) == (3, "line 2 says the opposite about train-ai")


def test_a_rule_that_never_decides_because_another_says_the_same_is_redundant() -> None:
    (finding,) = parse("User-agent: a\nDisallow: /x$\nDisallow: /*x$\n").lint()
    assert (finding.code, finding.severity) == ("redundant-rule", "info")


def test_what_cloudflare_writes_for_its_customers_is_without_findings() -> None:
    """Its managed robots.txt, as sites served it in 2026: signals for all, then a group for each AI crawler."""
    text = "# BEGIN Cloudflare Managed content\n\nUser-agent: *\n"
    text += "Content-Signal: search=yes,ai-train=no,use=reference\nAllow: /\n"
    crawlers = (
        *("Amazonbot", "Applebot-Extended", "Bytespider", "CCBot", "ClaudeBot", "CloudflareBrowserRenderingCrawler"),
        *("Google-Extended", "GPTBot", "meta-externalagent"),
    )
    text += "".join(f"\nUser-agent: {name}\nDisallow: /\n" for name in crawlers)
    text += "\n# END Cloudflare Managed Content\n"
    assert parse(text).lint() == ()


KNOWN = [each.name for each in known_agents() if " " not in each.name]
MANY_THINGS = "(?<!byte|diff)(?<!roger|liner|senti)(?<!qualified)"


@pytest.mark.parametrize(
    "name", [name for name in KNOWN if re.search(f"(?i){MANY_THINGS}(?<=....)(bot|spider)$", name)]
)
def test_a_known_name_without_its_end_is_no_name_unless_it_is_known_too(name: str) -> None:
    bare = re.sub("(?i)[_-]?(bot|spider)$", "", name)
    assert ("agent-unknown" in codes(f"User-agent: {bare}\nDisallow: /x\n")) == (bare not in KNOWN)


@pytest.mark.parametrize(
    "name",
    "MSRBOT Roverbot EnaBot Yeti Googlebot-Image bingbot CCBot Yandex Pinterest diff Byte Roger dot you".split(),
)
def test_another_crawler_s_name_or_a_word_is_no_slip(name: str) -> None:
    assert "agent-unknown" not in codes(f"User-agent: {name}\nDisallow: /x\n")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("User-agent: *\nDisallow: /\n", "nobody may fetch anything"),
        ("User-agent: a\nDisallow: /\n\nUser-agent: *\nDisallow: /\n", "nobody may fetch anything"),
        (
            "User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow: /\n\nUser-agent: *\nDisallow: /\n",
            "everybody but one crawler that other groups name may fetch nothing",
        ),
        ("User-agent: *\nDisallow: /\n\nUser-agent: *\nAllow: /x\n", None),
        ("User-agent: *\nDisallow: /\nAllow: /x\n", None),
    ],
)
def test_who_may_fetch_nothing_is_said_with_the_exceptions(body: str, said: str | None) -> None:
    found = [finding.message for finding in parse(body).lint() if finding.code == "everything-disallowed"]
    assert found == ([] if said is None else [said])


@pytest.mark.parametrize(
    ("between", "code"),
    [
        ("Crawl-delay: 5\n\n", "blocked-with-next-group"),
        ("Sitemap: https://h/s\n", "blocked-with-next-group"),
        ("\n", "groups-run-together"),
        ("# and\n", None),
        ("", None),
        ("Disallow:\n\n", None),
    ],
)
def test_a_group_that_runs_into_the_next_is_told(between: str, code: str | None) -> None:
    found = parse(f"User-agent: one\n{between}User-agent: two\nDisallow: /\n").lint()
    told = [finding for finding in found if finding.code in ("blocked-with-next-group", "groups-run-together")]
    assert [(finding.line, finding.code) for finding in told] == ([] if code is None else [(1, code)])


def test_errors_come_first_and_repeats_are_collapsed() -> None:
    body = A + "".join(f"Disallow: /p{number:02}*\n" for number in range(40)) + "Disallow: x\n"
    findings = parse(body).lint()
    assert [finding.severity for finding in findings] == ["error", *["info"] * 40]
    (error, none), (first, others) = collapsed(findings)
    assert (error.code, none) == ("path-without-slash", ())
    assert (first.code, first.line, others) == ("trailing-wildcard", 2, tuple(range(3, 42)))


# Beside those of test_hostile_files.py, of which lint is asked too.
HOSTILE = {
    "runs": lambda n: "".join(f"User-agent: a{i}\nCrawl-delay: 5\n\n" for i in range(n)) + "Disallow: /\n",
    "delays of many": lambda n: (
        "".join(f"User-agent: a{i}\n" for i in range(n)) + "Crawl-delay: 1\n" * n + "Disallow: /\n"
    ),
    "folders": lambda n: "User-agent: *\n" + "".join(f"Disallow: /{i}/css/\nAllow: /*{i}\n" for i in range(n)),
    "rules beside sitemaps": lambda n: (
        "User-agent: *\n" + "Disallow: /*x\n" * n + "".join(f"Sitemap: https://h/{i}\n" for i in range(n))
    ),
    "shared groups and own ones": lambda n: (
        "".join(f"User-agent: a{i}\n" for i in range(n))
        + "Disallow: /\n"
        + "".join(f"User-agent: a{i}\nContent-Usage: train-ai=n\nDisallow: /\n" for i in range(n))
    ),
    "misspelt names": lambda n: "".join(f"User-agent: Googelbo{i}\n" for i in range(n)) + "Disallow: /\n",
}


@pytest.mark.long
@pytest.mark.parametrize("shape", HOSTILE)
def test_four_times_the_file_takes_about_four_times_as_long(shape: str) -> None:
    grows_in_proportion(lambda size: parse(HOSTILE[shape](size)).lint, 1500)


def test_no_fix_writes_octets_that_are_no_text_as_others() -> None:
    body = b"User-agent: *\nDisallow: /caf\xe9*\nDisallow: /\xef\xbf\xbdx*\nDisallow: /b*\n"
    robots = parse(body)
    assert fixed(robots, robots.lint(), unsafe=True) == body.replace(b"x*", b"x").replace(b"/b*", b"/b")
    assert any(each.line == 2 and "UTF-8 first" in each.suggestion for each in robots.lint())


def test_an_allow_that_overrides_nothing_is_not_said_to_be_forbidden_by_nothing() -> None:
    (found,) = (each for each in parse(A + "Allow: /\nDisallow: /x\n").lint() if each.code == "allow-without-disallow")
    assert found.message == "it overrides no Disallow"
