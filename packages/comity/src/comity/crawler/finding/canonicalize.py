"""URLs without what only tracks a visitor or names a session: so that one page is not fetched under many addresses.

It takes parameters away, and the mark of a query that holds none; it never adds or reorders any. What it takes is named
here one by one, or by the site itself in robots.txt (`Clean-param`); a name that has other uses goes only where its
value looks like a session's.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from comity_pages import urls
from comity_robots.engine import matches, normalised, path_of
from comity_robots.engine.reference import FORMS

MAX_RULES: Final = 64  # different paths of Clean-param that are obeyed; a robots.txt can hold thousands
MAX_NAMES_PER_RULE: Final = 256  # parameters obeyed for one such path

# fmt: off
_TRACKING: Final = frozenset((
    "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid", "ymclid", "twclid",
    "ttclid", "igshid", "li_fat_id", "epik", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi",
    "__hstc", "__hssc", "__hsfp", "hsctatracking", "mkt_tok", "vero_id", "oly_anon_id", "oly_enc_id",
    "wickedid", "_openstat",
))
_SESSION_NAMES: Final = frozenset(("phpsessid", "jsessionid", "oscsid", "xtcsid", "zenid", "mscssid", "cftoken"))
# fmt: on
_PREFIXES: Final = ("utm_", "aspsessionid")
# Names that also mean other things: a section, a search, a talk at a conference.
_AMBIGUOUS: Final = frozenset(["s", "sid", "sess", "sessid", "sessionid", "session", "session_id", "session-id"])
_SESSION: Final = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[0-9A-Za-z]{20,}")
_IN_PATH: Final = re.compile(r";(?:jsessionid|phpsessid)=[^/;]*", re.IGNORECASE)
# ASP.NET without cookies: /(S(lit3py55t21z5v55vlm25s55))/page
_ASP_NET: Final = re.compile(r"/\((?:[AF]\([^()/]*\))?S\([0-9a-z]{24}\)(?:[AF]\([^()/]*\))?\)(?=/)", re.IGNORECASE)
_FORM: Final = FORMS["rfc9309"]
_NAMES: Final = _TRACKING | _SESSION_NAMES | _AMBIGUOUS


@dataclass(frozen=True, slots=True)
class Canonicalizer:
    """What is taken off the URLs of one site; `rules`: patterns of paths, and the parameters that mean nothing below
    them, from Clean-param."""

    rules: tuple[tuple[bytes, frozenset[str]], ...] = ()

    @classmethod
    def from_robots(cls, values: Iterable[str]) -> Self:
        """From the values of the Clean-param records: `p0&p1 [path]`. The record belongs to no group; the path is a
        prefix that may hold `*` (yandex.com/support/webmaster/robot-workings/clean-param.html). Never raises."""
        rules: dict[bytes, set[str]] = {}
        for value in values:
            names, _, path = value.strip().partition(" ")
            path = path.strip() or "/"
            if not path.startswith(("/", "*")):
                path = "/" + path
            pattern = normalised(path.encode("utf-8", "surrogatepass"), _FORM, True)
            if pattern not in rules and len(rules) >= MAX_RULES:
                break
            own = rules.setdefault(pattern, set())
            own.update([name for name in names.split("&") if name][: MAX_NAMES_PER_RULE - len(own)])
        return cls(tuple((pattern, frozenset(names)) for pattern, names in rules.items() if names))

    def clean(self, url: str) -> str:
        """A URL in normal form without them; the same object where there is nothing to take."""
        path, mark, query = url.partition("?")
        if ";" in path or "(" in path:
            cleaned = _ASP_NET.sub("", _IN_PATH.sub("", path))
            if cleaned != path:
                # What is left of `..;jsessionid=1` is a dot segment.
                return self.clean(urls.normalise(cleaned + mark + query))
        if not query:
            return path if mark else url  # `/a?` is `/a` for nearly every server
        idle = self._idle(url)
        parameters = query.split("&")
        kept = [parameter for parameter in parameters if not _is_noise(parameter, idle)]
        if len(kept) == len(parameters):
            return url
        left = "&".join(kept)
        return f"{path}?{left}" if left else path

    def _idle(self, url: str) -> frozenset[str]:
        """The parameters that mean nothing to the site on this path."""
        if not self.rules:
            return frozenset()
        path = path_of(url, _FORM, False)
        return frozenset().union(*(names for pattern, names in self.rules if matches(pattern, path)))


def _is_noise(parameter: str, idle: frozenset[str]) -> bool:
    name, _, value = parameter.partition("=")
    lower = name.lower()
    if lower in _NAMES and (lower not in _AMBIGUOUS or _SESSION.fullmatch(value) is not None):
        return True
    return lower.startswith(_PREFIXES) or name in idle
