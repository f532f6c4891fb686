"""What becomes of a crawl is told to a URL, signed, and the crawl waits for nobody."""

import base64
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from commands import ALLOW, process
from sites import Site

from comity import Policy, times
from comity.crawler.observe import webhook
from comity.crawler.observe.webhook import Webhook
from comity.errors import InvalidSetting

ALLOWED = Policy(agent="TestBot/1.0", allow_addresses=("127.0.0.0/8",))
KEY = b"0123456789abcdef"
SECRET = "whsec_" + base64.b64encode(KEY).decode()


class Taker:
    """Takes messages at /hook, after as many answers as were given."""

    def __init__(self, site: Site, *answers: int) -> None:
        self.answers = list(answers)
        self.taken: list[tuple[dict[str, str], bytes]] = []
        site.set("/hook", self)
        self.url = site.url("/hook")

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.taken.append((dict(request.headers), await request.read()))
        return web.Response(status=self.answers.pop(0) if self.answers else 204)

    def messages(self) -> list[Any]:
        return [json.loads(body) for _, body in self.taken]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "RETRY_SECONDS", (0.01, 0.01, 0.01))


def test_a_message_is_signed_as_standard_webhooks_say(site: Site) -> None:
    taker = Taker(site)
    hook = Webhook(taker.url, ALLOWED, SECRET)
    hook.send("crawl.ended", {"pages": 3})
    hook.close()
    ((headers, body),) = taker.taken
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    assert headers["webhook-signature"] == "v1," + base64.b64encode(hmac.digest(KEY, signed, hashlib.sha256)).decode()
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 60
    assert headers["User-Agent"] == "TestBot/1.0"
    assert json.loads(body)["type"] == "crawl.ended"
    assert json.loads(body)["data"] == {"pages": 3}
    assert abs(times.parse_iso(json.loads(body)["timestamp"]) - time.time()) < 60


def test_a_message_that_is_not_taken_is_sent_again_under_the_same_id(site: Site) -> None:
    taker = Taker(site, 503, 429)
    hook = Webhook(taker.url, ALLOWED, SECRET)
    hook.send("crawl.ended", {})
    hook.close()
    assert len(taker.taken) == 3
    assert len({headers["webhook-id"] for headers, _ in taker.taken}) == 1
    assert hook.dropped == 0


@pytest.mark.parametrize("status", [301, 400, 410])
def test_an_answer_that_will_not_change_is_no_reason_to_send_again(site: Site, status: int) -> None:
    taker = Taker(site, status)
    hook = Webhook(taker.url, ALLOWED, SECRET)
    hook.send("crawl.ended", {})
    hook.close()
    assert len(taker.taken) == 1
    assert hook.dropped == 1


def test_the_first_refusal_and_failure_of_each_host_are_told(site: Site) -> None:
    taker = Taker(site)
    hook = Webhook(taker.url, ALLOWED, SECRET)
    for path in ("a", "b"):
        for host in ("x.example", "y.example"):
            hook.record("refusals", {"url": f"https://{host}/{path}", "why": "line 2"})
    hook.record("failures", {"url": "https://x.example/c", "why": "HTTP status 500"})
    hook.record("pages", {"url": "https://x.example/d"})
    hook.close()
    assert [(each["type"], each["data"]["host"], each["data"]["url"][-1]) for each in taker.messages()] == [
        ("host.refused", "x.example", "a"),
        ("host.refused", "y.example", "a"),
        ("host.failed", "x.example", "c"),
    ]


def test_a_private_address_takes_no_message_unless_it_is_allowed(site: Site) -> None:
    taker = Taker(site)
    hook = Webhook(taker.url, Policy(agent="TestBot/1.0"), SECRET)
    hook.send("crawl.ended", {})
    hook.close()
    assert not taker.taken
    assert hook.dropped == 1


def test_a_server_that_never_answers_holds_up_neither_crawl_nor_end(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    async def never(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(3600)
        return web.Response()

    site.set("/hook", never)
    monkeypatch.setattr(webhook, "MAX_CLOSE_SECONDS", 0.1)
    monkeypatch.setattr(webhook, "MAX_MESSAGES", 10)
    hook = Webhook(site.url("/hook"), ALLOWED, SECRET)
    for _ in range(25):
        hook.send("crawl.ended", {})
    hook.close()
    assert hook.dropped == 25


@pytest.mark.parametrize("workers", [(), pytest.param(("--workers", "2"), marks=pytest.mark.long)])
def test_a_crawl_tells_its_end_and_the_first_trouble_of_a_host(
    site: Site, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    taker = Taker(site)
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    site.link("/", "/private/a", "/private/b", "/gone", "/hook")
    options = ("-o", "out", "--delay", "0", "-q", "--exclude", "/hook", "--webhook", taker.url, *ALLOW, *workers)
    done = process("crawl", site.url("/"), *options, cwd=tmp_path, variables={webhook.SECRET_VARIABLE: SECRET})
    assert done.returncode == 2, done.stderr
    told = {each["type"]: each["data"] for each in taker.messages()}
    assert set(told) == {"host.refused", "host.failed", "crawl.ended"}
    assert len(taker.taken) == 3
    assert told["crawl.ended"]["pages"] == 1
    assert told["host.refused"]["url"].startswith(site.url("/private/"))
    assert "404" in told["host.failed"]["why"]


def test_without_a_secret_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(webhook.SECRET_VARIABLE, raising=False)
    with pytest.raises(InvalidSetting, match=webhook.SECRET_VARIABLE):
        Webhook("https://example.com/hook", ALLOWED)
    with pytest.raises(InvalidSetting, match="base64"):
        Webhook("https://example.com/hook", ALLOWED, "whsec_?")
