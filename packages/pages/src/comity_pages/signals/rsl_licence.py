"""RSL 1.0 licences, in a file, a feed or a page: which uses of which URLs are permitted and prohibited, on what terms.

What is prohibited is disallowed; what is permitted with nothing in return is allowed; what is permitted on terms
(payment, a licence server, certain users or places) is unknown: the terms are the caller's to read. Source: the RSL
specification, `<content>`, `<license>`, `<permits>`, `<prohibits>`, `<payment>`.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from comity_robots import paths
from comity_robots.usage.statements import Preference, Statement, Usage, is_absolute, shown

NAMESPACE: Final = "https://rslstandard.org/rsl"
MAX_BYTES: Final = 1_048_576  # octets; a larger file is not read
MAX_CONTENTS: Final = 1_000  # `<content>` elements kept of one file
MAX_USES: Final = 64  # uses kept of one list

_PURPOSES: Final[dict[str, tuple[str, ...]]] = {
    "all": ("search", "ai-input", "train-ai"),
    "ai-all": ("ai-input", "train-ai"),
    "ai-train": ("train-ai",),
    "train-ai": ("train-ai",),  # the name in the drafts of 2025-09, still in use
    "ai-input": ("ai-input",),
    "search": ("search",),
    "ai-index": ("ai-index",),  # an index for AI search: none of our purposes, and listed by its own name
}
_SEPARATORS: Final = re.compile(r"[\s,]+")
_ORIGIN: Final = re.compile(r"[^/]*//[^/?#]*")


@dataclass(frozen=True, slots=True)
class Terms:
    """One `<license>`.

    Attributes:
        permits: uses as written, in lower case.
        prohibits: likewise.
        payments: the kinds of payment asked, in lower case.
        narrowed: whether it speaks to certain users or places only.
    """

    permits: tuple[str, ...]
    prohibits: tuple[str, ...]
    payments: tuple[str, ...]
    narrowed: bool


@dataclass(frozen=True, slots=True)
class Content:
    """One `<content>`: what it covers, and the licences offered for it.

    Attributes:
        number: counted from 1.
        url: pattern of paths, or of absolute URLs, as written.
        server: URL of the licence server that must be asked, or None.
    """

    number: int
    url: str
    server: str | None
    licences: tuple[Terms, ...]


@dataclass(frozen=True, slots=True)
class RslLicence:
    """The file as read, and what was wrong with it, one sentence each."""

    contents: tuple[Content, ...] = ()
    problems: tuple[str, ...] = ()


class _RefusedDocument(Exception):
    """The document asks for what is never done; the message says what."""


def parse(body: bytes, *, page: str | None = None) -> RslLicence:
    """Read a licence file, or a feed with the RSL module. Never raises: damage becomes a problem, what came before it
    is used.

    Args:
        page: the URL of the page that it is written in; contents without a URL are about that page.
    """
    if len(body) > MAX_BYTES:
        return RslLicence(problems=(f"The file is larger than {MAX_BYTES} bytes and is not read.",))
    from xml.parsers import expat  # late: few sites have such a file

    reader = _Reader(f"{page}$" if page else "")
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    problems: list[str] = []
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError, _RefusedDocument) as error:
        problems.append(f"The file cannot be read to its end: {error}.")
    if not reader.is_rsl:
        problems.append("The file is not an RSL document.")
    if reader.too_many:
        problems.append(f"Only the first {MAX_CONTENTS} contents are read.")
    return RslLicence(tuple(reader.contents), tuple(problems))


def from_rsl(licence: RslLicence, url: str) -> Usage:
    """What the file states about one URL: of the contents that cover it, those with the longest pattern."""
    path = paths.target(url)
    patterns = [(paths.pattern(_path_of(content.url, url)), content) for content in licence.contents]
    covering = [(len(pattern.octets), content) for pattern, content in patterns if pattern.covers(path)]
    longest = max((length for length, _ in covering), default=0)
    return Usage(
        tuple(
            statement
            for length, content in covering
            if length == longest
            for terms in content.licences
            for statement in (
                *_statements(content, terms.prohibits, "prohibits", "disallowed", ""),
                *_statements(content, terms.permits, "permits", *_permission(content, terms)),
            )
        )
    )


def _statements(content: Content, uses: tuple[str, ...], verb: str, value: Preference, note: str) -> list[Statement]:
    return [
        Statement(
            purpose,
            value if use in _PURPOSES else "unknown",
            "rsl",
            "RSL licence",
            verb,
            shown(f"{verb} {use}"),
            content.number,
            shown(content.url),
            note=note if use in _PURPOSES else "no purpose that we know",
        )
        for use in uses
        for purpose in _PURPOSES.get(use, (shown(use),))
    ]


def _permission(content: Content, terms: Terms) -> tuple[Preference, str]:
    """What a permission is worth: allowed where nothing is asked in return, else unknown, with what is asked."""
    asked = []
    if any(payment != "free" for payment in terms.payments):
        asked.append(f"payment ({', '.join(dict.fromkeys(terms.payments))})")
    if content.server is not None:
        asked.append("a licence server")
    if terms.narrowed:
        asked.append("certain users or places only")
    return ("unknown", f"on terms: {', '.join(asked)}") if asked else ("allowed", "")


def _path_of(pattern: str, url: str) -> str:
    """The path of a content's URL pattern; empty (covers nothing) where it is of another origin than the URL."""
    if not is_absolute(pattern):
        return pattern
    ours, theirs = _ORIGIN.match(url), _ORIGIN.match(pattern)
    if ours is not None and theirs is not None and ours[0].lower() != theirs[0].lower():
        return ""
    return pattern[theirs.end() :] or "/" if theirs is not None else ""


def _refuse_doctype(*_: object) -> None:
    raise _RefusedDocument("it declares a document type, which can hide entities and external files")


class _Reader:
    """Collects contents as their elements end, so that damage leaves no half-read one behind.

    Elements of other namespaces are passed over. In a feed (RSS with the module of RSL) a content without a URL is
    about the item that it stands in.
    """

    def __init__(self, page: str = "") -> None:
        self._page = page  # the pattern of contents without a URL
        self._feed = False
        self._without: list[int] = []  # contents of the open item that have no URL
        self._link: list[str] | None = None  # the words of the item's link, while they go by
        self._item = ""  # the item's URL
        self.contents: list[Content] = []
        self.is_rsl = False
        self.too_many = False
        self._content: dict[str, str] | None = None  # the attributes of the open <content>
        self._licences: list[Terms] = []
        self._uses: dict[str, list[str]] | None = None  # of the open <license>
        self._payments: list[str] = []
        self._narrowed = False
        self._open: str | None = None  # permits or prohibits, while its text goes by
        self._words: list[str] = []

    def start(self, qualified: str, attributes: dict[str, str]) -> None:
        name = _local(qualified)
        kind = attributes.get("type", "").strip().lower()
        own = qualified.startswith(NAMESPACE)
        if name == "rss":
            self._feed = True
        if self._feed and not own:
            self._link = [] if name == "link" else None
            return
        if name == "rsl":
            self.is_rsl = True
        elif name == "content" and (self.is_rsl or self._feed):
            self.is_rsl = True
            self._content, self._licences = attributes, []
        elif name == "license" and self._content is not None:
            self._uses = {"permits": [], "prohibits": []}
            self._payments, self._narrowed = [], False
        elif self._uses is None:
            return
        elif name in self._uses:
            if kind in ("", "usage"):
                self._open, self._words = name, []
            else:
                self._narrowed = True
        elif name == "payment" and len(self._payments) < MAX_USES:
            self._payments.append(kind[:100] or "unnamed")

    def text(self, text: str) -> None:
        if self._open is not None:
            self._words.append(text)
        elif self._link is not None:
            self._link.append(text)

    def end(self, qualified: str) -> None:
        name = _local(qualified)
        if self._link is not None and name == "link":
            self._item, self._link = "".join(self._link).strip(), None
        elif self._feed and name == "item":
            for number in self._without:
                self.contents[number] = replace(self.contents[number], url=f"{self._item}$" if self._item else "")
            self._without, self._item = [], ""
        elif name == "content" and self._content is not None:
            self._finish(self._content)
            self._content = self._uses = None
        elif name == "license" and self._uses is not None:
            if len(self._licences) < MAX_USES:
                uses = {verb: tuple(words) for verb, words in self._uses.items()}
                self._licences.append(Terms(**uses, payments=tuple(self._payments), narrowed=self._narrowed))
            self._uses = None
        elif name == self._open and self._open is not None and self._uses is not None:
            words = _SEPARATORS.split("".join(self._words).lower())
            known = self._uses[self._open]
            known += [word for word in words if word][: MAX_USES - len(known)]
            self._open = None

    def _finish(self, attributes: dict[str, str]) -> None:
        url = attributes.get("url", "").strip() or self._page
        if len(self.contents) == MAX_CONTENTS:
            self.too_many = True
        elif url or self._feed:
            if not url:
                self._without.append(len(self.contents))
            number = len(self.contents) + 1
            self.contents.append(Content(number, url, attributes.get("server"), tuple(self._licences)))


def _local(qualified: str) -> str:
    namespace, _, name = qualified.rpartition(" ")
    return name if namespace in ("", NAMESPACE) else ""
