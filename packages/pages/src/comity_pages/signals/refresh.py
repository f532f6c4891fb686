"""What a declarative refresh says: when to go on, and where to (HTML standard, "shared declarative refresh steps").

It reads the value of `<meta http-equiv=refresh content=...>` or of the header `Refresh`, in time linear in its length,
and follows nothing.
"""

import re
from typing import Final

MAX_DELAY_SECONDS: Final = 1 << 31  # seconds: a number beyond is read as this one
_REFRESH: Final = re.compile(
    r"[\t\n\f\r ]*+(?:(?P<digits>[0-9]++)|(?=\.))[0-9.]*+"
    r"(?:(?:[\t\n\f\r ]++[;,]?+|[;,])[\t\n\f\r ]*+(?P<name>(?i:url)[\t\n\f\r ]*+=[\t\n\f\r ]*+)?+(?P<url>.*+))?+",
    re.DOTALL,
)


def parse_refresh(text: str) -> tuple[int, str | None] | None:
    """Seconds and reference of a refresh; the reference is None where the page itself is loaded anew.

    None where a browser would take it for no refresh.
    """
    refresh = _REFRESH.fullmatch(text)
    if refresh is None:
        return None
    digits = (refresh["digits"] or "").lstrip("0")
    seconds = min(int(digits or "0"), MAX_DELAY_SECONDS) if len(digits) <= 10 else MAX_DELAY_SECONDS
    url = refresh["url"]
    if not (url or refresh["name"]):
        return seconds, None
    return seconds, url[1:].partition(url[0])[0] if url[:1] in ("'", '"') and url else url
