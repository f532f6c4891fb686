"""Policy: our side of the bargain, frozen and checked when it is made.

It holds what the operator decided: who we are, whether robots.txt is respected, what its absence means, how fast we
may go, which addresses may be reached. It never holds what a site said.
"""

import dataclasses
import ipaddress
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from comity import urls
from comity.errors import InvalidSetting, InvalidURL
from comity.policy.presets import DAY, PRESETS
from comity.robots.agents import TOKEN, product_token
from comity.robots.dialects import Dialect, dialect

Mode = Literal["respect", "report_only", "ignore"]
OnUnreachable = Literal["disallow", "allow"]
OnUnavailable = Literal["allow", "disallow_401_403"]
OnUnparsable = Literal["allow_warn", "disallow"]
PaceRecord = Literal["crawl-delay", "request-rate", "visit-time"]
PaceBy = Literal["host", "domain", "address"]
Purpose = Literal["search", "ai-input", "train-ai", "ai-train"]  # the last is kept as train-ai
RobotsCharset = Literal["utf-8", "declared"]

ASCII = "".join(map(chr, range(33, 127)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Settings that decide what we may do; every field has the default that RFC 9309 and good manners ask for.

    Attributes:
        agent: the User-Agent header we send. Groups are matched against its product token (RFC 9309, 2.2.1): what
            stands before `/` or white space, or the name in `Mozilla/5.0 (compatible; NAME/...)`.
        product_token: the token, where `agent` has it in another place; it must occur there (RFC 9309, 2.2.1). None:
            read it from `agent`, never `Mozilla`.
        mode: `respect`, `report_only` (everything is decided and recorded, nothing blocked) or `ignore` (robots.txt
            is not even fetched).
        dialect: how robots.txt is read: a name known to `comity.parse`, a name with what it differs in, such as
            `rfc9309 precedence=allow_first`, or a `Dialect`.
        on_unreachable: what 5xx, 429, network errors and time-outs on robots.txt mean (RFC 9309, 2.3.1.4: disallow).
        on_unavailable: what 4xx on robots.txt means (RFC 9309, 2.3.1.3: allow).
        on_unparsable: what a body without one recognisable line means (RFC 9309, 2.3.1.5).
        cache_life: seconds a robots.txt is kept, None for HTTP freshness capped at 24 hours (RFC 9309, 2.4), or
            `math.inf` for the life of the client.
        failure_life: seconds an unreachable robots.txt is remembered before it is asked for again.
        stale_life: seconds that the last good copy stands in for a robots.txt that has become unreachable, counted
            from the first failure; None for as long as it stays so (RFC 9309, 2.4).
        unreachable_life: seconds after which a robots.txt that stayed unreachable counts as unavailable (RFC 9309,
            2.3.1.4, names 30 days), whatever `stale_life` says; None for never.
        robots_redirects: hops followed for robots.txt; more counts as unavailable (RFC 9309, 2.3.1.2).
        robots_charset: `utf-8` (RFC 9309, 2.2), or `declared`: the body is converted from the character set that its
            Content-Type names.
        url_charset: the character set that our URLs are percent-encoded in; a `declared` body is converted to it.
        robots_fetch_counts: whether the request for robots.txt takes part in the pacing of its host.
        min_interval: seconds between two requests to one host; a larger wish of the site wins.
        honour: the site's wishes that count: `crawl-delay`, `request-rate`, `visit-time`.
        max_crawl_delay: seconds; a site that asks for more is refused rather than ignored. None for no cap.
        pace_by: what shares one pace: a `host`, a registrable `domain` (Public Suffix List), or an IP `address`.
        adaptive: the interval is at least this many times the site's response time, so that a slow site is left
            alone for longer; 0 for no such wish.
        backoff: seconds that a host is left alone after 429, 5xx or no answer; doubled each time until it answers
            well again, halved each time it does; 0 for none.
        max_backoff: seconds; the longest that `backoff` may grow to.
        max_retry_after: seconds; a longer Retry-After is cut to it.
        breaker_failures: consecutive failed calls after which a host's circuit opens and nothing is sent; 0: never.
        breaker_recovery: seconds an open circuit waits before one probe decides.
        purposes: what the content is wanted for: `search`, `ai-input`, `train-ai` (`ai-train` is the same). Decisions
            then say what the site states about each; it never blocks a fetch.
        allow_addresses: networks (CIDR) that may be reached although they are not public.
        allow_hosts: host names that may have any address, such as `intranet.example`.
    """

    agent: str = "comity/0.1"
    product_token: str | None = None
    mode: Mode = "respect"
    dialect: str | Dialect = "rfc9309"
    on_unreachable: OnUnreachable = "disallow"
    on_unavailable: OnUnavailable = "allow"
    on_unparsable: OnUnparsable = "allow_warn"
    cache_life: float | None = None
    failure_life: float = 300.0
    stale_life: float | None = 30 * DAY
    unreachable_life: float | None = None
    robots_redirects: int = 5
    robots_charset: RobotsCharset = "utf-8"
    url_charset: str = "utf-8"
    robots_fetch_counts: bool = True
    min_interval: float = 1.0
    honour: tuple[PaceRecord, ...] = ("crawl-delay", "request-rate", "visit-time")
    max_crawl_delay: float | None = None
    pace_by: PaceBy = "host"
    adaptive: float = 0.0
    backoff: float = 1.0
    max_backoff: float = 300.0
    max_retry_after: float = DAY
    breaker_failures: int = 0
    breaker_recovery: float = 30.0
    purposes: tuple[Purpose, ...] = ()
    allow_addresses: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _names(self.agent, self.product_token)
        _one_of("mode", self.mode, get_args(Mode))
        _one_of("on_unreachable", self.on_unreachable, get_args(OnUnreachable))
        _one_of("on_unavailable", self.on_unavailable, get_args(OnUnavailable))
        _one_of("on_unparsable", self.on_unparsable, get_args(OnUnparsable))
        _seconds("cache_life", self.cache_life, optional=True, infinite=True)
        _seconds("failure_life", self.failure_life)
        _seconds("stale_life", self.stale_life, optional=True)
        _seconds("unreachable_life", self.unreachable_life, optional=True)
        _seconds("min_interval", self.min_interval)
        _seconds("max_crawl_delay", self.max_crawl_delay, optional=True)
        _one_of("robots_charset", self.robots_charset, get_args(RobotsCharset))
        _one_of("pace_by", self.pace_by, get_args(PaceBy))
        for name in ("adaptive", "backoff", "max_backoff", "max_retry_after", "breaker_recovery"):
            _seconds(name, getattr(self, name))
        _whole("breaker_failures", self.breaker_failures, 0, 1_000_000)
        _charset("url_charset", self.url_charset)
        _some_of(self, "honour", get_args(PaceRecord))
        _purposes(self)
        _switch("robots_fetch_counts", self.robots_fetch_counts)
        _whole("robots_redirects", self.robots_redirects, 0, 20)
        if not isinstance(self.dialect, str | Dialect | Mapping):
            raise InvalidSetting(f"dialect: {self.dialect!r:.200} is neither a name nor a Dialect")
        if not isinstance(self.dialect, str):
            object.__setattr__(self, "dialect", dialect(self.dialect))
        dialect(self.dialect)
        hosts = _texts("allow_hosts", self.allow_hosts)
        object.__setattr__(self, "allow_hosts", tuple(_host_name(name) for name in hosts))
        networks = _texts("allow_addresses", self.allow_addresses)
        object.__setattr__(self, "allow_addresses", tuple(str(_network(value)) for value in networks))

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """A named bundle of settings: `rfc9309` (the defaults), `google` and others (docs/settings.md).

        Args:
            changes: fields that shall differ from the preset.

        Raises:
            InvalidSetting: no preset has this name, or a field has a value that is not allowed.
        """
        _one_of("preset", name, tuple(PRESETS))
        _known_fields(changes)
        return cls(**{**PRESETS[name], **changes})

    @property
    def product(self) -> str:
        """Our product token (RFC 9309, 2.2.1)."""
        return self.product_token or product_token(self.agent)

    @property
    def asked_as(self) -> str:
        """What a site's files are asked about: the product token where one is given, else the whole agent string."""
        return self.product_token or self.agent

    def with_changes(self, **changes: object) -> "Policy":
        """A copy with some fields changed, checked anew."""
        _known_fields(changes)
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


def _known_fields(changes: Iterable[str]) -> None:
    unknown = sorted(set(changes) - {each.name for each in dataclasses.fields(Policy)})
    if unknown:
        raise InvalidSetting(f"{', '.join(unknown)}: a policy has no such field")


def _names(agent: object, token: object) -> None:
    """An agent string, and the product token in it."""
    if not isinstance(agent, str) or not agent.isprintable() or not agent.strip(" /"):
        raise InvalidSetting(f"agent: {agent!r} has no product token; write for example 'MyBot/1.0 (+URL)'")
    if token is None:
        if not product_token(agent):
            raise InvalidSetting(
                f"agent: {agent!r} has no product token that is ours",
                hint="write 'MyBot/1.0 (+URL)' or 'Mozilla/5.0 (compatible; MyBot/1.0; +URL)', or set product_token",
            )
        return
    if not isinstance(token, str) or re.fullmatch(TOKEN, token) is None:
        raise InvalidSetting(f"product_token: {token!r} is no name such as MyBot: letters, digits, '-' and '_'")
    if token.lower() not in agent.lower():
        raise InvalidSetting(
            f"product_token: {token!r} does not occur in the agent {agent!r}, as RFC 9309, 2.2.1 asks",
            hint="sites look for it there: write it into agent too",
        )


def _one_of(field: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise InvalidSetting(f"{field}: {value!r} is not one of {', '.join(allowed)}")


def _some_of(policy: Policy, field: str, allowed: tuple[str, ...]) -> None:
    """A tuple of names, each once, in the order of the vocabulary."""
    names = _texts(field, getattr(policy, field))
    for name in names:
        _one_of(field, name, allowed)
    object.__setattr__(policy, field, tuple(name for name in allowed if name in names))


def _purposes(policy: Policy) -> None:
    """Each purpose once, by the name that the vocabulary has for it."""
    names = _texts("purposes", policy.purposes)
    if names:
        from comity.usage.statements import PURPOSES, purpose_named

        for name in names:
            _one_of("purposes", name, get_args(Purpose))
        named = {purpose_named(name) for name in names}
        object.__setattr__(policy, "purposes", tuple(name for name in PURPOSES if name in named))
    else:
        object.__setattr__(policy, "purposes", ())


def _whole(field: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidSetting(f"{field}: {value!r} is not a whole number from {least} to {most}")


def _texts(field: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    values = tuple(value) if isinstance(value, Iterable) else (None,)
    if not all(isinstance(each, str) for each in values):
        raise InvalidSetting(f"{field}: {value!r} is not a list of names")
    return values


def _switch(field: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidSetting(f"{field}: {value!r} is neither true nor false")


def _charset(field: str, value: object) -> None:
    """A character set that leaves ASCII alone, as a URL's must."""
    try:
        good = isinstance(value, str) and ASCII.encode(value) == ASCII.encode() and "é/*".encode(value, "replace")
    except (LookupError, ValueError):
        good = False
    if not good:
        raise InvalidSetting(f"{field}: {value!r} is not a character set that Python knows and ASCII is part of")


def _seconds(field: str, value: object, *, optional: bool = False, infinite: bool = False) -> None:
    if value is None and optional:
        return
    good = (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value <= (1e12 if not infinite else math.inf)
    )
    if not good:
        raise InvalidSetting(f"{field}: {value!r} is not a number of seconds, zero or more")


def _host_name(name: object) -> str:
    try:
        return urls.host(urls.normalise(f"http://{name}/"))
    except InvalidURL:
        raise InvalidSetting(f"allow_hosts: {name!r} is not a host name") from None


def _network(value: object) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(str(value), strict=False)
    except ValueError as error:
        raise InvalidSetting(
            f"allow_addresses: {value!r} is not an address or network such as 127.0.0.0/8 ({error})"
        ) from None
