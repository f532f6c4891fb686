"""Shows the progress of a crawl: a live display of at most 16 lines on a terminal, a line every few seconds elsewhere.
Host names and rules come from sites, so they are shown as plain text, escaped and truncated."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.live import Live
from rich.text import Text

from comity.cli.terminal import count_noun
from comity.crawler import Crawler, HostState, HostStatus, Snapshot
from comity.crawler.observe.snapshot import SHARD_WORDS, ShardStatus
from comity.crawler.observe.stats import RefusingRule, shown, size
from comity.crawler.observe.words import FAILED, HOST_WORDS, QUEUED, REFUSED
from comity.policy.decision import verdict_in_words
from comity.times import short_duration

REFRESH_SECONDS = 0.5  # seconds from one picture to the next
FIRST_LINE_SECONDS = 1.0  # without a terminal; then each LINE_SECONDS
LINE_SECONDS = 5.0
MAX_RENDER_SHARE = 0.02  # of the time may go into pictures, where a crawl has very many hosts
MAX_LINES = 16
MAX_HOSTS = 8
MIN_HOSTS_ABOVE_RULES = 3  # that must be seen before there is room for rules
MAX_RULES = 3
MAX_HOST_COLUMNS = 60  # columns of a host's name
MIN_COLUMNS_FOR_ALL = 70  # columns, under which only state and time of hosts are shown
MIN_COLUMNS_FOR_HOSTS = 36  # columns, under which there is no room for hosts
COLUMNS = (("state", 14), ("next", 7), ("interval", 8), (QUEUED, 7), ("active", 9))  # after the host

_SHORT = {HostState.UNREACHABLE: "unreachable"}  # in the column of states
_LOOKS = {
    HostState.FETCHING: "green",
    HostState.ROBOTS: "green",
    HostState.RETRY_AFTER: "yellow",
    HostState.BACK_OFF: "yellow",
    HostState.CIRCUIT_OPEN: "red",
    HostState.VISITING_HOURS: "yellow",
    HostState.UNREACHABLE: "red",
}


async def watch(crawler: Crawler, console: Console) -> None:
    """Show the progress of a crawl until cancelled."""
    if not console.is_terminal or console.is_dumb_terminal:
        await asyncio.sleep(FIRST_LINE_SECONDS)
        while True:
            console.print(line(crawler.snapshot(hosts=0, rules=0)), highlight=False, soft_wrap=True)
            await asyncio.sleep(LINE_SECONDS)

    def now() -> Text:
        return render(crawler.snapshot(hosts=MAX_HOSTS, rules=MAX_RULES), console.width, max(console.height - 1, 1))

    with Live(console=console, auto_refresh=False, transient=True) as live:
        while True:
            started = time.monotonic()
            live.update(await asyncio.to_thread(now), refresh=True)
            await asyncio.sleep(max(REFRESH_SECONDS, (time.monotonic() - started) / MAX_RENDER_SHARE))


def render(now: Snapshot, width: int, height: int = MAX_LINES) -> Text:
    """Render a snapshot in at most 16 lines, none wider than `width` columns."""
    lines = [line(now)]
    left = min(height, MAX_LINES) - 1 if width >= MIN_COLUMNS_FOR_HOSTS else 0
    rules = now.rules[:MAX_RULES]
    for_rules = len(rules) + 2 if rules else 0
    if left - for_rules < 3 + min(len(now.hosts), MIN_HOSTS_ABOVE_RULES):
        rules, for_rules = (), 0  # in a low window hosts matter more
    hosts = now.hosts[: max(min(MAX_HOSTS, left - for_rules - 3), 0)]
    if hosts:
        lines += [Text(), *_hosts(hosts, width), _totals(now)]
    if now.shards and left > (len(hosts) + 3 if hosts else 0) + for_rules:
        lines.append(_shards(now.shards))
    if rules:
        lines += [Text(), *_rules(rules, width)]
    for each in lines:
        _fit(each, width)
    return Text("\n").join(lines)


def line(now: Snapshot) -> Text:
    """Render a snapshot in one line, the most important first."""
    stats = now.stats
    text = Text(no_wrap=True)
    text.append(f"{short_duration(now.seconds)}  ", "dim")
    if now.phase == "stopping":
        text.append(f"stopping, {now.under_way} active  ", "bold yellow")
    text.append(f"{stats.pages:,} pages", "bold green")
    text.append(f" {rate(now.pages_per_second)}  ", "none")
    if stats.unchanged:
        text.append(f"{stats.unchanged:,} unchanged  ", "dim")
    text.append(f"{stats.refused:,} {REFUSED}  ", "yellow" if stats.refused else "dim")
    text.append(f"{stats.failed:,} {FAILED}  ", "red" if stats.failed else "dim")
    text.append(f"{stats.found:,} URLs  {size(stats.body_bytes)}", "none")
    return text


def _hosts(hosts: Sequence[HostStatus], width: int) -> Iterator[Text]:
    columns = COLUMNS if width >= MIN_COLUMNS_FOR_ALL else COLUMNS[:2]
    room = min(width - sum(2 + size for _, size in columns), MAX_HOST_COLUMNS)
    head = [f"{name:<{size}}" if name == "state" else f"{name:>{size}}" for name, size in columns]
    yield Text("  ".join([f"{'host':{room}}", *head]), "dim")
    for host in hosts:
        state = f"{_SHORT.get(host.state, HOST_WORDS[host.state]):{COLUMNS[0][1]}}"
        queued = f"{host.queued:,}{'+' if host.more else ' '}"
        interval = "" if host.state is HostState.UNREACHABLE else wait(host.interval)
        numbers = (wait(host.wait) if host.wait else "", interval, queued, str(host.under_way or ""))
        cells = [f"{number:>{size}}" for number, (_, size) in zip(numbers, columns[1:], strict=False)]
        name = set_cell_size(truncate(host.name, room, end=True), room)
        yield Text.assemble(name, "  ", (state, _LOOKS.get(host.state, "none")), "  ", "  ".join(cells))


def _totals(now: Snapshot) -> Text:
    counts = sorted(now.states.items(), key=lambda item: -item[1])
    words = ", ".join(f"{count:,} {HOST_WORDS[state]}" for state, count in counts)
    return Text(f"{count_noun(sum(now.states.values()), 'host')}: {words}", "dim")


def _shards(shards: Sequence[ShardStatus]) -> Text:
    """Count shards by state, and name the one that waits longest."""
    counts = Counter(SHARD_WORDS[shard.state] for shard in shards).most_common()
    words = f"{len(shards):,} shards: {', '.join(f'{count:,} {state}' for state, count in counts)}"
    longest = max(shards, key=lambda shard: shard.until)
    if longest.host is not None and longest.until >= 1:
        words += f" (longest {wait(longest.until)}, for {shown(longest.host)})"
    return Text(words, "dim")


def _rules(rules: Sequence[tuple[RefusingRule, int]], width: int) -> Iterator[Text]:
    yield Text("refused  by", "dim")
    for rule, count in rules:
        host = truncate(rule.host, max(width // 3, 8), end=True)
        where = host if rule.line is None else f"{host} line {rule.line}"
        words = shown(rule.text if rule.line is not None else verdict_in_words(rule.text))
        yield Text.assemble((f"{count:>7,}", "yellow"), "  ", (f"{where}  ", "dim"), words)


def truncate(text: str, room: int, *, end: bool = False) -> str:
    """Truncate a site's text to a number of columns; `end` keeps its end, which identifies a host."""
    text = shown(text)
    if cell_len(text) <= room:
        return text
    if not end:
        return f"{set_cell_size(text, room - 2)}.."
    while cell_len(text) > room - 2:
        text = text[1:]
    return f"..{text}"


def _fit(text: Text, width: int) -> None:
    if text.cell_len > width:
        text.truncate(width - 2, overflow="crop")
        text.append("..")


def wait(seconds: float) -> str:
    """Format a wait or an interval in at most seven characters."""
    return f"{seconds:.1f} s" if seconds < 10 else short_duration(seconds)


def rate(pages: float) -> str:
    """Format a number of pages per second."""
    return f"{pages:.1f}/s" if pages < 100 else f"{pages:,.0f}/s"
