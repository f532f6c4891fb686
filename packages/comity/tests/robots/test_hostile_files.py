"""What a question costs follows the size of the file: files made to be slow, at one size and at four times that."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from growth import grows_in_proportion

import comity
from comity.policy import Policy
from comity.policy.origin_policy import OriginPolicy
from comity.policy.robots_result import RobotsResult
from comity_robots import Robots, compare, diff, parse

URL = "https://example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/7?q"
AGENT = "MyBot/1.0"


def lines(*templates: str, of: Callable[[int], Any] = range) -> Callable[[int], str]:
    return lambda size: "".join(template.format(i) for i in of(size) for template in templates)


FILES: dict[str, Callable[[int], str]] = {
    "agents in one group": lambda size: lines("User-agent: a{}\n")(size) + "Disallow: /\nCrawl-delay: 1\n",
    "agents that end nothing": lines("User-agent: a{}\n"),
    "a group each": lines("User-agent: a{}\n", "Disallow: /{}\n"),
    "a group each, reversed": lines("User-agent: a{}\n", "Disallow: /{}\n", of=lambda size: reversed(range(size))),
    "a group each, CR only": lines("User-agent: a{}\r", "Disallow: /{}\r"),
    "one agent's groups": lines("User-agent: MyBot\n", "Disallow: /{}\n"),
    "names alike": lines("User-agent: a b{}\n", "Disallow: /{}\n"),
    "a delay each": lines("User-agent: a{}\n", "Crawl-delay: {}\n"),
    "delays and rates": lambda size: "User-agent: *\n" + lines("Crawl-delay: {}\n", "Request-rate: 1/{}\n")(size // 2),
    "preferences": lines("User-agent: a{}\n", "Content-Usage: /{} train-ai=n\n"),
    "one preference": lambda size: "User-agent: *\nContent-Usage: " + ", ".join(f"a{i}=y" for i in range(size)),
    "rules with wildcards": lambda size: "User-agent: *\n" + lines("Disallow: /*{}*x\n")(size),
    "rules that all match": lambda size: "User-agent: *\n" + "Disallow: /a*\n" * size,
    "one rule of asterisks": lambda size: "User-agent: *\nDisallow: /" + "a*" * size * 4 + "b\n",
    "a long name": lambda size: "User-agent: " + "a" * size * 16 + "\nDisallow: /\n",
    "a name of words": lambda size: "User-agent: " + "a " * size * 8 + "\nDisallow: /\n",
    "sitemaps": lines("Sitemap: https://example.com/{}\n"),
    "blank space": lambda size: "User-agent: *\n" + " " * size * 16 + "Disallow: /\n",
}


def judged(robots: Robots) -> object:
    """One row of a column, against a table of one file."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"origin": ["https://example.com"], "body": pa.array([robots.body], pa.large_binary())})
    policy = Policy(dialect=replace(robots.dialect, max_bytes=1 << 30))
    return comity.bulk.verdicts(pa.array([URL]), table, AGENT, policy=policy, threads=1)


def decide(robots: Robots) -> object:
    url = "https://example.com/robots.txt"
    result = RobotsResult(
        origin=url[:-11], url=url, kind="read", fetched_at=0.0, expires_at=1.0, status=200, robots=robots
    )
    return OriginPolicy(Policy(agent=AGENT, dialect=robots.dialect), result).decide(URL)


QUESTIONS: dict[str, Callable[[Robots], object]] = {
    "allowed": lambda robots: [robots.allowed(URL, AGENT) for _ in range(2)],
    "decide_with_reason": lambda robots: robots.decide_with_reason(URL, AGENT),
    "explain": lambda robots: robots.explain(URL, AGENT),
    "crawl_delay": lambda robots: robots.crawl_delay(AGENT),
    "request_rate": lambda robots: robots.request_rate(AGENT),
    "visit_time": lambda robots: robots.visit_time(AGENT),
    "usage": lambda robots: robots.usage(URL, AGENT),
    "sitemaps": lambda robots: robots.sitemaps,
    "groups": lambda robots: robots.groups,
    "lines": lambda robots: robots.lines,
    "records": lambda robots: robots.records(),
    "records_for": lambda robots: robots.records_for(AGENT, "crawl-delay"),
    "lint": lambda robots: robots.lint(),
    "compare": lambda robots: compare(robots, URL, AGENT),
    "diff": lambda robots: diff(robots, parse(robots.body + b"\n\nUser-agent: z\nDisallow: /z\n", robots.dialect)),
    "decide": decide,
    "a row of a column": judged,
}

SLOW = {"compare", "diff", "lint"}  # which need no long file to show it
# One for each way in which names are compared and groups are chosen.
OTHERS = ("google", "bing", "yandex", "yoink", "robotstxt")
# What lint says is nearly the same in all dialects, compare asks all of them, and the rest chooses no group.
ONCE = {"lint", "compare", "sitemaps", "lines", "records", "diff"}


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("file", FILES)
def test_a_file_four_times_as_long_takes_about_four_times_as_long(file: str, name: str) -> None:
    grows_with_the_file(file, name, "rfc9309")


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in QUESTIONS if name not in ONCE])
@pytest.mark.parametrize("file", FILES)
def test_it_does_in_every_dialect(file: str, name: str) -> None:
    for dialect in OTHERS:
        grows_with_the_file(file, name, dialect)


def grows_with_the_file(file: str, name: str, dialect: str) -> None:
    grows_in_proportion(
        lambda size: partial(QUESTIONS[name], parse(FILES[file](size), dialect, max_bytes=1 << 30)),
        300 if name in SLOW else 800,
    )
