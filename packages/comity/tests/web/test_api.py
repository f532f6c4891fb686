"""The page's API: answers as the library does, refuses what other pages and hosts send, and says what is wrong."""

import asyncio
import hmac
import json
import runpy
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib import request
from urllib.error import HTTPError
from urllib.parse import unquote_to_bytes

import holding
import httpx
import pytest
from pages import Page
from sites import HANGS, Site, closed

import comity
from comity import _serving
from comity.web import workbench
from comity.web.app import QUESTIONS, guarded
from comity_pages import reader_processes
from comity_robots.lint import CODES

TEXT = "User-agent: *\nDisallow: /shop\nAllow: /shop/public\nCrawl-delay: 3\n\nUser-agent: GPTBot\nDisallow: /\n"


def asked(url: str, question: object, **headers: str) -> tuple[int, dict[str, object]]:
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    given = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with request.urlopen(request.Request(url, body, given)) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as error:
        return error.code, json.loads(error.read())


def test_apple_reads_otherwise_for_applebot_alone() -> None:
    text = "User-agent: Googlebot\nDisallow: /\n"
    found = workbench.check(text, ["Applebot/0.1", "GPTBot"], ["/"])["dialects"]
    assert [[each["dialect"] for each in row[0]] for row in found] == [["apple"], []]


def test_an_agent_that_is_nobodys_name_is_told_with_each_answer() -> None:
    said = {"Bing": "no group or known crawler is called Bing; did you mean bingbot?"}
    found = workbench.check(TEXT, ["GPTBot", "MyBot"], ["/"], tests="Bing not /")
    assert (found["names"], found["tests"][0]["agent"]) == (said, "Bing")
    assert workbench.check(TEXT, ["Bing", "MyBot"], ["/"])["names"] == said
    assert workbench.explain(TEXT, "Bing", "/")["names"] == said
    assert workbench.switch(TEXT, ["Bing"], "blocked")["names"] == said
    assert workbench.check(f"{TEXT}User-agent: Bing\n", ["Bing"], ["/"])["names"] == {}
    many = "".join(f"User-agent: b{number}\n" for number in range(2_000))
    assert workbench.explain(f"{many}User-agent: Bing\n", "bing", "/")["names"] == {}, "the last is somebody too"


def test_a_licence_stands_among_what_is_said_of_uses() -> None:
    text = "User-agent: *\nDisallow: /x\nContent-Usage: train-ai=n\nLicense: https://a.example/l.xml\n"
    found = workbench.explain(text, "MyBot", "/")["usage"]
    assert [each["answer"] for each in found] == ["unknown", "unknown", "disallowed"]
    assert "a licence may say it: robots.txt line 4 names https://a.example/l.xml" in found[0]["why"]
    assert workbench.bots(text)["usage"] == found
    assert workbench.explain(text, "MyBot", "/x")["usage"] == []


def test_the_answers_are_the_library_s(page) -> None:  # type: ignore[no-untyped-def]
    agents, urls = ["GPTBot", "MyBot/1.0"], ["/shop/a", "/shop/public", "https://example.com/"]
    status, answer = asked(f"{page.url}/api/check", {"text": TEXT, "agents": agents, "urls": urls})
    assert status == 200
    robots = comity.parse(TEXT)
    wanted = [
        [robots.allowed(f"https://a.example{url}" if url[0] == "/" else url, agent) for url in urls] for agent in agents
    ]
    assert [[each["allowed"] for each in row] for row in answer["verdicts"]] == wanted  # type: ignore[union-attr,index,attr-defined]
    assert answer["delays"] == [None, 3.0]
    _, explained = asked(f"{page.url}/api/explain", {"text": TEXT, "agent": "MyBot", "url": "/shop/public"})
    assert explained["rule"] == {"line": 3, "text": "Allow: /shop/public", "allow": True, "pattern": "/shop/public"}
    assert explained["overridden"][0]["line"] == 2  # type: ignore[index]
    _, changed = asked(f"{page.url}/api/diff", {"old": TEXT, "new": TEXT.replace("Disallow: /\n", "Disallow: /blog\n")})
    assert {(each["agent"], each["pattern"], each["allowed"]) for each in changed["changes"]} >= {("GPTBot", "/", True)}  # type: ignore[attr-defined]
    assert asked(f"{page.url}/api/lint", {"text": "Disalow: /"})[0] == 200


@pytest.mark.waits
def test_a_text_that_holds_whoever_reads_it_is_given_up_and_others_are_answered_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(holding.__file__).parent))
    monkeypatch.setattr(reader_processes, "MAX_SECONDS", 10)
    monkeypatch.setitem(QUESTIONS, "lint", holding.hold_text)  # type: ignore[arg-type]
    with Page() as page, ThreadPoolExecutor(1) as asking:
        held = asking.submit(asked, f"{page.url}/api/lint", {"text": TEXT})
        for _ in range(2):
            assert asked(f"{page.url}/api/explain", {"text": TEXT, "agent": "MyBot", "url": "/shop"})[0] == 200
        assert not held.done()
        status, answer = held.result()
    assert (status, answer["error"]) == (422, "what the site wrote could not be read in 10 s")


def test_one_cell_is_explained_with_the_verdicts(page) -> None:  # type: ignore[no-untyped-def]
    question = {"text": TEXT, "agents": ["MyBot"], "urls": ["/shop/public"]}
    _, explained = asked(f"{page.url}/api/explain", {"text": TEXT, "agent": "MyBot", "url": "/shop/public"})
    assert asked(f"{page.url}/api/check", question | {"why": ["MyBot", "/shop/public"]})[1]["why"] == explained
    assert asked(f"{page.url}/api/check", question)[1]["why"] is None


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (b"{", "not a JSON object"),
        (b"[]", "not a JSON object"),
        ({}, "text is missing"),
        ({"text": 1, "agents": [], "urls": []}, "text is not text"),
        ({"text": "", "agents": "GPTBot", "urls": []}, "agents is not a list of texts"),
        ({"text": "", "agents": ["a"] * 101, "urls": []}, "at most 100 agents"),
        ({"text": "", "agents": [], "urls": [], "more": 1}, "more is not a member"),
        ({"text": "x" * 1_048_577, "agents": [], "urls": []}, "longer than 1,048,576 characters"),
        ({"text": "", "agents": [], "urls": [], "why": ["GPTBot"]}, "why: name an agent and a URL"),
        ({"text": "", "agents": [], "urls": [], "dialect": "klingon"}, "klingon"),
        (b"[" * 200_000, "not a JSON object"),
        (b'{"text": "\\ud800", "agents": [], "urls": []}', "not a JSON object"),
    ],
)
def test_a_question_that_cannot_be_answered_is_told_what_to_change(page, question: object, why: str) -> None:  # type: ignore[no-untyped-def]
    status, answer = asked(f"{page.url}/api/check", question)
    assert status == 422
    assert why in str(answer["error"])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "192.0.2.1:8765"}, 421),
        ({"Host": ""}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Host": "LOCALHOST:8765"}, 200),
        ({"Host": "127.0.0.2:8765"}, 200),
        ({"Host": "localhost:8765", "Origin": "http://LOCALHOST:8765"}, 200),
        ({"Host": "localhost:8765", "Origin": "https://localhost:8765"}, 403),
        ({"Host": "localhost:8765", "Origin": "http://localhost:8766"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"content_type": "text/plain"}, 415),
    ],
)
def test_other_sites_pages_and_other_names_are_refused(page, headers: dict[str, str], status: int) -> None:  # type: ignore[no-untyped-def]
    assert asked(f"{page.url}/api/check", {"text": "", "agents": [], "urls": []}, **headers)[0] == status


def test_a_question_that_is_refused_is_taken_from_the_connection_first() -> None:
    passed = []

    async def receive() -> dict[str, object]:
        passed.append("question")
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def never(*_: object) -> None:
        raise AssertionError("it was let through")

    async def send(message: dict[str, object]) -> None:
        passed.append(str(message["type"]))

    scope = {"type": "http", "method": "POST", "scheme": "http", "headers": [(b"host", b"evil.example")]}
    asyncio.run(guarded(never, None)(scope, receive, send))
    assert passed == ["question", "http.response.start", "http.response.body"]


def test_every_answer_says_that_no_script_of_a_site_may_run(page) -> None:  # type: ignore[no-untyped-def]
    for path in ("/", "/workbench.js", "/api/agents", "/nothing"):
        try:
            headers = request.urlopen(f"{page.url}{path}").headers
        except HTTPError as error:
            headers = error.headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_the_page_s_files_are_compressed_for_those_who_read_that(page) -> None:  # type: ignore[no-untyped-def]
    sizes = []
    for accepted in ("gzip", "identity"):
        answer = request.urlopen(request.Request(f"{page.url}/vendor/vendor.js", headers={"accept-encoding": accepted}))
        assert answer.headers["content-encoding"] == (accepted if accepted == "gzip" else None)
        sizes.append(len(answer.read()))
    assert sizes[0] < sizes[1] / 2


def test_beyond_this_machine_a_token_is_shown_once_and_kept_by_the_browser() -> None:
    with Page(token="a-token-of-some-length") as page:
        assert asked(f"{page.url}/api/lint", {"text": ""})[0] == 401
        assert asked(f"{page.url}/api/lint", {"text": ""}, Authorization="Bearer a-token-of-some-length")[0] == 200
        opener = request.build_opener(request.HTTPCookieProcessor())
        with pytest.raises(HTTPError):
            opener.open(f"{page.url}/?token=wrong")
        assert b"workbench" in opener.open(f"{page.url}/?token=a-token-of-some-length").read()
        assert b"workbench" in opener.open(page.url).read()


@pytest.mark.parametrize("name", ["127.0.0.2", "192.0.2.9", "crawler.lan"])
def test_with_a_token_the_machine_is_reached_by_any_of_its_names(name: str) -> None:
    with Page(token="a-token-of-some-length") as page:
        token = {"Authorization": "Bearer a-token-of-some-length"}
        for path in ("/api/lint", "/api/crawl/order", "/"):
            assert asked(f"{page.url}{path}", {"text": ""}, Host=name)[0] == 401
        assert asked(f"{page.url}/api/lint", {"text": ""}, Host=name, **token)[0] == 200
        assert asked(f"{page.url}/api/lint", {"text": ""}, Host=name, Origin=f"http://{name}", **token)[0] == 200
        assert asked(f"{page.url}/api/lint", {"text": ""}, Host=name, Origin="http://evil.example", **token)[0] == 403


def test_a_link_with_a_token_leads_to_its_page_and_nowhere_else() -> None:
    from http.client import HTTPConnection

    with Page(token="a-token-of-some-length") as page:
        for path, to in (
            ("/dashboard.html", "/dashboard.html"),
            ("//evil.example/x", "/evil.example/x"),
            ("/a%0d%0aSet-Cookie:%20x=y", "/a%0D%0ASet-Cookie%3A%20x%3Dy"),
        ):
            asking = HTTPConnection(page.url.removeprefix("http://"))
            asking.request("GET", f"{path}?token=a-token-of-some-length")
            answer = asking.getresponse()
            assert (answer.status, answer.headers["location"]) == (303, to)
            assert "HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]
            asking.close()


def test_a_site_s_file_is_fetched_by_the_client_with_its_guard(page, site: Site) -> None:  # type: ignore[no-untyped-def]
    site.set("/robots.txt", TEXT)
    status, answer = asked(f"{page.url}/api/fetch", {"url": site.url("/some/page")})
    assert (status, answer["text"]) == (200, TEXT)
    status, answer = asked(f"{page.url}/api/fetch", {"url": "http://10.0.0.1/"})
    assert answer.get("text", "") == ""
    assert asked(f"{page.url}/api/fetch", {"url": ""})[0] == 422


def test_what_an_agent_may_not_fetch_of_a_site_s_sitemaps_is_listed_by_the_given_file(page: Page, site: Site) -> None:
    site.set("/map.txt", site.url("/a\n") + site.url("/no/1\n") + "https://other.example/\n", content_type="text/plain")
    question = {"text": "User-agent: *\nDisallow: /no\n", "agents": ["GPTBot"], "sitemaps": ["/map.txt", "mailto:a"]}
    status, answer = asked(f"{page.url}/api/sitemaps", question | {"site": site.url("/robots.txt")})
    refused = [{"agent": "GPTBot", "count": 1, "urls": [{"url": site.url("/no/1"), "line": 2}]}]
    said = {"url": site.url("/map.txt"), "problem": "", "urls": 2, "indexed": 0, "elsewhere": 1, "refused": refused}
    assert (status, answer["sitemaps"][0], answer["left"]) == (200, said, [])  # type: ignore[index]
    assert answer["sitemaps"][1]["problem"] == "was not read: 'mailto:a' is not http or https"  # type: ignore[index]
    assert sorted(site.paths()) == ["/map.txt", "/robots.txt"], "no page is fetched"


def test_the_api_is_described_as_it_answers(page) -> None:  # type: ignore[no-untyped-def]
    described = json.loads(request.urlopen(f"{page.url}/api/openapi.json").read())
    assert set(described["paths"]) == {f"/api/{name}" for name in QUESTIONS}
    for each in described["paths"].values():
        assert each["post"]["requestBody"]["content"]["application/json"]["schema"]["required"]


def test_each_finding_leads_to_its_page_which_is_the_documentation_s(page: Page) -> None:
    script = runpy.run_path(str(Path(__file__).parents[4] / "docs" / "lint_page.py"))
    served = httpx.get(f"{page.url}/lint.html").text
    assert served == script["page"](script["DOCUMENT"].read_text("utf-8")), "run: python docs/lint_page.py"
    assert all(f'<h3 id="{code}">' in served for code in CODES)


def test_a_path_is_blocked_for_all_in_the_fewest_lines() -> None:
    text = "User-agent: *\nDisallow: /a\n\nUser-agent: GPTBot\nDisallow: /\n"
    changed = workbench.switch(text, [], "blocked", path="/checkout")["text"]
    assert changed == text.replace("/a\n", "/a\nDisallow: /checkout\n")


def test_well_known_agents_have_a_source() -> None:
    for each in workbench.known_agents():
        assert each["source"].startswith(("https://", "http://"))
        assert set(each) >= {"name", "operator", "purpose", "about", "read"}
    assert len({each["name"] for each in workbench.known_agents()}) == len(workbench.known_agents()) >= 120


def test_a_test_that_is_half_typed_holds_up_no_verdict(page) -> None:  # type: ignore[no-untyped-def]
    question = {"text": TEXT, "agents": ["MyBot"], "urls": ["/go?u=https://x.example/"], "tests": "GPTBot n"}
    status, answer = asked(f"{page.url}/api/check", question)
    assert (status, answer["tests"], len(answer["verdicts"])) == (200, [], 1)  # type: ignore[arg-type]
    assert "write AGENT yes PATH" in str(answer["tests_error"])


def test_a_url_that_is_half_typed_holds_up_no_verdict(page) -> None:  # type: ignore[no-untyped-def]
    question = {
        "text": TEXT,
        "agents": ["MyBot"],
        "urls": ["/shop/public", "http://[::1"],
        "why": ["MyBot", "http://["],
    }
    status, answer = asked(f"{page.url}/api/check", question)
    assert status == 200
    good, bad = answer["verdicts"][0]  # type: ignore[index]
    assert good == asked(f"{page.url}/api/check", question | {"urls": ["/shop/public"]})[1]["verdicts"][0][0]  # type: ignore[index]
    assert bad["allowed"] is None
    assert "'http://[::1' has no valid host" in bad["why"]
    assert answer["why"] is None


def test_a_comparison_of_very_different_files_is_cut_and_says_so(page) -> None:  # type: ignore[no-untyped-def]
    group = "User-agent: bot{0}\nDisallow: /{0}\nCrawl-delay: {0}\nContent-Signal: ai-train=no\n"
    new = "".join(group.format(each) + f"Sitemap: https://e.example/{each}\n" for each in range(1, 701))
    _, answer = asked(f"{page.url}/api/diff", {"old": "", "new": new})
    delays, sitemaps = answer["delays"], answer["sitemaps_added"]  # type: ignore[index]
    assert {len(answer["changes"]), len(answer["usage"]), len(delays), len(sitemaps)} == {500}  # type: ignore[arg-type]
    assert answer["left_out"] == 800


def test_tests_are_the_lines_that_the_command_takes(page) -> None:  # type: ignore[no-untyped-def]
    lines = "GPTBot not /blog; GPTBot no /  # both\n* yes /shop/public"
    _, answer = asked(f"{page.url}/api/check", {"text": TEXT, "agents": [], "urls": [], "tests": lines})
    assert [each["holds"] for each in answer["tests"]] == [True, True, True]  # type: ignore[attr-defined]


def opened(page: Page) -> socket.socket:
    return socket.create_connection(("127.0.0.1", page.socket.getsockname()[1]), HANGS)


def test_whoever_connects_and_asks_nothing_holds_no_place_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each connection takes a descriptor of the process, which may be that of a crawl."""
    monkeypatch.setattr(_serving, "MAX_CONNECTIONS", 8)
    monkeypatch.setattr(_serving, "MAX_HEAD_SECONDS", 0.5)
    with Page() as page, ExitStack() as stack:
        idle = [stack.enter_context(opened(page)) for _ in range(8)]
        idle[0].sendall(b"GET /api/agents HTTP/1.1\r\nHost: local")
        assert closed(stack.enter_context(opened(page))), "one too many"
        assert all(closed(each) for each in idle), "no question in time"
        slow = stack.enter_context(opened(page))
        head = b"GET /api/agents HTTP/1.1\r\nHost: localhost\r\n\r\n"
        slow.sendall(head)
        assert slow.recv(12) == b"HTTP/1.1 200"
        slow.sendall(head[:20])
        while slow.recv(65536):
            pass  # the second question did not come in time either
        assert httpx.get(f"{page.url}/api/agents", timeout=HANGS).status_code == 200


def test_tokens_are_compared_in_constant_time_and_odd_ones_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: (compared.append(other), one == other)[1])
    token, odd = "a-token-of-some-length", ("a", "a-token-of-some-lengtn", "%FF", "%C3%A9", "%ED%A0%80")
    with Page(token=token) as page, httpx.Client(timeout=HANGS) as client:
        statuses = [client.get(f"{page.url}/?token={each}").status_code for each in ("", "%00", *odd)]
        for each in odd:
            statuses.append(client.get(f"{page.url}/", headers={"Cookie": f"comity={each}"}).status_code)
            shown = {b"Authorization": b"Bearer " + unquote_to_bytes(each)}
            statuses.append(client.get(f"{page.url}/", headers=shown).status_code)
        assert set(statuses) == {401}
        assert compared == [token.encode()] * len(statuses)
