"""The words by which a page says that it is not there, whatever its status says."""

import re
from typing import Final

_GONE: Final = re.compile(
    r"\b404\b|(?:page|content|product|article|item|site|url|resource)(?: you\W+\w+ (?:requested|looking for"
    r"|were looking for))? (?:was |is |could |can ?|has )?(?:not|n['’]t|no longer)(?: be)? (?:found"
    r"|available|exist|located)"
    r"|not found|(?:can['’]?t|cannot|couldn['’]t|could not|unable to) (?:be |seem to )?(?:find|found|locate)"
    r"|(?:doesn|don)['’]t exist|does not exist|no longer (?:exists|available)|nothing (?:was )?found",
    re.IGNORECASE,
)


_EACH_HAS: Final = ("no", "404", "n't", "n\u2019t", "cant", "unable")  # one of these at least; most texts have none


def gone(text: str) -> re.Match[str] | None:
    """Where a title or heading says so; whether the page has other content is not looked at."""
    lower = text.lower()
    for word in _EACH_HAS:
        if word in lower:
            return _GONE.search(text)
    return None
