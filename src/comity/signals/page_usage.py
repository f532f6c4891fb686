"""Preferences that come with a page: its response headers and its `<meta>` elements."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from comity.signals import robots_meta, rsl, tdmrep
from comity.signals.robots_meta import RobotsMeta
from comity.usage import aipref, content_signal
from comity.usage.aipref import Stated
from comity.usage.statements import MAX_LICENCES, Licence, Statement, Usage, UsageScope, Vocabulary, kept, merge, shown

MAX_VALUES: Final = 256
"""Headers, or metas, of one page that are read for preferences."""

_TDM: Final = (tdmrep.RESERVATION, tdmrep.POLICY)
# EPUB and PDF write the same two names with a colon; pages made from them carry it over.
_TDM_METAS: Final = {"tdm:reservation": tdmrep.RESERVATION, "tdm:policy": tdmrep.POLICY}


def from_headers(headers: Iterable[tuple[str, str]], *, agent: str = "", url: str | None = None) -> Usage:
    """What the response headers state: Content-Usage, Content-Signal, TDM, Link licences, noai. Never raises.

    Args:
        headers: name and value of every response header, repeated ones repeated.
        agent: our agent; directives of `X-Robots-Tag` addressed to others do not count.
        url: the page's URL, against which relative links to licences and policies are resolved.
    """
    named: dict[str, list[str]] = {}
    for name, value in headers:
        values = named.setdefault(name.strip().lower(), [])
        if len(values) < MAX_VALUES:
            values.append(value)
    parts: list[Usage] = []
    if usage := named.get("content-usage"):
        # One field in several lines is one dictionary (RFC 9651, 4.2).
        parts.append(_stated(", ".join(usage), "aipref", "Content-Usage", aipref.read))
    signals = [_stated(each, "content-signal", "Content-Signal", _signal) for each in named.get("content-signal", ())]
    parts.append(Usage(kept(each for signal in signals for each in signal.statements).statements))
    parts += [tdmrep.from_value(name, value, "header", url) for name in _TDM for value in named.get(name, ())]
    links: list[Licence] = [each for value in named.get("link", ()) for each in rsl.from_link_header(value, url)]
    parts.append(Usage(licences=tuple(links[:MAX_LICENCES])))
    if tags := named.get("x-robots-tag"):
        parts.append(from_directives(robots_meta.read(tags, (), agent=agent)))
    return merge(*parts)


def from_metas(metas: Sequence[tuple[str, str]], *, agent: str = "", url: str | None = None) -> Usage:
    """What the page's metas state: tdm-reservation, tdm-policy, noai, noimageai. Never raises.

    Args:
        metas: name and content of the page's metas.
        agent: our agent; directives addressed to others do not count.
        url: the page's base URL, against which a relative policy is resolved.
    """
    parts: list[Usage] = []
    for name, content in metas:
        key = name.strip().lower()
        key = _TDM_METAS.get(key, key)
        if key in _TDM and len(parts) < MAX_VALUES:
            parts.append(tdmrep.from_value(key, content, "meta", url))
    parts.append(from_directives(robots_meta.read((), metas, agent=agent)))
    return merge(*parts)


def from_directives(found: RobotsMeta) -> Usage:
    """What `noai` and `noimageai` state: no training; the second one on images only. They say no more than that."""
    statements = []
    for directive in found.applying:
        if directive.name in ("noai", "noimageai"):
            scope: UsageScope = "images" if directive.name == "noimageai" else "page"
            name = "X-Robots-Tag" if directive.source == "header" else (directive.agent or "robots")
            statements.append(
                Statement(
                    "train-ai",
                    "disallowed",
                    "robots-directive",
                    directive.source,
                    name,
                    shown(directive.text),
                    scope=scope,
                )
            )
    return Usage(tuple(statements[:MAX_VALUES]))


_signal = content_signal.read


def _stated(value: str, vocabulary: Vocabulary, name: str, read: Callable[[str], list[Stated]]) -> Usage:
    return Usage(
        tuple(
            Statement(each.purpose, each.value, vocabulary, "header", name, shown(value.strip()), note=each.note)
            for each in read(value)
        )
    )
