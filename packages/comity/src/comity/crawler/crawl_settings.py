"""What a crawl covers and how hard it works. Frozen; checked when made."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from comity.crawler.finding import scope as scopes
from comity.crawler.finding.limits import COUNTED, Budget
from comity.crawler.finding.uses import terms
from comity.errors import InvalidSetting
from comity.http_rules import is_field_name
from comity_robots.fields import MIB, check, seconds, setting, size


def _header_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names in lower case; a text may name several, with commas."""
    found = tuple(dict.fromkeys(name for text in names for each in text.split(",") if (name := each.strip().lower())))
    for name in found:
        if not is_field_name(name):
            raise InvalidSetting(
                f"record_headers: {name!r} is not the name of a response header",
                hint="write names alone, such as etag; `headers` is what requests are sent with",
            )
    return found


Requisites = Literal["all", "same-site", "none"]
DuplicateSearch = Literal["off", "exact", "near"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """The limits of one crawl.

    Attributes:
        max_pages: stop after this many pages; None for no limit.
        max_depth: follow at most this many links from a seed; None for no limit.
        concurrency: concurrent requests, over all hosts.
        per_host: the same for one host; it counts only where the policy leaves no interval between requests.
        retries: times a URL is tried again after a temporary failure (network, 429, 5xx).
        sitemaps: whether sitemaps are read: those that robots.txt names, else those in the well-known places.
        feeds: whether the RSS and Atom feeds are read that a seed page names.
        scope: how far the crawl reaches from its seeds: `host`, `domain`, `prefix` or `any`.
        include: only URLs that match a pattern as in robots.txt, such as `/blog/*.html$`.
        exclude: no URLs that match a pattern, such as `*?print=`. They add to those of an earlier run.
        max_bytes: stop after this many bytes of pages; None for no limit.
        max_seconds: stop after this many seconds, not counting the time between runs; None for no limit.
        max_pages_per_host: at most this many pages of a host; None for no limit.
        max_bytes_per_host: no new request to a host after this many bytes; None for no limit.
        max_seconds_per_host: no new request to a host this many seconds after the first; None for no limit.
        min_free_disk: end the run when less of the disk of the results is free than this many bytes; it can be resumed.
            None for no limit.
        follow_nofollow: whether links marked nofollow are followed.
        clean_urls: whether parameters that only track or name a session are taken off URLs (and those that
            robots.txt names with Clean-param).
        traps: whether endless URLs (calendars, facets, repeated segments) are skipped.
        max_url_length: characters; a longer URL is taken for a trap. None for no limit.
        max_path_segments: parts of a path; a deeper URL is taken for a trap. None for no limit.
        body_memory: bytes of bodies held at a time: those that arrive, and those that wait to be written. A larger one
            passes alone.
        duplicates: mark pages as duplicates: `exact` (same content or canonical URL), `near` (also those that differ in
            a few words), or `off`. They are not dropped.
        longest_wait: seconds that a run waits for a host (Crawl-delay, Visit-time, Retry-After) when nothing else is
            left to do; what waits longer is left for a later run. None: for ever.
        trust_lastmod: whether a refresh takes a page for unchanged, without a request, where a sitemap says that it
            last changed well before it was fetched.
        link_graph: whether the links of each page are written (channel `links`: from, to, text, rel).
        requisites: whether an archive (`warc`, `wacz`) holds what pages need to look as they do: images, style sheets
            and what they import, fonts, scripts. `all`; `same-site`: those of the page's own registrable domain; or
            `none`. robots.txt is checked for each, and of the limits only those of time count them.
        record_headers: response headers to write into each page's record, such as `etag`.
        only_if: keep only pages whose site states this about their use, such as `train-ai=allowed` or
            `search=not-disallowed`. Others are refused by usage.
        render: whether the scripts of HTML pages are run, and the resulting document is read and kept (needs
            comity[playwright] and a Chromium).
        render_auto: whether only HTML pages that are nearly empty without their scripts are rendered.
        render_browser: the Chromium's path; None to look for one.
        render_seconds: seconds that a page has in the browser, not counting the wait for its resources.
        render_requests: requests for the resources of a page.
        render_pages: pages rendered at the same time.
        webhook: URL that gets a message at the end of the crawl and at the first refusal and failure of each host,
            signed with the secret in COMITY_WEBHOOK_SECRET.
        telemetry: whether requests and pages are sent to OpenTelemetry (needs comity[telemetry]).
    """

    max_pages: int | None = setting(None, least=1, stricter="less")
    max_depth: int | None = setting(None, least=0, stricter="less")
    concurrency: int = setting(16, least=1, stricter="less")
    per_host: int = setting(8, least=1, stricter="less")
    retries: int = setting(2, least=0, stricter="less")
    sitemaps: bool = setting(True, stricter="any")
    feeds: bool = setting(True, stricter="any")
    scope: scopes.Breadth = setting("host", stricter=("prefix", "host", "domain", "any"))
    include: tuple[str, ...] = setting((), stricter="any")
    exclude: tuple[str, ...] = setting((), stricter="any")
    max_bytes: int | None = size(None, stricter="less")
    max_seconds: float | None = seconds(None, stricter="less")
    max_pages_per_host: int | None = setting(None, least=1, stricter="less")
    max_bytes_per_host: int | None = size(None, stricter="less")
    max_seconds_per_host: float | None = seconds(None, stricter="less")
    min_free_disk: int | None = size(None, stricter="any")
    follow_nofollow: bool = False
    clean_urls: bool = setting(True, stricter="any")
    traps: bool = setting(True, stricter=(True, False))
    max_url_length: int | None = setting(2048, least=16, stricter="less")  # sitemaps.org: "less than 2,048 characters"
    max_path_segments: int | None = setting(24, least=1, stricter="less")
    body_memory: int = size(32 * MIB, least=MIB, stricter="less")
    duplicates: DuplicateSearch = setting("exact", stricter="any")
    longest_wait: float | None = seconds(3600.0, stricter="less")
    trust_lastmod: bool = setting(True, stricter="any")
    link_graph: bool = setting(False, stricter="any")
    requisites: Requisites = setting("all", stricter=("none", "same-site", "all"))
    record_headers: tuple[str, ...] = setting((), normal=_header_names, stricter="any")
    only_if: tuple[str, ...] = setting((), stricter="any")
    render: bool = False
    render_auto: bool = False
    render_browser: str | None = setting(None, path=True)
    render_seconds: float = seconds(15.0, stricter="less")
    render_requests: int = setting(100, least=0, stricter="less")
    render_pages: int = setting(2, least=1, stricter="less")
    webhook: str | None = None
    telemetry: bool = False

    def __post_init__(self) -> None:
        check(self)
        scopes.check(self.scope, self.include, self.exclude)
        terms(self.only_if)

    @property
    def renders(self) -> bool:
        """Whether pages are rendered, all or only some."""
        return self.render or self.render_auto

    @property
    def budget(self) -> Budget:
        """The limits of the whole crawl."""
        return Budget.of(self)

    @property
    def host_budget(self) -> Budget:
        """The limits of each host."""
        return Budget.of(self, "_per_host")

    def scope_around(self, seeds: Iterable[str], before: Mapping[str, Any] | None = None) -> scopes.Scope:
        """The scope of a crawl from these seeds; that of an earlier run of the same crawl, as `to_dict` gave it, lies
        within."""
        scope = scopes.Scope(by=self.scope, include=self.include, exclude=self.exclude, max_depth=self.max_depth)
        scope.add(*(() if before is None else before["given"]))
        if (
            self.scope == "prefix"
        ):  # a redirect may take back a prefix that was given, but not one that another URL gives
            scope.add(*seeds)
        else:
            scope.widen(seeds)
        return scope


def limits() -> list[str]:
    """The names of the settings that limit what is counted, in all and of each host."""
    names = [f"max_{name}{each}" for each in ("", "_per_host") for name in COUNTED]
    return [name for name in names if name in CrawlSettings.__dataclass_fields__]
