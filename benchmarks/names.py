"""What finding addresses costs: 10,000 host names of which a third is dead, on a name server of the benchmark's own.

Run by `make bench-names NAMES=10000`. Of the dead names one half does not exist, and the server says nothing of the
other. Every name is asked for by three callers at once, and again when all are known.
"""

import argparse
import asyncio
import multiprocessing
import statistics
import time
from collections import Counter
from multiprocessing.connection import Connection
from typing import Any

from common import at_least_one, row, table

from comity.net.names import Names

CALLERS = 3
TTL = 3600


class Server(asyncio.DatagramProtocol):
    """`gone...` does not exist, of `dead...` nothing is said, anything else is 127.0.0.1."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, peer: Any) -> None:
        at = 12
        while data[at]:
            at += data[at] + 1
        kind, name = data[at + 2], data[13 : 13 + data[12]].decode("ascii", "replace")
        self.asked[name] += kind == 1
        if name.startswith("dead"):
            return
        answers = int(kind == 1 and not name.startswith("gone"))
        head = data[:2] + (b"\x81\x83" if name.startswith("gone") else b"\x81\x80")
        head += b"\0\1\0" + bytes([answers]) + b"\0\0\0\0"
        record = b"\xc0\x0c\0\1\0\1" + TTL.to_bytes(4, "big") + b"\0\4\x7f\0\0\1"
        self.transport.sendto(head + data[12 : at + 5] + record * answers, peer)


def serve(pipe: Connection) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        transport, server = await loop.create_datagram_endpoint(Server, local_addr=("127.0.0.1", 0))
        transport.get_extra_info("socket").setsockopt(1, 8, 1 << 24)  # SO_RCVBUF
        pipe.send(transport.get_extra_info("sockname")[1])
        await loop.run_in_executor(None, pipe.recv)
        pipe.send((len(server.asked), sum(server.asked.values())))

    asyncio.run(run())


async def look_up(names: Names, hosts: list[str]) -> tuple[list[float], int]:
    """The seconds after which each living name was known, and how many names were not found."""
    begun = time.perf_counter()
    known: list[float] = []
    failed = 0

    async def ask(host: str) -> None:
        nonlocal failed
        try:
            await names.addresses(host)
        except OSError:
            failed += 1
        else:
            known.append(time.perf_counter() - begun)

    await asyncio.gather(*(ask(host) for host in hosts for _ in range(CALLERS)))
    return known, failed // CALLERS


def measured(kind: str, hosts: list[str]) -> None:
    pipe, other = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(other,), daemon=True)
    server.start()
    port = pipe.recv()

    async def run() -> None:
        names = Names({}, (f"127.0.0.1:{port}",))
        begun, cpu = time.perf_counter(), time.process_time()
        known, failed = await look_up(names, hosts)
        took, cpu = time.perf_counter() - begun, time.process_time() - cpu
        pipe.send("enough")
        distinct, questions = pipe.recv()
        table(f"{len(hosts):,} names, {kind}, {CALLERS} callers each", "comity")
        row("all known", f"after {took:.1f} s, {failed:,} not found")
        row("living names known", f"after {statistics.median(known):.2f} s in the median, the last {max(known):.2f} s")
        row("processor time a name", f"{cpu / len(hosts) * 1e6:.0f} us")
        row("questions for A", f"{questions:,} about {distinct:,} names")
        living = [host for host in hosts if not host.startswith("dead")]
        begun = time.perf_counter()
        await look_up(names, living)
        again = (time.perf_counter() - begun) / len(living) * 1e6
        row("again, those that were answered", f"{again:.0f} us a name")
        await names.close()

    asyncio.run(run())
    server.join()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--names", type=at_least_one, default=10_000)
    count = parser.parse_args().names
    measured("none dead", [f"well{number}.test" for number in range(count)])
    kinds = ("well", "well", "gone", "well", "well", "dead")
    measured("a third dead", [f"{kinds[number % 6]}{number}.test" for number in range(count)])


if __name__ == "__main__":
    main()
