"""The practices for crawlers (draft-illyes-webbotauth-cbcp), and how a configuration keeps each."""

import re
from dataclasses import dataclass
from pathlib import Path

from comity.net import ClientSettings
from comity.policy import Policy
from comity.signatures.folder import Identity, load


@dataclass(frozen=True, slots=True)
class Practice:
    """One practice.

    Attributes:
        name: in a few words.
        kept: whether this configuration keeps it.
        how: by what, or what to set.
    """

    name: str
    kept: bool
    how: str


def practices(policy: Policy, settings: ClientSettings) -> list[Practice]:
    """
    Raises:
        InvalidSetting: the identity of the settings cannot be read.
    """
    identity = None if settings.identity is None else load(Path(settings.identity))
    return [
        _robots(policy),
        _agent(policy),
        _pace(policy),
        _back_off(policy),
        _caching(settings),
        _ranges(identity),
        _page(policy, identity),
        _signed(settings, identity),
    ]


def _robots(policy: Policy) -> Practice:
    how = f"mode {policy.mode}, {policy.dialect}" if isinstance(policy.dialect, str) else f"mode {policy.mode}"
    return Practice(
        "obeys robots.txt", policy.mode == "respect", how if policy.mode == "respect" else f"{how}: set respect"
    )


def _agent(policy: Policy) -> Practice:
    named = re.search(r"https?://", policy.agent) is not None
    how = policy.agent if named else f"{policy.agent}: add a URL, as in MyBot/1.0 (+https://example.org/bot)"
    return Practice("names itself, with a URL", named, how)


def _pace(policy: Policy) -> Practice:
    delays = "crawl-delay" in policy.honour
    kept = policy.min_interval > 0 and delays
    how = f"{policy.min_interval:g} s between requests to a {policy.pace_by}"
    return Practice("goes slowly", kept, f"{how}, Crawl-delay {'honoured' if delays else 'not honoured: set honour'}")


def _back_off(policy: Policy) -> Practice:
    if not policy.backoff:
        return Practice("backs off", False, "set backoff: 429, 5xx and no answer change nothing now")
    slow = f", {policy.adaptive:g} x the response time" if policy.adaptive else ""
    return Practice("backs off", True, f"429, 5xx, no answer: {policy.backoff:g} s, doubled{slow}")


def _caching(settings: ClientSettings) -> Practice:
    if settings.cache is None:
        return Practice("caches", False, "robots.txt for the run alone: set cache and cache_pages to keep more")
    kept = "robots.txt and pages" if settings.cache_pages else "robots.txt (cache_pages keeps pages too)"
    return Practice("caches", settings.cache_pages, f"{kept} in {settings.cache}")


def _ranges(identity: Identity | None) -> Practice:
    if identity is None or not identity.ranges:
        return Practice("publishes its addresses", False, "comity identity new --range CIDR")
    return Practice("publishes its addresses", True, ", ".join(identity.ranges))


def _page(policy: Policy, identity: Identity | None) -> Practice:
    if identity is None:
        return Practice("explains itself on a page", False, "comity identity new writes one")
    named = identity.page in policy.agent
    return Practice("explains itself on a page", named, identity.page if named else f"name {identity.page} in agent")


def _signed(settings: ClientSettings, identity: Identity | None) -> Practice:
    if identity is None or settings.sign == "never":
        return Practice("proves who it is", False, "set identity: requests are signed then")
    return Practice("proves who it is", True, f"Web Bot Auth, {settings.sign.replace('_', ' ')}, as {identity.origin}")
