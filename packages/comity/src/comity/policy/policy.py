"""Policy: the operator's settings, frozen and checked when they are made.

They say who we are, whether robots.txt is respected, what its absence means, how fast we may go, which
addresses may be reached. What a site says is not among them.
"""

import dataclasses
import ipaddress
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

from comity.errors import InvalidSetting, InvalidURL
from comity.policy.presets import DAY, bundle
from comity_pages import urls
from comity_robots.agents import TOKEN, product_token
from comity_robots.dialects import Dialect, dialect
from comity_robots.fields import check, seconds, setting, settings_of

Mode = Literal["respect", "report_only", "ignore"]
OnUnreachable = Literal["disallow", "allow"]
OnUnavailable = Literal["allow", "disallow_401_403"]
OnUnparsable = Literal["allow_warn", "disallow"]
PaceRecord = Literal["crawl-delay", "request-rate", "visit-time"]
PaceBy = Literal["host", "domain", "address"]
Purpose = Literal["search", "ai-input", "train-ai", "ai-use", "ai-train"]  # the last two are kept as the two before
RobotsCharset = Literal["utf-8", "declared"]
Use = Literal["immediate", "reference", "full"]

ASCII = "".join(map(chr, range(33, 127)))


def _dialect(value: object) -> str | Dialect:
    if not isinstance(value, str | Dialect | Mapping):
        raise InvalidSetting(f"dialect: {value!r:.200} is neither a name nor a Dialect")
    made = dialect(value)
    return value if isinstance(value, str) else made


def _purposes(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return each purpose once, by the name that the vocabulary has for it."""
    if not names:
        return ()
    from comity_robots.usage.statements import PURPOSES, purpose_named

    named = {purpose_named(name) for name in names}
    return tuple(name for name in PURPOSES if name in named)


def _charset(name: str) -> str:
    """Return a character set that leaves ASCII alone, as a URL's must."""
    try:
        good = ASCII.encode(name) == ASCII.encode() and "é/*".encode(name, "replace")
    except (LookupError, ValueError):
        good = False
    if not good:
        raise InvalidSetting(f"url_charset: {name!r} is not a character set that Python knows and ASCII is part of")
    return name


def _hosts(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_host(name) for name in names)


def _host(name: str) -> str:
    try:
        return urls.host(f"http://{name}/")
    except InvalidURL:
        raise InvalidSetting(f"allow_hosts: {name!r} is not a host name") from None


def _networks(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(_network(value)) for value in values)


def _network(value: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(value, strict=False)
    except ValueError as error:
        raise InvalidSetting(
            f"allow_addresses: {value!r} is not an address or network such as 127.0.0.0/8 ({error})"
        ) from None


@dataclass(frozen=True, slots=True)
class Policy:
    """Settings that decide what may be fetched, and how fast; every default follows RFC 9309 and polite practice.

    Attributes:
        agent: the User-Agent header, such as `MyBot/1.0 (+https://example.org/bot)`. Groups are matched against its
            product token (RFC 9309, 2.2.1): what stands before `/` or white space, or the name in `Mozilla/5.0
            (compatible; NAME/...)`.
        product_token: the product token in `agent`, where it is not the first name there (RFC 9309, 2.2.1). None: read
            it from `agent`, never `Mozilla`.
        mode: `respect`, `report_only` (everything is decided and recorded, nothing blocked) or `ignore` (robots.txt
            is not even fetched).
        dialect: how robots.txt is read, such as `rfc9309` or `google`. A name known to `comity.parse`, a name with
            changes, such as `rfc9309 precedence=allow_first`; in a program also a `comity.Dialect`.
        on_unreachable: what 5xx, 429, network errors and time-outs on robots.txt mean (RFC 9309, 2.3.1.4: disallow).
        on_unavailable: what 4xx on robots.txt means (RFC 9309, 2.3.1.3: allow).
        on_unparsable: what a body without one recognisable line means (RFC 9309, 2.3.1.5).
        cache_life: seconds a robots.txt is kept, None for HTTP freshness capped at 24 hours (RFC 9309, 2.4), or
            `math.inf` for the life of the client.
        failure_life: seconds an unreachable robots.txt is remembered before it is requested again, or `math.inf` for
            the life of the client.
        stale_life: seconds that the last good copy stands in for a robots.txt that has become unreachable, counted
            from the first failure; None for as long as it stays so (RFC 9309, 2.4).
        unreachable_life: seconds after which a robots.txt that stayed unreachable counts as unavailable (RFC 9309,
            2.3.1.4, names 30 days), whatever `stale_life` says; None for never.
        robots_redirects: hops followed for robots.txt; more counts as unavailable (RFC 9309, 2.3.1.2).
        robots_charset: `utf-8` (RFC 9309, 2.2), or `declared`: the body is converted from the character set that its
            Content-Type names.
        url_charset: the character set that our URLs are percent-encoded in; a `declared` body is converted to it.
        robots_fetch_counts: whether the request for robots.txt takes part in the pacing of its host.
        min_interval: seconds between requests to a host; a longer delay in its robots.txt wins.
        honour: the pace lines of robots.txt that are followed: `crawl-delay`, `request-rate`, `visit-time`.
        max_crawl_delay: seconds; a site with a longer crawl delay is not fetched. None for no limit.
        pace_by: what shares one pace: a `host`, a registrable `domain` (Public Suffix List), or an IP `address`.
        adaptive: the interval is at least this many times the site's response time, so that slow sites rest longer; 0
            turns this off.
        backoff: seconds that a host rests after 429, 5xx or no answer; doubled each time until it answers
            well again, halved each time it does; 0 for none.
        max_backoff: seconds; the longest that `backoff` may grow to.
        max_retry_after: seconds; a longer Retry-After is cut to it.
        breaker_failures: consecutive failed calls after which a host's circuit opens and nothing is sent; 0: never.
        breaker_recovery: seconds an open circuit waits before one probe decides.
        purposes: what the content is for: `search`, `ai-input`, `train-ai` (or `ai-use`, `ai-train`). Decisions then
            say what the site states about each; it never blocks a fetch.
        use: the most that is done with content: `immediate` (nothing is kept), `reference` (indexed, excerpted and
            linked to) or `full` (summarised, reproduced). Pages whose site grants less (`use=` of Content Signals) are
            not fetched. None: not said, nothing is skipped for it.
        allow_addresses: networks (CIDR) to allow although they are not public.
        allow_hosts: host names that may have any address, such as `intranet.example`.
    """

    agent: str = "comity/0.1"
    _: KW_ONLY
    product_token: str | None = None
    mode: Mode = setting("respect", stricter=("respect", "report_only", "ignore"))
    dialect: str | Dialect = setting("rfc9309", normal=_dialect)
    on_unreachable: OnUnreachable = setting("disallow", stricter=("disallow", "allow"))
    on_unavailable: OnUnavailable = setting("allow", stricter=("disallow_401_403", "allow"))
    on_unparsable: OnUnparsable = setting("allow_warn", stricter=("disallow", "allow_warn"))
    cache_life: float | None = seconds(None, least=0, infinite=True)
    failure_life: float = seconds(300.0, least=0, infinite=True, stricter="more")
    stale_life: float | None = seconds(30 * DAY, least=0, stricter="less")
    unreachable_life: float | None = seconds(None, least=0, stricter="more")
    robots_redirects: int = setting(5, least=0, most=20)
    robots_charset: RobotsCharset = "utf-8"
    url_charset: str = setting("utf-8", normal=_charset)
    robots_fetch_counts: bool = setting(True, stricter=(True, False))
    min_interval: float = seconds(1.0, least=0, stricter="more")
    honour: tuple[PaceRecord, ...] = setting(("crawl-delay", "request-rate", "visit-time"), stricter="more")
    max_crawl_delay: float | None = seconds(None, least=0, stricter="less")
    pace_by: PaceBy = setting("host", stricter=("domain", "host"))
    adaptive: float = setting(0.0, least=0, stricter="more")
    backoff: float = seconds(1.0, least=0, stricter="more")
    max_backoff: float = seconds(300.0, least=0, stricter="more")
    max_retry_after: float = seconds(DAY, least=0, stricter="more")
    breaker_failures: int = setting(0, least=0, most=1_000_000, stricter="any")
    breaker_recovery: float = seconds(30.0, least=0, stricter="more")
    purposes: tuple[Purpose, ...] = setting((), normal=_purposes, stricter="any")
    use: Use | None = setting(None, stricter=("full", "reference", "immediate", None))
    allow_addresses: tuple[str, ...] = setting((), normal=_networks, stricter="less")
    allow_hosts: tuple[str, ...] = setting((), normal=_hosts, stricter="less")

    def __post_init__(self) -> None:
        check(self)
        _names(self.agent, self.product_token)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """Return a named bundle of settings: `rfc9309` (the defaults), `google` and others (docs/settings.md).

        Args:
            changes: fields that shall differ from the preset.

        Raises:
            InvalidSetting: no preset has this name, or a field has a value that is not allowed.
        """
        found = bundle(name, changes)
        _known_fields(changes)
        own = settings_of(Policy)
        return cls(**{**{field: value for field, value in found.items() if field in own}, **changes})

    @property
    def product(self) -> str:
        """Our product token (RFC 9309, 2.2.1)."""
        return self.product_token or product_token(self.agent)

    @property
    def asked_as(self) -> str:
        """What a site's files are asked about: the product token where one is given, else the whole agent string."""
        return self.product_token or self.agent

    def with_changes(self, **changes: object) -> "Policy":
        """Return a copy with some fields changed, checked anew."""
        _known_fields(changes)
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


def _known_fields(changes: Iterable[str]) -> None:
    unknown = sorted(set(changes) - settings_of(Policy).keys())
    if unknown:
        raise InvalidSetting(f"{', '.join(unknown)}: a policy has no such field")


def _names(agent: str, token: str | None) -> None:
    """An agent string, and the product token in it."""
    if not agent.isprintable() or not agent.strip(" /"):
        raise InvalidSetting(f"agent: {agent!r} has no product token; write for example 'MyBot/1.0 (+URL)'")
    if token is None:
        if not product_token(agent):
            raise InvalidSetting(
                f"agent: {agent!r} has no product token of its own",
                hint="write 'MyBot/1.0 (+URL)' or 'Mozilla/5.0 (compatible; MyBot/1.0; +URL)', or set product_token",
            )
        return
    if re.fullmatch(TOKEN, token) is None:
        raise InvalidSetting(f"product_token: {token!r} is not a name such as MyBot: letters, digits, '-' and '_'")
    if token.lower() not in agent.lower():
        raise InvalidSetting(
            f"product_token: {token!r} must occur in the agent {agent!r} (RFC 9309, 2.2.1)",
            hint="add it to agent",
        )


def policy_to_dict(policy: Policy) -> dict[str, Any]:
    """Return a policy as JSON can hold it: infinity is the text "inf"."""
    values = dataclasses.asdict(policy)
    return {name: "inf" if value == math.inf else value for name, value in values.items()}
