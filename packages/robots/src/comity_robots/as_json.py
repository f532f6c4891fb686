"""Dataclasses as JSON, and the JSON Schema of their form: both by their fields, so that neither is written twice.

A dataclass may have members that are worked out: `ANSWERS`, name to type and function. What `Annotated` adds to a type
are members of its schema, name and value. Descriptions come from the docstring's `Attributes`.
"""

import inspect
import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

Schema = dict[str, Any]
Sha256 = Annotated[str, ("pattern", "^[0-9a-f]{64}$")]

_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+(?:, \w+)*): (.*(?:\n {8}.*)*)", re.MULTILINE)
_SIMPLE: Final[Mapping[Any, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    Any: {},
}


def jsonable(value: Any, *, sparse: bool = False) -> Any:
    """A value as `json.dumps` takes it; a number that is infinite is null.

    Args:
        sparse: whether members that are None by default are left out where they are None.
    """
    if is_dataclass(value):
        found = {name: jsonable(answer(value), sparse=sparse) for name, (_, answer) in _answers(value)}
        for each in fields(value):
            member = getattr(value, each.name)
            if not (sparse and member is None and each.default is None):
                found[_name(each.name)] = jsonable(member, sparse=sparse)
        return found
    if isinstance(value, Mapping):
        return {key: jsonable(each, sparse=sparse) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each, sparse=sparse) for each in value]
    return None if isinstance(value, float) and math.isinf(value) else value


def schema_of(kind: Any, *, sparse: bool = False, closed: bool = True) -> Schema:
    """The JSON Schema (2020-12) of what `jsonable` makes of a value of a type.

    Args:
        closed: whether objects have no other members.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _object(kind, sparse, closed)
    if origin is Annotated:
        return {
            **schema_of(parts[0], sparse=sparse, closed=closed),
            **{name: jsonable(each) for name, each in parts[1:]},
        }
    if origin is Literal:
        return {"enum": list(parts)}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"enum": [each.value for each in kind]}
    if origin in (Union, UnionType):
        choices = [schema_of(each, sparse=sparse, closed=closed) for each in parts]
        if all(choice.keys() == {"enum"} or choice == _SIMPLE[NoneType] for choice in choices):
            return {"enum": [each for choice in choices for each in choice.get("enum", [None])]}
        return {"anyOf": choices}
    if origin in (tuple, list):
        return {"type": "array", "items": schema_of(parts[0], sparse=sparse, closed=closed)}
    if origin is dict or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {"type": "object", "additionalProperties": schema_of(parts[1], sparse=sparse, closed=closed)}
    return dict(_SIMPLE[kind])


def document_of(kind: Any, title: str) -> Schema:
    """The schema as a whole document."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema_of(kind)}


def _object(kind: Any, sparse: bool, closed: bool) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    said = inspect.cleandoc(kind.__doc__ or "")
    about = {name: " ".join(text.split()) for names, text in _ATTRIBUTE.findall(said) for name in names.split(", ")}
    types = {name: (each, True) for name, (each, _) in _answers(kind)}
    defaults: Schema = {}
    for each in fields(kind):
        hint, given = hints[each.name], each.default is not MISSING
        if sparse and given and each.default is None:
            hint = reduce(or_, (part for part in get_args(hint) if part is not NoneType))
        elif sparse and given:
            defaults[_name(each.name)] = each.default
        types[_name(each.name)] = hint, not (sparse and given)
    properties: Schema = {}
    for name, (hint, _) in types.items():
        properties[name] = schema_of(hint, sparse=sparse, closed=closed)
        if name in defaults:
            properties[name]["default"] = defaults[name]
        if name in about:
            properties[name].setdefault("description", about[name])
    found = {"type": "object", "properties": properties, "required": [name for name in types if types[name][1]]}
    if not said.startswith((f"{kind.__name__}(", "Attributes:")):  # the first a dataclass has that says nothing
        found["description"] = " ".join(said.partition("\n\n")[0].split())
    return found | ({"additionalProperties": False} if closed else {})


def _answers(value: Any) -> Any:
    return getattr(value, "ANSWERS", {}).items()


def _name(field: str) -> str:
    """`from` is no name of a field: it is written `from_`."""
    return field.removesuffix("_")
