"""What became of URLs in a crawl, in words: from the output, the frontier, and where neither knows it from the
settings that the crawl remembers. It reads only, and sends nothing.
"""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from comity import times
from comity.audit.evidence import robots_files
from comity.audit.stored import last_name, page_of, stored_in
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding.canonicalize import Canonicalizer
from comity.crawler.finding.scope import Scope, stored_scope
from comity.crawler.finding.sitemap_names import naming
from comity.crawler.finding.traps import Traps
from comity.crawler.observe.stats import UNREACHABLE, sitemap_in_words
from comity.crawler.observe.words import NO_ROBOTS, QUEUED
from comity.crawler.output.reader import CHECKED, body_of
from comity.crawler.storage.crawl_output import OutputPart
from comity.crawler.storage.open_crawl import open_crawl
from comity.frontier.committed import FrontierView
from comity.frontier.durable import no_crawl
from comity.frontier.state_overlay import StateOverlay
from comity.frontier.values import QueuedURL, State
from comity.http_rules import is_temporary
from comity.policy import Policy, RobotsResult
from comity.policy.origin_policy import decide
from comity_pages.signals.links import Page
from comity_pages.signals.robots_meta import read as read_robots_meta
from comity_pages.urls import Url

_ORDER: Final = {channel: number for number, channel in enumerate(CHECKED)}
_ASIDE: Final = {
    "scope": ("out of scope", "queued before the scope changed", "once the scope covers it"),
    "policy": ("refused", "the crawl's own policy refuses it", "once the policy changes"),
    "usage": ("refused", "not for the uses that are wanted", "at the next --refresh, or once --only-if changes"),
}
MAX_LISTS_NAMED: Final = 3  # sitemaps that were not read whole, in one answer
_BODY: Final = frozenset(("body", "body_base64", "body_bytes", "more", "id"))


@dataclass(slots=True)
class UrlStatus:
    """What became of a URL.

    Attributes:
        url: in normal form.
        fate: `kept`, `unchanged`, `gone`, `redirected`, `refused`, `trapped`, `unwanted`, `failed`, `queued`,
            `waiting for robots.txt`, `out of scope`, `robots.txt`, `sitemap`,
            `not found`, or `unknown`, where parts of the output are missing.
        why: one plain sentence.
        found_on: the URL of what named it first; None where it was given by hand, or nobody did.
        next_try: when it is asked for again, in words; None where it is not.
        records: what the output holds of it, without bodies, each with its `channel`; the newest last.
        decision: of a URL that was never met: what the robots.txt that the crawl has of its site says; else None.
        met: whether queue or output have it; where not, `fate` and `why` say what would have become of it.
    """

    url: str
    fate: str
    why: str
    found_on: str | None = None
    next_try: str | None = None
    records: list[dict[str, Any]] = field(default_factory=list)
    decision: dict[str, Any] | None = None
    met: bool = True

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a URL: the queue, the parts of its output and of all, what the crawl was begun with."""

    view: FrontierView
    parts: Sequence[OutputPart]
    everywhere: Sequence[OutputPart]
    policy: Policy
    settings: CrawlSettings


def explain_url(folders: Path | Sequence[Path], url: str, *, store: str | None = None) -> UrlStatus:
    """What became of one URL in a crawl; as `explain_urls`."""
    return explain_urls(folders, [url], store=store)[0]


def explain_urls(folders: Path | Sequence[Path], asked: Sequence[str], *, store: str | None = None) -> list[UrlStatus]:
    """What became of URLs in a crawl, which is opened and read once for all of them. `folders`: of one that lies in a
    store, those of all machines that worked on it. `store`: its address, where that which the folders name does not do.

    Raises:
        InvalidURL
        StorageError: the folder holds no crawl, or it cannot be read.
        InvalidSetting: the output was written by a plug-in, which cannot be read back.
    """
    named = [Url(url) for url in asked]
    crawl = open_crawl(folders, store)
    output = crawl.output()
    by_shard: dict[int, list[Url]] = {}
    for url in dict.fromkeys(named):
        by_shard.setdefault(crawl.shard_of(url.host), []).append(url)
    statuses: dict[Url, UrlStatus] = {}
    unmet: list[tuple[_Known, Url, Url]] = []
    with ExitStack() as stack:
        for number, wanted in by_shard.items():
            parts, view = output.shards[number], crawl.view(number)
            if view is None:
                raise no_crawl(parts[0].path)
            begun = crawl.config(stack.enter_context(view))
            known = _Known(view, parts, output.parts, begun.policy or Policy(), CrawlSettings(**begun.settings))
            clean = {url: Url(Canonicalizer().clean(url)) if known.settings.clean_urls else url for url in wanted}
            found = _records(parts, {*wanted, *clean.values()})
            for url in wanted:
                about, queued = url, view.queue_entry(url, url.host)
                if queued is None and url not in found and clean[url] != url:
                    about = clean[url]
                    queued = view.queue_entry(about, about.host)
                status = _judged(known, about, found.get(about, []), queued)
                if status is None:
                    unmet.append((known, url, about))
                else:
                    statuses[url] = _as_asked(status, url)
        predicted = _predict([(known, about) for known, _, about in unmet])
        statuses |= {url: _as_asked(predicted[about], url) for _, url, about in unmet}
    for status in statuses.values():
        host = Url(status.url).host
        if (
            status.fate in (QUEUED, NO_ROBOTS)
            and (order := crawl.last_order(host)) is not None
            and order.order == "stop"
        ):
            status.why, status.next_try = (
                f"its host was stopped by an order (comity frontier); {status.why}",
                f"after `comity frontier go {'DIR' if output.store is None else '--store URL'} {order.host}`",
            )
    return [statuses[url] for url in named]


def _as_asked(status: UrlStatus, url: Url) -> UrlStatus:
    """The status of a URL that was crawled in its clean form, under the form that was asked about."""
    if status.url == url:
        return status
    return replace(status, url=url, why=f"crawled as {status.url}: {status.why}", decision=None)


def _records(parts: Sequence[OutputPart], wanted: set[Url]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for stored in stored_in(parts, naming=wanted):
        if stored.channel is not None and (url := stored.record.get("url")) in wanted:
            kept = {name: value for name, value in stored.record.items() if name not in _BODY}
            found.setdefault(str(url), []).append({"channel": stored.channel, **kept})
    for about in found.values():  # of one run each channel is in order; which refresh it was tells who spoke last
        about.sort(key=lambda record: (record.get("refresh") or 0, -_ORDER[record["channel"]]))
    return found


def _judged(known: _Known, url: Url, found: list[dict[str, Any]], queued: QueuedURL | None) -> UrlStatus | None:
    """What queue and output say of a URL; None where they say nothing, and nothing of the output is missing."""
    if queued is not None:
        status = waiting(known.view, url, queued)
        status.records = found
        if found and status.fate == status_in(found[-1])[0] == "refused":
            status.why = status_in(found[-1])[1]
        elif found:
            status.why += f"; before, {status_in(found[-1])[1]}"
        return status
    if found:
        changes = [record for record in found if record["channel"] == "changes"]
        last = found[-1]
        latest = changes[-1] if changes and changes[-1]["refresh"] == (last.get("refresh") or 0) else None
        if latest is not None and latest["change"] in ("gone", "unchanged") and last["channel"] != "pages":
            last = latest
        fate, why = status_in(last)
        again = "at the next --refresh" if fate in ("kept", "unchanged") else None
        if fate == "failed" and is_temporary(last.get("status")):
            again = "at the next --refresh: the failure may be temporary"
        return UrlStatus(url, fate, why, last.get("found_on"), again, found)
    if absent := [f"{part.name}: {part.absent}" for part in known.parts if part.absent is not None]:
        why = f"not in the queue, and output that may hold it is missing: {'; '.join(absent)}"
        return UrlStatus(url, "unknown", why, met=False)
    return None


def status_in(record: Mapping[str, Any]) -> tuple[str, str]:
    """The fate that a record tells of, and a sentence."""
    at = f" at {record['fetched_at']}" if record.get("fetched_at") else ""
    match record["channel"]:
        case "pages":
            same = (
                f"; a copy of {record.get('duplicate_of')} ({record['duplicate']})" if record.get("duplicate") else ""
            )
            return "kept", f"fetched{at}, status {record['status']}{_rule(record)}{same}"
        case "requisites":
            return "requisite", f"fetched{at}, status {record['status']}, for {record['found_on']}{_rule(record)}"
        case "changes":
            change = record["change"]
            word = {"new": "kept", "changed": "kept"}.get(change, change)
            return word, f"refresh {record['refresh']} found it {change}{at}, by {record['by']}"
        case "redirects":
            to = record["to"] or record["location"]
            return "redirected", f"status {record['status']}{at}, redirects to {to}"
        case "refusals":
            return "refused", str(record["why"])
        case "traps":
            return "trapped", f"{record['trap']}: {record['why']}"
        case "unwanted":
            return "unwanted", str(record["why"])
        case "sitemaps":
            return "sitemap", f"read{at}: {sitemap_in_words(record)}"
        case "robots":
            return "robots.txt", f"fetched as a robots.txt{at}: {record['outcome']}"
        case _:
            tries = record.get("attempts") or 0
            return "failed", f"{f'after {tries} tries: ' if tries > 1 else ''}{record['why']}"


def _rule(record: Mapping[str, Any]) -> str:
    decision = record.get("decision") or {}
    if not decision.get("rule"):
        return "; no robots.txt rule matches it" if decision.get("robots_sha256") else ""
    return f"; allowed by robots.txt line {decision.get('line')} ({decision['rule']})"


def waiting(view: FrontierView, url: Url, standing: QueuedURL) -> UrlStatus:
    """Why a URL is in the queue or stands aside."""
    if standing.aside is not None:
        fate, why, again = _ASIDE[standing.aside]
        return UrlStatus(url, fate, why, standing.found_on, again)
    if standing.postponed:
        silent: list[Any] = view.load_state(UNREACHABLE + url.host) or [0, {}, "robots.txt unreachable"]
        until = silent[1].get(url.origin)
        at = f"from {times.iso(until)} on, by --resume" if until else "by --resume"
        return UrlStatus(url, NO_ROBOTS, silent[2], standing.found_on, at)
    tried = f", tried {standing.attempts} times so far" if standing.attempts else ""
    ended = view.load_state("ended")
    state = "its robots.txt is fetched first" if standing.state is State.UNASKED else "in the queue"
    why = f"{state}{tried}"
    again = "by --resume" if ended else "when its turn comes"
    if ended == "finished":
        why, again = f"a limit ended the crawl before its turn{tried}", "by --resume with a higher limit"
    elif ended == "stopped":
        why = f"the crawl was stopped before its turn{tried}"
    return UrlStatus(url, QUEUED, why, standing.found_on, again)


def _predict(unmet: Sequence[tuple[_Known, Url]]) -> dict[Url, UrlStatus]:
    """Judge URLs that nothing is stored about by the settings, the scope and the robots.txt that the crawl has."""
    found = {url: status for known, url in unmet if (status := _excluded(known, url)) is not None}
    left = [(known, url) for known, url in unmet if url not in found]
    links = _left_out(left)
    robots: dict[int, dict[str, RobotsResult]] = {}  # by the shard that knows of them
    for known, url in left:
        why, named_on = links[url]
        decision = None
        if known.policy.mode == "ignore":
            decision = decide(known.policy, url, None)
        else:
            if id(known) not in robots:
                origins = {other.origin for shard, other in left if shard is known}
                robots[id(known)] = {each.origin: each for each in robots_files(known.parts, known.policy, origins)}
            if (last := robots[id(known)].get(url.origin)) is not None:
                decision = decide(known.policy, url, last)
        if decision is None:
            why += f". The crawl has no robots.txt of {url.origin}"
            found[url] = UrlStatus(url, "not found", why, named_on, met=False)
            continue
        read = times.iso(decision.source.fetched_at) if decision.source is not None else None
        would = "would allow" if decision.may_fetch else "would disallow"
        why += (
            f". robots.txt ({read}) {would} it: {decision.why}" if read else f". The policy {would} it: {decision.why}"
        )
        found[url] = UrlStatus(url, "not found", why, named_on, decision=decision.to_record(), met=False)
    return found


def _excluded(known: _Known, url: Url) -> UrlStatus | None:
    """Whether scope or traps would keep a URL out."""
    kept = stored_scope(known.view.load_state, known.view.load_states)
    if kept is not None and not (verdict := Scope.from_dict(kept).judge(url)).inside:
        return UrlStatus(url, "out of scope", verdict.why, met=False)
    if known.settings.traps:
        today = datetime.fromtimestamp(time.time(), UTC).date()
        limits = known.settings.max_url_length, known.settings.max_path_segments
        if (trap := Traps(*limits, today=today, facts=StateOverlay(known.view.load_state)).judge(url)) is not None:
            return UrlStatus(url, "trapped", f"would be left out as a trap ({trap.name}): {trap.why}", met=False)
    return None


def _left_out(wanted: Sequence[tuple[_Known, Url]]) -> dict[Url, tuple[str, str | None]]:
    """Why no link to each URL was followed, by the bodies of the pages that were kept, and the page that says so."""
    found: dict[Url, dict[str, str]] = {url: {} for _, url in wanted}
    lists: dict[Url, dict[str, str]] = {url: {} for _, url in wanted}  # sitemaps that may name it unread
    for stored in stored_in(wanted[0][0].everywhere if wanted else ()):
        record = stored.record
        if stored.channel == "sitemaps":
            for known, url in wanted:
                if _may_hide(known, record, url):
                    lists[url][record["url"]] = f"; {record['url']} may: {sitemap_in_words(record)}"
        if stored.channel != "pages":
            continue
        body, page = body_of(record), None
        for known, url in wanted:
            if record["url"] != url and last_name(url) in body:
                page = page_of(record) if page is None else page
                if (why := _unfollowed(known, record, page, body, url)) is not None:
                    found[url].setdefault(why, page.url)
    said = "no crawled page links to it or names it, nor does a sitemap as far as it was read"
    return {
        url: ("; ".join(f"{why}: {page}" for why, page in pages.items()), next(iter(pages.values())))
        if (pages := found[url])
        else (said + "".join(list(lists[url].values())[:MAX_LISTS_NAMED]), None)
        for _, url in wanted
    }


def _unfollowed(known: _Known, record: Mapping[str, Any], page: Page, body: bytes, url: Url) -> str | None:
    """Why a page's links to a URL were not followed; None where it has none and does not name it."""
    settings, depth = known.settings, record.get("depth")
    links = [link for link in page.links if url in (link.url, Canonicalizer().clean(link.url))]
    if not links:
        named = _names(url, page.url).search(body)
        return "only text or a script names it, not a link (--render runs scripts)" if named else None
    if settings.max_depth is not None and depth is not None and depth >= settings.max_depth:
        return f"a page links to it that is {depth} links from the start, where no more are followed (--max-depth)"
    if all(link.nofollow for link in links):
        return "the link to it is marked nofollow (--follow-nofollow follows it)"
    if read_robots_meta((), page.metas, agent=known.policy.agent).nofollow:
        return "the page that links to it is marked nofollow (--follow-nofollow follows)"
    return "a page links to it, by a link that was not followed then"


def _may_hide(known: _Known, record: Mapping[str, Any], url: Url) -> bool:
    """Whether a sitemap may name a URL where it was not read, by its record: it may list those of its host."""
    named_by = (record["url"], *naming(known.view.load_state, record["url"]), record.get("found_on"))
    is_ours = any(Url(each).host == url.host for each in named_by if each)
    return bool(is_ours and (record["problem"] is not None or record["skipped"])) or (
        not is_ours and record["elsewhere"] > 0
    )


def _names(url: Url, page: str) -> re.Pattern[bytes]:
    """A URL as text of a page names it: whole, without its origin on a page of the same one."""
    origin, path = (re.escape(part.encode()) for part in (url.origin, url.path_and_query))
    bare = rb"|(?<![\w/.%~:<-])" if Url(page).origin == url.origin and url.path_and_query != "/" else b""
    return re.compile(rb"(?:%b%b)%b(?![\w/%%~?=&-]|\.\w)" % (origin, bare, path))
