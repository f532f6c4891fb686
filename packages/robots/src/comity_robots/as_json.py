"""Dataclasses as JSON, and the JSON Schema of their form: both by their fields, so that neither is written twice.

A dataclass may have members that are worked out: `ANSWERS`, name to type and function. What `Annotated` adds to a type
are members of its schema, name and value. Descriptions come from the docstring's `Attributes`.
"""

import inspect
import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import time
from enum import StrEnum
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


def jsonable(value: Any) -> Any:
    """A value as `json.dumps` takes it; a number that is infinite is null."""
    if is_dataclass(value):
        found = {name: jsonable(answer(value)) for name, (_, answer) in _answers(value)}
        return found | {each.name: jsonable(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, time):
        return f"{value:%H:%M}"
    return None if isinstance(value, float) and math.isinf(value) else value


def schema_of(kind: Any) -> Schema:
    """The JSON Schema (2020-12) of what `jsonable` makes of a value of a type."""
    origin, parts = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _object(kind)
    if origin is Annotated:
        return {**schema_of(parts[0]), **{name: jsonable(each) for name, each in parts[1:]}}
    if origin is Literal:
        return {"enum": list(parts)}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"enum": [each.value for each in kind]}
    if origin in (Union, UnionType):
        choices = [schema_of(each) for each in parts]
        if all(choice.keys() == {"enum"} or choice == _SIMPLE[NoneType] for choice in choices):
            return {"enum": [each for choice in choices for each in choice.get("enum", [None])]}
        return {"anyOf": choices}
    if origin in (tuple, list):
        return {"type": "array", "items": schema_of(parts[0])}
    if origin is dict or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {"type": "object", "additionalProperties": schema_of(parts[1])}
    return dict(_SIMPLE[kind])


def document_of(kind: Any, title: str) -> Schema:
    """The schema as a whole document."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema_of(kind)}


def _object(kind: Any) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    said = inspect.cleandoc(kind.__doc__ or "")
    about = {name: " ".join(text.split()) for names, text in _ATTRIBUTE.findall(said) for name in names.split(", ")}
    types = {name: each for name, (each, _) in _answers(kind)} | {each.name: hints[each.name] for each in fields(kind)}
    properties = {name: schema_of(hint) for name, hint in types.items()}
    for name in properties.keys() & about.keys():
        properties[name].setdefault("description", about[name])
    found = {"type": "object", "properties": properties, "required": list(types)}
    if not said.startswith((f"{kind.__name__}(", "Attributes:")):  # the first a dataclass has that says nothing
        found["description"] = " ".join(said.partition("\n\n")[0].split())
    return found | {"additionalProperties": False}


def _answers(value: Any) -> Any:
    return getattr(value, "ANSWERS", {}).items()
