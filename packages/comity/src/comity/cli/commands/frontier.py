"""`comity frontier`: the queue of a crawl, read while the crawl runs or after it, and orders about hosts, or to end."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from comity.audit.report.queue import url_counts
from comity.cli.exits import Exit
from comity.cli.options import JSON, Group, argument, combine, command, option
from comity.cli.terminal import error_line, print_json, print_out
from comity.crawler.observe.stats import Stats, summed
from comity.crawler.observe.words import ANSWERED, FAILED, KEPT, QUEUED, REFUSED
from comity.crawler.storage.crawl import StoredCrawl
from comity.crawler.storage.open_crawl import end, open_crawl
from comity.crawler.storage.orders import ORDERS, OrderForm, OrderKind, host_named, url_of
from comity.errors import InputError
from comity.frontier.values import Entry, HostCounts, State
from comity_pages import urls
from comity_robots.fields import SettingField

_INTERVAL = SettingField(name="TIME", hint=float, unit="seconds")
_POSITIVE = click.IntRange(min=1)


class _FrontierGroup(Group):
    """`comity frontier DIR` shows a queue; `slow`, `stop` and `go` give an order about a host, `end` one to the whole
    crawl. `--store URL` may stand in the place of DIR."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        args = [word for each in args for word in (each.split("=", 1) if each.startswith("--store=") else [each])]
        if "--store" in args[:-1]:
            at = args.index("--store")
            url = args[at + 1]
            del args[at : at + 2]
            args.insert(1 if args and args[0] in self.commands else 0, url)
        elif "--store" in args:
            raise click.UsageError("Option '--store' requires an argument.", context)
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["show", *args]
        return super().parse_args(context, args)

    def format_usage(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        orders = [f"{kind} DIR HOST{' TIME' * form.is_timed}" for kind, form in ORDERS.items() if form.help]
        for words in ("[OPTIONS] DIR", *orders, "end DIR", "--store URL ..."):
            formatter.write_usage(context.command_path, words)


@command("Read a crawl", _FrontierGroup)
def frontier() -> None:
    """Show a crawl's queue; slow or stop hosts; end the crawl.

    An order about a host takes effect within a second while the crawl runs, and holds in later runs until the next
    order about the host. For a crawl in PostgreSQL, write --store URL instead of DIR.
    """


def _command_of(kind: OrderKind, form: OrderForm) -> None:
    """Build the command that gives one kind of order about a host."""

    def give(place: str, host: str, interval: str | None = None) -> Exit:
        return _order(place, host, kind, interval)

    words = ("place", "DIR"), ("host", "HOST"), *[("interval", "TIME")] * form.is_timed
    frontier.command(kind, help=form.help)(combine(*(argument(*each) for each in words))(give))


for _kind, _form in ORDERS.items():
    if _form.help:
        _command_of(_kind, _form)


@frontier.command("end")
@argument("place", "DIR")
def end_crawl(place: str) -> Exit:
    """End the crawl that runs in DIR, as Ctrl-C does.

    Requests in progress are finished and written; comity crawl --resume goes on later.
    """
    crawl = open_crawl(place)
    if not crawl.confirms(end(crawl)):
        return _unconfirmed(crawl)
    print_out(f"the crawl in {crawl.name} ends once the requests in progress are finished")
    return Exit.DONE


@frontier.command()
@argument("folder", "DIR")
@option("--host", "H", "The queue of this host only.")
@option("--limit", "N", "Maximum number of hosts, or of URLs with --host.", type=_POSITIVE, default=10)
@JSON
def show(folder: str, host: str | None, limit: int, as_json: bool) -> Exit:
    """Show the queue: URLs by state, hosts, what comes next.

    The crawl may be running.
    """
    crawl = open_crawl(folder)
    host = None if host is None else host_named(host)
    counts: Counter[State] = Counter(dict.fromkeys(State, 0))
    stats: list[Stats] = []
    queues: list[tuple[HostCounts, list[Entry]]] = []
    for each_view in crawl.views():
        with each_view as view:
            counts.update(view.counts())
            stats.append(Stats(**(view.load_state("stats") or {})))
            known = view.busiest(limit) if host is None else filter(None, [view.host(host)])
            queues += [(each, view.waiting(each.host, 1 if host is None else limit)) for each in known]
    if host is not None and not queues:
        raise InputError(
            f"the crawl in {crawl.name} has no URL of {host!r}", hint="without --host its hosts are listed"
        )
    queues = sorted(queues, key=lambda each: -each[0].waiting)[:limit]
    hosts = [each for each, _ in queues]
    following = [(each.host, entry) for each, entries in queues for entry in entries]
    shards, delays = crawl.status(), crawl.delays([each.host for each in hosts if each.waiting])
    if as_json:
        rests = {each: asdict(delay) for each, delay in delays.items()}
        found = {
            "counts": {state.name.lower(): number for state, number in counts.items()},
            "hosts": [asdict(each) | rests.get(each.host, {"until": None, "why": None}) for each in hosts],
            "next": [_row(name, entry) for name, entry in following],
        }
        print_json(found | ({"shards": [asdict(each) for each in shards]} if shards else {}))
        return Exit.DONE
    print_out(", ".join(f"{number:,} {name}" for name, number in url_counts(counts, summed(stats)).items()))
    if shards:
        parts = [(each.shard, (each.pages, each.waiting, each.to_others), f"  {each.state}") for each in shards]
        _print_table(("shard", KEPT, QUEUED, "to others", "state"), parts, least=9)
    if hosts:
        now = time.time()
        words = {each: f"  {delay.in_words(now)}" for each, delay in delays.items()}
        rows = [
            (each.host, (each.waiting, each.done, each.refused, each.failed), words.get(each.host, ""))
            for each in hosts
        ]
        _print_table(("host", QUEUED, ANSWERED, REFUSED, FAILED, *["resting"] * bool(words)), rows)
    if following:
        print_out("")
        print_out("next" if host else "next of each")
        for _, entry in following:
            print_out(f"  {entry.url}{_remarks(entry)}")
    return Exit.DONE


def _order(place: str, host: str, kind: OrderKind, interval: str | None = None) -> Exit:
    crawl = open_crawl(place)
    given = crawl.give(host, kind, None if interval is None else _INTERVAL.checked(_INTERVAL.read(interval)))
    words = ORDERS[kind].words.format(host=given.host, seconds=given.seconds)
    runs = crawl.is_running()
    if runs and not crawl.confirms(given) and crawl.is_running():
        return _unconfirmed(crawl)
    runs = runs and crawl.is_running()
    when = "effective now" if runs else "effective from the next run on: the crawl is not running"
    print_out(f"{words}, {when}")
    if urls.origin(url_of(host)).partition("//")[2] != given.host:
        error_line(f"an order holds for all ports of {given.host}, whose requests share one pace")
    if not crawl.has(given.host):
        error_line(f"the crawl has no URL of {given.host} so far; the order takes effect once it has one")
    return Exit.DONE


def _unconfirmed(crawl: StoredCrawl) -> Exit:
    error_line(
        f"the crawl in {crawl.name} runs and has not confirmed the order, which holds once it reads it: is it "
        "suspended, or busy beginning?"
    )
    return Exit.NOT_READY


def _print_table(heads: Sequence[str], rows: Sequence[tuple[str, tuple[int, ...], str]], least: int = 0) -> None:
    """Print a table of names, numbers and words under headings; the first column is at least `least` wide."""
    first, *others = heads
    width, count = max(least, len(first), *(len(name) for name, _, _ in rows)), len(rows[0][1])
    named = [f"{head:>11}" for head in others[:count]] + [f" {head}" for head in others[count:]]
    print_out("")
    print_out(" ".join((f"{first:{width}}", *named)))
    for name, numbers, words in rows:
        print_out(" ".join((f"{name:{width}}", *(f"{number:>11,}" for number in numbers))) + words)


def _row(host: str, entry: Entry) -> dict[str, Any]:
    return {
        "url": entry.url,
        "host": host,
        "kind": entry.kind.name.lower(),
        "priority": entry.priority,
        "depth": entry.depth,
        "attempts": entry.attempts,
        "redirects": entry.hops,
    }


def _remarks(entry: Entry) -> str:
    remarks = [f"depth {entry.depth}"]
    if entry.kind.name != "PAGE":
        remarks.append(entry.kind.name.lower())
    if entry.priority:
        remarks.append(f"priority {entry.priority}")
    if entry.attempts:
        remarks.append(f"tried {entry.attempts} times" if entry.attempts > 1 else "tried once")
    return f"  ({', '.join(remarks)})"
