"""Responses as they came, with the decision that allowed them."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Self, TypeVar

from multidict import CIMultiDict, CIMultiDictProxy

from comity.digests import sha256_of
from comity.errors import InvalidJSON
from comity.gate import Go
from comity.http_rules import REDIRECTS
from comity.policy import Decision
from comity_pages.signals.content_type import essence
from comity_robots.shown import ReprMixin, short

MARKUP: Final = ("", "text/html", "application/xhtml+xml", "application/xml", "text/xml")
Parts = TypeVar("Parts", covariant=True)


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Response(ReprMixin):
    """One HTTP response, its body decoded from any content coding.

    Attributes:
        url: the URL that answered.
        headers: case-insensitive; the first value where a header repeats (`all_headers` has them all).
        body: of redirects on the way, which `history` has, and of a stream it is not kept: then this is an
            AttributeError.
        elapsed: seconds from sending to the last byte.
        go: the gate's permission, which `decision` puts into words; None for a robots.txt, which needs none, and for
            what somebody else has fetched.
        fetched_at: Unix time in seconds when the head of the answer arrived.
        history: what the URLs passed on the way to it answered, oldest first, without their bodies.
        reason, http_version: the rest of the status line as received; "" and "1.1" for a copy kept from earlier.
        request_headers: what was sent, in its order; empty for a copy kept from earlier.
        address: the IP address that answered; None for a copy kept from earlier, or behind a proxy.
        from_cache: whether the body is a copy that the server confirmed, or that was still fresh.
        truncated: whether the body goes on after what is here; only of a robots.txt (`max_robots_body`).
        received: with the setting `raw`, the bytes of a body that came with a content coding, as they came; else None.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    elapsed: float = 0.0
    go: Go | None = None
    fetched_at: float = 0.0
    history: "tuple[Response, ...]" = ()
    reason: str = ""
    http_version: str = "1.1"
    request_headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # credentials may stand there
    address: str | None = None
    from_cache: bool = False
    truncated: bool = False
    received: bytes | None = field(default=None, init=False, repr=False)
    _sha256: str | None = field(default=None, init=False, repr=False)

    def __getattr__(self, name: str) -> Any:  # called only for what has no value: the body, and what is made of it
        if name != "url" and hasattr(type(self), name):
            raise AttributeError(f"the body of {self.url} was not kept")
        raise AttributeError(f"a response has no attribute {name!r}")

    @property
    def redirects(self) -> tuple[str, ...]:
        """The URLs passed on the way to it, oldest first."""
        return tuple(hop.url for hop in self.history)

    @property
    def decision(self) -> Decision:
        """Why this URL could be fetched."""
        assert self.go is not None
        return self.go.decision

    @property
    def all_headers(self) -> tuple[tuple[str, str], ...]:
        """Every header in the order received."""
        return tuple(self.headers.items())

    def _line(self) -> str:
        head = f"{self.status} {short(self.url)} {short(self.content_type)}".rstrip()
        return f"{head} {len(self.body):,} bytes" if hasattr(self, "body") else head

    def _rows(self) -> Iterable[tuple[str, object]]:
        yield from (("url", self.url), ("status", f"{self.status} {self.reason}"), ("type", self.content_type))
        yield from (("redirects", ", ".join(self.redirects)), ("why", self.decision.why))

    @property
    def ok(self) -> bool:
        """Whether the status is 200 to 299."""
        return 200 <= self.status < 300

    @property
    def status_code(self) -> int:
        """The same as `status`, as httpx and requests call it."""
        return self.status

    def raise_for_status(self) -> Self:
        """Return the response itself, so that calls can be chained.

        Raises:
            BadStatus: the status is 400 or more; PaymentRequired where the site asks for payment.
        """
        if self.status >= 400:
            from comity.payment import bad_status

            body = getattr(self, "body", b"")  # of a stream it is not there
            raise bad_status(self.url, self.status, self.all_headers, reason=self.reason, body=body)
        return self

    @property
    def content_type(self) -> str:
        """The media type in lower case, without parameters."""
        return essence(self.headers.get("Content-Type"))

    @property
    def location(self) -> str | None:
        """Where a redirect leads, as the server wrote it; None where this is no redirect."""
        return self.headers.get("Location") if self.status in REDIRECTS else None

    def header_values(self, name: str) -> list[str]:
        """Return all values of a header that may repeat."""
        if isinstance(self.headers, CIMultiDictProxy):
            return self.headers.getall(name, [])
        return [value for each, value in self.headers.items() if each.lower() == name.lower()]

    def head_only(self) -> "Response":
        """Return what is known without the body."""
        return self._copied_to(Response.__new__(Response))

    def _copied_to(self, other: "Response") -> "Response":
        """Gives another what is known without the body."""
        for name in _OF_HEAD:
            setattr(other, name, getattr(self, name))
        return other

    @property
    def sha256(self) -> str:
        """SHA-256 of the body, in hex; worked out once."""
        if self._sha256 is None:
            self._sha256 = sha256_of(self.body)
        return self._sha256

    @property
    def content(self) -> bytes:
        """The same as `body`, as httpx and requests call it."""
        return self.body

    @property
    def encoding(self) -> str:
        """The character encoding of the body, by the name of Python's codec.

        Of markup it is found as browsers find it (HTML standard, 13.2.3.2). JSON is UTF-8 (RFC 8259, 8.1), whatever its
        headers say, if it can be read so. Of all else a byte-order mark or the Content-Type says it. Else:
        UTF-8 if the body is valid UTF-8, else windows-1252.
        """
        from comity_pages.signals import encodings  # which most programs that ask a question or two do not need

        kind, stated = self.content_type, self.headers.get("Content-Type")
        if kind.endswith(("/json", "+json")) and encodings.detect(self.body, markup=False) != "windows-1252":
            stated = None
        markup = kind in MARKUP or kind.endswith("+xml")
        return encodings.python_codec(encodings.detect(self.body, stated, markup=markup))

    @property
    def text(self) -> str:
        """The body as text; octets that mean nothing in its encoding become U+FFFD."""
        from comity_pages.signals import encodings

        return encodings.to_text(self.body, self.encoding)

    def json(self, **options: Any) -> Any:
        """Return the body read as JSON (RFC 8259); `options` go to `json.loads`.

        Raises:
            InvalidJSON: it is none. This is a ValueError too.
        """
        try:
            try:
                return json.loads(self.body, **options)
            except UnicodeDecodeError:
                return json.loads(self.text, **options)
        except (ValueError, RecursionError) as error:
            kind = f", it is {self.content_type}" if self.content_type else ""
            raise InvalidJSON(f"the body of {self.url} is not JSON{kind}: {error}", url=self.url) from None

    def __getstate__(self) -> dict[str, Any]:
        known = (each.name for each in dataclasses.fields(self) if hasattr(self, each.name))
        return {name: _picklable(getattr(self, name)) for name in known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, CIMultiDictProxy(value) if isinstance(value, CIMultiDict) else value)


class Stream(Response, Generic[Parts]):
    """A response whose body is read while it arrives, inside the block that it was given to.

    Attributes:
        chunks: gives the decoded body in parts as they arrive: `for part in response.chunks()`, with `async for` where
            it is an AsyncClient's. They can be read once. Raises RuntimeError where the block is left, or the body was
            read before; TooLarge, Timeout, FetchError.
    """

    __slots__ = ("chunks",)

    chunks: Callable[[], Parts]

    def __init__(self, response: Response, chunks: Callable[[], Parts]) -> None:
        response._copied_to(self)
        self.chunks = chunks

    @property
    def head(self) -> Response:
        """What is known of the response before its body is read: the same as the stream's own attributes."""
        return self


def _picklable(value: Any) -> Any:
    """Multidict's read-only views cannot be pickled."""
    return CIMultiDict(value) if isinstance(value, CIMultiDictProxy) else value


_OF_HEAD: Final = tuple(each.name for each in dataclasses.fields(Response) if each.name != "body")
