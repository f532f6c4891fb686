"""The practices for crawlers (draft-illyes-webbotauth-cbcp), and how a configuration keeps each."""

import re
from dataclasses import dataclass
from pathlib import Path

from comity.net import ClientSettings
from comity.policy import Policy
from comity.signatures.folder import load


@dataclass(frozen=True, slots=True)
class Practice:
    """One practice: its name in a few words, whether this configuration keeps it, and by what, or what to set."""

    name: str
    kept: bool
    how: str


def practices(policy: Policy, settings: ClientSettings) -> list[Practice]:
    """Raises InvalidSetting: the identity of the settings cannot be read."""
    identity = None if settings.identity is None else load(Path(settings.identity))
    named = re.search(r"https?://", policy.agent) is not None
    respects, delays = policy.mode == "respect", "crawl-delay" in policy.honour
    mode = f"mode {policy.mode}" + (f", {policy.dialect}" if isinstance(policy.dialect, str) else "")
    slower = f", {policy.adaptive:g} x the response time" if policy.adaptive else ""
    cached = "robots.txt and pages" if settings.cache_pages else "robots.txt (cache_pages keeps pages too)"
    pace = f"{policy.min_interval:g} s between requests to a {policy.pace_by}, Crawl-delay "
    on_page = identity is not None and identity.page in policy.agent
    signs = identity is not None and settings.sign != "never"
    origin, page, ranges = ("", "", ()) if identity is None else (identity.origin, identity.page, identity.ranges)
    return [
        Practice("obeys robots.txt", respects, mode if respects else f"{mode}: set respect"),
        Practice(
            "names itself, with a URL",
            named,
            policy.agent if named else f"{policy.agent}: add a URL, as in MyBot/1.0 (+https://example.org/bot)",
        ),
        Practice(
            "goes slowly",
            policy.min_interval > 0 and delays,
            pace + ("honoured" if delays else "not honoured: set honour"),
        ),
        Practice("backs off", True, f"429, 5xx, no answer: {policy.backoff:g} s, doubled{slower}")
        if policy.backoff
        else Practice("backs off", False, "set backoff: 429, 5xx and no answer change nothing now"),
        Practice("caches", False, "robots.txt for the run alone: set cache and cache_pages to keep more")
        if settings.cache is None
        else Practice("caches", settings.cache_pages, f"{cached} in {settings.cache}"),
        Practice("publishes its addresses", bool(ranges), ", ".join(ranges) or "comity identity new --range CIDR"),
        Practice(
            "explains itself on a page",
            on_page,
            page if on_page else f"name {page} in agent" if page else "comity identity new writes one",
        ),
        Practice(
            "proves who it is",
            signs,
            f"Web Bot Auth, {settings.sign.replace('_', ' ')}, as {origin}"
            if signs
            else "set identity: requests are signed then",
        ),
    ]
