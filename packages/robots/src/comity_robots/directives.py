"""The table of directives: what each is called, what it is meant for, and how it is misspelt. Nothing else lists them.

A directive's number stands in the index of a parsed file; sets of directives are bits of such numbers.
"""

from typing import Final, Literal, NamedTuple

Scope = Literal["agent", "rules", "preferences", "pace", "file"]


class Directive(NamedTuple):
    """A kind of record.

    Attributes:
        label: in lower case.
        scope: whom it is meant for. A rule is meant for all `User-agent` lines since the last rule (RFC 9309, 2.1 and
            2.2.4: other records interfere with none); a preference for those since the last rule or preference
            (draft-ietf-aipref-attach makes Content-Usage a rule, and Content-Signal stands in the same place); a wish
            about pace for those directly above it; the rest for the file, or for none.
        prefixes: what Google's parser takes for it where a label begins so.
        vocabulary: the module of `comity_robots.usage` that reads a preference.
    """

    number: int
    label: bytes
    scope: Scope
    prefixes: tuple[bytes, ...] = ()
    vocabulary: str = ""


USER_AGENT: Final = 1
ALLOW: Final = 2
DISALLOW: Final = 3
SITEMAP: Final = 4
CRAWL_DELAY: Final = 5
REQUEST_RATE: Final = 6
VISIT_TIME: Final = 7
CLEAN_PARAM: Final = 8
HOST: Final = 9
NOINDEX: Final = 10
CONTENT_USAGE: Final = 11
CONTENT_SIGNAL: Final = 12
LICENSE: Final = 13

_MISSPELT = (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")
DIRECTIVES: Final = (
    Directive(USER_AGENT, b"user-agent", "agent", (b"user-agent", b"useragent", b"user agent")),
    Directive(ALLOW, b"allow", "rules", (b"allow",)),
    Directive(DISALLOW, b"disallow", "rules", _MISSPELT),
    Directive(SITEMAP, b"sitemap", "file", (b"sitemap", b"site-map")),
    Directive(CRAWL_DELAY, b"crawl-delay", "pace"),
    Directive(REQUEST_RATE, b"request-rate", "pace"),
    Directive(VISIT_TIME, b"visit-time", "pace"),
    Directive(CLEAN_PARAM, b"clean-param", "file"),
    Directive(HOST, b"host", "file"),
    Directive(NOINDEX, b"noindex", "file"),
    Directive(CONTENT_USAGE, b"content-usage", "preferences", vocabulary="aipref"),
    Directive(CONTENT_SIGNAL, b"content-signal", "preferences", vocabulary="content_signal"),
    Directive(LICENSE, b"license", "file"),
)
LABELS: Final[dict[bytes, int]] = {each.label: each.number for each in DIRECTIVES}
NAMES: Final[dict[int, str]] = {each.number: each.label.decode() for each in DIRECTIVES}
PREFIXES: Final = tuple((prefix, each.number) for each in DIRECTIVES for prefix in each.prefixes)


def _of(*scopes: Scope) -> int:
    return sum(1 << each.number for each in DIRECTIVES if each.scope in scopes)


# Directives that end a run of `User-agent` lines, as bits, by what is meant for the run: rules, preferences, pace.
RULES: Final = _of("rules")
PREFERENCES: Final = _of("rules", "preferences")
RECORDS: Final = _of("rules", "preferences", "pace", "file")
PACE: Final = _of("pace")
STATED: Final = _of("preferences")
USAGE: Final = STATED | 1 << LICENSE
