"""Members of a JSON object read back, each checked, so that a damaged record is told from one of ours."""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, cast, get_args

from comity.errors import InvalidRecord

NUMBER = int | float


class Fields:
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
        return checked(self.of(field, str), kind, field)

    def number(self, field: str, *, none: float | None = None) -> float:
        """A finite number, zero or more; `none` stands for null where that is allowed."""
        value = self.of(field, NUMBER if none is None else NUMBER | None)
        if value is None and none is not None:
            return none
        if not 0 <= value < 1e18:
            raise InvalidRecord(f"{self._name}: {field} is {value!r:.80}, not a number of at least zero")
        return float(value)

    def inner(self, field: str, known: frozenset[str]) -> "Fields | None":
        if field not in self._values:
            raise InvalidRecord(f"{self._name}: {field} is missing")
        value = self._values[field]
        return None if value is None else Fields(value, f"{self._name}, {field}", known)

    def list_of(self, field: str, known: frozenset[str]) -> "list[Fields]":
        return [Fields(each, f"{self._name}, {field}", known) for each in cast("list[object]", self.of(field, list))]


def checked(value: object, kind: Any, field: str) -> Any:
    """A value that must be one of a Literal's."""
    if value not in get_args(kind):
        raise InvalidRecord(f"decision: {field} is {value!r:.80}, not one of {', '.join(get_args(kind))}")
    return value
