"""What a page says about itself: `X-Robots-Tag` headers and robots `<meta>` elements, as one set of directives.

Every directive is kept with its words, its scope and its source; those that address our agent or everybody are
united, the most restrictive wins. The result warns about use and citation; it never decides whether a URL may be
fetched: that is robots.txt's word alone.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Literal

from comity.robots.agents import choose, token
from comity.robots.dialects import DIALECTS

Source = Literal["header", "meta"]
ImagePreview = Literal["none", "standard", "large"]

# A page's own words are hostile until proved otherwise: beyond these, text is ignored and a warning says so.
MAX_CHARS: Final = 65_536
"""Characters read of one header value or one meta content."""
MAX_DIRECTIVES: Final = 4_096
"""Directives kept of one page."""

_PLAIN: Final = frozenset(
    {"all", "none", "index", "noindex", "follow", "nofollow", "archive", "noarchive", "nocache", "snippet", "nosnippet"}
    | {"noimageindex", "notranslate", "nositelinkssearchbox", "indexifembedded", "noai", "noimageai", "noodp", "noydir"}
)
_VALUED: Final = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})
_PREVIEWS: Final[tuple[ImagePreview, ...]] = ("none", "standard", "large")
_RFC9309: Final = DIALECTS["rfc9309"]
_EVERYBODY: Final = frozenset({"robots", "*"})
# A meta of this kind of name is a crawler's; every other name (description, viewport) is none of our business.
_CRAWLER_NAME: Final = re.compile(r"bot|spider|crawl|slurp|archiver")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,9}")
_SEPARATORS: Final = re.compile(r"[\s;]+")


@dataclass(frozen=True, slots=True)
class Directive:
    """One directive as it was stated.

    Attributes:
        name: lower case, for example `noindex` or `max-snippet`.
        value: what stands after the colon, or None.
        agent: lower-case product token it is addressed to, or None: to everybody.
        source: `header` or `meta`.
        index: which header value, or which meta, counted from 0 in the order handed in.
        text: the words as written.
    """

    name: str
    value: str | None
    agent: str | None
    source: Source
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
        applying: those of them that address everybody or our agent.
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
    max_snippet: int | None = None
    max_image_preview: ImagePreview | None = None
    max_video_preview: int | None = None
    unavailable_after: datetime | None = None
    warnings: tuple[PageWarning, ...] = ()

    def expired(self, now: datetime) -> bool:
        """Whether `unavailable_after` has come; a `now` without a zone is taken as UTC."""
        return self.unavailable_after is not None and self.unavailable_after <= _aware(now)


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
    addressed = _addressed(headers, metas, agent)
    if not addressed:
        return RobotsMeta()
    cut = any(len(value) > MAX_CHARS for value, *_ in addressed)
    kept: list[Directive] = []
    for directive in (directive for each in addressed for directive in _split(*each)):
        if len(kept) == MAX_DIRECTIVES:
            cut = True
            break
        kept.append(directive)
    us = _of_us({each.agent for each in kept if each.agent is not None}, agent)
    ours = tuple(each for each in kept if each.agent is None or each.agent in us)
    return _combine(tuple(kept), ours, now, cut)


def _of_us(scopes: Iterable[str], agent: str) -> set[str]:
    """The scopes that address our agent, by robots.txt's comparison of agents (RFC 9309, 2.2.1)."""
    named = [scope for scope in scopes if scope]
    return {named[number] for number in choose([[scope] for scope in named], agent[:MAX_CHARS], _RFC9309)}


def read_date(value: str) -> datetime | None:
    """A date as RFC 822, RFC 850, asctime or ISO 8601 writes it, aware; None where it is none of them.

    Without a zone, or with a zone name that those formats do not define, it is taken as UTC.
    """
    text = value.strip()
    if not text or len(text) > 100:
        return None
    try:
        return _aware(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        pass
    from email.utils import parsedate_to_datetime  # late: few pages carry a date, and the module is heavy

    try:
        return _aware(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # the first or the last day of the calendar, in a zone that leaves it
        return moment.replace(tzinfo=UTC)


def _addressed(
    headers: Sequence[str], metas: Sequence[tuple[str, str]], agent: str
) -> list[tuple[str, str | None, Source, int]]:
    found: list[tuple[str, str | None, Source, int]] = []
    for index, value in enumerate(headers):
        found.append((value, None, "header", index))
    scopes = [_scope(name) for name, _ in metas]
    us = _of_us(set(scopes) - _EVERYBODY, agent) if metas else ()
    for index, (scope, (_, content)) in enumerate(zip(scopes, metas, strict=True)):
        if scope in _EVERYBODY or scope in us or _CRAWLER_NAME.search(scope):
            found.append((content, None if scope in _EVERYBODY else scope, "meta", index))
    return found


def _split(value: str, agent: str | None, source: Source, index: int) -> Iterator[Directive]:
    parts = value[:MAX_CHARS].split(",")
    position = 0
    while position < len(parts):
        part = parts[position].strip()
        position += 1
        label, colon, rest = part.partition(":")
        name = label.strip().lower()
        if source == "header" and colon and _is_scope(name, rest):
            agent = None if name in _EVERYBODY else _scope(name)
            part = rest.strip()
            label, colon, rest = part.partition(":")
            name = label.strip().lower()
        if name == "unavailable_after" and colon:
            # `Sat, 25 Jun 2011 15:00:00 GMT`: the date's own comma has split it.
            while position < len(parts) and _continues_date(parts[position]):
                rest += "," + parts[position]
                part += "," + parts[position]
                position += 1
        if colon:
            yield Directive(name, rest.strip(), agent, source, index, part.strip())
        elif name:
            # `noindex nofollow` and `noindex; nofollow` are frequent, and their meaning is in no doubt.
            words = _SEPARATORS.split(part.strip(" \t;"))
            if len(words) > 1 and all(word.lower() in _PLAIN for word in words):
                yield from (Directive(word.lower(), None, agent, source, index, word) for word in words)
            else:
                yield Directive(name, None, agent, source, index, part)


def _scope(name: str) -> str:
    return token(name[:200]).lower()


def _is_scope(name: str, rest: str) -> bool:
    """Whether `name:` addresses an agent. An unknown directive with a number (`max-thing: 3`) does not."""
    if name in _VALUED or name in _PLAIN or name.startswith("max-") or not name:
        return False
    return not rest.strip()[:1].isdigit()


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
    for directive in ours:
        if directive.name not in _VALUED:
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
            snippet = _lower(snippet, int(value))
        else:
            video = _lower(video, int(value))
    nosnippet = "nosnippet" in said or snippet == 0
    found = RobotsMeta(
        directives=directives,
        applying=ours,
        noindex=not said.isdisjoint(("noindex", "none")),
        nofollow=not said.isdisjoint(("nofollow", "none")),
        noarchive=not said.isdisjoint(("noarchive", "nocache")),
        nosnippet=nosnippet,
        noimageindex="noimageindex" in said,
        notranslate="notranslate" in said,
        indexifembedded="indexifembedded" in said,
        noai="noai" in said,
        noimageai="noimageai" in said,
        max_snippet=0 if nosnippet else snippet,
        max_image_preview=image,
        max_video_preview=video,
        unavailable_after=until,
    )
    return replace(found, warnings=tuple(_warnings(found, now, unreadable, cut)))


def _lower(known: int | None, stated: int) -> int:
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
    ("noimageai", "The page asks that its images not be used to train AI models."),
)


def _warnings(
    found: RobotsMeta, now: datetime | None, unreadable: Sequence[Directive], cut: bool
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
    if cut:
        yield PageWarning("cut_off", "The page states more than is read here; the rest of its directives is ignored.")
