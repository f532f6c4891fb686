"""What the operator orders: of single hosts, while a crawl runs or between two runs, slower, stop, go on; of the whole
crawl while it runs, to end.

Orders are lines of a file in the crawl's folder: the crawl reads what is new, writes into its ledger from when on it
holds, and confirms it by another line. The last order about a host is in force, in later runs too; an order to end is
for the run at hand.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from comity.errors import InvalidSetting, InvalidURL, StorageError
from comity.files import open_regular, read_regular, sync_folder
from comity.frontier.durable import translate_os_errors
from comity_pages import urls
from comity_robots.fields import DAY

FILE: Final = "orders.jsonl"
POLL_SECONDS: Final = 0.25  # seconds between two looks at the file
CONFIRMED: Final = "confirmed"  # the name of an order in a line by which who carries it out confirms it
MAX_ORDERED_SECONDS: Final = DAY  # seconds that may be ordered: what is to be left alone for longer is stopped

OrderKind = Literal["slow", "stop", "go", "end"]
EVERYTHING: Final = "*"  # stands for the host where an order is about the whole crawl


@dataclass(frozen=True, slots=True)
class OrderForm:
    """What a kind of order is about: what `comity frontier` says of it (empty where that has a command of its own),
    what was ordered, of `{host}` and `{seconds}`, and whether it takes seconds."""

    help: str
    words: str
    is_timed: bool = False


ORDERS: Final[dict[OrderKind, OrderForm]] = {
    "slow": OrderForm(
        "Wait at least TIME between requests to HOST.\n\n"
        "TIME is seconds or such as 2m; it holds whatever the robots.txt of HOST says.",
        "at least {seconds:g} s between requests to {host}",
        is_timed=True,
    ),
    "stop": OrderForm("Send no more requests to HOST; its URLs stay queued.", "no more requests to {host}"),
    "go": OrderForm("Lift the orders for HOST.", "orders for {host} lifted"),
    "end": OrderForm("", "the crawl ends"),
}
"""By kind; what a crawl does then is in run/scheduler.py, what a proof holds it to in audit/paces.py."""


@dataclass(frozen=True, slots=True)
class Order:
    """One order.

    Attributes:
        host: as URLs in normal form have it; EVERYTHING where the order is `end`.
        order: `slow`: at least `seconds` between two requests to what shares the host's pace; `stop`: no request to
            the host; `go`: neither holds any more; `end`: the run ends, as `Crawler.stop` ends it.
        at: when it was given, Unix time.
    """

    host: str
    order: OrderKind
    seconds: float | None = None
    at: float = 0.0


def host_named(text: str) -> str:
    """The host that an operator names, by itself, with a port, or by one of its URLs (else InvalidURL); ports share a
    host's pace."""
    return urls.host(url_of(text))


def url_of(text: str) -> str:
    """A URL of the host that an operator names, with the port if there is one; else InvalidURL."""
    try:
        return urls.normalise(text if "://" in text else f"http://{text}/")
    except InvalidURL as error:
        raise InvalidURL(f"{text!r} names no host", url=text, hint="write for example www.example.com") from error


def give(folder: Path, host: str, order: OrderKind, seconds: float | None = None) -> Order:
    """Give an order to the crawl in a folder, running or not; gives it as it was written. Errors of `checked_order`,
    and a StorageError where it cannot be written."""
    given = checked_order(host, order, seconds)
    _append(folder, asdict(given))
    return given


def _append(folder: Path, line: dict[str, Any]) -> None:
    path = folder / FILE
    with translate_os_errors(path):
        with open_regular(path, "a+b", buffering=0) as file:
            file.seek(max(file.tell() - 1, 0))
            cut_short = file.read(1) not in (b"", b"\n")  # by a full disk
            file.write(b"\n" * cut_short + json.dumps(line).encode("ascii") + b"\n")
            os.fsync(file.fileno())
        sync_folder(folder)


def is_confirmed(folder: Path, order: Order) -> bool:
    """Whether who carries an order out has said so."""
    with translate_os_errors(folder / FILE):
        lines = read_regular(folder / FILE).splitlines()
    return json.dumps({CONFIRMED: asdict(order)}).encode("ascii") in lines


def checked_order(host: str, order: OrderKind, seconds: float | None = None) -> Order:
    """An order as it is written; InvalidURL or InvalidSetting where the host or the seconds are not allowed."""
    timed = ORDERS[order].is_timed
    if timed and not (seconds is not None and 0 < seconds <= MAX_ORDERED_SECONDS):
        raise InvalidSetting(
            f"{order} takes a time above 0 and up to {MAX_ORDERED_SECONDS / 3600:g}h, not {seconds:g} s"
            if seconds is not None
            else f"{order} takes a time: seconds between requests",
            hint="to send nothing, stop it",
        )
    named = EVERYTHING if order == "end" else host_named(host)
    return Order(named, order, seconds if timed else None, round(time.time(), 3))


class Orders:
    """The orders of one crawl, as they come. `mark`: bytes of the file that were there when the run at hand began, now
    without one: an order to end among them was for a run before."""

    def __init__(self, folder: Path, mark: int | None = None) -> None:
        self._path = folder / FILE
        self._folder = folder
        self._read = 0  # bytes
        self._new: set[Order] = set()  # of this run, that were not confirmed yet
        self.mark = self._size() if mark is None else mark

    def _size(self) -> int:
        with translate_os_errors(self._path):
            try:  # not `exists()`, to which a file that cannot be read is none
                return self._path.stat().st_size
            except (FileNotFoundError, NotADirectoryError):
                return 0

    def new(self) -> Iterator[Order]:
        """What was ordered since the last call, the oldest first; lines that are no order of this run are left out."""
        if self._size() <= self._read:
            return
        with translate_os_errors(self._path), open_regular(self._path) as file:
            file.seek(self._read)
            lines = file.read().split(b"\n")[:-1]  # what has no end yet is being written
        for line in lines:
            self._read += len(line) + 1
            order = read_order(line)
            if order is not None and self._read > self.mark:
                self._new.add(order)
            if order is not None and (order.order != "end" or self._read > self.mark):
                yield order

    def confirm(self, order: Order) -> None:
        """Say that an order is carried out from now on; who gave it may wait for that."""
        if order in self._new:
            self._new.remove(order)
            with suppress(StorageError):  # it is carried out nevertheless
                _append(self._folder, {CONFIRMED: asdict(order)})


def read_order(line: bytes) -> Order | None:
    """An order as it is kept; None where it is none."""
    try:
        order = Order(**json.loads(line))
        if order.order == "end":
            return order if order.host == EVERYTHING else None
        fits = not ORDERS[order.order].is_timed or 0 < float(order.seconds or 0) <= MAX_ORDERED_SECONDS
        return order if fits and host_named(order.host) == order.host else None
    except (ValueError, TypeError, KeyError):
        return None
