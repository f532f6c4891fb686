"""The kinds of record a robots.txt holds, as small numbers that fit the index."""

from typing import Final

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

LABELS: dict[bytes, int] = {
    b"user-agent": USER_AGENT,
    b"allow": ALLOW,
    b"disallow": DISALLOW,
    b"sitemap": SITEMAP,
    b"crawl-delay": CRAWL_DELAY,
    b"request-rate": REQUEST_RATE,
    b"visit-time": VISIT_TIME,
    b"clean-param": CLEAN_PARAM,
    b"host": HOST,
    b"noindex": NOINDEX,
    b"content-usage": CONTENT_USAGE,
    b"content-signal": CONTENT_SIGNAL,
    b"license": LICENSE,
}
USAGE = frozenset((CONTENT_USAGE, CONTENT_SIGNAL, LICENSE))
# Kinds that end a run of `User-agent` lines, as bits: the next such line begins a new group. For Allow and Disallow
# that is a rule (RFC 9309, 2.2.4), for preferences a preference too (draft-ietf-aipref-attach makes Content-Usage a
# rule, and Content-Signal stands in the same place); wishes about pace are meant for the lines directly above them.
RULES: Final = 1 << ALLOW | 1 << DISALLOW
PREFERENCES: Final = RULES | 1 << CONTENT_USAGE | 1 << CONTENT_SIGNAL
RECORDS: Final = (1 << LICENSE + 1) - 2 - (1 << USER_AGENT)
NAMES: dict[int, str] = {kind: label.decode() for label, kind in LABELS.items()}

# What Google's parser takes for the first four, by prefix, in the order it asks.
PREFIXES: tuple[tuple[bytes, int], ...] = (
    (b"user-agent", USER_AGENT),
    (b"useragent", USER_AGENT),
    (b"user agent", USER_AGENT),
    (b"allow", ALLOW),
    (b"disallow", DISALLOW),
    (b"dissallow", DISALLOW),
    (b"dissalow", DISALLOW),
    (b"disalow", DISALLOW),
    (b"diasllow", DISALLOW),
    (b"disallaw", DISALLOW),
    (b"sitemap", SITEMAP),
    (b"site-map", SITEMAP),
)
