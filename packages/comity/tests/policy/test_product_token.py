"""Our name in a browser's string: a site's word to us is obeyed however the name is written, on every way in."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ALLOW, comity, complaint
from hypothesis import given
from hypothesis import strategies as st
from libraries import ALL, REFUSED, Fetch, need
from sites import Site

import comity as library
from comity import Client, InvalidSetting, Policy, parse
from comity.compat import protego, reppy, robotparser, robotstxt
from comity_pages.signals import robots_meta
from comity_robots import DIALECTS

LIKE_A_BROWSER = "Mozilla/5.0 (compatible; MyBot/1.0; +https://example.org/bot)"
NAMELESS = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
FORBIDDEN = "User-agent: Mozilla\nDisallow:\n\nUser-agent: MyBot\nDisallow: /no\n"
LOOPBACK = ("127.0.0.0/8",)

STRINGS = {
    LIKE_A_BROWSER: "MyBot",
    "mozilla/5.0 (COMPATIBLE;MyBot)": "MyBot",
    " Mozilla/5.0 (compatible; MyBot/1.0)": "MyBot",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)": "GPTBot",
    "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": "Googlebot",
    "Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)": "archive.org_bot",
    "MyBot/1.0 (compatible; Other/2)": "MyBot",
    "MozillaBot/1.0 (compatible; Other/2)": "MozillaBot",
}
NOBODY = (
    NAMELESS,
    "Mozilla",
    "Mozilla/5.0",
    "Mozilla/5.0 MyBot/1.0",
    "Mozilla/5.0 (compatible; +https://example.org/bot)",
    "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)",
    "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)",
    "Mozilla/5.0 (compatible; Mozilla/5.0)",
)


@pytest.mark.parametrize(("agent", "product"), STRINGS.items())
def test_the_name_that_follows_compatible_is_our_product_token(agent: str, product: str) -> None:
    assert Policy(agent=agent).product == product
    robots = parse(f"User-agent: Mozilla\nDisallow:\nUser-agent: {product}\nDisallow: /no\nCrawl-delay: 7")
    for _ in range(3):  # the first question is answered another way than the next
        assert not robots.allowed("/no", agent)
    assert not robots.explain("/no", agent).allowed
    assert robots.crawl_delay(agent) == 7


@pytest.mark.parametrize("agent", NOBODY)
def test_a_policy_never_takes_mozilla_for_our_name(agent: str) -> None:
    with pytest.raises(InvalidSetting, match="product_token") as caught:
        Policy(agent=agent)
    assert str(caught.value).startswith("agent: ")


@pytest.mark.parametrize("agent", [NAMELESS, "Mozilla/5.0 (compatible; +https://example.org/bot)"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_string_that_names_nobody_is_everybody(dialect: str, agent: str) -> None:
    robots = parse("User-agent: Mozilla\nDisallow:\n\nUser-agent:\nDisallow:\n\nUser-agent: *\nDisallow: /", dialect)
    for _ in range(3):
        assert not robots.allowed("/page", agent)
    assert not robots.explain("/page", agent).allowed


@pytest.mark.parametrize("dialect", DIALECTS)
def test_mozilla_alone_is_asked_about_by_its_name(dialect: str) -> None:
    robots = parse("User-agent: Mozilla\nDisallow: /no", dialect)
    assert not robots.allowed("/no", "Mozilla")
    assert not robots.allowed("/no", "mozilla/5.0")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_in_every_dialect_a_group_of_ours_counts_and_one_for_mozilla_does_not(dialect: str) -> None:
    for body, allowed in ((FORBIDDEN, False), ("User-agent: Mozilla\nDisallow: /no\n", True)):
        robots = parse(body, dialect)
        for _ in range(3):
            assert robots.allowed("/no", LIKE_A_BROWSER) is allowed
        assert robots.explain("/no", LIKE_A_BROWSER).allowed is allowed


# covers: F21
@given(
    st.lists(st.sampled_from(["Mozilla", "mozilla/5.0", " ", "(", ")", ";", "compatible", "Bot", "/1", "+http:", "*"]))
)
def test_however_an_agent_is_written_all_questions_agree(words: list[str]) -> None:
    agent = "".join(words)
    for body in ("User-agent: Bot\nDisallow: /", "User-agent: Mozilla\nDisallow: /", "User-agent: \nDisallow: /"):
        for dialect in ("rfc9309", "google"):
            robots = parse(body, dialect)
            answers = {robots.allowed("/x", agent) for _ in range(3)}
            assert answers == {robots.explain("/x", agent).allowed}
    assert robots_meta.read([], [("robots", "noindex")], agent=agent).noindex


def test_a_product_token_that_is_given_wins() -> None:
    policy = Policy(agent="Mozilla/5.0 (X11) Fetcher-of-MyBot/1.0", product_token="mybot")
    assert (policy.product, policy.asked_as) == ("mybot", "mybot")
    assert Policy(agent="MyBot/1.0").asked_as == "MyBot/1.0"
    assert Policy(agent=NAMELESS, product_token="Mozilla").product == "Mozilla"


@pytest.mark.parametrize(
    ("token", "said"),
    [("OtherBot", "must occur"), ("", "not a name"), ("My Bot", "not a name"), ("MyBot/1.0", "not a name")],
)
def test_a_product_token_must_occur_in_the_agent(token: str, said: str) -> None:  # RFC 9309, 2.2.1
    with pytest.raises(InvalidSetting, match=said) as caught:
        Policy(agent="MyBot/1.0 My Bot", product_token=token)
    assert str(caught.value).startswith("product_token: ")


@pytest.mark.parametrize("given", [{}, {"product_token": "MyBot"}])
def test_the_client_obeys_the_group_for_its_name(site: Site, given: dict[str, str]) -> None:
    site.set("/robots.txt", FORBIDDEN + "Crawl-delay: 0.01\nContent-Signal: ai-train=no\n")
    agent = LIKE_A_BROWSER if not given else "Mozilla/5.0 Fetcher of MyBot"
    with Client(Policy(agent=agent, min_interval=0, allow_addresses=LOOPBACK, **given)) as client:
        with pytest.raises(library.RobotsDisallowed, match="line 5"):
            client.get(site.url("/no"))
        assert client.crawl_delay(site.url("/")) == 0.01
        assert client.check(site.url("/yes")).delay == 0.01
        assert client.check(site.url("/yes")).usage.preference("train-ai") == "disallowed"
        client.get(site.url("/yes"))
    assert site.paths() == ["/robots.txt", "/yes"]
    assert {seen.headers["User-Agent"] for seen in site.seen} == {agent}


@pytest.mark.parametrize("given", [{}, {"product_token": "MyBot"}])
def test_a_crawl_obeys_the_group_for_its_name_and_its_evidence_says_so(
    site: Site, tmp_path: Path, given: dict[str, str]
) -> None:
    from comity.audit.prove import prove
    from comity.crawler import Crawler

    site.set("/robots.txt", FORBIDDEN)
    site.link("/", "/no", "/yes", "/unwanted")
    site.link("/yes")
    site.set("/unwanted", "<a href=/behind>x</a>", headers={"X-Robots-Tag": "mybot: nofollow"})
    agent = LIKE_A_BROWSER if not given else "Mozilla/5.0 Fetcher of MyBot"
    policy = Policy(agent=agent, min_interval=0, allow_addresses=LOOPBACK, **given)
    asyncio.run(Crawler(site.url(), tmp_path / "out", policy=policy).run())
    assert {"/yes", "/unwanted"} < set(site.paths())
    assert not {"/no", "/behind"} & set(site.paths())
    assert prove(tmp_path / "out").holds


@pytest.mark.parametrize("given", [(LIKE_A_BROWSER,), ("Mozilla/5.0 MyBot", "--product-token", "MyBot")])
@pytest.mark.parametrize("command", ["check", "explain", "inspect"])
def test_the_command_obeys_the_group_for_its_name(site: Site, command: str, given: tuple[str, ...]) -> None:
    site.set("/robots.txt", FORBIDDEN)
    answer = comity(command, site.url("/no"), "-A", *given, "--json", *ALLOW)
    assert answer.returncode == (0 if command == "inspect" else 2), answer.stderr
    assert '"disallowed_explicit"' in answer.stdout


def test_the_command_says_how_to_name_us() -> None:
    answer = comity("check", "https://example.com/", "-A", NAMELESS)
    assert answer.returncode == 64
    assert "product_token" in complaint(answer)


@pytest.mark.parametrize("name", ["httpx", "httpx, async", "httpx2", "requests", "aiohttp", "Scrapy"])
def test_wrapped_libraries_obey_the_group_for_our_name(name: str, site: Site) -> None:
    fetch: Fetch = ALL[name]
    site.set("/robots.txt", FORBIDDEN)
    site.set("/yes", "page")
    for agent, token in ((LIKE_A_BROWSER, None), ("Mozilla/5.0 Fetcher of MyBot", "MyBot")):
        policy = Policy(agent=agent, product_token=token, min_interval=0, allow_addresses=LOOPBACK)
        assert fetch(policy, [site.url("/yes"), site.url("/no")], False) == [200, REFUSED]
    assert "/no" not in site.paths()


def test_drop_ins_obey_the_group_for_our_name() -> None:
    assert not protego.Protego.parse(FORBIDDEN).can_fetch("/no", LIKE_A_BROWSER)
    assert not reppy.Robots.parse("http://h/robots.txt", FORBIDDEN).allowed("/no", LIKE_A_BROWSER)
    assert not reppy.Robots.parse("http://h/robots.txt", FORBIDDEN).agent(LIKE_A_BROWSER).allowed("/no")
    assert not robotstxt.parse(FORBIDDEN, LIKE_A_BROWSER).allowed("http://h/no")
    parser = robotparser.RobotFileParser()
    parser.parse(FORBIDDEN.splitlines())
    assert not parser.can_fetch(LIKE_A_BROWSER, "/no")


SCRAPY_SETTINGS = """
import json, sys
from scrapy.settings import Settings
from comity.middleware.scrapy import _policy
policies = [_policy(Settings(given)) for given in json.loads(sys.argv[1])]
print(json.dumps([[policy.agent, policy.product] for policy in policies]))
"""


def test_scrapys_own_settings_name_us() -> None:
    need("scrapy")
    cases = [
        ({"USER_AGENT": LIKE_A_BROWSER}, [LIKE_A_BROWSER, "MyBot"]),
        ({"USER_AGENT": NAMELESS + " MyBot", "ROBOTSTXT_USER_AGENT": "MyBot"}, [NAMELESS + " MyBot", "MyBot"]),
        ({"USER_AGENT": NAMELESS, "ROBOTSTXT_USER_AGENT": "MyBot/1.0"}, ["MyBot/1.0", "MyBot"]),
    ]
    given, policies = map(list, zip(*cases, strict=True))
    answer = subprocess.run(
        [sys.executable, "-c", SCRAPY_SETTINGS, json.dumps(given)], capture_output=True, text=True, check=True
    )
    assert json.loads(answer.stdout) == policies
