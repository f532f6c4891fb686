"""One request, one answer, over aiohttp. It follows no redirect, keeps no cookie and asks for no permission:
the client does. Every connection but those to a proxy passes the address guard when it is made.
"""

import asyncio
import os
import re
import ssl
import time
import warnings
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from comity.errors import (
    SHORTAGES,
    AddressBlocked,
    ComityError,
    FetchError,
    StaleConnection,
    Timeout,
    TooLarge,
    UnwantedType,
    system_failed,
)
from comity.net.address import AddressGuard
from comity.net.client_settings import ClientSettings
from comity.net.connections import ATTEMPT, MAX_LINE_BYTES, MAX_PAUSE_SECONDS, Attempt, Connections
from comity.net.deadlines import Deadline, deadlines_paused
from comity.net.decoding import ACCEPTED, decoder_for
from comity.net.loop_slices import LoopSlices
from comity.net.names import Names
from comity.net.response import Response
from comity.policy import Policy
from comity_pages import urls
from comity_pages.urls import Url

if TYPE_CHECKING:
    from comity.net.request_record import RequestRecord
    from comity.signatures.folder import Signing

_TARGET = re.compile(r'[!"$-~]+')  # what a request line and nothing else can hold: no white space, no fragment
MAX_UNPACKED_BYTES_PER_TURN = 64 * 1024  # packed bytes in one turn of the loop: about a millisecond
MAX_WHOLE_READ_BYTES = 64 * 1024  # bytes of a body that is not worth reading in parts
_ERRORS = (aiohttp.ClientError, OSError, ValueError)
_MAX_MESSAGE_CHARACTERS: Final = 200  # characters of what a parser says: it quotes the server


class BodyBudget(Protocol):
    """Counts the memory that bodies take while they arrive."""

    def consume(self, octets: int) -> bool:
        """So many more octets have come; whether more may be read at once."""
        ...

    async def wait(self) -> None:
        """Come back when more may be read. The time that this takes is none of the site's."""
        ...


class Digest(Protocol):
    """Such as `hashlib.sha256()`."""

    def update(self, data: bytes, /) -> None:
        """Take up more octets."""
        ...


class BodyReader:
    """Reads the body of a response as it arrives, decoded.

    Attributes:
        response: its head; its body too, once that was read whole.
        record: evidence of the request, which has yet to be handed to who listens.
    """

    __slots__ = ("_answer", "_closed", "_settings", "_slices", "_taken", "_undecoded", "record", "response")

    def __init__(
        self,
        url: Url,
        answer: aiohttp.ClientResponse,
        settings: ClientSettings,
        address: str | None,
        slices: LoopSlices,
    ) -> None:
        major, minor = answer.version or aiohttp.HttpVersion11
        # One by one, because every request comes here; it has no body yet.
        self.response = head = Response.__new__(Response)
        head.url, head.status, head.headers = str(url), answer.status, answer.headers
        head.reason, head.http_version = answer.reason or "", f"{major}.{minor}"
        head.request_headers, head.address = answer.request_info.headers, address
        if settings.origin_headers:  # archives are passed on
            own = {name.lower() for name in settings.origin_headers.get(url.origin, ())}
            head.request_headers = {k: v for k, v in head.request_headers.items() if k.lower() not in own}
        head.go, head.fetched_at, head.elapsed, head.history = None, 0.0, 0.0, ()
        head.from_cache = head.truncated = self._closed = self._taken = False
        head.received = head._sha256 = None
        self._undecoded: bytearray | None = None  # the body as it comes, with the setting `raw`
        self._answer = answer
        self._settings = settings
        self._slices = slices
        self.record: RequestRecord | None = None

    def close(self) -> None:
        """Leave the rest unread; the connection cannot be used again unless all was read."""
        self._closed = True
        self._answer.close()

    def require_type(self, wanted: Collection[str]) -> None:
        """Check a page's media type against those that are wanted, such as `text/*`. Raises UnwantedType."""
        response, kind = self.response, self.response.content_type
        if response.ok and kind not in wanted and f"{kind.partition('/')[0]}/*" not in wanted:
            raise UnwantedType(
                f"{response.url} is {kind or 'of no content type'}, which content_types leaves out",
                url=response.url,
                status=response.status,
                content_type=kind,
            )

    async def read(
        self, limit: int, *, truncate: bool = False, budget: BodyBudget | None = None, digest: "Digest | None" = None
    ) -> Response:
        """Return the response with its whole decoded body.

        Args:
            limit: bytes; a longer body raises TooLarge, or ends there if `truncate`.
            budget: counts what arrives, and may have the rest wait, while time-outs stand still.
            digest: is updated with what arrives, perhaps with more than is kept of a body that is truncated.

        Raises:
            TooLarge, Timeout, FetchError
        """
        length, response = self._answer.content_length, self.response
        try:
            most = limit if budget is None else min(limit, MAX_WHOLE_READ_BYTES)
            if length is not None and length <= most and "Content-Encoding" not in response.headers:
                body = await self._answer.read()
                if digest is not None:
                    digest.update(body)
                if budget is not None:
                    budget.consume(len(body))
                response.body = body
                return response
        except _ERRORS as error:
            raise translate_error(error, self.response.url) from error
        body = b""  # where it comes in one part, it need not be copied
        whole: BytesIO | None = None  # hands out what it holds without a copy, and lets go of each part at once
        left = limit
        try:
            async for part in self._parts(limit, truncate=truncate, least=MAX_UNPACKED_BYTES_PER_TURN):
                if not body:
                    body = part
                else:
                    if whole is None:
                        whole = BytesIO()
                        whole.write(body)
                    whole.write(part)
                    body = part
                left -= len(part)
                if digest is not None:  # part by part: all of a large body would take milliseconds
                    digest.update(part)
                if truncate and left <= 0:
                    response.truncated = response.truncated or left < 0 or not self._answer.content.at_eof()
                    break
                if budget is not None and not budget.consume(len(part)):
                    with deadlines_paused():
                        await budget.wait()
        except BaseException:
            if whole is not None:
                whole.close()  # the error holds this frame, and may be kept for long
            body = b""
            raise
        if whole is not None:
            body = whole.getvalue()
        response.body = body if len(body) <= limit else body[:limit]
        if self._undecoded is not None:
            response.received = bytes(self._undecoded)
        return response

    def chunks(self) -> AsyncIterator[bytes]:
        """See `Stream.chunks`."""
        return self._parts(self._settings.max_body)

    async def _parts(self, limit: int, *, truncate: bool = False, least: int = 0) -> AsyncIterator[bytes]:
        """Yield the decoded body in parts as they arrive.

        Args:
            limit, truncate: as for `read`.
            least: packed octets that are worth unpacking, but at the end: each time others have to be waited for.
        """
        self._check_open()
        if self._taken:
            raise RuntimeError(f"the body of {self.response.url} was already read; it can be read only once")
        self._taken = True
        response, decoder = self.response, None
        if response.status not in (204, 304):
            try:
                decoder = decoder_for(
                    response.header_values("Content-Encoding"), response.url, self._settings.max_ratio
                )
            except UnwantedType as error:
                error.status, error.content_type = response.status, response.content_type
                raise
        if decoder is not None and self._settings.raw:
            self._undecoded = bytearray()
        room = limit
        whole = False
        try:
            arriving = self._answer.content.iter_any()
            async for data in arriving if decoder is None else _gathered(arriving, least):
                if decoder is not None:
                    await self._slices.take(len(data))
                self._check_open()
                last = self._answer.content.at_eof()
                if self._undecoded is not None:
                    self._undecoded += data
                for part in (data,) if decoder is None else decoder.feed(data, room, last=last):
                    room -= len(part)
                    if room < 0:
                        if not truncate:
                            raise TooLarge(
                                f"the body of {response.url} is over {limit} bytes",
                                url=response.url,
                                hint="raise max_body",
                            )
                        response.truncated = True
                        yield part[: len(part) + room]
                        return
                    yield part
            self._check_open()
            if decoder is not None and self._answer.method != "HEAD":
                decoder.close()
            whole = True
        except _ERRORS as error:
            self._check_open()
            raise translate_error(error, self.response.url) from error
        finally:
            if not whole:
                self._answer.close()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(
                f"the response from {self.response.url} is closed; read a stream inside its `with` block"
            )


class Transport:
    """A pool of connections. Make it and use it inside one running event loop.

    Attributes:
        loop: that event loop.
        slices: shares out the unpacking of answers, in bytes.
    """

    def __init__(
        self,
        settings: ClientSettings,
        guard: AddressGuard,
        policy: Policy,
        may_send: Callable[[], bool] | None,
    ) -> None:
        self.signing: Signing | None = None
        if settings.identity is not None and settings.sign != "never":  # first: it may raise, and nothing is open yet
            from comity.signatures import folder  # late: few clients sign

            always, elsewhere = settings.sign == "always", settings.signed_origins
            self.signing = folder.Signing(Path(settings.identity), time.time(), always=always, but=elsewhere)
        for words in settings.expiring(time.time()):
            warnings.warn(words, RuntimeWarning, stacklevel=2)

        self.loop = asyncio.get_running_loop()
        self._settings = settings
        self._guard = guard
        self.slices = LoopSlices(MAX_UNPACKED_BYTES_PER_TURN)
        self._names = Names(settings.resolve, settings.nameservers)
        connecting, reading = settings.connect_timeout, settings.read_timeout
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=connecting, sock_read=reading)
        self._streaming = aiohttp.ClientTimeout(
            total=None, sock_connect=connecting, sock_read=reading or settings.timeout
        )
        self._session = aiohttp.ClientSession(
            connector=Connections(
                settings,
                guard if settings.proxy is None else None,  # of whom the proxy connects to, `open` judges the name
                self._names,
                may_send,
                interval=policy.min_interval,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": policy.agent, "Accept": "*/*", "Accept-Encoding": ACCEPTED, **settings.headers},
            timeout=timeout,
            auto_decompress=False,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            trust_env=False,
            proxy=settings.proxy,
        )

        # aiohttp would send a GET a second time at once when the server drops the connection: a request without a turn.
        self._session._retry_connection = False

    async def close(self) -> None:
        await self._session.close()
        await self._names.close()

    def abandon(self) -> None:
        """Let go of all connections from outside the event loop, which is closed or stands still."""
        if self._session.connector is not None:
            self._session.connector._close()  # the part of it that waits for nothing
        self._session.detach()

    async def open(
        self,
        method: str,
        url: Url,
        *,
        headers: Mapping[str, str] | None = None,
        streamed: bool = False,
        data: bytes | None = None,
        timeout: float | None = None,
    ) -> BodyReader:
        """Send one request; gives what reads the answer as soon as its head is there.

        Args:
            streamed: whether the body may take longer than `timeout`, which then bounds the wait for each part.
            data: the body of the request.
            timeout: seconds for the head.

        Raises:
            AddressBlocked, Timeout, FetchError
        """
        if timeout is not None:
            with Deadline(timeout, url):
                return await self.open(method, url, headers=headers, streamed=streamed, data=data)
        if self._settings.proxy is not None and (refusal := self._guard.refusal_by_name(url.host)) is not None:
            raise _blocked(url, refusal)
        if self.signing is not None and (signed := self.signing.headers(method, url, time.time())):
            headers = {**(headers or {}), **signed}
        attempt = Attempt(url)
        ATTEMPT.set(attempt)
        try:
            response = await self._session.request(
                method,
                to_yarl(url),
                headers=headers,
                data=data,
                allow_redirects=False,
                timeout=self._streaming if streamed else self._session.timeout,
            )
        except _ERRORS as error:
            raise translate_error(error, url, attempt) from error
        return BodyReader(url, response, self._settings, attempt.address, self.slices)

    async def address_of(self, host: str) -> str:
        """Return the first address of a host, by the resolver that connections use; the host itself where none is
        found."""
        while True:
            try:
                with Deadline(self._settings.most_seconds):
                    return min(await self._names.addresses(host.strip("[]")))
            except (OSError, ValueError) as error:
                if not (isinstance(error, OSError) and error.errno in SHORTAGES):
                    return host  # no such name, none that DNS can hold, or too late
            await asyncio.sleep(MAX_PAUSE_SECONDS)


async def _gathered(arriving: AsyncIterable[bytes], least: int) -> AsyncIterator[bytes]:
    """Yield what arrives, in parts of at least so many octets; the last may be smaller."""
    held: list[bytes] = []
    size = 0
    async for data in arriving:
        held.append(data)
        size += len(data)
        if size >= least:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def to_yarl(url: Url) -> URL:
    """Return a URL as aiohttp takes it, which then sends it octet for octet.

    Raises:
        FetchError: it would be sent in another form than the one that was decided about.
    """
    scheme, _, authority = url.origin.partition("://")
    target = url.path_and_query
    # The query goes with the path: yarl would leave out one that is empty.
    found = URL.build(scheme=scheme, authority=authority, path=target, encoded=True)
    if str(found) != url or found.raw_path_qs != target or not _TARGET.fullmatch(target):
        raise FetchError(f"{url!a} would be sent as {str(found)!a}, which was not checked against robots.txt", url=url)
    return found


def translate_error(error: Exception, url: str, attempt: Attempt | None = None) -> ComityError:
    """Return the library's error as one of ours, in words for people.

    Args:
        attempt: of a request whose head did not arrive. What the guard refused stands there: a server can write what
            it likes into the error's own text.
    """
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    text = str(cause)
    if (failed := system_failed(cause)) is not None:
        failed.url = url
        return failed
    if attempt is not None and attempt.refusal and isinstance(error, aiohttp.ClientConnectorError):
        return _blocked(url, attempt.refusal)
    if attempt is not None and not attempt.fresh and _is_stale(error):
        return StaleConnection.at(url, "the server closed the connection that was kept for it")
    if isinstance(error, TimeoutError):  # of connecting or reading alone; the total is the client's
        return Timeout(f"{url} took too long: {text or type(error).__name__}", url=url, hint="raise the time-out")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return FetchError(f"no such host: {urls.host(url)}", url=url, hint="a typo, or no network?")
    plain = getattr(cause, "reason", None) in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST")
    if plain or (isinstance(error, aiohttp.ClientConnectorError) and not text and url.startswith("https:")):
        how = "does not speak TLS there" if plain else "ended the connection before TLS was agreed on"
        return FetchError(f"no secure connection to {url}: the server {how}", url=url, hint="try http://")
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLError | aiohttp.ClientConnectorSSLError):
        return FetchError(f"no secure connection to {url}: {text}", url=url, hint="verify_tls=False accepts any")
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return FetchError(f"no connection to the proxy for {url}: {text}", url=url)
    if isinstance(error, aiohttp.ClientConnectorError):
        return FetchError(f"no connection to {url}: {_system_message(error.os_error)}", url=url)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return FetchError.at(url, "the server closed the connection without an answer")
    if isinstance(error, aiohttp.ClientPayloadError):
        return FetchError.at(url, f"the answer was cut short: {_parser_message(error.__cause__ or error)}")
    if isinstance(error, aiohttp.ClientResponseError):  # its status, 400, is the parser's own and not the server's
        return FetchError.at(url, f"the answer is not valid HTTP: {_parser_message(error)}")
    if isinstance(error, OSError) and error.errno:
        return FetchError.at(url, f"the connection failed: {_system_message(error)}")
    return FetchError.at(url, f"{type(error).__name__}: {text}")


def _parser_message(error: BaseException) -> str:
    """Return what aiohttp's parser found wrong, on one line and without the mark it draws under the place."""
    message = error.message if isinstance(error, aiohttp.ClientResponseError | HttpProcessingError) else str(error)
    text = " ".join(part.strip() for part in message.splitlines() if part.strip(" ^"))
    return text if len(text) <= _MAX_MESSAGE_CHARACTERS else f"{text[:_MAX_MESSAGE_CHARACTERS]}…"


def _system_message(error: OSError) -> str:
    """Return why a connection failed, in the system's words: asyncio's own name the address instead."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)


def _blocked(url: str, refusal: str) -> AddressBlocked:
    return AddressBlocked.at(url, refusal)


def _is_stale(error: Exception) -> bool:
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return isinstance(error.message, str)  # else it is the part of a head that came
    return isinstance(error, aiohttp.ClientOSError) and not isinstance(error, aiohttp.ClientConnectorError)
