"""The report as a page: puts figures and plots into HTML. All text that came from a site or a file is escaped here."""

import time
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

from comity.crawl.report import plots
from comity.crawl.report.figures import BINS, CLASSES, RATIOS, Figures, HostFigures, gather
from comity.crawl.report.style import CSS
from comity.errors import StorageError

MOST_ROWS = 25
_LOOKS = dict(zip(CLASSES, ("good", "turn", "gone", "fault", "none"), strict=True))
_NAMES = {"2xx": "answered (2xx)", "3xx": "redirect (3xx)", "4xx": "not there (4xx)", "5xx": "server error (5xx)"}
_MODES = {"ignore": "robots.txt was not asked", "report_only": "Refusals were recorded, not enforced,"}
_WORDS = {
    "200": "OK",
    "301": "moved permanently",
    "302": "found elsewhere",
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


def write(folder: Path, target: Path) -> None:
    """Write the report of the crawl in a folder.

    Raises:
        StorageError: there is no ledger, or the file cannot be written.
    """
    text = html(gather(folder))
    try:
        target.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror or error}") from error


def html(figures: Figures) -> str:
    """The whole page."""
    hosts = [name for name in figures.hosts if name]
    title = f"Crawl of {hosts[0]}" if len(hosts) == 1 else f"Crawl of {len(hosts):,} hosts"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_shown(title)}</title><style>{CSS}</style></head><body><main>\n"
        + "\n".join(_parts(figures, title))
        + "\n</main></body></html>\n"
    )


def _parts(figures: Figures, title: str) -> Iterator[str]:
    look = {"finished": "finished", "stopped": "stopped"}.get(figures.state, "cut")
    yield f'<h1>{_shown(title)} <span class="badge {look}">{_shown(figures.state)}</span></h1>'
    yield f'<p class="lead">{_lead(figures)}</p>'
    yield f'<div class="tiles">{"".join(_tiles(figures))}</div>'
    yield _section("Requests over time", _over_time_words(figures), _over_time(figures))
    yield _section("Answers", "By HTTP status; requests for robots.txt are among them.", _statuses(figures))
    yield _section("Politeness", _politeness_words(figures), _politeness(figures))
    yield _section("Hosts", _more(len(figures.hosts), "host", "by requests"), _hosts(figures), whole=False)
    yield _section("Refusals", _refusal_words(figures), _rules(figures), whole=False)
    yield f"<footer>{_foot(figures)}</footer>"


def _lead(figures: Figures) -> str:
    if figures.started is None or figures.ended is None:
        return "The ledger holds no record that can be understood."
    runs = f" in {figures.runs:,} runs" if figures.runs > 1 else ""
    seeds = ", ".join(figures.seeds[:3]) + (f" and {len(figures.seeds) - 3:,} more" if len(figures.seeds) > 3 else "")
    return (
        f"{_date(figures.started)} to {_date(figures.ended)} UTC{runs}, as {_shown(figures.agent)}. "
        f"Started from {_shown(seeds)}."
    )


def _tiles(figures: Figures) -> Iterator[str]:
    active = max(figures.seconds, 0.001)
    for value, name in (
        (f"{figures.pages:,}", "pages and sitemaps fetched"),
        (f"{figures.refused:,}", "URLs refused by rule"),
        (f"{figures.requests:,}", "requests sent"),
        (f"{len(figures.hosts):,}", "hosts"),
        (_size(figures.bytes), "received, decoded"),
        (_duration(figures.seconds), "from first to last"),
        (f"{figures.requests / active:,.1f}/s", "requests on average"),
        (_kept(figures), "intervals kept"),
    ):
        yield f'<div class="tile"><b>{value}</b><span>{name}</span></div>'


def _over_time_words(figures: Figures) -> str:
    return f"Each column is {_duration(figures.timeline.width)}."


def _over_time(figures: Figures) -> str:
    line = figures.timeline
    used = max((i + 1 for i in range(BINS) if any(line.bins[name][i] for name in CLASSES)), default=1)
    shown = min(max(used, 12), BINS)
    series = [(_LOOKS[name], [float(count) for count in line.bins[name][:shown]]) for name in CLASSES]
    ticks = [(share, _duration(share * shown * line.width)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    plot = plots.stacked(series, ticks, "Requests over time, by kind of answer")
    met = [name for name in CLASSES if any(line.bins[name])]
    key = "".join(
        f'<svg viewBox="0 0 11 11"><rect class="{_LOOKS[name]}" width="11" height="11" rx="2"/></svg>'
        f"{_NAMES.get(name, 'no answer')}"
        for name in met
    )
    return f'{plot}<p class="key">{key}</p>'


def _statuses(figures: Figures) -> str:
    rows = [
        (
            "no answer" if status == "none" else f"{status} {_WORDS.get(status, '')}".strip(),
            float(count),
            _LOOKS[f"{status[0]}xx" if status != "none" else "none"],
        )
        for status, count in figures.statuses.most_common(14)
    ]
    return plots.bars(rows, "Answers by HTTP status") if rows else _nothing("No request was sent.")


def _politeness_words(figures: Figures) -> str:
    if not sum(figures.ratios):
        return "No interval between requests was demanded, or no host was asked twice."
    return (
        "How long each request was held back after its host's previous answer, as a share of the interval that "
        "policy and Crawl-delay demanded. Nothing may stand left of 1."
    )


def _politeness(figures: Figures) -> str:
    if not sum(figures.ratios):
        return ""
    edges = [f"{ratio:g}" for ratio in RATIOS]
    labels = [
        "under 1",
        *(f"{low} to {high}" for low, high in pairwise(edges)),
        f"over {edges[-1]}",
    ]
    looks = ["fault", *("good" for _ in RATIOS)]
    return plots.columns(
        [float(count) for count in figures.ratios], labels, looks, "Interval kept by interval demanded"
    )


def _hosts(figures: Figures) -> str:
    rows = sorted(figures.hosts.items(), key=lambda item: (-item[1].requests, -item[1].refused, item[0]))[:MOST_ROWS]
    head = ("Host", "Requests", "Pages", "Failed", "Refused", "Received", "Answer", "Interval", "Shortest")
    return _table(head, [_host_row(name, host) for name, host in rows], text=1)


def _host_row(name: str, host: HostFigures) -> list[str]:
    return [
        _shown(name),
        f"{host.requests:,}",
        f"{host.pages:,}",
        f"{host.failed:,}",
        f"{host.refused:,}",
        _size(host.bytes),
        f"{host.seconds / host.answers * 1000:,.0f} ms" if host.answers else "",
        f"{host.interval:g} s" if host.interval else "",
        f"{host.kept:.3f} s" if host.interval else "",
    ]


def _refusal_words(figures: Figures) -> str:
    if not figures.refused:
        return "No URL was refused."
    return _more(len(figures.rules), "rule", "by URLs refused")


def _rules(figures: Figures) -> str:
    if not figures.rules:
        return ""
    rows = [
        [_shown(host), line, f"<code>{_shown(rule)}</code>", f"{count:,}"]
        for (host, line, rule), count in figures.rules.most_common(MOST_ROWS)
    ]
    return _table(("Host", "Line", "Rule or reason", "URLs"), rows, text=3)


def _foot(figures: Figures) -> str:
    damaged = f" {figures.damaged:,} records could not be understood." if figures.damaged else ""
    some = "" if len(figures.modes) == 1 else " in some runs"
    modes = "".join(f" {_MODES[mode]}{some}." for mode in sorted(figures.modes & _MODES.keys()))
    return (
        f"Made by comity {_shown(figures.version)} from ledger.jsonl; comity prove checks it. "
        f"Last hash <code>{_shown(figures.hash)}</code>.{modes}{damaged}"
    )


def _section(title: str, words: str, body: str, *, whole: bool = True) -> str:
    look = ' class="whole"' if whole else ""
    return f'<section{look}><h2>{title}</h2><p class="soft">{words}</p>{body}</section>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, text: int) -> str:
    """A table whose first `text` columns are text; cells are HTML."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(f"<{tag}{'' if i < text else ' class=n'}>{cell}</{tag}>" for i, cell in enumerate(row))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"


def _nothing(words: str) -> str:
    return f'<p class="soft">{words}</p>'


def _more(count: int, noun: str, order: str) -> str:
    if count <= MOST_ROWS:
        return f"{count:,} {noun}{'' if count == 1 else 's'}, {order}."
    return f"The first {MOST_ROWS} of {count:,} {noun}s, {order}."


def _kept(figures: Figures) -> str:
    total = sum(figures.ratios)
    if not total:
        return "–"
    share = 1 - figures.ratios[0] / total
    return "100 %" if not figures.ratios[0] else f"{min(share, 0.9999):.2%}"


def _shown(text: str) -> str:
    """Text from outside: escaped, and without characters that are invisible or turn the direction of writing."""
    return escape("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:500]))


def _date(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
    except (ValueError, OverflowError, OSError):
        return "?"


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
