"""One request that was permitted: it is sent, in time, and gate and listeners are told what came of it.

It asks nobody for permission and tries nothing again: that is the client's work.
"""

import asyncio
import random
from collections.abc import Mapping

from comity import urls
from comity.errors import Postponed, UnwantedType
from comity.gate import Gate, Go
from comity.gate.machine import BUSY
from comity.gate.retry_after import retry_after
from comity.gate.steps import Body
from comity.net.clock import Clock
from comity.net.deadlines import Deadlines
from comity.net.exchange import Exchange
from comity.net.response import REDIRECTS, Response
from comity.net.settings import ClientSettings
from comity.net.transport import Answer, ConnectionGone, Room, timed_out
from comity.net.turns import Turns


class Sender:
    """Sends the requests of one client."""

    def __init__(self, gate: Gate, turns: Turns, settings: ClientSettings, clock: Clock) -> None:
        self._gate = gate
        self._turns = turns
        self._settings = settings
        self._clock = clock

    def _deadlines(self, go: Go) -> Deadlines:
        """The time-outs of the open client; a permission that comes when it is closed is given back."""
        if self._turns.transport is None:
            self._gate.withdrawn(go)
            self._turns.report(go.key)
        return self._turns.sending.deadlines

    async def head_of(
        self, go: Go, url: str, headers: Mapping[str, str], exchange: Exchange | None
    ) -> tuple[Answer, float]:
        """The head of a stream, in time."""
        try:
            with self._deadlines(go).within(self._settings.timeout):
                return await self._open(go, "GET", url, headers, exchange, "streamed")
        except TimeoutError:
            self._gate.timed_out(go, self._clock.monotonic())
            raise timed_out(url, self._settings.timeout) from None

    def body_over(self, go: Go) -> None:
        """The body of an answer was read, or left: who waits for that has a turn."""
        if go.body is not None:
            self._gate.body_over(go)
            self._turns.report(go.key)

    async def send(
        self,
        go: Go,
        method: str,
        url: str,
        headers: Mapping[str, str],
        redirects: tuple[str, ...],
        *,
        most: int = 0,
        any_type: bool = False,
        room: Room | None = None,
        credentials: bool = True,
    ) -> Response:
        """The whole answer, in time; where `most` is given, so many bytes of body instead of `max_body`.

        Args:
            any_type: whether it is read whatever its content type.
            room: is told of the octets of the body; while it has the rest wait, the time-out stands still.
            credentials: whether those that the settings have for the URL's origin are sent (`auth`).

        Raises:
            AddressBlocked, FetchError and its kinds
        """
        settings = self._settings
        sent = self._clock.monotonic()
        exchange = None if self._turns.on_exchange is None else Exchange(go, method, url, sent)
        try:
            with self._deadlines(go).within(settings.timeout):
                body_to_come: Body | None = None if method == "HEAD" else "read"
                answer, fetched_at = await self._open(
                    go, method, url, headers, exchange, body_to_come, credentials=credentials
                )
                try:
                    if not any_type:
                        self.check_type(answer)
                    timed = None if room is None else _Timed(room, self._deadlines(go))
                    body = b"" if method == "HEAD" else await answer.read(most or settings.max_body, room=timed)
                except BaseException:
                    answer.close()
                    raise
        except TimeoutError:
            self._gate.timed_out(go, self._clock.monotonic())
            late = timed_out(url, settings.timeout)
            self.over(exchange, error=late)
            raise late from None
        except Postponed:
            raise
        except BaseException as error:
            self.over(exchange, error=error)
            raise
        finally:
            self.body_over(go)
        if exchange is not None:
            self.over(exchange, body=body)
        return Response(
            url=url,
            status=answer.status,
            headers=answer.headers,
            go=go,
            fetched_at=fetched_at,
            redirects=redirects,
            reason=answer.reason,
            http_version=answer.http_version,
            request_headers=answer.sent,
            body=body,
            elapsed=self._clock.monotonic() - sent,
        )

    async def _open(
        self,
        go: Go,
        method: str,
        url: str,
        headers: Mapping[str, str],
        exchange: Exchange | None,
        body: Body | None,
        *,
        credentials: bool = True,
    ) -> tuple[Answer, float]:
        """Send a request that was permitted, and tell the gate when the head of its answer is there, or never."""
        transport, clock, streamed = self._turns.sending, self._clock, body == "streamed"
        if credentials and self._settings.auth:
            headers = {**self._settings.credentials(urls.origin(url)), **headers}
        try:
            if self._settings.head_timeout is None:
                answer = await transport.open(method, url, headers=headers or None, streamed=streamed)
            else:
                try:
                    with transport.deadlines.within(self._settings.head_timeout):
                        answer = await transport.open(method, url, headers=headers or None, streamed=streamed)
                except TimeoutError:
                    raise timed_out(url, self._settings.head_timeout) from None
        except (asyncio.CancelledError, ConnectionGone):  # by the caller, or by a time-out, told apart further up
            if exchange is not None:
                exchange.lost(clock.monotonic())
            self._gate.abandoned(go, clock.monotonic())
            self._turns.report(go.key)
            raise
        except Postponed:  # for want of a connection: nothing was sent
            self._gate.withdrawn(go)
            self._turns.report(go.key)
            raise
        except BaseException:
            if exchange is not None:
                exchange.lost(clock.monotonic())
            self._gate.answered(go, clock.monotonic(), jitter=self._jitter())
            self._turns.report(go.key)
            raise
        wall = clock.wall()
        if exchange is not None:
            exchange.heard(answer.status, clock.monotonic())
            if answer.status in REDIRECTS:
                exchange.location = answer.headers.get("Location")
        if answer.status == 429 or answer.status >= 500:
            later = retry_after(answer.headers.get("Retry-After"), wall)
            if exchange is not None and answer.status in BUSY:
                exchange.retry_after = later
            jitter = self._jitter()
            self._gate.answered(
                go, clock.monotonic(), status=answer.status, retry_after=later, jitter=jitter, body=body
            )
        else:
            self._gate.answered(go, clock.monotonic(), status=answer.status, body=body)
        if body != "read":  # nobody has a turn before that is over
            self._turns.report(go.key)
        return answer, wall

    def over(self, exchange: Exchange | None, *, body: bytes | None = None, error: BaseException | None = None) -> None:
        """Tell who listens of a request that is over."""
        if exchange is not None and self._turns.on_exchange is not None:
            exchange.over(self._clock.monotonic(), body=body, error=error)
            self._turns.on_exchange(exchange)

    def _jitter(self) -> float:
        return random.random() if self._settings.jitter else 1.0

    def check_type(self, answer: Answer) -> None:
        """Raises UnwantedType where the settings leave out what an answer is."""
        wanted = self._settings.content_types
        if not wanted or not 200 <= answer.status < 300:
            return
        kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind not in wanted and f"{kind.partition('/')[0]}/*" not in wanted:
            raise UnwantedType(
                f"{answer.url} is {kind or 'of no content type'}, which is not wanted (content_types)",
                url=answer.url,
                status=answer.status,
                content_type=kind,
            )


class _Timed:
    """A room in which waiting does not count towards a request's time-out."""

    __slots__ = ("_deadlines", "_room", "took")

    def __init__(self, room: Room, deadlines: Deadlines) -> None:
        self._room = room
        self._deadlines = deadlines
        self.took = room.took

    async def more(self) -> None:
        with self._deadlines.paused():
            await self._room.more()
