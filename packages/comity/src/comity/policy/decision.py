"""Decision: the one answer to "may I fetch this URL, and who said so, in which line?", with its evidence.

The strings of verdict and recommendation are part of the public contract and are never renamed. A decision can be
kept as JSON and read back; `json_schema` describes that form.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from comity import times
from comity.errors import InvalidRecord
from comity.policy.policy import Mode, Purpose
from comity_robots.as_json import Sha256, document_of, jsonable
from comity_robots.fields import WrongType, typed
from comity_robots.shown import ReprMixin, short
from comity_robots.usage.statements import PURPOSES, USE, StatedValue, Usage

MAX_DELAY_SECONDS: Final = math.nextafter(math.inf, 0.0)  # seconds: a site may ask for any delay that is a number
SHA256 = re.compile("[0-9a-f]{64}")

Verdict = Literal[
    "allowed_explicit",
    "allowed_implicit",
    "disallowed_explicit",
    "unknown_unreachable",
    "unknown_parse_error",
    "skipped_by_user_policy",
]
UNREACHABLE: Final = "robots.txt unreachable"
_VERDICT_WORDS: Final[Mapping[str, str]] = {
    "unknown_unreachable": UNREACHABLE,
    "allowed_explicit": "allowed by a rule",
    "allowed_implicit": "no rule matches",
    "disallowed_explicit": "disallowed by a rule",
}


def verdict_in_words(verdict: str) -> str:
    """What a verdict says to people, everywhere the same."""
    return _VERDICT_WORDS.get(verdict, verdict.replace("_", " "))


Recommendation = Literal["recommended", "not_recommended", "unknown_do_not_fetch_by_default", "allowed_but_warn"]

RECOMMENDATION: dict[Verdict, Recommendation] = {
    "allowed_explicit": "recommended",
    "allowed_implicit": "recommended",
    "disallowed_explicit": "not_recommended",
    "unknown_unreachable": "unknown_do_not_fetch_by_default",
    "unknown_parse_error": "allowed_but_warn",
    "skipped_by_user_policy": "recommended",
}


class Reason(StrEnum):
    """What a decision rests on; `Decision.why` says it in words."""

    MODE_IGNORE = "mode_ignore"
    """robots.txt was not checked, because the policy's mode is `ignore`."""
    RULE_ALLOWS = "rule_allows"
    RULE_WITHOUT_PATH = "rule_without_path"
    """It disallows nothing (RFC 9309, 2.2.2)."""
    RULE_DISALLOWS = "rule_disallows"
    NO_RULE = "no_rule"
    """No rule of the agent's groups matches."""
    NO_GROUP = "no_group"
    """No group of the file applies to the agent."""
    ROBOTS_TXT_ITSELF = "robots_txt_itself"
    """It may always be fetched (RFC 9309, 2.2.2)."""
    UNAVAILABLE = "unavailable"
    UNREACHABLE = "unreachable"
    UNREACHABLE_TOO_LONG = "unreachable_too_long"
    """For longer than `Policy.unreachable_life`: treated as unavailable."""
    ADDRESS_BLOCKED = "address_blocked"
    """robots.txt was not requested, because its address is not public and not allowed (`Policy.allow_addresses`)."""
    UNPARSABLE = "unparsable"
    CRAWL_DELAY = "crawl_delay"
    """The site asks for more than `Policy.max_crawl_delay`."""
    USE = "use"
    """The site grants less use of its content than `Policy.use`."""


@dataclass(frozen=True, slots=True)
class RuleCited:
    """The rule that decided: its line number and the line's text."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """The evidence: which robots.txt was asked, when, and what came of it.

    Attributes:
        origin: serialised origin that the file governs.
        url: address that finally answered.
        status: HTTP status of the answer, None where there was none.
        error: what went wrong, or None.
        sha256: of the body, in hex; None where no file was read.
        fetched_at: Unix time in seconds.
        expires_at: Unix time in seconds after which it is asked for again; infinite where it is kept for the life
            of the client (in JSON: null).
        redirects: addresses passed on the way.
        unreachable_since: Unix time of the first failure while robots.txt is unreachable; with a `sha256` the copy
            is the last good one, standing in.
    """

    origin: str
    url: str
    status: int | None
    error: str | None
    sha256: Sha256 | None
    fetched_at: float
    expires_at: Annotated[float, ("type", ("number", "null"))]
    redirects: tuple[str, ...] = ()
    unreachable_since: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Decision(ReprMixin):
    """What we decided about one URL.

    Attributes:
        recommendation: what follows from the verdict; `not_recommended` where the delay makes fetching hopeless.
        may_fetch: what the mode makes of the verdict; the only field a program needs.
        reason: what the verdict rests on.
        why: the same as one plain sentence.
        rule: the line that decided, or None.
        delay: seconds between requests to this host that policy and site ask for.
        source: the robots.txt that was asked; None where none was (mode `ignore`).
        purposes: what the policy wants the content for.
        usage: what robots.txt states about the content's use; `usage.preference("train-ai")` answers for one purpose.
    """

    _asked = "may_fetch"

    url: str
    agent: str
    verdict: Verdict
    recommendation: Recommendation
    may_fetch: bool
    mode: Mode
    reason: Reason
    why: str
    rule: RuleCited | None
    delay: float
    source: Source | None
    purposes: tuple[Purpose, ...]
    usage: Usage

    def __str__(self) -> str:
        return f"{self.url} {'may' if self.may_fetch else 'may not'} be fetched by {self.agent}: {self.why}"

    @property
    def answer(self) -> str:
        """In a word: `allowed`, `disallowed`, or `unreachable`, where robots.txt cannot be fetched for now."""
        if self.may_fetch:
            return "allowed"
        return "unreachable" if self.verdict == "unknown_unreachable" else "disallowed"

    def _line(self) -> str:
        return f"{self.answer} {short(self.url)} for {short(self.agent)}: {short(self.why, 200)}"

    def _rows(self) -> Iterable[tuple[str, object]]:
        yield from (("url", self.url), ("agent", self.agent), ("answer", self.answer), ("why", self.why))
        yield "delay", f"{self.delay:g} s between requests" if self.delay else None
        yield "robots.txt", self.source.url if self.source is not None else None
        for purpose in self.purposes:
            yield purpose, self.explain_usage(purpose).removeprefix(f"{purpose} is ").removeprefix(f"{purpose}: ")

    @property
    def by_policy(self) -> bool:
        """Whether it is our own policy, and no line of robots.txt, that says no: another one might allow the URL."""
        return not self.may_fetch and self.reason is not Reason.RULE_DISALLOWS

    @property
    def may_pass(self) -> bool:
        """Whether it may be answered otherwise later: robots.txt is unreachable, and not because our own rule on
        addresses (`Policy.allow_addresses`) keeps it from being requested."""
        return self.reason is Reason.UNREACHABLE

    def explain_usage(self, purpose: str) -> str:
        """As `usage.explain`; where nothing is stated it says what was read: a page, which was not, may state more."""
        read = self.source is not None and self.source.sha256 is not None
        unsaid = "robots.txt says nothing about it" if read else "no robots.txt was read"
        return self.usage.explain(purpose, unsaid=f"{unsaid}; no page was read")

    @property
    def usage_of_purposes(self) -> dict[Purpose, StatedValue]:
        """The site's stated preference for each purpose of the policy."""
        return {purpose: self.usage.preference(purpose) for purpose in self.purposes}

    def to_dict(self) -> dict[str, Any]:
        """As plain values that `json.dumps` takes; the form is described by `json_schema`."""
        found: dict[str, Any] = jsonable(self)
        return found

    def to_record(self) -> dict[str, Any]:
        """Return the decision as it stands in a crawl's records and in `comity check --json`: the robots.txt is named
        by its hash and the time it was fetched, in RFC 3339."""
        return {
            "verdict": self.verdict,
            "line": self.rule.line if self.rule else None,
            "rule": self.rule.text if self.rule else None,
            "robots_sha256": self.source.sha256 if self.source else None,
            "robots_at": times.iso(self.source.fetched_at) if self.source else None,
            "delay": self.delay,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Decision":
        """Return the decision that `to_dict` wrote down.

        Raises:
            InvalidRecord: the values are not a decision; the message names the field.
        """
        try:
            read: Decision = typed(_plain(values), cls)
        except WrongType as wrong:
            where = ", ".join(("decision", *wrong.path))
            raise InvalidRecord(f"{where}: {wrong.message}") from None
        read._check()
        return read

    def _check(self) -> None:
        """Check members against each other, and for values that no decision of ours has.

        Raises:
            InvalidRecord: one does not fit.
        """
        numbers = {"delay": self.delay}
        if self.source is not None:
            numbers["source, fetched_at"] = self.source.fetched_at
            numbers["source, unreachable_since"] = self.source.unreachable_since or 0.0
            expires_at, sha256 = self.source.expires_at, self.source.sha256
            numbers["source, expires_at"] = 0.0 if expires_at == math.inf else expires_at
            if sha256 is not None and not SHA256.fullmatch(sha256):
                raise InvalidRecord(f"decision, source, sha256: {sha256!r:.80} is not 64 hexadecimal digits")
        for name, number in numbers.items():
            if not 0 <= number <= (MAX_DELAY_SECONDS if name == "delay" else 1e18):  # nan is not
                raise InvalidRecord(f"decision, {name}: {number!r:.80} is not a number of at least zero")
        if self.recommendation not in (RECOMMENDATION[self.verdict], "not_recommended"):
            raise InvalidRecord(f"decision: recommendation {self.recommendation} does not fit verdict {self.verdict}")
        if self.may_fetch and self.mode == "respect" and self.verdict == "disallowed_explicit":
            raise InvalidRecord("decision: may_fetch does not fit verdict disallowed_explicit in mode respect")


def _plain(values: Any) -> Any:
    """Return the members of a decision without the answers that its usage works out, and with infinity for its null."""
    if not isinstance(values, Mapping):
        return values
    plain, source, usage = dict(values), values.get("source"), values.get("usage")
    if isinstance(source, Mapping) and "expires_at" in source and source["expires_at"] is None:
        plain["source"] = {**source, "expires_at": math.inf}
    if isinstance(usage, Mapping):
        plain["usage"] = {name: value for name, value in usage.items() if name not in (*PURPOSES, USE)}
    return plain


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a decision as `Decision.to_dict` writes it."""
    return document_of(Decision, "comity decision")
