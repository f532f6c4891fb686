"""What a declarative refresh says: when to go on, and where to (HTML standard, "shared declarative refresh steps").

It reads the value of `<meta http-equiv=refresh content=...>` or of the header `Refresh`, in time linear in its length,
and follows nothing.
"""

import re
from typing import Final

MAX_DELAY_SECONDS: Final = 1 << 31  # seconds: a number beyond is read as this one
_TIME: Final = re.compile(r"[\t\n\f\r ]*(?:([0-9]+)|(?=\.))[0-9.]*")
_GAP: Final = re.compile(r"(?:[\t\n\f\r ]+[;,]?|[;,])[\t\n\f\r ]*")
_NAME: Final = re.compile(r"[Uu][Rr][Ll][\t\n\f\r ]*=[\t\n\f\r ]*")


def parse_refresh(text: str) -> tuple[int, str | None] | None:
    """Seconds and reference of a refresh; the reference is None where the page itself is loaded anew.

    None where a browser would take it for no refresh.
    """
    time = _TIME.match(text)
    if time is None:
        return None
    digits = (time[1] or "").lstrip("0")
    seconds = min(int(digits or "0"), MAX_DELAY_SECONDS) if len(digits) <= 10 else MAX_DELAY_SECONDS
    if time.end() == len(text):
        return seconds, None
    gap = _GAP.match(text, time.end())
    if gap is None:
        return None
    rest = text[gap.end() :]
    if not rest:
        return seconds, None
    name = _NAME.match(rest)
    if name is not None:
        rest = rest[name.end() :]
    if rest[:1] in ("'", '"') and rest:
        rest = rest[1:].partition(rest[0])[0]
    return seconds, rest
