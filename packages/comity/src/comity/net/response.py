"""Responses as they came, with the decision that allowed them."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, Self

from multidict import CIMultiDict, CIMultiDictProxy

from comity.errors import InvalidJSON
from comity.gate import Go
from comity.http_rules import REDIRECTS
from comity.policy import Decision
from comity_robots.shown import Shown, short

_MULTIPLE: Final = ("headers", "request_headers")
MARKUP: Final = ("", "text/html", "application/xhtml+xml", "application/xml", "text/xml")


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Head(Shown):
    """What is known when the head of an answer has arrived.

    Attributes:
        url: the URL that answered.
        redirects: the URLs passed on the way to it, oldest first.
        history: what these URLs answered, oldest first: heads, for the bodies of redirects are not kept.
        headers: case-insensitive; the first value where a header repeats (`all_headers` has them all).
        go: the gate's permission, which `decision` puts into words; None for a robots.txt, which needs none.
        fetched_at: Unix time in seconds when the head of the answer arrived.
        reason, http_version: the rest of the status line as received; "" and "1.1" for a copy kept from earlier.
        request_headers: what was sent, in its order; empty for a copy kept from earlier.
        address: the IP address that answered; None for a copy kept from earlier, or behind a proxy.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    go: Go | None = None
    fetched_at: float = 0.0
    redirects: tuple[str, ...] = ()
    history: "tuple[Head, ...]" = ()
    reason: str = ""
    http_version: str = "1.1"
    request_headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # credentials may stand there
    address: str | None = None

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
        return f"{self.status} {short(self.url)} {short(self.content_type)}".rstrip()

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
        """The response itself, so that calls can be chained.

        Raises:
            BadStatus: the status is 400 or more; PaymentRequired where the site asks for payment.
        """
        if self.status >= 400:
            from comity.payment import bad_status

            raise bad_status(self.url, self.status, self.all_headers, reason=self.reason)
        return self

    @property
    def content_type(self) -> str:
        """The media type in lower case, without parameters."""
        return _essence(self.headers.get("Content-Type", ""))

    @property
    def location(self) -> str | None:
        """Where a redirect leads, as the server wrote it; None where this is no redirect."""
        return self.headers.get("Location") if self.status in REDIRECTS else None

    def header_values(self, name: str) -> list[str]:
        """All values of a header that may repeat."""
        if isinstance(self.headers, CIMultiDictProxy):
            return self.headers.getall(name, [])
        return [value for each, value in self.headers.items() if each.lower() == name.lower()]

    def head_only(self) -> "Head":
        """What is known without the body."""
        return Head(**self._of_head())

    def _of_head(self) -> dict[str, Any]:
        """Its fields, without a body."""
        return dict(zip(_OF_HEAD, _VALUES(self)))  # noqa: B905 - as many as there are names

    def __getstate__(self) -> dict[str, Any]:
        state = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        for name in _MULTIPLE:  # multidict's read-only views cannot be pickled
            if isinstance(state[name], CIMultiDictProxy):
                state[name] = CIMultiDict(state[name])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, CIMultiDictProxy(value) if isinstance(value, CIMultiDict) else value)


@lru_cache(1024)  # a site says the same of all its pages
def _essence(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


_OF_HEAD: Final = tuple(each.name for each in dataclasses.fields(Head))
_VALUES: Final = attrgetter(*_OF_HEAD)


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Response(Head):
    """One HTTP response, its body read and decoded from any content coding.

    Attributes:
        elapsed: seconds from sending to the last byte.
        from_cache: whether the body is a copy that the server confirmed, or that was still fresh.
        received: with the setting `raw`, the bytes of a body that came with a content coding, as they came; else None.
    """

    body: bytes
    elapsed: float
    from_cache: bool = False
    received: bytes | None = field(default=None, init=False, repr=False)
    _sha256: str | None = field(default=None, init=False, repr=False)

    @classmethod
    def _read(cls, head: Head, body: bytes, elapsed: float, sha256: str | None) -> "Response":
        """What a head is with the body behind it. One by one, because every request comes here."""
        self = cls.__new__(cls)
        self.url, self.status, self.headers, self.go = head.url, head.status, head.headers, head.go
        self.fetched_at, self.redirects, self.history = head.fetched_at, head.redirects, head.history
        self.reason, self.http_version, self.address = head.reason, head.http_version, head.address
        self.request_headers = head.request_headers
        self.body, self.elapsed, self._sha256 = body, elapsed, sha256
        self.from_cache, self.received = False, None
        return self

    def _line(self) -> str:
        return f"{Head._line(self)} {len(self.body):,} bytes"

    @property
    def sha256(self) -> str:
        """SHA-256 of the body, in hex; worked out once."""
        if self._sha256 is None:
            self._sha256 = hashlib.sha256(self.body).hexdigest()
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

        return encodings.to_utf8(self.body, self.encoding).decode("utf-8", "replace")

    def json(self, **options: Any) -> Any:
        """The body read as JSON (RFC 8259); `options` go to `json.loads`.

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
