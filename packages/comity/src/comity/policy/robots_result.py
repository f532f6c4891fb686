"""What came of asking for a robots.txt: one value for every HTTP outcome.

RFC 9309, 2.3.1 knows four: the file was read, it is unavailable (4xx), it is unreachable (5xx, 429, network), or its
body holds nothing that can be parsed. This module sorts, and says what is used while a site is unreachable; it never
decides what follows for a URL (see origin_policy.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal

from comity import http_caching
from comity.digests import sha256_of
from comity.http_rules import GONE, is_temporary
from comity.policy.policy import Policy
from comity_pages.signals import content_type
from comity_robots import Robots, parse
from comity_robots.shown import ReprMixin, short

Availability = Literal["read", "unavailable", "unreachable", "unparsable"]
NO_RULES: Final = parse(b"")


@dataclass(frozen=True, kw_only=True, repr=False)
class RobotsResult(ReprMixin):
    """The answer to one request for robots.txt, as it will be judged and as evidence.

    Attributes:
        origin: serialised origin the file governs, even where a redirect led elsewhere (RFC 9309, 2.3.1.2).
        url: address that finally answered.
        status: HTTP status, or None where there was no answer.
        error: what went wrong, for people, or None.
        fetched_at: Unix time in seconds.
        expires_at: Unix time in seconds after which it is asked for again.
        redirects: addresses passed on the way.
        headers: response headers, names in lower case.
        left_out: whether the answer had more body than is here: it was cut, or is no file that is read.
        unreachable_since: Unix time of the first failure, while robots.txt is unreachable; a `read` result that has
            it is the last good copy, standing in.
        robots: the file as it was read; without groups where there is none (`has_file`).
        address: the IP address of the server that answered, where it is known.
        blocked: whether our own rule on addresses (`Policy.allow_addresses`) kept it from being requested.
    """

    origin: str
    url: str
    kind: Availability
    fetched_at: float
    expires_at: float
    status: int | None = None
    error: str | None = None
    body: bytes = b""
    redirects: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    unreachable_since: float | None = None
    robots: Robots = NO_RULES
    left_out: bool = False
    address: str | None = None
    blocked: bool = False

    @property
    def has_file(self) -> bool:
        """Whether the site answered with a file, which may hold nothing that can be parsed."""
        return self.kind in ("read", "unparsable")

    @property
    def is_cut(self) -> bool:
        """Whether rules may follow after those that were read (RFC 9309, 2.5)."""
        return self.has_file and self.left_out

    def _line(self) -> str:
        outcome = self.error or (f"HTTP status {self.status}" if self.status is not None else "")
        return f"{self.kind} {short(self.url)}: {short(outcome)}, {len(self.body):,} bytes"

    def _rows(self) -> Iterable[tuple[str, object]]:
        yield from (("url", self.url), ("outcome", self.kind), ("status", self.status), ("error", self.error))
        yield from (("bytes", len(self.body)), ("redirects", ", ".join(self.redirects)))

    @cached_property
    def sha256(self) -> str | None:
        """SHA-256 of the body in hex; None where no file was read."""
        return sha256_of(self.body) if self.status and 200 <= self.status < 300 else None

    @property
    def stale(self) -> bool:
        """Whether this is an earlier copy that stands in for one that cannot be had."""
        return self.has_file and self.unreachable_since is not None

    @property
    def missing(self) -> str:
        """In words, that there is none, or that it is unavailable: a 403 does not say that there is none."""
        reason = self.error or f"HTTP status {self.status}"
        return f"{'no robots.txt' if self.status in GONE else 'robots.txt unavailable'} ({reason})"

    @property
    def is_unreadable(self) -> bool:
        """Whether it answered with no rules, and not that there are none: 403, or a page of HTML, for instance."""
        return self.kind == "unparsable" or (self.kind == "unavailable" and self.status not in GONE)

    @classmethod
    def from_response(
        cls,
        origin: str,
        url: str,
        status: int,
        body: bytes,
        *,
        policy: Policy,
        fetched_at: float,
        headers: Mapping[str, str] | None = None,
        redirects: tuple[str, ...] = (),
        error: str | None = None,
        truncated: bool = False,
        address: str | None = None,
    ) -> "RobotsResult":
        """Sort an HTTP response by RFC 9309, 2.3.1.

        A redirect that was not followed to its end is unavailable (2.3.1.2). A 304 to a question that had no
        condition, and any other answer that HTTP does not foresee, is no answer: unreachable.

        Args:
            headers: of the response, names in lower case.
            error: what went wrong with the redirects, for people.
            truncated: whether the body went on where reading it was left off (RFC 9309, 2.5).
        """
        headers = dict(headers or {})
        robots = NO_RULES
        kind: Availability
        if 200 <= status < 300:
            robots = parse(_converted(policy, body, headers), policy.dialect)
            kind = "read" if robots.parsable else "unparsable"
        else:
            kind = "unreachable" if no_answer(status) else "unavailable"
        life = policy.failure_life if kind == "unreachable" else _life(policy, headers, fetched_at)
        return cls(
            origin=origin,
            url=url,
            kind=kind,
            fetched_at=fetched_at,
            expires_at=fetched_at + life,
            status=status,
            error=error,
            body=body if robots is not NO_RULES else b"",
            redirects=redirects,
            headers=headers,
            unreachable_since=fetched_at if kind == "unreachable" else None,
            robots=robots,
            left_out=truncated or (robots is NO_RULES and bool(body)),
            address=address,
        )

    @classmethod
    def unreachable(
        cls,
        origin: str,
        url: str,
        error: str,
        *,
        policy: Policy,
        fetched_at: float,
        redirects: tuple[str, ...] = (),
        blocked: bool = False,
    ) -> "RobotsResult":
        """Return the result where there is no answer: DNS, connection, TLS, time-out, a body cut short."""
        return cls(
            origin=origin,
            url=url,
            kind="unreachable",
            fetched_at=fetched_at,
            expires_at=fetched_at + policy.failure_life,
            error=error,
            redirects=redirects,
            unreachable_since=fetched_at,
            blocked=blocked,
        )

    def renewed(self, policy: Policy, headers: Mapping[str, str], fetched_at: float) -> "RobotsResult":
        """Return the same file after a 304: fresh again, with what the answer's headers say (RFC 9111, 4.3.4)."""
        headers = {**self.headers, **headers}
        return replace(
            self,
            headers=headers,
            fetched_at=fetched_at,
            expires_at=fetched_at + _life(policy, headers, fetched_at),
            error=None,
            unreachable_since=None,
        )

    @property
    def validators(self) -> dict[str, str]:
        """Request headers that ask whether this copy is still current (RFC 9110, 13.1); empty where none can."""
        return http_caching.validators(self.headers) if self.has_file else {}


def no_answer(status: int | None) -> bool:
    """Return whether a status of a robots.txt that was asked for without a condition leaves it unreachable: RFC 9309,
    2.3.1.4, and what HTTP does not foresee as an answer. None: there was none.
    """
    return is_temporary(status) or status == 304 or (status is not None and status < 200)


def stale_if_error(policy: Policy, before: RobotsResult | None, now: RobotsResult) -> RobotsResult:
    """Return what is in force after a new answer: the answer, or while a site is unreachable its last good copy.

    RFC 9309, 2.4: a cached copy serves beyond 24 hours while robots.txt is unreachable. `Policy.stale_life` bounds it,
    and so does `Policy.unreachable_life`, after which the site counts as one that has no robots.txt.

    Args:
        before: what was in force until now, if anything.
    """
    if now.kind != "unreachable" or before is None:
        return now
    since = before.unreachable_since if before.unreachable_since is not None else now.fetched_at
    lasted = now.fetched_at - since
    lives = [life for life in (policy.stale_life, policy.unreachable_life) if life is not None]
    if before.kind == "read" and all(lasted < life for life in lives):
        reason = now.error or f"HTTP status {now.status}"
        return replace(before, error=reason, expires_at=now.expires_at, unreachable_since=since)
    return replace(now, unreachable_since=since)


def _life(policy: Policy, headers: Mapping[str, str], fetched_at: float) -> float:
    return http_caching.freshness(headers, fetched_at) if policy.cache_life is None else policy.cache_life


def _converted(policy: Policy, body: bytes, headers: Mapping[str, str]) -> bytes:
    """Return the body in the character set that our URLs use, where the policy goes by the declared one."""
    if policy.robots_charset == "utf-8":
        return body
    declared = content_type.extract(headers.get("content-type", ""))
    try:
        text = body.decode((declared and declared.charset) or "utf-8", "replace")
    except (LookupError, ValueError):  # an unknown character set
        return body
    return text.encode(policy.url_charset, "replace")
