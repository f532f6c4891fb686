"""Decision: the one answer to "may I fetch this URL, and who said so, in which line?", with its evidence.

The strings of verdict and recommendation are part of the public contract and are never renamed. A decision can be
kept as JSON and read back; `decision.schema.json` beside this module describes that form.
"""

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from comity.errors import InvalidRecord
from comity.policy.reading import NUMBER, Fields, checked
from comity.policy.settings import Mode, Purpose
from comity.usage.statements import (
    PURPOSES,
    Licence,
    Origin,
    Preference,
    Scope,
    Statement,
    Usage,
    Vocabulary,
)

SHA256 = re.compile("[0-9a-f]{64}")

Verdict = Literal[
    "allowed_explicit",
    "allowed_implicit",
    "disallowed_explicit",
    "unknown_unreachable",
    "unknown_parse_error",
    "skipped_by_user_policy",
]
Recommendation = Literal["recommended", "not_recommended", "unknown_do_not_fetch_by_default", "allowed_but_warn"]

RECOMMENDATION: dict[Verdict, Recommendation] = {
    "allowed_explicit": "recommended",
    "allowed_implicit": "recommended",
    "disallowed_explicit": "not_recommended",
    "unknown_unreachable": "unknown_do_not_fetch_by_default",
    "unknown_parse_error": "allowed_but_warn",
    "skipped_by_user_policy": "recommended",
}


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
    sha256: str | None
    fetched_at: float
    expires_at: float
    redirects: tuple[str, ...] = ()
    unreachable_since: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What we decided about one URL.

    Attributes:
        may_fetch: what the mode makes of the verdict; the only field a program needs.
        why: one plain sentence.
        rule: the line that decided, or None.
        delay: seconds between requests to this host that policy and site ask for.
        source: the robots.txt that was asked; None where none was (mode `ignore`).
        purposes: what the policy wants the content for.
        usage: what robots.txt states about the content's use; `usage.allows("train-ai")` answers for one purpose.
    """

    url: str
    agent: str
    verdict: Verdict
    recommendation: Recommendation
    may_fetch: bool
    mode: Mode
    why: str
    rule: RuleCited | None
    delay: float
    source: Source | None
    purposes: tuple[Purpose, ...]
    usage: "Usage"

    def __str__(self) -> str:
        return f"{self.url} {'may' if self.may_fetch else 'may not'} be fetched by {self.agent}: {self.why}"

    @property
    def by_policy(self) -> bool:
        """Whether it is our own policy, and no line of robots.txt, that says no: another one might allow the URL."""
        return not self.may_fetch and (self.rule is None or self.verdict != "disallowed_explicit")

    @property
    def usage_of_purposes(self) -> "dict[Purpose, Preference]":
        """The site's stated preference for each purpose of the policy."""
        return {purpose: self.usage.allows(purpose) for purpose in self.purposes}

    def to_dict(self) -> dict[str, Any]:
        """As plain values that `json.dumps` takes; the form is described by `json_schema`."""
        source = None if self.source is None else asdict(self.source)
        if source is not None:
            source["redirects"] = list(source["redirects"])
            source["expires_at"] = None if math.isinf(source["expires_at"]) else source["expires_at"]
        return {
            "url": self.url,
            "agent": self.agent,
            "verdict": self.verdict,
            "recommendation": self.recommendation,
            "may_fetch": self.may_fetch,
            "mode": self.mode,
            "why": self.why,
            "rule": None if self.rule is None else asdict(self.rule),
            "delay": self.delay,
            "source": source,
            "purposes": list(self.purposes),
            "usage": self.usage.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Decision":
        """The decision that `to_dict` wrote down.

        Raises:
            InvalidRecord: the values are not a decision; the message names the field.
        """
        return _decision(values)


def _members(kind: type, *more: str) -> frozenset[str]:
    return frozenset((*(field.name for field in dataclasses.fields(kind)), *more))


DECISION = _members(Decision)
RULE = _members(RuleCited)
SOURCE = _members(Source)
STATEMENT = _members(Statement, "source")
LICENCE = _members(Licence, "source")
USAGE = _members(Usage, *PURPOSES)


def _decision(values: Mapping[str, Any]) -> Decision:
    """The decision that `Decision.to_dict` wrote down.

    Raises:
        InvalidRecord: the values are not a decision; the message names the field.
    """
    fields = Fields(values, "decision", DECISION)
    rule, source = fields.inner("rule", RULE), fields.inner("source", SOURCE)
    read = Decision(
        url=fields.of("url", str),
        agent=fields.of("agent", str),
        verdict=fields.one_of("verdict", Verdict),
        recommendation=fields.one_of("recommendation", Recommendation),
        may_fetch=fields.of("may_fetch", bool),
        mode=fields.one_of("mode", Mode),
        why=fields.of("why", str),
        rule=None if rule is None else RuleCited(rule.of("line", int), rule.of("text", str)),
        delay=fields.number("delay"),
        source=None if source is None else _source(source),
        purposes=tuple(checked(each, Purpose, "purposes") for each in fields.of("purposes", list)),
        usage=_usage(fields.inner("usage", USAGE)),
    )
    fitting = (RECOMMENDATION[read.verdict], *(("not_recommended",) if not read.may_fetch else ()))
    if read.recommendation not in fitting and read.mode != "report_only":
        raise InvalidRecord(f"decision: recommendation {read.recommendation} does not fit verdict {read.verdict}")
    if read.may_fetch and read.mode == "respect" and read.verdict == "disallowed_explicit":
        raise InvalidRecord("decision: may_fetch does not fit verdict disallowed_explicit in mode respect")
    return read


def _source(fields: "Fields") -> Source:
    redirects = fields.of("redirects", list)
    if not all(isinstance(each, str) for each in redirects):
        raise InvalidRecord("decision: source.redirects holds something that is no text")
    sha256, since = fields.of("sha256", str | None), fields.of("unreachable_since", NUMBER | None)
    if sha256 is not None and not SHA256.fullmatch(sha256):
        raise InvalidRecord(f"decision, source: sha256 is {sha256!r:.80}, not 64 hexadecimal digits")
    return Source(
        origin=fields.of("origin", str),
        url=fields.of("url", str),
        status=fields.of("status", int | None),
        error=fields.of("error", str | None),
        sha256=sha256,
        fetched_at=fields.number("fetched_at"),
        expires_at=fields.number("expires_at", none=math.inf),
        redirects=tuple(redirects),
        unreachable_since=None if since is None else fields.number("unreachable_since"),
    )


def _usage(fields: "Fields | None") -> Usage:
    if fields is None:
        raise InvalidRecord("decision: usage is missing")
    return Usage(
        statements=tuple(
            Statement(
                purpose=each.of("purpose", str),
                value=each.one_of("value", Preference),
                vocabulary=each.one_of("vocabulary", Vocabulary),
                origin=each.one_of("origin", Origin),
                name=each.of("name", str),
                text=each.of("text", str),
                line=each.of("line", int | None),
                path=each.of("path", str | None),
                group=each.of("group", str | None),
                scope=each.one_of("scope", Scope),
                applies=each.of("applies", bool),
                note=each.of("note", str),
            )
            for each in fields.list_of("statements", STATEMENT)
        ),
        licences=tuple(
            Licence(
                url=each.of("url", str),
                vocabulary=each.one_of("vocabulary", Vocabulary),
                origin=each.one_of("origin", Origin),
                name=each.of("name", str),
                line=each.of("line", int | None),
                applies=each.of("applies", bool),
                note=each.of("note", str),
            )
            for each in fields.list_of("licences", LICENCE)
        ),
        applicable=fields.of("applicable", bool),
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a decision as `Decision.to_dict` writes it."""
    from importlib.resources import files  # late: the module is heavy

    schema: dict[str, Any] = json.loads(files(__package__).joinpath("decision.schema.json").read_text("utf-8"))
    return schema
