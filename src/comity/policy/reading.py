"""Decisions read back from JSON: every field checked, so that a damaged record is told from a decision."""

import dataclasses
import math
import re
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, cast, get_args

from comity.errors import InvalidRecord
from comity.policy.decision import RECOMMENDATION, Decision, Recommendation, RuleCited, Source, Verdict
from comity.policy.settings import Mode, Purpose
from comity.signals.usage.statements import (
    PURPOSES,
    Licence,
    Origin,
    Preference,
    Scope,
    Statement,
    Usage,
    Vocabulary,
)

NUMBER = int | float
SHA256 = re.compile("[0-9a-f]{64}")


def _members(kind: type, *more: str) -> frozenset[str]:
    return frozenset((*(field.name for field in dataclasses.fields(kind)), *more))


DECISION = _members(Decision)
RULE = _members(RuleCited)
SOURCE = _members(Source)
STATEMENT = _members(Statement, "source")
LICENCE = _members(Licence, "source")
USAGE = _members(Usage, *PURPOSES)


def decision(values: Mapping[str, Any]) -> Decision:
    """The decision that `Decision.to_dict` wrote down.

    Raises:
        InvalidRecord: the values are not a decision; the message names the field.
    """
    fields = _Fields(values, "decision", DECISION)
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
        purposes=tuple(_checked(each, Purpose, "purposes") for each in fields.of("purposes", list)),
        usage=_usage(fields.inner("usage", USAGE)),
    )
    fitting = (RECOMMENDATION[read.verdict], *(("not_recommended",) if not read.may_fetch else ()))
    if read.recommendation not in fitting and read.mode != "report_only":
        raise InvalidRecord(f"decision: recommendation {read.recommendation} does not fit verdict {read.verdict}")
    if read.may_fetch and read.mode == "respect" and read.verdict == "disallowed_explicit":
        raise InvalidRecord("decision: may_fetch does not fit verdict disallowed_explicit in mode respect")
    return read


def _source(fields: "_Fields") -> Source:
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


def _usage(fields: "_Fields | None") -> Usage:
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


class _Fields:
    """The members of one JSON object, each taken with the type it must have."""

    def __init__(self, values: object, name: str, known: frozenset[str]) -> None:
        if not isinstance(values, Mapping):
            raise InvalidRecord(f"{name}: {values!r:.80} is no object")
        if unknown := sorted(map(str, set(values) - known)):
            raise InvalidRecord(f"{name}: {', '.join(unknown)[:80]} is no field of it")
        self._values = values
        self._name = name

    def of(self, field: str, kind: type | UnionType) -> Any:
        if field not in self._values:
            raise InvalidRecord(f"{self._name}: {field} is missing")
        value = self._values[field]
        kinds = get_args(kind) or (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            names = " or ".join("null" if each is NoneType else each.__name__ for each in kinds)
            raise InvalidRecord(f"{self._name}: {field} is {value!r:.80}, not {names}")
        return value

    def one_of(self, field: str, kind: Any) -> Any:
        return _checked(self.of(field, str), kind, field)

    def number(self, field: str, *, none: float | None = None) -> float:
        """A finite number, zero or more; `none` stands for null where that is allowed."""
        value = self.of(field, NUMBER if none is None else NUMBER | None)
        if value is None and none is not None:
            return none
        if not 0 <= value < 1e18:
            raise InvalidRecord(f"{self._name}: {field} is {value!r:.80}, not a number of at least zero")
        return float(value)

    def inner(self, field: str, known: frozenset[str]) -> "_Fields | None":
        if field not in self._values:
            raise InvalidRecord(f"{self._name}: {field} is missing")
        value = self._values[field]
        return None if value is None else _Fields(value, f"{self._name}, {field}", known)

    def list_of(self, field: str, known: frozenset[str]) -> "list[_Fields]":
        return [_Fields(each, f"{self._name}, {field}", known) for each in cast("list[object]", self.of(field, list))]


def _checked(value: object, kind: Any, field: str) -> Any:
    """A value that must be one of a Literal's."""
    if value not in get_args(kind):
        raise InvalidRecord(f"decision: {field} is {value!r:.80}, not one of {', '.join(get_args(kind))}")
    return value
