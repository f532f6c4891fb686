"""What a crawl covers and how hard it works. Frozen; checked when made."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from comity.crawler.admit import scope as scopes
from comity.crawler.budget import Budget
from comity.errors import InvalidSetting

DuplicateSearch = Literal["off", "exact", "near"]

# Smallest value of each whole number, and whether it may be None.
_WHOLE = (
    ("max_pages", 1, True),
    ("max_depth", 0, True),
    ("max_bytes", 1, True),
    ("body_memory", 1024 * 1024, False),
    ("max_pages_per_host", 1, True),
    ("max_bytes_per_host", 1, True),
    ("concurrency", 1, False),
    ("per_host", 1, False),
    ("retries", 0, False),
    ("max_url_length", 16, True),
    ("max_path_segments", 1, True),
    ("render_requests", 0, False),
    ("render_pages", 1, False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """The limits of one crawl.

    Attributes:
        max_pages: pages to keep at most; None for all.
        max_depth: links followed from a seed at most; None for no limit.
        concurrency: requests under way at the same time, over all hosts.
        per_host: the same for one host; it counts only where the policy leaves no interval between requests.
        retries: times a URL is tried again after a failure that may pass (network, 429, 5xx).
        sitemaps: whether sitemaps are read: those that robots.txt names, else those in the well-known places.
        feeds: whether the RSS and Atom feeds are read that a seed page names.
        scope: how far the crawl reaches from its seeds: `host`, `domain`, `prefix` or `any` (see Scope).
        include, exclude: patterns as in robots.txt; a URL must match one of the first, if there are any, and none of
            the second.
        max_bytes: bytes of bodies after which no request is started; None for no limit.
        max_seconds: the same in seconds, the time between two runs not counted.
        max_pages_per_host, max_bytes_per_host, max_seconds_per_host: the same for each host by itself.
        follow_nofollow: whether links are followed that a page asks not to follow.
        clean_urls: whether parameters that only track or name a session are taken off URLs (and those that
            robots.txt names with Clean-param).
        traps: whether URLs that never end (calendars, facets, repeated segments) are left out.
        max_url_length, max_path_segments: longer and deeper URLs are taken for traps; None for no limit.
        body_memory: bytes of bodies held at a time: those that arrive, and those that wait to be written. A larger one
            passes alone.
        duplicates: `exact` marks pages whose content or canonical URL is that of a page already kept, `near` also
            those that differ in a few words, `off` marks none. A duplicate is marked, not dropped.
        longest_wait: seconds that a run waits for a host to be asked again (Crawl-delay, Visit-time, Retry-After) when
            nothing else is left to do; what waits longer is left for a later run. None: for ever.
        trust_lastmod: whether a refresh takes a page for unchanged, and does not ask for it, where a sitemap says that
            it last changed well before it was fetched.
        render: whether the scripts of HTML pages are run, and pages kept and read as they are then (needs
            comity[playwright] and a Chromium).
        render_browser: the Chromium's path; None to look for one.
        render_seconds: seconds that a page has in the browser, waiting for what it asks for not counted.
        render_requests: requests sent for a page beside its own at most.
        render_pages: pages rendered at the same time.
    """

    max_pages: int | None = None
    max_depth: int | None = None
    concurrency: int = 16
    per_host: int = 8
    retries: int = 2
    sitemaps: bool = True
    feeds: bool = True
    scope: scopes.Breadth = "host"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_bytes: int | None = None
    max_seconds: float | None = None
    max_pages_per_host: int | None = None
    max_bytes_per_host: int | None = None
    max_seconds_per_host: float | None = None
    follow_nofollow: bool = False
    clean_urls: bool = True
    traps: bool = True
    max_url_length: int | None = 2048  # sitemaps.org: "less than 2,048 characters"
    max_path_segments: int | None = 24
    body_memory: int = 32 * 1024 * 1024
    duplicates: DuplicateSearch = "exact"
    longest_wait: float | None = 3600.0
    trust_lastmod: bool = True
    render: bool = False
    render_browser: str | None = None
    render_seconds: float = 15.0
    render_requests: int = 100
    render_pages: int = 2

    def __post_init__(self) -> None:
        for name, least, optional in _WHOLE:
            value = getattr(self, name)
            if value is None and optional:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidSetting(f"{name}: {value!r} is not a whole number of at least {least}")
        for name in ("max_seconds", "max_seconds_per_host", "longest_wait", "render_seconds"):
            value = getattr(self, name)
            if value is None and name != "render_seconds":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise InvalidSetting(f"{name}: {value!r} is not a number of seconds above zero")
        if not isinstance(self.render, bool):
            raise InvalidSetting(f"render: {self.render!r} is neither true nor false")
        if self.duplicates not in get_args(DuplicateSearch):
            raise InvalidSetting(
                f"duplicates: {self.duplicates!r} is not one of {', '.join(get_args(DuplicateSearch))}"
            )
        scopes.check(self.scope, self.include, self.exclude)

    @property
    def budget(self) -> Budget:
        """The limits of the whole crawl."""
        return Budget(pages=self.max_pages, bytes=self.max_bytes, seconds=self.max_seconds)

    @property
    def host_budget(self) -> Budget:
        """The limits of each host."""
        return Budget(pages=self.max_pages_per_host, bytes=self.max_bytes_per_host, seconds=self.max_seconds_per_host)

    def scope_around(self, seeds: Iterable[str], before: Mapping[str, Any] | None = None) -> scopes.Scope:
        """The scope of a crawl from these seeds.

        Args:
            before: that of an earlier run of the same crawl, as `to_dict` gave it: where it lay, this one lies too.
        """
        scope = scopes.Scope(by=self.scope, include=self.include, exclude=self.exclude, max_depth=self.max_depth)
        return scope.around(*(() if before is None else before["given"]), *seeds)
