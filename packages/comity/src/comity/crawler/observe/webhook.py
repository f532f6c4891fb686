"""Tells a URL what became of a crawl: its end, and the first refusal and the first failure of each host. Messages
follow Standard Webhooks: an id, a time and an HMAC-SHA256 over both and the body, in `webhook-*` headers. A thread of
its own sends them; the crawl never waits for it, and where messages come faster than they can be sent, the oldest are
dropped and counted."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from comity import times
from comity.crawler.observe.stats import Stats
from comity.errors import ComityError, InvalidSetting
from comity.net.address import AddressGuard
from comity.policy import Policy
from comity_pages.urls import Url

SECRET_VARIABLE: Final = "COMITY_WEBHOOK_SECRET"
"""The environment variable with the secret; as Standard Webhooks write it (`whsec_` and base64), or any text."""
RETRY_SECONDS: Final = (1.0, 5.0, 25.0)  # seconds before a message that was not taken is sent again
MAX_ANSWER_SECONDS: Final = 10.0  # seconds that an answer may take
MAX_CLOSE_SECONDS: Final = 15.0  # seconds that `close` waits for what is still to be sent
MAX_MESSAGES: Final = 1000  # messages that wait at once
MAX_HOSTS: Final = 100_000  # that are remembered; of further ones nothing is told


class Webhook:
    """Where to send messages, and what was sent; `dropped` counts messages that were never taken.

    Args:
        policy: its agent is the User-Agent, its `allow_addresses` and `allow_hosts` say which addresses the URL may
            have besides public ones.
        secret: of the signature; None: COMITY_WEBHOOK_SECRET. Without one there is an InvalidSetting.
    """

    def __init__(self, url: str, policy: Policy, secret: str | None = None) -> None:
        self.url = Url(url)
        self.dropped = 0
        self._key = _key(secret or os.environ.get(SECRET_VARIABLE, ""))
        self._agent = policy.agent
        self._guard = AddressGuard(policy.allow_addresses, policy.allow_hosts)
        self._told: set[tuple[str, str]] = set()
        self._waiting: deque[dict[str, Any]] = deque()
        self._changed = threading.Condition()
        self._ending = False
        self._thread: threading.Thread | None = None

    def record(self, channel: str, record: dict[str, Any]) -> None:
        """A failure or refusal as the output has it; the first one of each host is sent."""
        kind = {"refusals": "host.refused", "failures": "host.failed"}.get(channel)
        if kind is not None and (about := (kind, Url(record["url"]).host)) not in self._told:
            if len(self._told) == MAX_HOSTS:
                return
            self._told.add(about)
            self.send(kind, {"host": about[1], "url": record["url"], "why": record["why"]})

    def send(self, kind: str, about: dict[str, Any]) -> None:
        """Sends a message later; returns at once."""
        with self._changed:
            if len(self._waiting) == MAX_MESSAGES:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append({"type": kind, "timestamp": times.iso(time.time()), "data": about})
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="comity-webhook", daemon=True)
                self._thread.start()
            self._changed.notify()

    @contextmanager
    def told_end(self, crawl: Path, stats: Callable[[], Stats]) -> Iterator[None]:
        """Sends how the crawl of the block ended, and what is still to be sent."""
        with closing(self):
            try:
                yield
            except ComityError as error:
                self.send("crawl.failed", {"crawl": str(crawl), "why": str(error)})
                raise
            self.send("crawl.ended", {"crawl": str(crawl), **stats().to_dict()})

    def close(self) -> None:
        """Sends what waits, for at most PARTING seconds, and ends."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(MAX_CLOSE_SECONDS)
            self._thread, self._ending = None, False
        with self._changed:
            self.dropped += len(self._waiting)
            self._waiting.clear()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ending)
                if not self._waiting:
                    return
                message = self._waiting[0]
            taken = asyncio.run(self._delivered(message))
            with self._changed:
                if self._waiting and self._waiting[0] is message:
                    self._waiting.popleft()
                    self.dropped += not taken

    async def _delivered(self, message: dict[str, Any]) -> bool:
        name, body = f"msg_{secrets.token_hex(12)}", json.dumps(message).encode()
        for wait in (*RETRY_SECONDS, None):
            try:
                status = await self._status(name, body)
            except (aiohttp.ClientError, OSError, TimeoutError):
                status = 0
            if 200 <= status < 300:
                return True
            if 300 <= status < 500 and status != 429:  # it will not take it later either
                return False
            if wait is not None:
                await asyncio.sleep(wait)
        return False

    async def _status(self, name: str, body: bytes) -> int:
        now = str(int(time.time()))
        signed = hmac.digest(self._key, f"{name}.{now}.".encode() + body, hashlib.sha256)
        headers = {
            "content-type": "application/json",
            "user-agent": self._agent,
            "webhook-id": name,
            "webhook-timestamp": now,
            "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
        }
        connector = aiohttp.TCPConnector(socket_factory=self._socket)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(MAX_ANSWER_SECONDS)) as session,
            session.post(self.url, data=body, headers=headers, allow_redirects=False) as answer,
        ):
            return answer.status

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, address = info
        refusal = self._guard.refusal(address[0], self.url.host)
        if refusal is not None:
            raise OSError(f"connections to {address[0]} are blocked: {refusal}")
        return socket.socket(family, kind, protocol)


def _key(secret: str) -> bytes:
    if not secret:
        hint = f"put one into the environment as {SECRET_VARIABLE}"
        raise InvalidSetting("webhook: messages are signed, and there is no secret", hint=hint)
    if not secret.startswith("whsec_"):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        raise InvalidSetting(f"webhook: {SECRET_VARIABLE} begins with whsec_ and is not base64") from None
