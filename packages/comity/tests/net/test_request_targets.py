"""What is decided is what is sent: the request line holds, octet for octet, the URL that was decided about."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from raw import RawSite, answer

import comity
from comity import AsyncClient, Client, ClientSettings, Policy
from comity.net.transport import to_yarl
from comity_pages import urls

LOOPBACK = ("127.0.0.0/8",)
QUICK = Policy(agent="MyBot/1.0", min_interval=0, robots_fetch_counts=False, allow_addresses=LOOPBACK)
ODD = st.text(st.sampled_from("/?#%&=.;:@!$'()*+,|[]{}<>\\^`\"~ \taZé\u2028\ud800"), max_size=12)
PIECES = st.sampled_from(
    ["/", "?", "#", "//", "/./", "/../", "/%2e%2e/", "%7e", "%7E", "~", "%", "%3F", "%23", "a", "b.c"]
)
ENDINGS = st.sampled_from(["", "?", "??", "?#", "#", "#?", "?a=", "?&", "/.", "?'", "?/../"])
PATHS = st.tuples(st.lists(PIECES | ODD | st.text(max_size=5), max_size=6), ENDINGS).map(
    lambda parts: "/" + "".join(parts[0]) + parts[1]
)


@pytest.fixture(scope="module")
def raw() -> Iterator[RawSite]:
    with RawSite() as site:
        yield site


# covers: W1, L3
def test_a_rule_for_the_bare_path_holds_for_what_is_sent_of_an_empty_query() -> None:
    with RawSite() as site:
        site.pages["/robots.txt"] = answer(b"User-agent: *\nDisallow: /secret$\nDisallow: /*.php$\n")
        with Client(QUICK) as client:
            for path in ("/secret", "/x.php"):
                with pytest.raises(comity.RobotsDisallowed):
                    client.get(site.url(path))
            for path in ("/secret?", "/x.php?#f", "/x.php?"):
                client.get(site.url(path))
        assert site.targets() == ["/robots.txt", "/secret?", "/x.php?", "/x.php?"]


def test_redirects_of_pages_and_of_robots_txt_are_sent_as_they_were_decided() -> None:
    with RawSite() as site:
        for source, target in (("/robots.txt", "/rules.txt?"), ("/to", "/a/%2e%2e/b?#f")):
            site.pages[source] = answer(b"", f"Location: {target}", status="302 Found")
        site.pages["/rules.txt?"] = answer(b"User-agent: *\nDisallow: /b$\n")
        with Client(QUICK) as client:
            response = client.get(site.url("/to"))
        assert site.targets() == ["/robots.txt", "/rules.txt?", "/to", "/b?"]
        assert response.url == site.url("/b?")


def compare(site: RawSite, paths: list[str], proxied: bool) -> int:
    """Fetch URLs and hold what came against what was decided; gives how many were sent."""

    async def run() -> int:
        own = ClientSettings(max_retries=0, proxy=site.url("/") if proxied else None)
        origin = "http://example.test:8080" if proxied else site.url("")
        async with AsyncClient(QUICK, own) as client:
            await client.check(origin + "/")
            for path in paths:
                url = urls.normalise(origin + path)
                response = await client.get(origin + path)
                sent = response.body.decode("latin-1")
                assert response.url == response.decision.url == url
                assert sent == (url if proxied else urls.Url(url).path_and_query), path
        return len(paths)

    return asyncio.run(run())


def fuzz(site: RawSite, examples: int) -> int:
    sent = 0

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(PATHS, min_size=40, max_size=60), st.booleans())
    def each(paths: list[str], proxied: bool) -> None:
        nonlocal sent
        sent += compare(site, paths, proxied)

    each()
    return sent


def test_what_is_decided_is_octet_for_octet_what_is_sent(raw: RawSite) -> None:
    print(f"\n{fuzz(raw, 4):,} URLs sent, none differs from what was decided")


@pytest.mark.long
@pytest.mark.parametrize("quarter", range(4))
def test_what_is_decided_is_what_is_sent_for_twenty_thousand_urls(raw: RawSite, quarter: int) -> None:
    sent = 0
    while sent < 5_000:
        sent += fuzz(raw, 100)
    print(f"\n{sent:,} URLs sent, none differs from what was decided")


def test_what_is_not_in_the_form_that_is_sent_is_not_sent() -> None:
    for path in ("a b", "a\tb", "a\r\nHost: x", "a#b", "\x7f", "é"):
        assert to_yarl(urls.Url(f"http://example.test/{path}")).raw_path_qs.isascii()
        forged = str.__new__(urls.Url, f"http://example.test/{path}")  # no way but this one leads to such a Url
        forged.origin = "http://example.test"
        with pytest.raises(comity.FetchError, match="was not checked against robots"):
            to_yarl(forged)
