"""Decisions read back from JSON: every field checked, so that a damaged record is told from a decision."""

import math
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, cast, get_args

from comity.errors import InvalidRecord
from comity.policy.decision import Decision, Recommendation, RuleCited, Source, Verdict
from comity.policy.settings import Mode, Purpose
from comity.signals.usage.statements import (
    Licence,
    Origin,
    Preference,
    Scope,
    Statement,
    Usage,
    Vocabulary,
)

NUMBER = int | float


def decision(values: Mapping[str, Any]) -> Decision:
    """The decision that `Decision.to_dict` wrote down.

    Raises:
        InvalidRecord: the values are not a decision; the message names the field.
    """
    fields = _Fields(values, "decision")
    rule, source = fields.inner("rule"), fields.inner("source")
    return Decision(
        url=fields.of("url", str),
        agent=fields.of("agent", str),
        verdict=fields.one_of("verdict", Verdict),
        recommendation=fields.one_of("recommendation", Recommendation),
        may_fetch=fields.of("may_fetch", bool),
        mode=fields.one_of("mode", Mode),
        why=fields.of("why", str),
        rule=None if rule is None else RuleCited(rule.of("line", int), rule.of("text", str)),
        delay=float(fields.of("delay", NUMBER)),
        source=None if source is None else _source(source),
        purposes=tuple(_checked(each, Purpose, "purposes") for each in fields.of("purposes", list)),
        usage=_usage(fields.inner("usage")),
    )


def _source(fields: "_Fields") -> Source:
    redirects = fields.of("redirects", list)
    if not all(isinstance(each, str) for each in redirects):
        raise InvalidRecord("decision: source.redirects holds something that is no text")
    expires_at = fields.of("expires_at", NUMBER | None)
    return Source(
        origin=fields.of("origin", str),
        url=fields.of("url", str),
        status=fields.of("status", int | None),
        error=fields.of("error", str | None),
        sha256=fields.of("sha256", str | None),
        fetched_at=float(fields.of("fetched_at", NUMBER)),
        expires_at=math.inf if expires_at is None else float(expires_at),
        redirects=tuple(redirects),
        unreachable_since=fields.of("unreachable_since", NUMBER | None),
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
            for each in fields.list_of("statements")
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
            for each in fields.list_of("licences")
        ),
        applicable=fields.of("applicable", bool),
    )


class _Fields:
    """The members of one JSON object, each taken with the type it must have."""

    def __init__(self, values: object, name: str) -> None:
        if not isinstance(values, Mapping):
            raise InvalidRecord(f"{name}: {values!r:.80} is no object")
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

    def inner(self, field: str) -> "_Fields | None":
        if field not in self._values:
            raise InvalidRecord(f"{self._name}: {field} is missing")
        value = self._values[field]
        return None if value is None else _Fields(value, f"{self._name}, {field}")

    def list_of(self, field: str) -> "list[_Fields]":
        return [_Fields(each, f"{self._name}, {field}") for each in cast("list[object]", self.of(field, list))]


def _checked(value: object, kind: Any, field: str) -> Any:
    """A value that must be one of a Literal's."""
    if value not in get_args(kind):
        raise InvalidRecord(f"decision: {field} is {value!r:.80}, not one of {', '.join(get_args(kind))}")
    return value
