"""Dates as pages write them, as `YYYY-MM-DD`."""

from __future__ import annotations

import re
from typing import Final

_ISO: Final = re.compile(r"\b(19[89]\d|20\d\d)[-/.](0?[1-9]|1[0-2])[-/.](0?[1-9]|[12]\d|3[01])(?!\d)")
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], start=1
    )
}
_MONTH: Final = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_SPOKEN: Final = (
    re.compile(rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(19[89]\d|20\d\d)\b", re.IGNORECASE),
    re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+(19[89]\d|20\d\d)\b", re.IGNORECASE),
)
_SLASHED: Final = re.compile(r"\b(\d{1,2})/(\d{1,2})/(20\d\d)\b")


def day_of(text: str) -> str:
    """The first date in a text as `YYYY-MM-DD`; empty where there is none."""
    text = text[:2000]
    best = ""
    at = len(text)
    if match := _ISO.search(text):
        best, at = as_day(match[1], match[2], match[3]), match.start()
    if (match := _SPOKEN[0].search(text)) and match.start() < at:
        best, at = as_day(match[3], str(_MONTHS[match[1][:3].lower()]), match[2]), match.start()
    if (match := _SPOKEN[1].search(text)) and match.start() < at:
        best, at = as_day(match[3], str(_MONTHS[match[2][:3].lower()]), match[1]), match.start()
    if not best and (match := _SLASHED.search(text)):
        month, number = (match[2], match[1]) if int(match[1]) > 12 else (match[1], match[2])
        best = as_day(match[3], month, number)
    return best


def as_day(year: str, month: str, number: str) -> str:
    """A day as `YYYY-MM-DD`; empty where there is none of that number."""
    return f"{year}-{int(month):02d}-{int(number):02d}" if 1 <= int(month) <= 12 and 1 <= int(number) <= 31 else ""
