"""Crawl-delay, Request-rate and Visit-time: how often, and at what time of day, as a site writes them.

Reads the values of the records, which come from no standard, the last two from Sean Conner's draft of 1996; it never
waits and never asks what time it is.
"""

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import time

from comity_robots.fields import DAY, SECONDS

_UNITS = {"": 1, **{unit: round(SECONDS[unit]) for unit in "smhd"}}
_CLOCK = r"(?:([01][0-9]|2[0-3]):?([0-5][0-9])|24:?00)"  # midnight, as many write the end of a day
_PERIOD = re.compile(rf"{_CLOCK}(?: ?- ?| ){_CLOCK}")
_RATE = re.compile(r"([0-9]{1,9}) ?/ ?([0-9]{1,9}) ?([smhd]?)(?: (.*))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class VisitTime:
    """When a site wants to be visited.

    Attributes:
        start, end: time of day in UTC; where `end` is not after `start`, the time runs past midnight.
    """

    start: time
    end: time

    def __str__(self) -> str:
        """As a file writes it: `0600-0845`."""
        return f"{self.start:%H%M}-{self.end:%H%M}"

    def opens_at(self, unix_time: float) -> float:
        """`unix_time` where it lies within the hours, else the Unix time at which they begin next.

        The last minute counts: `0600-0845` ends at 08:46. Hours that end where they begin are all day.
        """
        if self.start == self.end:
            return unix_time
        length = ((_minutes(self.end) - _minutes(self.start)) % (DAY // 60) + 1) * 60
        since = (unix_time - _minutes(self.start) * 60) % DAY
        return unix_time if since < length else unix_time + (DAY - since)


@dataclass(frozen=True, slots=True)
class RequestRate:
    """How often a site may be asked.

    Attributes:
        requests: at most so many, at least 1,
        seconds: in so many seconds, at least 1.
        start, end: time of day in UTC for which it is meant; None where it is meant for the whole day.
    """

    requests: int
    seconds: int
    start: time | None = None
    end: time | None = None

    @property
    def interval(self) -> float:
        """Seconds from one request to the next."""
        return self.seconds / self.requests

    def holds_at(self, unix_time: float) -> bool:
        """Whether it is meant for this time; the last minute counts, as for `VisitTime`."""
        if self.start is None or self.end is None:
            return True
        return VisitTime(self.start, self.end).opens_at(unix_time) <= unix_time

    def __str__(self) -> str:
        """As a file writes it: `1/10s 0600-0845`."""
        rate = f"{self.requests}/{self.seconds}s"
        return rate if self.start is None or self.end is None else f"{rate} {self.start:%H%M}-{self.end:%H%M}"


def _minutes(clock: time) -> int:
    return clock.hour * 60 + clock.minute


def crawl_delay(values: Iterable[str]) -> float | None:
    """The longest of the values that are a number of seconds; None where none is."""
    asked = []
    for value in values:
        with suppress(ValueError):
            asked.append(float(value))
    return max((seconds for seconds in asked if 0 <= seconds < math.inf), default=None)


def request_rates(values: Iterable[str]) -> Iterator[RequestRate]:
    """The values that can be read, such as `3/15`, `1/10s` or `100/15m 0600-0845`."""
    for value in values:
        found = _RATE.fullmatch(" ".join(value.split()))
        if found is None:
            continue
        requests, seconds = int(found[1]), int(found[2]) * _UNITS[found[3].lower()]
        period = visit_time([found[4]]) if found[4] else None
        if not requests or not seconds or (period is None and found[4]):
            continue
        if period is None:
            yield RequestRate(requests, seconds)
        else:
            yield RequestRate(requests, seconds, period.start, period.end)


def visit_time(values: Iterable[str]) -> VisitTime | None:
    """The first value such as `0600-0845`, `0600 0845` or `06:00-08:45` that can be read; None where none can."""
    for value in values:
        found = _PERIOD.fullmatch(" ".join(value.split()))
        if found is not None:
            start_hour, start_minute, end_hour, end_minute = (int(number or 0) for number in found.groups())
            return VisitTime(time(start_hour, start_minute), time(end_hour, end_minute))
    return None
