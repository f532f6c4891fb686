"""`comity frontier`: the queue of a crawl, read while the crawl runs or after it, and orders about single hosts."""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from comity import urls
from comity.cli.exits import Exit
from comity.cli.terminal import complain, say
from comity.crawler.holds import Hold
from comity.crawler.orders import OrderKind, host_named, url_of
from comity.crawler.workers.reading import crawl_at
from comity.crawler.workers.status import ShardStatus
from comity.errors import InvalidSetting
from comity.fields import SettingField
from comity.frontier import Entry, HostCounts, State

_INTERVAL = SettingField(name="TIME", hint=float, unit="seconds")


def show(place: str | Path, *, host: str | None, limit: int, as_json: bool) -> Exit:
    """Print counts, hosts and the next URLs of the crawl in a folder or a store; of one host where it is named."""
    crawl = crawl_at(place)
    host = None if host is None else host_named(host)
    counts: Counter[State] = Counter(dict.fromkeys(State, 0))
    hosts: list[HostCounts] = []
    for each_view in crawl.views():
        with each_view as view:
            counts.update(view.counts())
            if host is None:
                hosts += view.busiest(limit)
            elif (known := view.host(host)) is not None:
                hosts.append(known)
    if host is not None and not hosts:
        raise InvalidSetting(
            f"the crawl in {crawl.name} has met no URL of {host!r}; without --host its hosts are listed"
        )
    hosts = sorted(hosts, key=lambda each: -each.waiting)[:limit]
    following = []
    for each in hosts:
        opened = crawl.view_of(each.host)
        assert opened is not None
        with opened as view:
            following += [(each.host, entry) for entry in view.waiting(each.host, 1 if host is None else limit)]
    shards, holds = crawl.standing(), crawl.holds([each.host for each in hosts if each.waiting])
    if as_json:
        print(
            json.dumps(
                {
                    "counts": {state.name.lower(): number for state, number in counts.items()},
                    "hosts": [asdict(each) | _hold(holds.get(each.host)) for each in hosts],
                    "next": [_row(name, entry) for name, entry in following],
                }
                | ({"shards": [asdict(each) for each in shards]} if shards else {}),
                indent=2,
            )
        )
        return Exit.DONE
    _print_counts(counts)
    if shards:
        say("")
        _print_shards(shards)
    if hosts:
        say("")
        _print_hosts(hosts, holds)
    if following:
        say("")
        say("next" if host else "next of each")
        for _, entry in following:
            say(f"  {entry.url}{_remarks(entry)}")
    return Exit.DONE


def order(place: str | Path, host: str, kind: OrderKind, interval: str | None = None) -> Exit:
    """Give an order about a host to the crawl in a folder or a store."""
    crawl = crawl_at(place)
    given = crawl.give(host, kind, None if interval is None else _INTERVAL.checked(_INTERVAL.read(interval)))
    known = False
    if (opened := crawl.view_of(given.host)) is not None:
        with opened as view:
            known = view.host(given.host) is not None
    words = {
        "slow": f"at least {given.seconds or 0:g} s between two requests to {given.host}",
        "stop": f"no more requests to {given.host}",
        "go": f"{given.host} is crawled as policy and site say",
    }[kind]
    when = "now: the crawl is running" if crawl.is_running() else "from the next run on: the crawl is not running"
    say(f"{words}, {when}")
    if urls.origin(url_of(host)).partition("//")[2] != given.host:
        complain(f"an order holds for all ports of {given.host}, whose requests share one pace")
    if not known:
        complain(f"the crawl has met no URL of {given.host} so far; the order holds if it does")
    return Exit.DONE


def _print_shards(shards: Sequence[ShardStatus]) -> None:
    say(f"{'shard':9} {'pages':>11} {'waiting':>11} {'to others':>11}  state")
    for each in shards:
        say(f"{each.shard:9} {each.pages:>11,} {each.waiting:>11,} {each.to_others:>11,}  {each.state}")


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


def _print_counts(counts: dict[State, int]) -> None:
    waiting = counts[State.UNASKED] + counts[State.QUEUED]
    say(
        f"{waiting:,} waiting, {counts[State.DONE]:,} done, {counts[State.REFUSED]:,} refused, "
        f"{counts[State.FAILED]:,} failed"
    )


def _hold(hold: Hold | None) -> dict[str, Any]:
    return {"until": None, "why": None} if hold is None else asdict(hold)


def _print_hosts(hosts: Sequence[HostCounts], holds: Mapping[str, Hold]) -> None:
    now = time.time()
    words = {host: f"  {hold.in_words(now)}" for host, hold in holds.items()}
    width = max(len("host"), *(len(each.host) for each in hosts))
    head = f"{'host':{width}} {'waiting':>11} {'done':>11} {'refused':>11} {'failed':>11}"
    say(f"{head}{'  left alone' * bool(words)}")
    for each in hosts:
        row = f"{each.host:{width}} {each.waiting:>11,} {each.done:>11,} {each.refused:>11,} {each.failed:>11,}"
        say(f"{row}{words.get(each.host, '')}")


def _remarks(entry: Entry) -> str:
    remarks = [f"depth {entry.depth}"]
    if entry.kind.name != "PAGE":
        remarks.append(entry.kind.name.lower())
    if entry.priority:
        remarks.append(f"priority {entry.priority}")
    if entry.attempts:
        remarks.append(f"tried {entry.attempts} times" if entry.attempts > 1 else "tried once")
    return f"  ({', '.join(remarks)})"
