"""What became of one URL in a crawl, in words: from the output, the frontier, and where neither knows it from the
settings that the crawl remembers. It reads only, and sends nothing.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from comity import times
from comity.audit.stored import last_name, page_of, stored_in
from comity.audit.stored_robots import robots_files
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding.canonicalize import Canonicalizer
from comity.crawler.finding.scope import Scope, stored_scope
from comity.crawler.finding.sitemap_names import naming
from comity.crawler.finding.traps import Traps
from comity.crawler.observe.stats import UNREACHABLE, sitemap_in_words
from comity.crawler.output.reader import CHECKED, body_of
from comity.crawler.storage.crawl_at import open_crawl
from comity.crawler.storage.written_crawl import OutputPart, no_crawl
from comity.frontier.committed import FrontierView
from comity.frontier.state_overlay import StateOverlay
from comity.frontier.values import QueuedURL, State
from comity.http_rules import is_temporary
from comity.policy import Decision, Policy
from comity.policy.origin_policy import decide
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
        fate: `kept`, `unchanged`, `gone`, `redirected`, `refused`, `trapped`, `unwanted`, `failed`, `waits`,
            `out of scope`, `robots.txt`, `sitemap`, `not found`, or `unknown`, where parts of the output are missing.
        why: one plain sentence.
        found_on: the URL of what named it first; None where it was given by hand, or nobody did.
        next_try: when it is asked for again, in words; None where it is not.
        records: what the output holds of it, without bodies, each with its `channel`; the newest last.
        decision: of a URL that was never met: what the robots.txt that the crawl has of its site says; else None.
    """

    url: str
    fate: str
    why: str
    found_on: str | None = None
    next_try: str | None = None
    records: list[dict[str, Any]] = field(default_factory=list)
    decision: dict[str, Any] | None = None

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
    """What became of a URL in a crawl. `folders`: of one that lies in a store, those of all machines that worked on it.
    `store`: its address, where that which the folders name does not do.

    Raises:
        InvalidURL
        StorageError: the folder holds no crawl, or it cannot be read.
        InvalidSetting: the output was written by a plug-in, which cannot be read back.
    """
    url = Url(url)
    host = url.host
    crawl = open_crawl(folders, store)
    written = crawl.written()
    parts, view = written.shards[crawl.shard_of(host)], crawl.view_of(host)
    if view is None:
        raise no_crawl(parts[0].path)
    with view:
        begun = crawl.begun(view)
        known = _Known(view, parts, written.parts, begun.policy or Policy(), CrawlSettings(**begun.settings))
        clean = Url(Canonicalizer().clean(url)) if known.settings.clean_urls else url
        found = list(_records(known.parts, {url, clean}))
        exact = [record for record in found if record["url"] == url]
        standing = view.queue_entry(url, host)
        if not exact and standing is None and clean != url:
            told = _judged(known, clean, found, view.queue_entry(clean, clean.host))
            told = replace(told, url=url, why=f"crawled as {clean}: {told.why}", decision=None)
        else:
            told = _judged(known, url, exact, standing)
        if told.fate == "waits" and (order := crawl.last_order(host)) is not None and order.order == "stop":
            told.why, told.next_try = (
                f"its host was stopped by an order (comity frontier); {told.why}",
                f"after `comity frontier go {'DIR' if written.store is None else '--store URL'} {order.host}`",
            )
        return told


def _records(parts: Sequence[OutputPart], wanted: set[str]) -> Iterator[dict[str, Any]]:
    """The records about the URLs, without bodies."""
    found = []
    for stored in stored_in(parts, naming=wanted):
        if stored.channel is not None and stored.record.get("url") in wanted:
            kept = {name: value for name, value in stored.record.items() if name not in _BODY}
            found.append({"channel": stored.channel, **kept})
    # Of one run each channel is in order; which refresh it was tells who spoke last.
    yield from sorted(found, key=lambda record: (record.get("refresh") or 0, -_ORDER[record["channel"]]))


def _judged(known: _Known, url: Url, found: list[dict[str, Any]], standing: QueuedURL | None) -> UrlStatus:
    if standing is not None:
        told = waiting(known.view, url, standing)
        told.records = found
        if found and told.fate == status_in(found[-1])[0] == "refused":
            told.why = status_in(found[-1])[1]
        elif found:
            told.why += f"; before, {status_in(found[-1])[1]}"
        return told
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
        return UrlStatus(
            url, "unknown", f"not in the queue, and output that may hold it is missing: {'; '.join(absent)}"
        )
    return _predict(known, url)


def status_in(record: Mapping[str, Any]) -> tuple[str, str]:
    """The fate that a record tells of, and a sentence."""
    at = f" at {record['fetched_at']}" if record.get("fetched_at") else ""
    match record["channel"]:
        case "pages":
            same = (
                f"; a copy of {record.get('duplicate_of')} ({record['duplicate']})" if record.get("duplicate") else ""
            )
            return "kept", f"fetched{at}, status {record['status']}{_rule(record)}{same}"
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
        return UrlStatus(url, "waits", silent[2], standing.found_on, at)
    tried = f", tried {standing.attempts} times so far" if standing.attempts else ""
    ended = view.load_state("ended")
    state = "its robots.txt is fetched first" if standing.state is State.UNASKED else "in the queue"
    why = f"{state}{tried}"
    again = "by --resume" if ended else "when its turn comes"
    if ended == "finished":
        why, again = f"a limit ended the crawl before its turn{tried}", "by --resume with a higher limit"
    elif ended == "stopped":
        why = f"the crawl was stopped before its turn{tried}"
    return UrlStatus(url, "waits", why, standing.found_on, again)


def _predict(known: _Known, url: Url) -> UrlStatus:
    """Judge a URL that nothing is stored about by the settings, the scope and the robots.txt that the crawl has."""
    view, settings = known.view, known.settings
    kept = stored_scope(view.load_state, view.load_states)
    if kept is not None:
        scope = Scope.from_dict(kept)
        if not (verdict := scope.judge(url)).inside:
            return UrlStatus(url, "out of scope", verdict.why)
    if settings.traps:
        today = datetime.fromtimestamp(time.time(), UTC).date()
        traps = Traps(
            settings.max_url_length, settings.max_path_segments, today=today, facts=StateOverlay(view.load_state)
        )
        if (trap := traps.judge(url)) is not None:
            return UrlStatus(url, "trapped", f"would be left out as a trap ({trap.name}): {trap.why}")
    told, named_on = _left_out(known, url)
    decision = _by_stored_robots(known, url)
    if decision is None:
        return UrlStatus(url, "not found", f"{told}. The crawl has no robots.txt of {url.origin}", named_on)
    read = times.iso(decision.source.fetched_at) if decision.source is not None else None
    would = "would allow" if decision.may_fetch else "would disallow"
    told += f". robots.txt ({read}) {would} it: {decision.why}" if read else f". The policy {would} it: {decision.why}"
    return UrlStatus(url, "not found", told, named_on, decision=decision.to_record())


def _left_out(known: _Known, url: Url) -> tuple[str, str | None]:
    """Why no link to a URL was followed, by the bodies of the pages that were kept, and the page that says so."""
    settings, found = known.settings, dict[str, str]()
    lists = dict[str, str]()  # sitemaps that may have named it where they were not read
    for stored in stored_in(known.everywhere):
        record = stored.record
        if stored.channel == "sitemaps" and _may_hide(known, record, url):
            lists[record["url"]] = f"; {record['url']} may: {sitemap_in_words(record)}"
        if stored.channel != "pages" or record["url"] == url or last_name(url) not in (body := body_of(record)):
            continue
        page = page_of(record)
        links = [link for link in page.links if url in (link.url, Canonicalizer().clean(link.url))]
        depth = record.get("depth")
        if not links and _names(url, page.url).search(body):
            found.setdefault("only text or a script names it, not a link (--render runs scripts)", page.url)
        elif links and settings.max_depth is not None and depth is not None and depth >= settings.max_depth:
            deep = f"{depth} links from the start, where no more are followed (--max-depth)"
            found.setdefault(f"a page links to it that is {deep}", page.url)
        elif links and all(link.nofollow for link in links):
            found.setdefault("the link to it is marked nofollow (--follow-nofollow follows it)", page.url)
        elif links and read_robots_meta((), page.metas, agent=known.policy.agent).nofollow:
            found.setdefault("the page that links to it is marked nofollow (--follow-nofollow follows)", page.url)
        elif links:
            found.setdefault("a page links to it, by a link that was not followed then", page.url)
    if found:
        return "; ".join(f"{why}: {page}" for why, page in found.items()), next(iter(found.values()))
    said = "no crawled page links to it or names it, nor does a sitemap as far as it was read"
    return said + "".join(list(lists.values())[:MAX_LISTS_NAMED]), None


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


def _by_stored_robots(known: _Known, url: Url) -> Decision | None:
    """The decision about a URL by the robots.txt that the crawl read last of its site, if it read any."""
    policy, origin = known.policy, url.origin
    if policy.mode == "ignore":
        return decide(policy, url, None)
    last = next(robots_files(known.parts, policy, origin), None)
    return None if last is None else decide(policy, url, last)
