"""A crawl as a page, live on the dashboard or frozen in a report: what its templates show, in words. A verdict comes
first, then what needs attention, charts, hosts, URLs, and last the evidence."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any, Final, NamedTuple

from comity.audit.asked import Account, Asked, Selection, asked
from comity.audit.broken import broken_links
from comity.audit.listing import STATES
from comity.audit.prove import Proof, StillRunning, prove
from comity.audit.report import plots
from comity.audit.report.figures import CLASSES, CUT_OFF, RATIOS, RUNNING, Figures, HostFigures, gather
from comity.audit.report.queue import MAX_HOSTS, Queue, look, order_in_words
from comity.crawler.observe.stats import size
from comity.crawler.observe.words import (
    FAILED,
    HOST_WORDS,
    KEPT,
    NO_ROBOTS,
    QUEUED,
    REFUSED,
    URL_WORDS,
)
from comity.crawler.storage.open_crawl import open_crawl
from comity.errors import ComityError
from comity.files import write_where_named
from comity.frontier.durable import writing_to
from comity.frontier.values import HostCounts
from comity.policy.decision import UNREACHABLE, verdict_in_words
from comity.templates import date, render
from comity.times import format_duration, short_duration

MAX_ROWS: Final = 25
MAX_REASONS: Final = 10
MAX_REQUESTS: Final = 10_000
MAX_SITEMAPS: Final = 100
MAX_UNREACHABLE: Final = 10
_PAGE: Final = "audit/report/page.html"
_NAMES: Final = {
    "2xx": "answered (2xx)",
    "304": "not modified (304)",
    "3xx": "redirect (3xx)",
    "4xx": "not there (4xx)",
    "5xx": "server error (5xx)",
    "none": "no answer",
}
_CHANGES: Final = ("new", "changed", "gone", "unchanged")
_MODES: Final = {"ignore": "robots.txt was not checked", "report_only": "Refusals were recorded, not enforced"}
_HOST_COUNTS: Final = (KEPT, QUEUED, REFUSED, FAILED)
_LOOKS: Final = {"finished": "yes", "stopped": "warning", RUNNING: "yes", CUT_OFF: "no"}


class Attention(NamedTuple):
    """What needs attention: how its word looks, the word, a sentence, what else is known, and why URLs failed."""

    look: str
    word: str
    text: str
    note: str = ""
    reason: str = ""


@dataclass(slots=True)
class CrawlView:
    """What a page shows of a crawl.

    Attributes:
        place: its folder; empty where it lies in a store.
        queue: how it stands; None where that cannot be read.
        proof: None while there is none yet; or why there is none.
        rate: pages kept a second, over the last ten seconds.
        leaving: whether who serves the page ends now.
        requests: of a report about some requests, perhaps to one host: each of them.
    """

    place: str
    figures: Figures
    queue: Queue | None = None
    proof: Proof | str | None = None
    rate: float | None = None
    host: str = ""
    live: bool = False
    leaving: bool = False
    requests: list[Asked] | None = None
    request_note: str = ""
    remarks: list[str] = field(default_factory=list)


def write(
    folders: Path | Sequence[Path], target: Path, *, store: str | None = None, chosen: Selection | None = None
) -> list[str]:
    """Write the report of a crawl; gives what is not in it, in words: parts that are not there, damage to a ledger.
    `folders`, `store`, `chosen`: as of `gather`; of chosen requests each is listed."""
    figures = gather(folders, store=store, chosen=chosen)
    if figures.broken:
        with suppress(ComityError):  # else each is named by the page that was met first
            figures.broken = broken_links(folders, store=store) or figures.broken
    place = "" if store is not None else str(folders if isinstance(folders, Path) else folders[0])
    view = CrawlView(place, figures, proof=proved(folders, store, "" if chosen is None else chosen.host))
    if chosen is not None:
        account = Account()
        view.host, view.requests = chosen.host, []
        for row in asked(folders, chosen, store=store):
            account.add(row)
            if len(view.requests) < MAX_REQUESTS:
                view.requests.append(row)
        more = f"The first {MAX_REQUESTS:,} of: " if account.requests + account.refusals > MAX_REQUESTS else ""
        view.request_note = f"{more}{account}."
    else:
        with suppress(ComityError):  # the ledger says enough
            queue = look(open_crawl(folders, store))
            view.queue = queue if any(queue.counts.values()) else None
    text = html(view)
    with writing_to(target):
        write_where_named(target, text.encode("utf-8", "replace"))
    return [*figures.absent, *filter(None, (damage(figures),))]


def proved(folders: Path | Sequence[Path], store: str | None, host: str = "") -> Proof | str:
    """The proof of a crawl, or why there is none."""
    try:
        return prove(folders, store=store, host=host)
    except StillRunning:
        return "not proved while it runs"
    except ComityError as error:
        return f"not proved: {error}"


def damage(figures: Figures) -> str | None:
    """What is wrong with the ledger, as far as it cannot be read."""
    if figures.damage is None:
        return None
    number, what = figures.damage
    others = f"; {figures.damaged:,} records in all cannot be understood" if figures.damaged > 1 else ""
    return f"the ledger is damaged at record {number:,} ({what}){others}"


def html(view: CrawlView) -> str:
    """The whole page."""
    return render(_PAGE, **_shown(view)) + "\n"


def no_crawl(why: str) -> str:
    """The live page where there is no crawl to show."""
    return render("audit/report/none.html", live=True, title="comity: no crawl", why=why)


def parts(view: CrawlView) -> dict[str, Any]:
    """What changes of a page while a crawl goes on: its sections, its title, and its state."""
    shown = _shown(view)
    found = {name: shown[name] for name in ("title", "state", "look", "running", "leaving")}
    return found | {"html": render("audit/report/live.html", **shown)}


def _shown(view: CrawlView) -> dict[str, Any]:
    figures, queue = view.figures, view.queue
    running = queue.running if queue is not None else figures.state == RUNNING
    state = figures.state if not running else "running"
    named = [name for name in figures.hosts if name]
    name = (
        view.host or Path(view.place).name if view.place else named[0] if len(named) == 1 else f"{len(named):,} hosts"
    )
    rows, has_orders = _hosts(view, running), (running and view.live) or bool(queue and queue.orders)
    head = ["Host", "Next request", *["Order"] * has_orders]
    return {
        "figures": figures,
        "live": view.live,
        "reopen": f"comity serve {quote(view.place) if view.place else '--store URL'}",
        "leaving": view.leaving,
        "running": running,
        "state": state,
        "look": "yes" if running else _LOOKS.get(state, "no"),
        "name": name,
        "title": f"comity: {name}, {state}",
        "verdict": _verdict(view, running),
        "lead": _lead(figures),
        "again": _again(view, running, state),
        "tiles": _tiles(view),
        "attention": _attention(view),
        "charts": _charts(figures),
        "hosts": rows[:MAX_HOSTS],
        "host_note": _host_note(view, len(rows)),
        "has_orders": has_orders,
        "host_head": [*head, "Interval", "Latency", *map(str.capitalize, _HOST_COUNTS)],
        "shards": queue.shards if queue else [],
        "states": STATES,
        "requests": view.requests,
        "request_note": view.request_note,
        "broken_links": figures.broken if not view.live else [],
        "broken_note": f"{_count(len(figures.broken), 'URL')}, by the number of pages that name each.",
        "damaged_sitemaps": list(figures.damaged_sitemaps.items())[:MAX_SITEMAPS],
        "sitemap_note": _first(len(figures.damaged_sitemaps), "sitemap", "as they were read", MAX_SITEMAPS),
        "facts": _facts(view),
        "findings": view.proof.findings if isinstance(view.proof, Proof) else [],
        "rules": [(host, line, text if line else verdict_in_words(text), count)
                  for host, line, text, count in figures.top_rules(MAX_ROWS)],
        "rule_note": _first(len(figures.tally.rules), "rule", "by URLs refused"),
        "ratios": _with_most(
            (
                "under 1: too early" if not place else f"{RATIOS[place - 1]:g} to {RATIOS[place]:g}"
                if place < len(RATIOS) else f"over {RATIOS[-1]:g}",
                count,
            )
            for place, count in enumerate(figures.ratios)
        ),
        "shares": _shares(view),
        "refusals": list(reversed(figures.refusals)),
        "remarks": [*view.remarks, *_remarks(figures)],
    }  # fmt: skip


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _verdict(view: CrawlView, running: bool) -> str:
    figures, queue = view.figures, view.queue
    if figures.started is None:
        return "Starting: nothing was requested yet" if running else "The ledger holds no record that can be understood"
    pages = queue.counts[KEPT] if queue else figures.fetched
    if running:
        now = queue.at if queue else figures.ended or 0.0
        rate = "" if view.rate is None else f", {view.rate:,.1f}/s"
        silent = len(_silent(view))
        unreachable = f"; {_count(silent, 'host')} unreachable" if silent else ""
        since = short_duration(max(now - (figures.run_at or now), 0))
        return f"Running for {since}: {_count(pages, 'page')}{rate}{unreachable}"
    ended = f"{date(figures.ended)} UTC"
    how = f"Cut off at {ended}" if figures.state == CUT_OFF else f"Ended {ended}, {figures.state}"
    return f"{how}; {_proof_in_words(view.proof)}"


def _proof_in_words(proof: Proof | str | None) -> str:
    if not isinstance(proof, Proof):
        return proof or "checking the ledger …"
    if not proof.holds:
        return f"not proved: {_count(proof.found, 'finding')}"
    none = "robots.txt was not enforced" if proof.unenforced else "none disallowed"
    return f"proved: {_count(proof.requests, 'request')}, {none}, none early"


def _lead(figures: Figures) -> str:
    if figures.started is None:
        return ""
    runs = f" in {figures.runs:,} runs" if figures.runs > 1 else ""
    seeds = ", ".join(figures.seeds[:3]) + (f" and {len(figures.seeds) - 3:,} more" if len(figures.seeds) > 3 else "")
    return f"{date(figures.started)} to {date(figures.ended)} UTC{runs}, as {figures.agent}. Started from {seeds}."


def _again(view: CrawlView, running: bool, state: str) -> tuple[str, str] | None:
    """How to go on from here: what a command is for, and the command."""
    at = quote(view.place) if view.place else "--store URL"
    if view.leaving:
        said = "This page is updated no more: what served it has ended. Open it again with"
        return said, f"comity serve {at}"
    if not running and view.place and (state != "finished" or (view.queue and _left(view.queue))):
        return "To go on with the crawl:", f"comity crawl -o {at} --resume"
    return None


def _left(queue: Queue) -> int:
    return sum(queue.counts[words] for words in URL_WORDS if words not in (KEPT, REFUSED, FAILED))


def _is_refreshed(figures: Figures) -> bool:
    """Whether the summary is that of a refresh, while the ledger goes back to the first run."""
    stats = figures.stats
    return stats is not None and any(getattr(stats, name) for name in _CHANGES)


def _tiles(view: CrawlView) -> list[tuple[str, str, str]]:
    figures, stats = view.figures, view.queue.stats if view.queue else view.figures.stats
    last, all_runs = ("in the last refresh", "in all runs") if _is_refreshed(figures) else ("", "")
    if view.queue is not None:
        counts = [(words, f"{view.queue.counts[words]:,}", last) for words in URL_WORDS]
    else:
        counts = [("pages and sitemaps fetched", f"{figures.fetched:,}", ""), (REFUSED, f"{figures.refused:,}", "")]
        counts += [(KEPT, f"{stats.pages:,}", last), (FAILED, f"{stats.failed:,}", last)] if stats else []
        counts = counts[1:] if stats else counts
    return [
        *counts,
        *([("payment required", f"{stats.unpaid:,}", "of the failed")] if stats and stats.unpaid else []),
        *((name, f"{getattr(stats, name):,}", "in the last refresh") for name in _CHANGES * _is_refreshed(figures)),
        ("requests sent", f"{figures.requests:,}", all_runs),
        ("received, decoded", size(figures.bytes), all_runs),
        *([("memory", size(view.queue.memory), "")] if view.queue and view.queue.memory else []),
    ]


def _silent(view: CrawlView) -> dict[str, str]:
    """By host, why its robots.txt could not be reached."""
    found = {
        name: f"{UNREACHABLE} ({'no answer' if each.silent[1] is None else f'HTTP status {each.silent[1]}'})"
        for name, each in view.figures.hosts.items()
        if each.silent
    }
    return found | {host: found.get(host, UNREACHABLE) for host in (view.queue.silent if view.queue else ())}


def _attention(view: CrawlView) -> list[Attention]:
    """What a person may have to do something about."""
    figures, queue, silent = view.figures, view.queue, _silent(view)
    found: list[Attention] = []
    if broken := damage(figures):
        found.append(Attention("no", "damage", f"{broken[0].upper()}{broken[1:]}. comity prove says more."))
    found += [Attention("no", "missing", words) for words in figures.absent]
    some = "" if len(figures.modes) == 1 else ", in some runs"
    found += [Attention("warning", "robots", f"{_MODES[mode]}{some}.") for mode in sorted(figures.modes & set(_MODES))]
    if isinstance(view.proof, Proof) and not view.proof.holds:
        found.append(Attention("no", "proof", f"{view.proof.findings[0]}", "All are listed under Evidence."))
    for host, why in list(silent.items())[:MAX_UNREACHABLE]:
        delay = queue.delays.get(host) if queue else None
        waits = next((each.waiting for each in queue.hosts if each.host == host), 0) if queue else 0
        notes = [f"{_count(waits, 'URL')} {NO_ROBOTS}"] if waits else []
        if delay is not None and queue is not None and queue.running and delay.until is not None:
            notes.append(f"tried again in {format_duration(max(delay.until - queue.at, 0.0))}")
        found.append(Attention("no", "unreachable", f"{host}: {why}, so nothing is requested there.", "; ".join(notes)))
    if len(silent) > MAX_UNREACHABLE:
        found.append(Attention("no", "unreachable", f"{len(silent) - MAX_UNREACHABLE:,} more hosts"))
    broken_by: dict[str, list[Any]] = {}
    for link in figures.broken:
        broken_by.setdefault(link.why, []).append(link)
    noun, word = ("URL", FAILED) if figures.urls_by_reason else ("request", "error")  # which may be tried again
    for why, count in figures.reasons.most_common(MAX_REASONS):
        first = broken_by.get(why[:200], [None])[0]
        note = "" if first is None else f"{first.url}, named by {_count(first.count, 'page')}"
        found.append(Attention("warning", word, f"{why}: {_count(count, noun)}", note, why * figures.urls_by_reason))
    if len(figures.reasons) > MAX_REASONS:
        found.append(Attention("warning", word, f"{len(figures.reasons) - MAX_REASONS:,} more reasons"))
    if cut := len(figures.damaged_sitemaps):
        words = f"{_count(cut, 'sitemap')} could not be read to the end, so what comes after is not known."
        found.append(Attention("warning", "sitemaps", words))
    for host, order in (queue.orders if queue else {}).items():
        note = f"given {date(order.at)} UTC; lifted by: comity frontier go {view.place or '--store URL'} {host}"
        found.append(Attention("info", "order", order_in_words(order), note))
    if queue is not None and queue.is_disk_short:
        found.append(Attention("no", "disk", f"{size(queue.free or 0)} are free where the crawl is written"))
    return found


def _charts(figures: Figures) -> list[tuple[str, str, plots.Chart, list[tuple[str, str]]]]:
    line = figures.timeline
    names = [name for name in CLASSES if any(line.bins[name])]
    if not names:
        return []
    keys = [(f"k{name}", f"{sum(line.bins[name]):,} {_NAMES[name]}") for name in names]
    said = f"{', '.join(words for _, words in keys)}; each column is {format_duration(line.width)}."
    answers = plots.stacked([(f"k{name}", _NAMES[name], line.bins[name]) for name in names], line.width, said)
    merged = max(round(1 / line.width), 1)  # of less than a second a rate says little
    kept, width = line.bins[KEPT], merged * line.width
    paces = [sum(kept[place : place + merged]) / width for place in range(0, len(kept), merged)]
    said = f"{max(paces):,.3g} a second at most, sitemaps among them; each column is {format_duration(width)}."
    pace = plots.stacked([("k2xx", "pages a second", paces)], width, said, -(-answers.columns // merged))
    return [("answers", "Answers", answers, keys), ("pace", "Pages kept a second", pace, [])]


def _hosts(view: CrawlView, running: bool) -> list[dict[str, Any]]:
    """The hosts of the crawl, by name, so that each keeps its place."""
    figures, queue = view.figures, view.queue
    counts = {each.host: each for each in queue.hosts} if queue else {}
    ranked = sorted(figures.hosts, key=lambda name: (-figures.hosts[name].requests, name))[:MAX_HOSTS]
    silent = _silent(view)
    found = []
    for name in sorted({*counts, *ranked}):
        each, known = figures.hosts.get(name, HostFigures()), counts.get(name)
        order = queue.orders.get(name) if queue else None
        left = known.waiting if known else 0
        refused, failed = (known.refused, known.failed) if known else (each.refused, each.failed - each.guessed)
        found.append(
            {
                "name": name,
                "next": _next(queue, known, running),
                "silent": silent.get(name, ""),
                "order": ""
                if order is None
                else "stopped"
                if order.order == "stop"
                else f"at least {order.seconds:g} s",
                "interval": f"{each.interval:g} s" if each.interval else "",
                "latency": f"{each.seconds / each.answers * 1000:,.0f} ms" if each.answers else "",
                "counts": [f"{count:,}" for count in (each.pages, left, refused, failed)],
            }
        )
    return found


def _next(queue: Queue | None, host: HostCounts | None, running: bool) -> str:
    if queue is None or host is None:
        return ""
    if not host.waiting:
        return HOST_WORDS["drained"]
    if not running:
        return "in the next run"
    delay = queue.delays.get(host.host)
    return "now" if delay is None else delay.in_words(queue.at).replace("for ", "in ", 1)


def _host_note(view: CrawlView, shown: int) -> str:
    count = max(len(view.figures.hosts), shown)
    guessed = sum(each.guessed for each in view.figures.hosts.values())
    words = _first(count, "host", "by name", MAX_HOSTS)
    if guessed:
        words += (
            f" {_count(guessed, 'request')} asked for a sitemap that nobody named and that is not there: no failure."
        )
    return words


def _facts(view: CrawlView) -> list[tuple[str, str, bool]]:
    figures, queue, proof = view.figures, view.queue, view.proof
    seeds = " ".join(map(quote, figures.seeds[:3])) + (" ..." if len(figures.seeds) > 3 else "")
    total = sum(figures.ratios)
    disk = f"{size(queue.used or 0)} written, {size(queue.free)} free" if queue and queue.free is not None else ""
    facts = [
        ("Proof", "once the crawl has ended" if queue and queue.running else _proof_in_words(proof), False),
        ("Requests", f"{figures.requests:,} to {_count(len(figures.hosts), 'host')}", False),
        (
            "Intervals kept",
            f"{_share(figures.ratios[0], total)} of {total:,} that were required" if total else "",
            False,
        ),
        ("Last hash", figures.hash, True),
        ("Sealed", proof.sealed if isinstance(proof, Proof) else "", False),
        ("Not compared", ", ".join(proof.unchecked[:5]) if isinstance(proof, Proof) else "", False),
        ("Agent", figures.agent, True),
        ("Command", f"comity crawl {seeds} -o {quote(view.place)}" if view.place and seeds else "", True),
        ("Disk", disk, False),
    ]
    facts += [(name.replace("_", "-"), value, True) for name, value in (queue.settings if queue else {}).items()]
    return [each for each in facts if each[1]]


def _share(early: int, total: int) -> str:
    return "100 %" if not early else f"{min(1 - early / total, 0.9999):.2%}"


def _shares(view: CrawlView) -> Iterable[tuple[str, str, str, list[tuple[str, int, int]]]]:
    statuses = [
        ("no answer" if status == "none" else status, count) for status, count in view.figures.statuses.most_common(14)
    ]
    found = [("statuses", "Answers by HTTP status", "Status", _with_most(statuses))]
    if view.queue is not None:
        tally = view.queue.tally
        deepest = len(tally.depths) - 1
        depths = [(f"{depth}" if depth < deepest else f"{depth} and deeper", n) for depth, n in enumerate(tally.depths)]
        found.append(("depths", "Pages by depth", "Links from a start", _with_most(depths)))
        found.append(("types", "Pages by content type", "Type", _with_most(tally.types.most_common(MAX_ROWS))))
    return [each for each in found if each[3]]


def _with_most(rows: Iterable[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """Rows with a count, each with the largest."""
    counted = [(words, count) for words, count in rows if count]
    most = max((count for _, count in counted), default=0)
    return [(words, count, most) for words, count in counted]


def _remarks(figures: Figures) -> list[str]:
    return ["Charts and hosts count all runs, the refreshes and what was before them."] * _is_refreshed(figures)


def _first(count: int, noun: str, order: str, most: int = MAX_ROWS) -> str:
    if count <= most:
        return f"{_count(count, noun)}, {order}."
    return f"The first {most} of {_count(count, noun)}, {order}."
