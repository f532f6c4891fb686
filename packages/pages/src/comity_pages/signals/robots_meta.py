"""What a page says about itself: `X-Robots-Tag` headers and robots `<meta>` elements, as one set of directives.

Every directive is kept with its words, its scope and its source; those that address our agent or all agents are
united, the most restrictive wins. The result warns about use and citation; it never decides whether a URL may be
fetched: that is robots.txt's word alone.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, Literal

from comity_robots.agents import Chooser, token

DirectiveSource = Literal["header", "meta"]
ImagePreview = Literal["none", "standard", "large"]

# A page's own words are hostile until proved otherwise: beyond these, text is ignored and a warning says so.
MAX_CHARS: Final = 65_536  # characters read of one header value or one meta content
MAX_DIRECTIVES: Final = 4_096  # directives kept of one page

_PLAIN_DIRECTIVES: Final = frozenset(
    {"all", "none", "index", "noindex", "follow", "nofollow", "archive", "noarchive", "nocache", "snippet", "nosnippet"}
    | {"noimageindex", "notranslate", "nositelinkssearchbox", "indexifembedded", "noai", "noimageai", "noml"}
    | {"noodp", "noydir"}
)
_VALUED_DIRECTIVES: Final = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})
# What is a member of the result by itself, and the other words for it.
_FLAGS: Final = {"noindex": ("none",), "nofollow": ("none",), "noarchive": ("nocache",)} | dict.fromkeys(
    ("noimageindex", "notranslate", "indexifembedded", "noai", "noimageai", "noml"), ()
)
_PREVIEWS: Final[tuple[ImagePreview, ...]] = ("none", "standard", "large")
_ALL_AGENTS: Final = frozenset({"robots", "*"})
# A meta of this kind of name is a crawler's; every other name (description, viewport) is none of our business.
MAX_CACHED_NAME_CHARS: Final = 64  # characters of a meta's name that is worth remembering
_CRAWLER_NAME: Final = re.compile(r"bot|spider|crawl|slurp|archiver")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,9}")
_SEPARATORS: Final = re.compile(r"[,;]")
_WORD: Final = re.compile(r"[^\s:]+|:")
# A date that nothing known follows: the next comma may be its own.
_DATE_START: Final = re.compile(r"unavailable_after\s*:[^:]*\Z", re.IGNORECASE)
_KNOWN_DIRECTIVES: Final = _PLAIN_DIRECTIVES | _VALUED_DIRECTIVES
_MONTH: Final = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?")
_ZONE: Final = re.compile(r"(?<=[0-9]) ?(?:UTC|GMT|Z)\Z", re.IGNORECASE)
_MIDNIGHT: Final = re.compile(r"(?<=[0-9][T ])24(?=(?::?00(?::?00(?:[.,]0+)?)?)?(?![0-9:.,]))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Directive:
    """One directive as it was stated.

    Attributes:
        name: lower case, for example `noindex` or `max-snippet`.
        value: what stands after the colon, or None.
        agent: lower-case product token it is addressed to, or None: to all agents.
        source: `header` or `meta`.
        index: which header value, or which meta, counted from 0 in the order handed in.
        text: the words as written.
    """

    name: str
    value: str | None
    agent: str | None
    source: DirectiveSource
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class PageWarning:
    """One thing to know before the page is used or cited: a stable code and a plain sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class RobotsMeta:
    """The page's directives for one agent, generic and specific ones united, the most restrictive first.

    Attributes:
        directives: every directive of the page, those for other agents too.
        applying: the ones that address all agents or ours.
        max_snippet: characters; 0 forbids a snippet, -1 sets no limit, None where nothing is said.
        max_video_preview: seconds; 0 allows a still image only, -1 sets no limit, None where nothing is said.
        max_image_preview: `none`, `standard`, `large`, or None where nothing is said.
        unavailable_after: the earliest such time, aware (a time without a zone is taken as UTC).
        warnings: for use and citation; never a reason not to fetch.
    """

    directives: tuple[Directive, ...] = ()
    applying: tuple[Directive, ...] = ()
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    noimageindex: bool = False
    notranslate: bool = False
    indexifembedded: bool = False
    noai: bool = False
    noimageai: bool = False
    noml: bool = False
    max_snippet: int | None = None
    max_image_preview: ImagePreview | None = None
    max_video_preview: int | None = None
    unavailable_after: datetime | None = None
    warnings: tuple[PageWarning, ...] = ()

    def expired(self, now: datetime) -> bool:
        """Whether `unavailable_after` has come; a `now` without a zone is taken as UTC."""
        return self.unavailable_after is not None and self.unavailable_after <= _to_utc(now)


def read(
    headers: Sequence[str], metas: Sequence[tuple[str, str]], *, agent: str, now: datetime | None = None
) -> RobotsMeta:
    """Read the page's directives for one agent. Never raises on content.

    Args:
        headers: the values of `X-Robots-Tag`, in the order received.
        metas: name and content of the page's `<meta>` elements, in page order; other than robots metas are skipped.
        agent: our product token or whole `User-Agent`; what stands before `/` or white space counts.
        now: the time against which `unavailable_after` is judged in the warnings; None leaves that out.
    """
    addressed = _stated_values(headers, metas, agent)
    if not addressed:
        return RobotsMeta()
    cut = any(len(value) > MAX_CHARS for value, *_ in addressed)
    kept: list[Directive] = []
    for directive in (directive for each in addressed for directive in _split(*each)):
        if len(kept) == MAX_DIRECTIVES:
            cut = True
            break
        kept.append(directive)
    us = _own_scopes({each.agent for each in kept if each.agent is not None}, agent)
    ours = tuple(each for each in kept if each.agent is None or each.agent in us)
    return _combine(tuple(kept), ours, now, cut)


def _own_scopes(scopes: Iterable[str], agent: str) -> set[str]:
    """The scopes that address our agent, by robots.txt's comparison of agents (RFC 9309, 2.2.1)."""
    named = [scope for scope in scopes if scope]
    chooser = Chooser([[scope] for scope in named], "product_token", "merge_matching")
    return {named[number] for number in chooser.choose(agent[:MAX_CHARS])}


def read_date(value: str) -> datetime | None:
    """A date as RFC 822, RFC 850, asctime or ISO 8601 writes it, aware; None where it is none of them.

    Without a zone, or with a zone name that those formats do not define, it is taken as UTC. A bare year or month is
    its first instant, and 24:00 the end of its day.
    """
    text = value.strip()
    if not text or len(text) > 100:
        return None
    if month := _MONTH.fullmatch(text):
        text = f"{month[1]}-{month[2] or '01'}-01"
    iso, midnights = _MIDNIGHT.subn("00", _ZONE.sub("+00:00", text))
    try:
        return _to_utc(datetime.fromisoformat(iso)) + timedelta(days=midnights)
    except (ValueError, OverflowError):
        pass
    from email.utils import parsedate_to_datetime  # late: few pages carry a date, and the module is heavy

    try:
        return _to_utc(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _to_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # the first or the last day of the calendar, in a zone that leaves it
        return moment.replace(tzinfo=UTC)


def _stated_values(
    headers: Sequence[str], metas: Sequence[tuple[str, str]], agent: str
) -> list[tuple[str, str | None, DirectiveSource, int]]:
    found: list[tuple[str, str | None, DirectiveSource, int]] = []
    for index, value in enumerate(headers):
        found.append((value, None, "header", index))
    for index, (name, content) in enumerate(metas):
        scope = _cached_addressee(name, agent) if len(name) <= MAX_CACHED_NAME_CHARS else _meta_addressee(name, agent)
        if scope is not None:
            found.append((content, scope or None, "meta", index))
    return found


def _meta_addressee(name: str, agent: str) -> str | None:
    """Whom a meta of this name addresses: our agent or another crawler, "" for all agents; None: it is no robots meta.

    By RFC 9309, 2.2.1 that does not depend on the names of the other metas.
    """
    scope = _scope(name)
    if scope in _ALL_AGENTS:
        return ""
    return scope if _CRAWLER_NAME.search(scope) or _own_scopes((scope,), agent) else None


_cached_addressee = lru_cache(4096)(_meta_addressee)  # viewport, description: nearly all are on other pages too


def _split(value: str, agent: str | None, source: DirectiveSource, index: int) -> Iterator[Directive]:
    """The directives of one header or meta; `noindex nofollow` and `max-snippet:20; noindex` are meant as they look.

    What is no directive that we know is given by its own name: it never takes a known one with it, except as the
    agent that it addresses, where a header says `agent: directive`.
    """
    for part in _parts(value[:MAX_CHARS]):
        words = list(_WORD.finditer(part))
        position = unknown = 0
        while position < len(words):
            name = words[position][0].lower()
            if name not in _KNOWN_DIRECTIVES:
                position += 1
                continue
            if unknown < position:
                label = _addressee(part, words[unknown:position]) if source == "header" else None
                if label is None:
                    yield _unknown_directive(part, words[unknown:position], agent, source, index)
                else:
                    agent = None if label in _ALL_AGENTS else label
            start = end = position + 1
            if start < len(words) and words[start][0] == ":":
                start += 1
                end = _value_end(name, words, start)
            stated = _span(part, words[start:end]) if end > position + 1 else None
            yield Directive(name, stated, agent, source, index, _span(part, words[position:end]))
            position = unknown = end
        if unknown < position:
            yield _unknown_directive(part, words[unknown:position], agent, source, index)


def _parts(value: str) -> Iterator[str]:
    """What commas and semicolons part; a date's own comma does not: `Sat, 25 Jun 2011 15:00:00 GMT`."""
    parts = _SEPARATORS.split(value)
    position = 0
    while position < len(parts):
        pieces = [parts[position]]
        position += 1
        if _DATE_START.search(pieces[0]):
            while position < len(parts) and _continues_date(parts[position]):
                pieces.append(parts[position])
                position += 1
        yield ",".join(pieces)


def _value_end(name: str, words: Sequence[re.Match[str]], start: int) -> int:
    """Where the value that begins at `start` ends: a limit is one word, the rest goes on to the next directive."""
    if name.startswith("max-") and start < len(words):
        word = words[start][0].lower()
        return start if word in _KNOWN_DIRECTIVES and word not in _PREVIEWS else start + 1
    following = (place for place in range(start, len(words)) if words[place][0].lower() in _KNOWN_DIRECTIVES)
    return next(following, len(words))


def _addressee(part: str, words: Sequence[re.Match[str]]) -> str | None:
    """The agent in `agent:`, which stands before a known directive; None where the words are not of that form."""
    if len(words) < 2 or words[-1][0] != ":" or any(word[0] == ":" for word in words[:-1]):
        return None
    return _scope(_span(part, words[:-1]))


def _unknown_directive(
    part: str, words: Sequence[re.Match[str]], agent: str | None, source: DirectiveSource, index: int
) -> Directive:
    text = _span(part, words)
    name, colon, rest = text.partition(":")
    return Directive(name.strip().lower(), rest.strip() if colon else None, agent, source, index, text)


def _span(part: str, words: Sequence[re.Match[str]]) -> str:
    return part[words[0].start() : words[-1].end()] if words else ""


def _scope(name: str) -> str:
    return token(name[:200]).lower()


def _continues_date(part: str) -> bool:
    text = part.strip()
    if not text[:1].isdigit():
        return False
    _, colon, rest = text.partition(":")
    return not (colon and rest.strip()[:1].isalpha())  # `360Spider: noindex` is no date


def _combine(
    directives: tuple[Directive, ...], ours: tuple[Directive, ...], now: datetime | None, cut: bool
) -> RobotsMeta:
    said = {directive.name for directive in ours}
    snippet = video = image = until = None
    unreadable: list[Directive] = []
    unknown: list[Directive] = []
    for directive in ours:
        if directive.name not in _VALUED_DIRECTIVES:
            if directive.name not in _PLAIN_DIRECTIVES:
                unknown.append(directive)
            continue
        value = (directive.value or "").strip()
        if directive.name == "max-image-preview":
            size = value.lower()
            if size in _PREVIEWS:
                image = size if image is None else min(image, size, key=_PREVIEWS.index)
            else:
                unreadable.append(directive)
        elif directive.name == "unavailable_after":
            moment = read_date(value)
            if moment is None:
                unreadable.append(directive)
            else:
                until = moment if until is None else min(until, moment)
        elif not _NUMBER.fullmatch(value) or int(value) < -1:
            unreadable.append(directive)
        elif directive.name == "max-snippet":
            snippet = _lower_limit(snippet, int(value))
        else:
            video = _lower_limit(video, int(value))
    nosnippet = "nosnippet" in said or snippet == 0
    flags: dict[str, Any] = {name: not said.isdisjoint((name, *others)) for name, others in _FLAGS.items()}
    found = RobotsMeta(
        directives=directives,
        applying=ours,
        **flags,
        nosnippet=nosnippet,
        max_snippet=0 if nosnippet else snippet,
        max_image_preview=image,
        max_video_preview=video,
        unavailable_after=until,
    )
    return replace(found, warnings=tuple(_warnings(found, now, unreadable, unknown, cut)))


def _lower_limit(known: int | None, stated: int) -> int:
    """The smaller limit, where -1 is no limit at all."""
    if known is None or known == -1:
        return stated
    return known if stated == -1 else min(known, stated)


_SENTENCES: Final = (
    ("noindex", "The page asks not to be listed in search results or indexes."),
    ("nofollow", "The page asks that its links not be followed or credited."),
    ("noarchive", "The page asks that no copy of it be kept for showing to others."),
    ("nosnippet", "The page asks that none of its text be quoted as a snippet."),
    ("noimageindex", "The page asks that its images not be indexed."),
    ("notranslate", "The page asks not to be offered in translation."),
    ("noai", "The page asks that its content not be used to train AI models."),
    ("noml", "The page asks that its content not be used for machine learning."),
    ("noimageai", "The page asks that its images not be used to train AI models."),
)


def _warnings(
    found: RobotsMeta, now: datetime | None, unreadable: Sequence[Directive], unknown: Sequence[Directive], cut: bool
) -> Iterator[PageWarning]:
    for code, sentence in _SENTENCES:
        if getattr(found, code):
            yield PageWarning(code, sentence)
    if found.max_snippet is not None and found.max_snippet > 0:
        yield PageWarning("max_snippet", f"The page asks for quotations of at most {found.max_snippet} characters.")
    if found.max_image_preview in ("none", "standard"):
        size = "no preview" if found.max_image_preview == "none" else "previews of standard size at most"
        yield PageWarning("max_image_preview", f"The page asks for {size} of its images.")
    if found.max_video_preview is not None and found.max_video_preview >= 0:
        yield PageWarning(
            "max_video_preview", f"The page asks for video previews of at most {found.max_video_preview} seconds."
        )
    if found.unavailable_after is not None:
        moment = found.unavailable_after.isoformat()
        if now is not None and found.expired(now):
            yield PageWarning("expired", f"The page asked not to be shown after {moment}, which has passed.")
        else:
            yield PageWarning("unavailable_after", f"The page asks not to be shown after {moment}.")
    for directive in unreadable[:16]:
        yield PageWarning("unreadable_value", f"A directive's value cannot be read: {directive.text[:200]!r}.")
    for directive in unknown[:16]:
        yield PageWarning("unknown_directive", f"A directive is not known and has no effect: {directive.text[:200]!r}.")
    if cut:
        yield PageWarning("cut_off", "The page states more than is read here; the rest of its directives is ignored.")
