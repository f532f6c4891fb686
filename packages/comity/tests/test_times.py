"""Times as they are written down."""

import math

import pytest

from comity import times


@pytest.mark.parametrize(
    ("unix", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-0.001, "1969-12-31T23:59:59.999Z"),
        (1_763_793_492.1234, "2025-11-22T06:38:12.123Z"),
        (1_763_793_492.9996, "2025-11-22T06:38:13.000Z"),
        (-62_135_596_800.0, "0001-01-01T00:00:00.000Z"),
        (253_402_300_799.999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_is_written_to_the_millisecond(unix: float, text: str) -> None:
    assert times.iso(unix) == text
    assert times.parse_iso(text) == times.to_milliseconds(unix)


@pytest.mark.parametrize("unix", [None, math.nan, math.inf, -math.inf, 253_402_300_800.0, 1e300])
def test_what_no_calendar_has_is_not_written(unix: float | None) -> None:
    assert times.iso(unix) is None


@pytest.mark.parametrize("seconds", [0.0, 1e-6, 0.1234565001, 1_763_793_492.123456789, 4_102_444_800.000001, -2.5])
def test_seconds_are_rounded_as_round_has_it(seconds: float) -> None:
    assert times.to_milliseconds(seconds) == round(seconds, 3)
    assert times.to_microseconds(seconds) == round(seconds, 6)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.25, "0.25 s"),
        (119, "119 s"),
        (299, "5 minutes"),
        (5_400, "90 minutes"),
        (9_000, "2.5 hours"),
        (86_401, "24 hours"),
        (1e7, "116 days"),
        (1e9, "32 years"),
        (1e308, "over a thousand years"),
        (math.inf, "over a thousand years"),
    ],
)
def test_a_span_has_one_short_text(seconds: float, words: str) -> None:
    assert times.format_duration(seconds) == words
