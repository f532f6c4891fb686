"""Preferences that robots.txt states for one URL: Content-Usage, Content-Signal, License.

The caller has read the file and chosen the groups that hold for the agent; here the rules that cover the URL are
found and read. It never decides whether the URL may be fetched: the caller says so.
"""

from collections.abc import Callable, Iterable
from typing import Final

from comity.signals.usage import aipref, content_signal, paths, rsl
from comity.signals.usage.aipref import Stated
from comity.signals.usage.statements import Licence, Statement, Usage, Vocabulary, shown

Record = tuple[int, str, str | None]
"""Line (from 1), value as written after the colon without its comment, and the group's user agents or None."""

MAX_RULES: Final = 256
"""Rules of equal length that are read for one URL; a real file has one or two."""


def from_robots(
    url: str,
    *,
    content_usage: Iterable[Record] = (),
    content_signal: Iterable[Record] = (),
    licences: Iterable[Record] = (),
    crawlable: bool = True,
    matches: paths.Matcher = paths.matches,
) -> Usage:
    """What robots.txt states about one URL. Never raises on content.

    The longest path wins, as for Allow and Disallow; equal ones combine; a rule without a path covers every URL and
    is shorter than any path (draft-ietf-aipref-attach, "Content-Usage Rule Semantics"). Each vocabulary is judged on
    its own. Licences hold for the whole file.

    Args:
        url: absolute URL, or path with query.
        content_usage: the Content-Usage records of the agent's groups.
        content_signal: the Content-Signal records of the agent's groups.
        licences: the License records of the file.
        crawlable: whether robots.txt allows the URL; where not, no preference is implied for it.
        matches: `matches(pattern, path)`, by default RFC 9309's matching.
    """
    statements: list[Statement] = []
    if crawlable:
        path = paths.target(url)
        statements += _longest(path, content_usage, "aipref", "Content-Usage", aipref.read, matches)
        statements += _longest(path, content_signal, "content-signal", "Content-Signal", _read_signal, matches)
    return Usage(tuple(statements), _licences(licences), applicable=crawlable)


_read_signal = content_signal.read


def _longest(
    path: str,
    records: Iterable[Record],
    vocabulary: Vocabulary,
    name: str,
    read: Callable[[str], list[Stated]],
    matches: paths.Matcher,
) -> list[Statement]:
    best = -1
    winners: list[tuple[int, str | None, str, str | None]] = []
    for line, value, group in records:
        pattern, preferences = paths.split(value)
        length = 0 if pattern is None else paths.octets(pattern)
        if length < best or (pattern is not None and not matches(pattern, path)):
            continue
        if length > best:
            best = length
            winners.clear()
        winners.append((line, pattern, preferences, group))
    return [
        Statement(
            each.purpose, each.value, vocabulary, "robots.txt", name, shown(text), line, pattern, group, note=each.note
        )
        for line, pattern, text, group in winners[:MAX_RULES]
        for each in read(text)
    ]


def _licences(records: Iterable[Record]) -> tuple[Licence, ...]:
    found: list[Licence] = []
    for line, value, _ in records:
        url = value.strip()
        if url and len(found) < rsl.MAX_LICENCES:
            note = "" if rsl.is_absolute(url) else "not an absolute URL"
            found.append(Licence(url[: rsl.MAX_URL], "rsl", "robots.txt", "License", line, note=note))
    return tuple(found)
