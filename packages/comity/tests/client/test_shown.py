"""What a person sees of answers and pages: one line, a table in a notebook, and help that helps."""

import pydoc
from pathlib import Path

import pytest
from sites import Site

import comity
from comity import AsyncClient, Client, CrawlSettings, InvalidURL, Policy

LOOPBACK = Policy("TestBot/1.0", allow_addresses=("127.0.0.0/8",), min_interval=0)
HOSTILE = "<script>alert(1)</script>\x1b[31m"


def test_an_agent_is_all_that_must_be_said() -> None:
    with Client(agent="A/1.0") as client:
        assert client.policy.agent == "A/1.0"
    assert AsyncClient(agent="A/1.0", policy=Policy("B/1.0", min_interval=3)).policy == Policy("A/1.0", min_interval=3)


def test_a_client_takes_every_field_of_a_policy_and_says_where_others_go() -> None:
    with Client(agent="A/1.0", allow_addresses=["127.0.0.0/8"], max_crawl_delay=9) as client:
        assert client.policy == Policy("A/1.0", allow_addresses=("127.0.0.0/8",), max_crawl_delay=9)
    for each in (Client, AsyncClient):
        with pytest.raises(TypeError, match=r"timeout is no field of a policy: write .*ClientSettings\(timeout="):
            each(agent="A/1.0", timeout=5)
        with pytest.raises(TypeError, match="timeuot is no field of a policy: nor is it one of ClientSettings"):
            each(timeuot=5)
        with pytest.raises(TypeError, match="min_interval"):
            each(delay=1, min_interval=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("example.com", "'example.com' needs a scheme: did you mean https://example.com?"),
        ("localhost:8000/x", "'localhost:8000/x' needs a scheme: did you mean https://localhost:8000/x?"),
        ("/page", "'/page' needs a scheme and a host"),
    ],
)
def test_a_url_without_a_scheme_is_told_what_to_write(text: str, said: str) -> None:
    with pytest.raises(InvalidURL) as error:
        Client(agent="A/1.0").check(text)
    assert str(error.value).startswith(said)


def test_a_crawl_is_read_without_an_event_loop(site: Site, tmp_path: Path) -> None:
    for path in ("/", "/a", "/b"):
        site.link(path, "/a", "/b")
    settings = CrawlSettings(sitemaps=False)
    crawl = comity.crawl(site.url("/"), policy=LOOPBACK, settings=settings)
    assert sorted(page.url for page in crawl) == [site.url("/"), site.url("/a"), site.url("/b")]
    assert crawl.summary is not None
    assert crawl.summary.pages == 3
    for page in comity.crawl(site.url("/"), policy=LOOPBACK, settings=settings, folder=tmp_path / "out"):
        assert page.url == site.url("/")
        break  # ends the crawl, and what it runs on


def test_answers_and_pages_have_one_line_and_a_table(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\nAllow: /private/open\n")
    site.set(
        "/", f"<title>{HOSTILE}</title><h1>Hello</h1><p>{'A sentence of a page. ' * 30}</p>", content_type="text/html"
    )
    match = comity.parse("User-agent: *\nDisallow: /private\nAllow: /private/open\n").explain("/private/open", "A")
    with Client(LOOPBACK) as client:
        decision, response, page = (
            client.check(site.url("/private")),
            client.get(site.url("/")),
            client.retrieve(site.url("/")),
        )
        known = client.inspect()[site.url("")]
    (crawled,) = comity.crawl(site.url("/"), policy=LOOPBACK, settings=CrawlSettings(sitemaps=False), max_pages=1)
    for each in (decision, match, response, page, crawled, known):
        line = repr(each)
        assert line.startswith(f"<{type(each).__name__} ")
        assert line.isprintable()
        assert len(line) < 400
    for shown in (each._repr_html_() for each in (decision, match, response, crawled, known)):
        assert "<script>" not in shown
        assert shown.startswith("<table>")
    why = "line 2, 'Disallow: /private', disallows /private"
    assert repr(decision) == f"<Decision disallowed {site.url('/private')} for TestBot/1.0: {why}>"
    assert "overrides" in match._repr_html_()
    assert page._repr_markdown_() == page.markdown
    assert page._repr_html_ is None, "a notebook shows the Markdown"


@pytest.mark.parametrize("name", ["get", "head", "check", "get_many", "stream", "retrieve", "crawl_delay", "inspect"])
def test_help_says_what_a_call_does(name: str) -> None:
    told = pydoc.plain(pydoc.render_doc(getattr(Client, name)))
    assert "As `AsyncClient" not in told
    assert (getattr(AsyncClient, name).__doc__ or "").partition("\n")[0] in told


def test_a_decision_is_neither_true_nor_false(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    with Client(LOOPBACK) as client:
        for path, may in (("/", True), ("/private", False)):
            decision = client.check(site.url(path))
            assert decision.may_fetch is may
            with pytest.raises(TypeError, match=r"a Decision is true is not defined: ask \.may_fetch"):
                bool(decision)
    with pytest.raises(TypeError, match=r"a Match is true is not defined: ask \.allowed"):
        bool(comity.parse("").explain("https://example.com/", "A/1.0"))
