"""Many hosts with an interval between requests to each: how much of what politeness allows is used, and is it kept?

Run by `make bench-politeness`: a thousand hosts at one second each; HOSTS=10000 INTERVAL=20 for others. The hosts are
names on as many loopback addresses, served by one process that notes by its own clock when each request of each host
arrived; intervals come from its notes alone. Where hosts and interval allow more requests a second than a core can
send, the core is what is measured: the figures say how much of it was used.
"""

import argparse
import asyncio
import itertools
import statistics
import tempfile
import time
from collections import defaultdict
from multiprocessing.connection import Connection
from pathlib import Path

import uvloop
from common import above_zero, at_least_one, row, table
from loopback import Requests, address, beside, serve

from comity.cli.process import tune
from comity.crawler import Crawler, CrawlSettings
from comity.net import ClientSettings
from comity.policy import Policy

AT_ONCE = 256  # requests: each takes milliseconds


class Server(Requests):
    """Answers at once; notes the time, host and path of each request."""

    seen: list[tuple[float, str, str]] = []  # noqa: RUF012

    def asked(self, host: str, path: str) -> None:
        self.seen.append((time.monotonic(), host, path))
        if path == "/robots.txt":
            self.answer("User-agent: *\nDisallow: /private/\n", "text/plain")
        else:
            self.answer(f'<a href="/{int(path[1:]) + 1}">next</a>' if path[1:].isdigit() else "", "text/html")


def run_server(pipe: Connection) -> None:
    serve(Server, pipe, lambda: Server.seen)


async def crawl(hosts: int, interval: float, port: int, seconds: float, folder: Path) -> None:
    names = {f"host{number}.test": address(number) for number in range(hosts)}
    policy = Policy(agent="Bench/1.0", min_interval=interval, allow_addresses=("127.0.0.0/8",))
    client = ClientSettings(resolve=names, connections=hosts + 100)
    settings = CrawlSettings(concurrency=min(hosts, AT_ONCE), sitemaps=False)
    seeds = [f"http://{name}:{port}/0" for name in names]
    crawler = Crawler(seeds, folder, policy=policy, settings=settings, client_settings=client)
    asyncio.get_running_loop().call_later(seconds, crawler.stop)
    await crawler.run()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=at_least_one, default=1_000)
    parser.add_argument("--interval", type=above_zero, default=1.0, help="seconds between requests to each host")
    parser.add_argument("--seconds", type=above_zero, help="of the crawl; forty intervals, or a minute, without it")
    options = parser.parse_args()
    hosts, interval = options.hosts, options.interval
    seconds = max(40 * interval, 60.0) if options.seconds is None else options.seconds
    with beside(run_server) as (server, port):
        tune()  # as the command does
        started = time.process_time()
        with tempfile.TemporaryDirectory() as folder, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(crawl(hosts, interval, port, seconds, Path(folder)))
        used = time.process_time() - started
        server.send("seen")
        seen: list[tuple[float, str, str]] = server.recv()
    times = defaultdict(list)
    for moment, host, _ in seen:
        times[host].append(moment)
    begin, end = min(seen)[0], max(seen)[0]
    gaps = [later - earlier for each in times.values() for earlier, later in itertools.pairwise(each)]
    if not gaps:
        raise SystemExit(f"no host was asked twice in {seconds:g} s: give --seconds more, or --hosts fewer")
    efficiency = len(seen) / (hosts * (1 + (end - begin) // interval))
    # Each gap could have been one interval; a host that was not asked again before the end waited in vain for longer.
    under_way = [each[2:] for each in times.values() if len(each) > 3]
    steady = sum(len(each) - 1 for each in under_way) * interval
    lost = sum(max(end - each[-1] - interval, 0.0) for each in under_way)
    part = steady / (sum(each[-1] - each[0] for each in under_way) + lost) if under_way else 0.0
    later = f", {part:.2%} once under way ({len(under_way):,} hosts)" if under_way else ""
    short = sum(gap < interval for gap in gaps)
    table(f"{hosts:,} hosts, {interval:g} s between requests to each", "comity")
    row("requests", f"{len(seen):,} in {end - begin:.1f} s, {efficiency:.2%} of what the rules allow{later}")
    row("processor time", f"{used / (end - begin):.0%} of a core, {used / len(seen) * 1e6:.0f} us a request")
    row("intervals", f"least {min(gaps):.4f} s, median {statistics.median(gaps):.4f} s, {short} too short")
    row("hosts", f"{len(times):,} asked, {sum(len(each) > 2 for each in times.values()):,} for pages too")


if __name__ == "__main__":
    main()
