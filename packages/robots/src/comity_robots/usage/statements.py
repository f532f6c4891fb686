"""One answer for one purpose: what a site's statements of preference say together, and which of them say it.

A statement comes from one place (a line, a header, a meta, a file) and speaks about one purpose. Nothing here guesses:
what is not said, or cannot be read, is unknown; whether to follow a preference is the caller's decision.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, methodcaller
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeVar

from comity_robots.as_json import jsonable
from comity_robots.errors import InvalidSetting, truncate

Preference = Literal["allowed", "disallowed", "unknown"]
Use = Literal["immediate", "reference", "full"]
StatedValue = Literal["allowed", "disallowed", "unknown", "immediate", "reference", "full"]
Origin = Literal["robots.txt", "header", "meta", "link", "attribute", "tdmrep.json", "RSL licence"]
UsageScope = Literal["page", "images", "parts"]

MAX_LICENCES: Final = 64  # licences kept of one place
PURPOSES: Final = ("search", "ai-input", "train-ai")
"""Showing it in search results; putting it before a model at answer time; training a model on it."""
USES: Final[tuple[Use, ...]] = ("immediate", "reference", "full")
"""The most that may be done with content, from least to most: interact and keep nothing; index, excerpt and link back;
summarise and reproduce. Source: Content Signals (2026-07)."""
USE: Final = "use"  # the `purpose` of statements whose value is one of USES

MAX_KNOWN: Final = 256  # statements about PURPOSES that one source keeps for one URL; a real site makes three
MAX_URL: Final = 2_083  # characters kept of a licence's or a policy's URL
MAX_OTHERS: Final = 32  # statements about anything else that one source keeps for one URL

_SYNONYMS: Final = {"ai-train": "train-ai", "ai-use": "ai-input"}
# TDMRep, "Processing priority": what is said closer to the content supersedes what is said further away.
_TDM_RANK: Final = {"tdmrep.json": 0, "header": 1, "meta": 2}


def purpose_named(name: str) -> str:
    """The purpose a name stands for (`ai-train` is `train-ai`, `ai-use` is `ai-input`).

    Raises:
        InvalidSetting: the name is none of search, ai-input, train-ai.
    """
    known = _SYNONYMS.get(name, name)
    if known not in PURPOSES:
        raise InvalidSetting(f"purpose: {name!r} is not one of {', '.join(PURPOSES)}")
    return known


@dataclass(frozen=True, slots=True)
class Statement:
    """What one place says about one purpose.

    Attributes:
        purpose: one of PURPOSES, or `use`; for a key outside the vocabulary the key; empty where nothing could be read.
        value: `unknown` where the words are neither a yes nor a no; `note` then says why. Of `use` one of USES.
        vocabulary: whose rules read it: `aipref`, `content-signal`, `policy-token`, `tdmrep`, `rsl` or
            `robots-directive`.
        origin: the kind of place.
        name: the label, header or meta that carries it, for example `Content-Usage`.
        text: the words as written (cut after 500 characters).
        line: line of robots.txt, or rule of tdmrep.json, counted from 1; None elsewhere.
        path: the path pattern it is limited to (cut after 500 characters), or None.
        group: the user agents of its group in robots.txt, as the caller named them (cut after 200 characters).
        scope: `images` where it is about the page's images only, `parts` where it is about some of its text only.
        applies: False where a statement closer to the content supersedes it.
        note: why the value is unknown or the statement does not apply, or by whose rules it says so; else empty.
    """

    purpose: str
    value: StatedValue
    vocabulary: str
    origin: Origin
    name: str
    text: str
    line: int | None = None
    path: str | None = None
    group: str | None = None
    scope: UsageScope = "page"
    applies: bool = True
    note: str = ""

    ANSWERS: ClassVar = {"source": (str, attrgetter("source"))}

    @property
    def source(self) -> str:
        """Where it stands, in words: `robots.txt line 4`, `header Content-Usage`, `tdmrep.json rule 2`."""
        return _place(self.origin, self.name, self.line)


@dataclass(frozen=True, slots=True)
class Licence:
    """Where terms are published or sold: an RSL licence or a TDM policy. Never fetched here, never a permission.

    Attributes: as of a Statement; `url` is absolute where the site wrote it so or the page's URL was known.
    """

    url: str
    vocabulary: str
    origin: Origin
    name: str
    line: int | None = None
    applies: bool = True
    note: str = ""

    ANSWERS: ClassVar = Statement.ANSWERS

    @property
    def source(self) -> str:
        """Where it stands, in words, as for a Statement."""
        return _place(self.origin, self.name, self.line)

    @property
    def words(self) -> str:
        """The URL, with what stands against it."""
        return f"{self.url} ({self.note})" if self.note else self.url


_Said = TypeVar("_Said", Statement, Licence)


@dataclass(frozen=True, slots=True)
class Usage:
    """The stated preferences for one URL.

    Attributes:
        statements: all of them, those without effect too (see `Statement.applies`, `Statement.note`).
        licences: RSL licences and TDM policies found on the way.
        applicable: False where robots.txt forbids the URL: its preferences then say nothing about it
            (draft-ietf-aipref-attach, "Content-Usage Rule Semantics").
    """

    ANSWERS: ClassVar = {
        **{purpose: (Preference, methodcaller("preference", purpose)) for purpose in PURPOSES},
        USE: (Use | None, attrgetter("use")),
    }

    statements: tuple[Statement, ...] = ()
    licences: tuple[Licence, ...] = ()
    applicable: bool = True

    @property
    def terms(self) -> tuple[Licence, ...]:
        """The licences that no other one supersedes."""
        return tuple(each for each in self.licences if each.applies)

    def preference(self, purpose: str, *, images: bool = False) -> StatedValue:
        """`allowed`, `disallowed` or `unknown`; for `use` the most that may be done, or `unknown`.

        Args:
            images: also by what is said of the page's images alone.

        Raises:
            InvalidSetting: the purpose is none of search, ai-input, train-ai (or ai-train), use.
        """
        return (self.use or "unknown") if purpose == USE else combine(self.statements, purpose, images=images)

    @property
    def use(self) -> Use | None:
        """The most that may be done with the content, by the strictest statement; None where none says."""
        stated = {each.value for each in _about(self.statements, USE, False)}
        return next((use for use in USES if use in stated), None)

    def explain(self, purpose: str, *, images: bool = False, unsaid: str = "the site says nothing about it") -> str:
        """One sentence: the answer, and who gives it; where it is unknown, what cannot be read and why.

        Args:
            purpose: as for `preference`.
            unsaid: the words where nothing is stated; whoever read less than a page with its robots.txt has others.
        """
        name = purpose if purpose == USE else purpose_named(purpose)
        answer = self.preference(name, images=images)
        if answer == "unknown":
            return f"{name}: {self._why_unknown(name, unsaid)}"
        deciding = [each for each in _about(self.statements, name, images) if each.value == answer]
        said = "; ".join(
            f"{each.source} says {each.text!r}{f' ({each.note})' if each.note else ''}" for each in deciding[:3]
        )
        return f"{name} is {answer}: {said}{'; and more' if len(deciding) > 3 else ''}"

    def _why_unknown(self, purpose: str, unsaid: str) -> str:
        """What stands in the way: a URL that may not be fetched, or statements that cannot be read."""
        if not self.applicable:
            return "unknown, because robots.txt disallows the URL"
        unread = [each for each in self.statements if each.note and each.purpose in (purpose, "")]
        said = "; ".join(f"{each.source} says {each.text!r}, which does not count: {each.note}" for each in unread[:3])
        said = f"unknown: {said}{'; and more' if len(unread) > 3 else ''}" if unread else ""
        if not self.terms:
            return said or unsaid
        named = "; ".join(f"{each.source} names {each.words}" for each in self.terms[:3])
        more = "; and more" if len(self.terms) > 3 else ""
        return f"{f'{said};' if said else 'not stated here, but'} a licence may say it: {named}{more}"

    def to_record(self, purposes: Iterable[str]) -> dict[str, Any]:
        """For each purpose the answer, each statement that counts for the page with its source and its words, and the
        licences, where there are any, as a crawl's records and `comity check --json` have it."""
        terms = [
            {"url": each.url, "source": each.source} | ({"note": each.note} if each.note else {}) for each in self.terms
        ]
        return {
            purpose: {
                "preference": self.preference(purpose),
                "statements": [
                    {"value": each.value, "source": each.source, "text": each.text}
                    | ({"note": each.note} if each.note else {})
                    for each in _about(self.statements, purpose, False)
                ],
            }
            | ({"licences": terms} if terms else {})
            for purpose in purposes
        }

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the answer per purpose, then every statement and licence with its source."""
        found: dict[str, Any] = jsonable(self)
        return found


def combine(statements: Iterable[Statement], purpose: str, *, images: bool = False) -> Preference:
    """Any disallow disallows; else any allow allows; else unknown (draft-ietf-aipref-vocab, "Combining Preferences").

    Raises:
        InvalidSetting: the purpose is none of search, ai-input, train-ai (or ai-train).
    """
    values = {each.value for each in _about(statements, purpose_named(purpose), images)}
    if "disallowed" in values:
        return "disallowed"
    return "allowed" if "allowed" in values else "unknown"


def merge(*parts: Usage) -> Usage:
    """What several places say about one URL, with TDMRep's own precedence: meta over header over file."""
    statements = tuple(statement for part in parts for statement in part.statements)
    licences = tuple(licence for part in parts for licence in part.licences)
    if not statements and not licences:  # most pages
        return Usage(applicable=all(part.applicable for part in parts))
    # Absent or unreadable values reset nothing, so only what was really said can supersede.
    said = _closest([each for each in statements if each.value != "unknown"])
    policy = _closest(licences)
    return Usage(
        statements=tuple(_superseded(each, said) for each in statements),
        licences=tuple(_superseded(each, policy) for each in licences),
        applicable=all(part.applicable for part in parts),
    )


def less_than_intended(usage: Usage, intended: Use | None) -> str:
    """Why content is not for the use that is intended, in a sentence without an end; empty where it is, or where
    either side does not say."""
    granted = usage.use
    if granted is None or intended is None or USES.index(granted) >= USES.index(intended):
        return ""
    return f"{usage.explain(USE)}, less than the use={intended} of the policy"


def located(reference: str, join: Callable[[str], str | None] | None = None) -> tuple[str, str]:
    """The absolute URL of a reference and no note; where that cannot be had, the reference and a note that says so.

    Args:
        join: makes a reference absolute; None where there is nothing that it could be relative to.
    """
    url = reference.strip()[:MAX_URL]
    if join is not None and not is_absolute(url):
        url = join(url) or url
    return url, "" if is_absolute(url) else "not an absolute URL"


def is_absolute(url: str) -> bool:
    """Whether the URL carries its own scheme and host."""
    return url[:8].lower().startswith(("http://", "https://"))


class KeptStatements(NamedTuple):
    """Statements within bounds, and how many others there were."""

    stated: tuple[Statement, ...]
    omitted: int = 0

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements; where some were left out, one more that says how many."""
        if not self.omitted:
            return self.stated
        note = f"{self.omitted:,} more statements were left out, none of which changes an answer"
        return (*self.stated, replace(self.stated[-1], purpose="", value="unknown", note=note))


def kept(statements: Iterable[Statement], omitted: int = 0) -> KeptStatements:
    """The first MAX_KNOWN statements about PURPOSES and the first MAX_OTHERS others, in order.

    The first of each kind (purpose, value, scope) is always kept, so that what is left out changes no answer.

    Args:
        statements: of one URL.
        omitted: how many have been left out already.
    """
    stated: list[Statement] = []
    kinds: set[tuple[str, str, str]] = set()
    known = others = 0
    for each in statements:
        if each.purpose in PURPOSES or each.purpose == USE:
            kind = (each.purpose, each.value, each.scope)
            if known >= MAX_KNOWN and kind in kinds:
                omitted += 1
                continue
            kinds.add(kind)
            known += 1
        elif others >= MAX_OTHERS:
            omitted += 1
            continue
        else:
            others += 1
        stated.append(each)
    return KeptStatements(tuple(stated), omitted)


def shown(text: str, characters: int = 500) -> str:
    """Words as they are kept for evidence: short enough to keep."""
    return truncate(text, characters)


def _about(statements: Iterable[Statement], purpose: str, images: bool) -> list[Statement]:
    return [
        each
        for each in statements
        if each.purpose == purpose and each.applies and each.scope in (("page", "images") if images else ("page",))
    ]


def _closest(found: Sequence[Statement] | Sequence[Licence]) -> Origin | None:
    origins = [each.origin for each in found if each.vocabulary == "tdmrep"]
    return max(origins, key=lambda origin: _TDM_RANK.get(origin, 0), default=None)


def _superseded(each: _Said, by: Origin | None) -> _Said:
    if by is None or each.vocabulary != "tdmrep" or _TDM_RANK.get(each.origin, 0) >= _TDM_RANK.get(by, 0):
        return each
    return replace(each, applies=False, note=f"superseded by the {by}")


def _place(origin: Origin, name: str, line: int | None) -> str:
    if origin == "robots.txt":
        return f"robots.txt line {line}"
    if origin in ("tdmrep.json", "RSL licence"):
        return f"{origin} rule {line}"
    return f"{origin} {name}"
