"""The report as a page: puts figures and plots into HTML. All text that came from a site or a file is escaped here."""

import time
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from comity.audit.report import plots
from comity.audit.report.figures import BINS, CLASSES, RATIOS, RUNNING, Figures, HostFigures, gather
from comity.audit.report.style import CSS
from comity.crawler.stats import Stats
from comity.errors import StorageError

MOST_ROWS = 25
MOST_REASONS = 10
MOST_SILENT = 10
MANY_COLUMNS = 6  # make a table that is set tighter
_LOOKS = dict(zip(CLASSES, ("good", "same", "turn", "gone", "fault", "none"), strict=True))
_NAMES = {
    "2xx": "answered (2xx)",
    "304": "not modified (304)",
    "3xx": "redirect (3xx)",
    "4xx": "not there (4xx)",
    "5xx": "server error (5xx)",
}
_MODES = {"ignore": "robots.txt was not asked", "report_only": "Refusals were recorded, not enforced"}
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


def write(folder: Path, target: Path) -> str | None:
    """Write the report of the crawl in a folder; gives the words for damage to its ledger, None where there is none.

    Raises:
        StorageError: there is no ledger, or the file cannot be written.
    """
    figures = gather(folder)
    text = html(figures)
    try:
        target.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror or error}") from error
    return damage(figures)


def damage(figures: Figures) -> str | None:
    """What is wrong with the ledger, as far as it cannot be read."""
    if figures.damage is None:
        return None
    number, what = figures.damage
    others = f"; {figures.damaged:,} records in all cannot be understood" if figures.damaged > 1 else ""
    return f"the ledger is damaged at record {number:,} ({what}){others}"


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
    look = {"finished": "finished", "stopped": "stopped", RUNNING: "running"}.get(figures.state, "cut")
    yield f'<h1>{_shown(title)} <span class="badge {look}">{_shown(figures.state)}</span></h1>'
    yield f'<p class="lead">{_lead(figures)}</p>'
    if words := damage(figures):
        yield f'<p class="warn">{_shown(words[0].upper() + words[1:])}. comity prove says more.</p>'
    yield f'<div class="tiles">{"".join(_tiles(figures))}</div>'
    if figures.stats is not None and any(value for value, _ in _changes(figures.stats)):
        yield _section("Changes", "What the refresh found out about pages.", _changes_row(figures.stats))
    yield _section("Requests over time", _over_time_words(figures), _over_time(figures))
    yield _section(
        "Answers", "Requests by HTTP status, second tries and those for robots.txt among them.", _statuses(figures)
    )
    if figures.reasons:
        yield _section("Failures", _reason_words(figures), _reasons(figures), whole=False)
    yield _section("Politeness", _politeness_words(figures), _politeness(figures))
    yield _section("Hosts", _host_words(figures), _hosts(figures), whole=False)
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
    stats = figures.stats
    if stats is None:
        first = (f"{figures.fetched:,}", "pages and sitemaps fetched"), (f"{figures.refused:,}", "URLs refused by rule")
    else:
        first = (f"{stats.pages:,}", "pages kept"), (f"{stats.refused:,}", "URLs refused by rule")
    for value, name in (
        *first,
        (f"{stats.failed:,}" if stats else "–", "URLs given up"),
        (f"{figures.requests:,}", "requests sent"),
        (f"{len(figures.hosts):,}", "host" if len(figures.hosts) == 1 else "hosts"),
        (_size(figures.bytes), "received, decoded"),
        (_duration(figures.seconds), "from first to last"),
        (_kept(figures), "intervals kept"),
    ):
        yield f'<div class="tile"><b>{value}</b><span>{name}</span></div>'


def _over_time_words(figures: Figures) -> str:
    average = figures.requests / max(figures.seconds, 0.001)
    return f"Each column is {_duration(figures.timeline.width)}; {average:,.1f} requests a second on average."


def _over_time(figures: Figures) -> str:
    line = figures.timeline
    used = max((i + 1 for i in range(BINS) if any(line.bins[name][i] for name in CLASSES)), default=1)
    shown = min(max(used, 12), BINS)
    series = [(_LOOKS[name], [float(count) for count in line.bins[name][:shown]]) for name in CLASSES]
    plot = plots.stacked(series, plots.time_ticks(shown * line.width), "Requests over time, by kind of answer")
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
            _LOOKS.get(status) or _LOOKS[f"{status[0]}xx"],
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
    looks = ["fault", *("good" for _ in RATIOS)]
    return plots.columns([float(count) for count in figures.ratios], edges, looks, "Interval kept by interval demanded")


def _hosts(figures: Figures) -> str:
    rows = sorted(figures.hosts.items(), key=lambda item: (-item[1].requests, -item[1].refused, item[0]))[:MOST_ROWS]
    head = (
        "Host",
        "Requests sent",
        "Requests answered",
        "Requests failed",
        "URLs refused",
        "Received",
        "Answer",
        "Interval",
        "Shortest",
    )
    return _table(head, [_host_row(name, host) for name, host in rows], text=1)


def _host_row(name: str, host: HostFigures) -> list[str]:
    return [
        _name(name) + _silence(host),
        f"{host.requests:,}",
        f"{host.fetched:,}",
        f"{host.failed:,}",
        f"{host.refused:,}",
        _size(host.bytes),
        f"{host.seconds / host.answers * 1000:,.0f} ms" if host.answers else "",
        f"{host.interval:g} s" if host.interval else "",
        f"{host.kept:.3f} s" if host.interval else "",
    ]


def _host_words(figures: Figures) -> str:
    words = (
        f"{_more(len(figures.hosts), 'host', 'by requests')} Requests answered (2xx) and failed are those for content, "
        "second tries among them; requests for robots.txt are among those sent only."
    )
    silent = [name for name, host in figures.hosts.items() if host.silent]
    if silent:
        named = ", ".join(_shown(name) for name in silent[:MOST_SILENT])
        rest = f" and {len(silent) - MOST_SILENT:,} more" if len(silent) > MOST_SILENT else ""
        words += f" <b>robots.txt unreachable</b>, so nothing may be asked there: {named}{rest}."
    return words


def _name(host: str) -> str:
    """A host that may be broken after its dots only."""
    return _shown(host).replace(".", ".<wbr>")


def _silence(host: HostFigures) -> str:
    if host.silent is None:
        return ""
    status = host.silent[1]
    return f"<br><small>robots.txt unreachable ({'no answer' if status is None else f'HTTP status {status}'})</small>"


def _changes(stats: Stats) -> list[tuple[int, str]]:
    return [(getattr(stats, name), name) for name in ("new", "changed", "gone", "unchanged")]


def _changes_row(stats: Stats) -> str:
    cells = "".join(f'<div class="tile"><b>{value:,}</b><span>{name}</span></div>' for value, name in _changes(stats))
    return f'<div class="tiles inner">{cells}</div>'


def _reason_words(figures: Figures) -> str:
    what = "URLs given up" if figures.urls_by_reason else "Requests for content that failed"
    first = f"; the first {MOST_REASONS} of {len(figures.reasons):,}" if len(figures.reasons) > MOST_REASONS else ""
    return f"{what}, by reason{first}."


def _reasons(figures: Figures) -> str:
    rows = [[_shown(why), f"{count:,}"] for why, count in figures.reasons.most_common(MOST_REASONS)]
    return _table(("Reason", "URLs" if figures.urls_by_reason else "Requests"), rows, text=1)


def _refusal_words(figures: Figures) -> str:
    if not figures.refused:
        return "No URL was refused."
    return _more(len(figures.rules), "rule", "by URLs refused")


def _rules(figures: Figures) -> str:
    if not figures.rules:
        return ""
    rows = [
        [_name(host), line, f"<code>{_shown(rule)}</code>", f"{count:,}"]
        for (host, line, rule), count in figures.rules.most_common(MOST_ROWS)
    ]
    return _table(("Host", "Line", "Rule or reason", "URLs"), rows, text=3)


def _foot(figures: Figures) -> str:
    records = f"{figures.damaged:,} record{'' if figures.damaged == 1 else 's'}"
    damaged = f" {records} could not be understood." if figures.damaged else ""
    summary = " Pages, refused and given up are counted as in the crawl's summary." if figures.stats else ""
    some = "" if len(figures.modes) == 1 else ", in some runs"
    modes = "".join(f" {_MODES[mode]}{some}." for mode in sorted(figures.modes & _MODES.keys()))
    return (
        f"Made by comity {_shown(figures.version)} from ledger.jsonl; comity prove checks it. "
        f"Last hash <code>{_shown(figures.hash)}</code>.{modes}{summary}{damaged}"
    )


def _section(title: str, words: str, body: str, *, whole: bool = True) -> str:
    look = ' class="whole"' if whole else ""
    return f'<section{look}><h2>{title}</h2><p class="soft">{words}</p>{body}</section>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, text: int) -> str:
    """A table whose first `text` columns are text; cells are HTML."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(f"<{tag}{'' if i < text else ' class=n'}>{cell}</{tag}>" for i, cell in enumerate(row))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    look = ' class="many"' if len(head) > MANY_COLUMNS else ""
    table = f"<table{look}><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


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
