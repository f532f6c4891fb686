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
