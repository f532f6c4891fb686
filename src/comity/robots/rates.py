"""Request-rate and Visit-time: how many requests in how long, and at what hours (UTC). Not in RFC 9309."""

import re
from dataclasses import dataclass
from datetime import time

_RATE = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})\s*([smhd]?)(?:\s+(\d{4}\s*[-\s]\s*\d{4}))?", re.IGNORECASE)
_HOURS = re.compile(r"(\d\d)(\d\d)\s*[-\s]\s*(\d\d)(\d\d)")
_DAY_MINUTES = 24 * 60
_DAY = _DAY_MINUTES * 60
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class VisitTime:
    """Hours of the day, UTC, within which visits are welcome; `end` may lie before `start`, over midnight."""

    start_time: time
    end_time: time

    def opens_at(self, unix_time: float) -> float:
        """`unix_time` where it lies within the hours, else the Unix time at which they begin next.

        The last minute counts: `0600-0845` ends at 08:46. Hours that end where they begin are all day.
        """
        start = _minutes(self.start_time) * 60
        length = ((_minutes(self.end_time) - _minutes(self.start_time)) % _DAY_MINUTES + 1) * 60
        if self.start_time == self.end_time:
            return unix_time
        since = (unix_time - start) % _DAY
        return unix_time if since < length else unix_time + (_DAY - since)


@dataclass(frozen=True, slots=True)
class RequestRate:
    """At most `requests` in `seconds`, within hours of the day (UTC) where both are given."""

    requests: int
    seconds: int
    start_time: time | None = None
    end_time: time | None = None


def _minutes(clock: time) -> int:
    return clock.hour * 60 + clock.minute


def read_rate(value: str) -> RequestRate | None:
    """`1/10s 0600-0845`; None where it cannot be read or allows nothing."""
    found = _RATE.fullmatch(value.strip())
    if found is None:
        return None
    requests, seconds = int(found[1]), int(found[2]) * _UNITS[found[3].lower()]
    hours = read_hours(found[4]) if found[4] else None
    if not requests or not seconds or (found[4] and hours is None):
        return None
    return RequestRate(requests, seconds, hours.start_time if hours else None, hours.end_time if hours else None)


def read_hours(value: str) -> VisitTime | None:
    """`0600-0845`; None where it cannot be read."""
    found = _HOURS.fullmatch(value.strip())
    try:
        return found and VisitTime(time(int(found[1]), int(found[2])), time(int(found[3]), int(found[4])))
    except ValueError:
        return None
