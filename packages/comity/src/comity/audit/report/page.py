"""The report as a page: what page.html shows. The template engine escapes all text that came from a site or a file."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minijinja import Environment

from comity.audit.asked import Selection
from comity.audit.report import plots
from comity.audit.report.figures import BINS, CLASSES, RATIOS, RUNNING, Figures, gather
from comity.crawler.observe.stats import size
from comity.files import write_where_named
from comity.frontier.durable import writing_to
from comity.times import format_duration

MAX_ROWS = 25
MAX_REASONS = 10
_LOOKS = dict(zip(CLASSES, ("good", "same", "turn", "gone", "fault", "none"), strict=True))
_NAMES = {
    "2xx": "answered (2xx)",
    "304": "not modified (304)",
    "3xx": "redirect (3xx)",
    "4xx": "not there (4xx)",
    "5xx": "server error (5xx)",
}
_CHANGES = ("new", "changed", "gone", "unchanged")
_MODES = {"ignore": "robots.txt was not checked", "report_only": "Refusals were recorded, not enforced"}
_WORDS = {
    "200": "OK",
    "301": "moved permanently",
    "302": "moved temporarily (302)",
    "303": "see other",
    "304": "not modified",
    "307": "moved for now",
    "308": "moved for good",
    "401": "unauthorised",
    "403": "forbidden",
    "404": "not found",
    "410": "gone",
    "429": "too many requests",
    "500": "server error",
    "502": "bad gateway",
    "503": "unavailable",
    "504": "gateway time-out",
}


def write(
    folders: Path | Sequence[Path], target: Path, *, store: str | None = None, chosen: Selection | None = None
) -> list[str]:
    """Write the report of a crawl; gives what is not in it, in words: parts that are not there, damage to a ledger.
    `folders`, `store`, `chosen`: as of `gather`."""
    figures = gather(folders, store=store, chosen=chosen)
    text = html(figures)
    with writing_to(target):
        write_where_named(target, text.encode("utf-8", "replace"))
    return [*figures.absent, *filter(None, (damage(figures),))]


def damage(figures: Figures) -> str | None:
    """What is wrong with the ledger, as far as it cannot be read."""
    if figures.damage is None:
        return None
    number, what = figures.damage
    others = f"; {figures.damaged:,} records in all cannot be understood" if figures.damaged > 1 else ""
    return f"the ledger is damaged at record {number:,} ({what}){others}"


def html(figures: Figures) -> str:
    """The whole page."""
    environment = Environment(
        loader=lambda name: Path(__file__).with_name(name).read_text("utf-8"),
        filters={
            "count": lambda number: f"{number:,.0f}",
            "date": _date,
            "duration": format_duration,
            "labels": lambda host: host.split("."),
            "millis": lambda seconds: f"{seconds:.3f}",
            "short": lambda number: f"{number:g}",
            "size": size,
        },
        finalizer=_printable,
        undefined_behavior="strict",
    )
    return environment.render_template("page.html", **_shown(figures)) + "\n"


def _shown(figures: Figures) -> dict[str, Any]:
    named = [name for name in figures.hosts if name]
    hosts = sorted(figures.hosts.items(), key=lambda item: (-item[1].requests, -item[1].refused, item[0]))
    stats = figures.stats
    changes = [(getattr(stats, name), name) for name in _CHANGES] if _is_refreshed(figures) else []
    return {
        "figures": figures,
        "title": f"Crawl of {named[0]}" if len(named) == 1 else f"Crawl of {len(named):,} hosts",
        "look": {"finished": "finished", "stopped": "stopped", RUNNING: "running"}.get(figures.state, "cut"),
        "damage": damage(figures),
        "tiles": _tiles(figures),
        "changes": changes,
        "rate": f"{figures.requests / max(figures.seconds, 0.001):,.1f}",
        "over_time": _over_time(figures),
        "kinds": [
            (_LOOKS[name], _NAMES.get(name, "no answer")) for name in CLASSES if any(figures.timeline.bins[name])
        ],
        "answers": _answers(figures) if figures.statuses else None,
        "reasons": figures.reasons.most_common(MAX_REASONS),
        "broken_links": figures.broken[:MAX_ROWS],
        "broken_count": _first(len(figures.broken), "URL", "with the first page that links to each"),
        "damaged_sitemaps": list(figures.damaged_sitemaps.items())[:MAX_ROWS],
        "damaged_count": _first(len(figures.damaged_sitemaps), "sitemap", "that could not be read to its end"),
        "politeness": _politeness(figures) if sum(figures.ratios) else None,
        "hosts": hosts[:MAX_ROWS],
        "host_count": _first(len(figures.hosts), "host", "by requests"),
        "silent": [name for name, host in figures.hosts.items() if host.silent],
        "rules": figures.top_rules(MAX_ROWS),
        "rule_count": _first(len(figures.tally.rules), "rule", "by URLs refused"),
        "remarks": _remarks(figures),
    }


def _is_refreshed(figures: Figures) -> bool:
    """Whether the summary is that of a refresh, while the ledger goes back to the first run."""
    stats = figures.stats
    return stats is not None and any(getattr(stats, name) for name in _CHANGES)


def _tiles(figures: Figures) -> list[tuple[str, str]]:
    stats = figures.stats
    last, all_runs = (" in the last refresh", " in all runs") if _is_refreshed(figures) else ("", "")
    first = (
        (f"{figures.fetched:,}", "pages and sitemaps fetched")
        if stats is None
        else (f"{stats.pages:,}", f"pages kept{last}")
    )
    return [
        first,
        (f"{(stats or figures).refused:,}", f"URLs refused by rule{last}"),
        (f"{stats.failed:,}" if stats else "–", f"URLs failed{last}"),
        *([(f"{stats.unpaid:,}", f"of them require payment{last}")] if stats and stats.unpaid else []),
        (f"{figures.requests:,}", f"requests sent{all_runs}"),
        (f"{len(figures.hosts):,}", "host" if len(figures.hosts) == 1 else "hosts"),
        (size(figures.bytes), "received, decoded"),
        (format_duration(figures.seconds), "from first to last"),
        (_kept(figures), "intervals kept"),
    ]


def _over_time(figures: Figures) -> plots.Plot:
    line = figures.timeline
    used = max((i + 1 for i in range(BINS) if any(line.bins[name][i] for name in CLASSES)), default=1)
    shown = min(max(used, 12), BINS)
    series = [(_LOOKS[name], [float(count) for count in line.bins[name][:shown]]) for name in CLASSES]
    return plots.stacked(series, plots.time_ticks(shown * line.width), "Requests over time, by kind of answer")


def _answers(figures: Figures) -> plots.Plot:
    rows = [
        (
            "no answer" if status == "none" else f"{status} {_WORDS.get(status, '')}".strip(),
            float(count),
            _LOOKS.get(status) or _LOOKS[f"{status[0]}xx"],
        )
        for status, count in figures.statuses.most_common(14)
    ]
    return plots.bars(rows, "Answers by HTTP status")


def _politeness(figures: Figures) -> plots.Plot:
    edges = [f"{ratio:g}" for ratio in RATIOS]
    looks = ["fault", *("good" for _ in RATIOS)]
    return plots.columns([float(count) for count in figures.ratios], edges, looks, "Interval kept by interval demanded")


def _remarks(figures: Figures) -> list[str]:
    some = "" if len(figures.modes) == 1 else ", in some runs"
    remarks = [f"{_MODES[mode]}{some}." for mode in sorted(figures.modes & _MODES.keys())]
    if _is_refreshed(figures):
        remarks.append("Tables and plots count all runs, the refreshes and what was before them.")
    elif figures.stats:
        remarks.append("Pages, refused and failed URLs are counted as in the crawl's summary.")
    if figures.absent:
        remarks.append(f"Parts of the crawl are not in this report: {'; '.join(figures.absent)}.")
    if figures.damaged:
        remarks.append(f"{figures.damaged:,} record{'' if figures.damaged == 1 else 's'} could not be understood.")
    return remarks


def _first(count: int, noun: str, order: str) -> str:
    if count <= MAX_ROWS:
        return f"{count:,} {noun}{'' if count == 1 else 's'}, {order}."
    return f"The first {MAX_ROWS} of {count:,} {noun}s, {order}."


def _kept(figures: Figures) -> str:
    total = sum(figures.ratios)
    if not total:
        return "–"
    share = 1 - figures.ratios[0] / total
    return "100 %" if not figures.ratios[0] else f"{min(share, 0.9999):.2%}"


def _printable(value: Any) -> Any:
    """What is put into the page: text without characters that are invisible or turn the direction of writing, cut to
    a length that can be read. The template escapes it; what the template has made itself stays as it is.
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return NotImplemented
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in value[:500])


def _date(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
    except (ValueError, OverflowError, OSError):
        return "?"
