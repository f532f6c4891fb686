"""Fields of frozen dataclasses as one table: the annotation says the type, `setting` what else is asked of a value.

From it comes all that is done with a setting: the check when it is made, the reading of text (a variable, comity.toml,
an option), help and documents. The words come from the class's docstring, "Attributes". `typed` brings any value,
such as a member of a JSON object, to an annotated type.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, make_dataclass
from enum import EnumType
from functools import cache
from inspect import cleandoc, getsource
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

from comity_robots.errors import InvalidSetting

_TYPES: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_SWITCHED: Final = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)
DAY: Final = 86_400
MIB: Final = 1024 * 1024
SECONDS: Final = {"d": DAY, "h": 3_600, "m": 60, "min": 60, "s": 1, "ms": 0.001}
_BYTES: Final = {
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("kMGT", 1)},
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)},
}
_UNITS: Final = {"seconds": SECONDS, "bytes": _BYTES}
MAX_SECONDS: Final = 1e12
_AMOUNT: Final = r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*"

T = TypeVar("T")


def made(kind: type[T], *values: Any) -> T:
    """Construct a frozen dataclass with slots in a fifth of the time its constructor takes.

    The constructor calls `object.__setattr__` for each field. Here an object of a class with the same slots that is not
    frozen is constructed, and its class is changed. `__post_init__` is not called.

    Args:
        values: of all its fields, in their order.
    """
    found: T = _thawed(kind)(*values)  # type: ignore[arg-type]  # a class can be hashed
    found.__class__ = kind
    return found


@cache
def _thawed(kind: Any) -> Any:
    names = [each.name for each in dataclasses.fields(kind)]
    return make_dataclass(kind.__name__, names, bases=kind.__bases__, slots=True, eq=False, repr=False)


class FrozenDict(dict[Any, Any]):
    """A table that nobody changes, and that can be hashed where its values can."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("settings are frozen: replace() makes others")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> Any:
        return type(self), (dict(self),)


class SecretDict(FrozenDict):
    """One whose values no print shows."""

    def __repr__(self) -> str:
        return repr(dict.fromkeys(self, "***"))


class WrongType(ValueError):
    """A value does not have the type that was asked for: `args[0]` says why, as a clause that follows the value.

    Attributes:
        path: the members that lead to the value, from the outermost.
        value: the value that does not fit.
        message: the value and the reason as a sentence.
    """

    def __init__(self, why: str, value: Any = MISSING) -> None:
        super().__init__(why)
        self.path: tuple[str, ...] = ()
        self.value = value

    @property
    def message(self) -> str:
        return str(self) if self.value is MISSING else f"{self.value!r:.200} {self}"


def typed(value: Any, hint: Any) -> Any:
    """A value as JSON or TOML has it, brought to an annotated type: lists to tuples, all else as it is.

    Raises:
        WrongType: it is not of that type.
    """
    if type(value) is hint:  # most are plain
        return value
    shape, parts = _parts(hint)
    if shape is Annotated:  # what is added is for the schema
        return typed(value, parts[0])
    if shape in (Union, UnionType):
        others = [part for part in parts if part is not NoneType]
        return None if value is None and NoneType in parts else typed(value, others[0])
    if dataclasses.is_dataclass(hint):
        return _object(value, hint)
    if shape is Literal:
        if not isinstance(value, str) or value not in parts:
            raise WrongType(f"is not one of {', '.join(parts)}", value)
        return value
    if isinstance(hint, EnumType):
        values: Mapping[object, object] = hint._value2member_map_
        if not isinstance(value, str) or value not in values:
            raise WrongType(f"is not one of {', '.join(map(str, values))}", value)
        return values[value]
    if shape is Mapping:
        if not isinstance(value, Mapping):
            raise WrongType("is not a table", value)
        return {typed(key, parts[0]): _member(each, parts[1], str(key)) for key, each in value.items()}
    if shape is tuple:
        long = None if parts[-1] is ... else len(parts)
        if not isinstance(value, list | tuple) or long not in (None, len(value)):
            raise WrongType("is not a list" if long is None else f"is not a list of {long}", value)
        kinds = parts[:1] * len(value) if long is None else parts
        return tuple(typed(each, kind) for each, kind in zip(value, kinds, strict=True))
    if isinstance(value, bool) is not (hint is bool) or not isinstance(value, int | float if hint is float else hint):
        raise WrongType(f"is not {_TYPES[hint]}", value)
    return value


@cache
def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(hint), get_args(hint)


@cache
def _members(kind: Any) -> Mapping[str, Any]:
    return {field.name: field.type for field in dataclasses.fields(kind)}


def _object(value: Any, kind: Any) -> Any:
    """An object of a class from a table of all its fields; what the class works out by itself may stand there too."""
    if not isinstance(value, Mapping):
        raise WrongType("is not an object", value)
    hints = _members(kind)
    for name in value:
        if name not in hints and not isinstance(getattr(kind, str(name), None), property):
            raise WrongType(f"{str(name)[:80]} is not one of its fields")
    for name in hints:
        if name not in value:
            raise WrongType(f"{name} is missing")
    return kind(**{name: _member(value[name], hint, name) for name, hint in hints.items()})


def _member(value: Any, hint: Any, name: str) -> Any:
    try:
        return typed(value, hint)
    except WrongType as wrong:
        wrong.path = (name, *wrong.path)
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingField:
    """One setting: what its field and its annotation say.

    Attributes:
        hint: the annotation without `None`; `optional`: whether that was part of it.
        least, most: bounds of a number, both allowed; `above`: one that it must exceed.
        infinite: whether a number may be infinite.
        unit: `seconds` or `bytes`: text (of a file, a variable, an option) may then say `10m`, `50MB`.
        path: whether it names a file: a path as pathlib has it will do too.
        stricter: which value allows less than another: `more` (a larger number, a list with more members), `less`, or
            all values in their order, the strictest first; `any`: none allows anything. Empty: any change may allow
            something.
        normal: brings a value that fits to the form it is kept in, or raises InvalidSetting.
        example: of a table, as Python and JSON write it.
        secret: whether it may hold a password: `repr` leaves it out, and of a table shows the names alone.
    """

    name: str = ""
    hint: Any = None
    optional: bool = False
    default: Any = None
    least: float | None = None
    above: float | None = None
    most: float | None = None
    infinite: bool = False
    unit: Literal["", "seconds", "bytes"] = ""
    path: bool = False
    stricter: Literal["", "any", "less", "more"] | tuple[Any, ...] = ""
    normal: Callable[[Any], Any] | None = None
    example: str = ""
    secret: bool = False

    def grants(self, value: Any, instead: Any) -> bool:
        """Whether a value allows what another one does not, both in the form in which they are kept."""
        if value == instead or self.stricter == "any":
            return False
        if isinstance(self.stricter, tuple):
            order = self.stricter
            return value not in order or instead not in order or order.index(value) > order.index(instead)
        if not self.stricter:
            return True
        more, less = (instead, value) if self.stricter == "more" else (value, instead)
        if isinstance(value, tuple):
            return not set(more) <= set(less)
        return bool((math.inf if more is None else more) > (math.inf if less is None else less))  # None: no limit

    def checked(self, value: Any) -> Any:
        """The value in the form in which it is kept.

        Raises:
            InvalidSetting: it is not allowed; the message begins with the setting's name.
        """
        if value is None and self.optional:
            return None
        if self.path and hasattr(value, "__fspath__"):
            value = value.__fspath__()
        if self.hint is not Any:
            try:
                value = self._fitting(value)
                if self.path:
                    _check_path(value)
            except WrongType as wrong:
                raise self._error(value, wrong) from None
        kept = value if self.normal is None else self.normal(value)
        return (SecretDict if self.secret else FrozenDict)(kept) if isinstance(kept, dict) else kept

    def _fitting(self, value: Any) -> Any:
        if get_origin(self.hint) is tuple:
            value = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else value
            choices = get_args(get_args(self.hint)[0])
            found = typed(value, self.hint)
            return tuple(each for each in choices if each in found) if choices else found
        value = typed(value, self.hint)
        if self.hint in (int, float):
            bounded = (
                (self.least is None or value >= self.least)
                and (self.most is None or value <= self.most or value == math.inf)
                and (self.above is None or value > self.above)
                and (self.infinite or abs(value) < math.inf)
            )
            if not bounded:  # nan is not either
                raise WrongType("", value)
        return value

    def _error(self, value: Any, wrong: WrongType) -> InvalidSetting:
        if get_origin(self.hint) is Mapping:  # the value may be a password
            where = "".join(f"{name!r}: " for name in wrong.path)
            return InvalidSetting(f"{self.name}: {where}this {wrong}", hint=f"write for example {self.example}")
        if self.hint in (int, float):
            hint = f"write for example {'90, 10m or 1h30m' if self.unit == 'seconds' else '50MB'}" if self.unit else ""
            text = isinstance(value, str)
            return InvalidSetting(f"{self.name}: {value!r:.200} is not {self._number()}", hint=hint if text else "")
        return InvalidSetting(f"{self.name}: {wrong.message}")

    def _number(self) -> str:
        """What the value is, in words."""
        noun = "a number" if self.hint is float else "a whole number"
        if self.unit == "seconds":
            return f"{noun} of seconds{', zero or more' if self.above is None else ' above zero'}"
        if self.unit:
            noun += f" of {self.unit}"
        if self.most is not None:
            return f"{noun} from {self.least:g} to {self.most:.10g}"
        return noun if self.least is None else f"{noun} of at least {self.least:.10g}"

    def read(self, text: str) -> Any:
        """What a text stands for: lists with commas, tables as JSON, `none` for nothing, numbers with their unit.

        Text that stands for nothing of the setting's type is returned as it is, and `checked` says so.
        """
        shape = get_origin(self.hint)
        if shape is tuple:
            return () if text == "none" else tuple(part.strip() for part in text.split(",") if part.strip())
        if text in ("none", "") and (self.optional or shape is Mapping):
            return {} if shape is Mapping else None
        if self.hint is bool:
            return _SWITCHED.get(text.lower(), text)
        try:
            if shape is Mapping:
                import json  # late: few settings are tables

                return json.loads(text)
            return _number(text, self.unit) if self.hint in (int, float) else text
        except ValueError:
            return text

    def written(self, value: Any) -> str:
        """A value as `read` takes it: `1h30m`, `20MiB`, `none`."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if value is None or (isinstance(value, tuple | Mapping) and not value):
            return "none"
        if isinstance(value, tuple):
            return ", ".join(map(str, value))
        if isinstance(value, Mapping):
            return ", ".join(f"{key}: {each}" for key, each in value.items())
        if isinstance(value, int | float):
            for name, size in sorted(_UNITS.get(self.unit, {}).items(), key=lambda item: -item[1]):
                if value >= size >= (60 if self.unit == "seconds" else 1024) and value % size == 0:
                    return f"{value / size:g}{name}"
            return f"{value:.10g}"
        return str(value)


def _check_path(text: str) -> None:
    """Raises: WrongType: the system can have no file of that name."""
    try:
        if b"\0" not in text.encode("utf-8", "surrogateescape"):
            return
    except UnicodeError:
        pass
    raise WrongType("is not a path", text)


def _number(text: str, unit: str) -> float:
    """A number, with units where it has a unit: `90`, `1.5h`, `1h30m`, `50MB` (10^6), `50MiB` (2^20).

    Raises:
        ValueError: it is none.
    """
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    units = {name.lower(): size for name, size in _UNITS.get(unit, {}).items()}
    if unit == "bytes":
        units |= {letter: units[f"{letter}b"] for letter in "kmgt"}
    form = re.compile(_AMOUNT, re.IGNORECASE)  # late: few numbers have units
    amounts = form.findall(text)
    if not amounts or form.sub("", text).strip():
        raise ValueError(text)
    try:
        total = sum(float(amount) * units[name.lower()] for amount, name in amounts)
    except KeyError:
        raise ValueError(text) from None
    return int(total) if total == int(total) else total


def setting(default: Any = MISSING, *, factory: Any = MISSING, secret: bool = False, **asked: Any) -> Any:
    """A field of a class of settings, with what its value must be besides its type (see `SettingField`)."""
    metadata = {"setting": asked | {"secret": secret}}
    if factory is not MISSING:
        return dataclasses.field(default_factory=factory, metadata=metadata, repr=not secret)
    return dataclasses.field(default=default, metadata=metadata, repr=not secret)


def seconds(default: float | None, *, least: float | None = None, **asked: Any) -> Any:
    """Seconds: above zero, or from `least`."""
    bounds = {"above": 0} if least is None else {"least": least}
    return setting(default, unit="seconds", most=MAX_SECONDS, **bounds, **asked)


def size(default: int | None, *, least: int = 1, **asked: Any) -> Any:
    """A number of bytes."""
    return setting(default, unit="bytes", least=least, **asked)


@cache
def settings_of(kind: type) -> Mapping[str, SettingField]:
    """The settings of a class by name, in its order."""
    return {each.name: _setting(each) for each in dataclasses.fields(kind)}


def _setting(field: "dataclasses.Field[Any]") -> SettingField:
    hint, optional = field.type, False
    if get_origin(hint) in (Union, UnionType):
        parts = [part for part in get_args(hint) if part is not NoneType]
        optional = len(parts) < len(get_args(hint))
        hint = parts[0] if len(parts) == 1 else Any  # of several types `normal` judges
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return SettingField(
        name=field.name, hint=hint, optional=optional, default=default, **field.metadata.get("setting", {})
    )


def check(settings: Any) -> None:
    """Check every field of settings that are being made, and keep each in its normal form.

    Raises:
        InvalidSetting: a value is not allowed.
    """
    kind: type = type(settings)
    for name, each in settings_of(kind).items():
        value = getattr(settings, name)
        if value is each.default and not isinstance(value, dict):
            continue
        if (kept := each.checked(value)) is not value:
            object.__setattr__(settings, name, kept)


def docstring(of: Callable[..., object]) -> str:
    """What a class or function says of itself; from its source where Python left that out (`python -OO`)."""
    if docstring.__doc__:
        return cleandoc(of.__doc__ or "")
    try:
        found = re.search(r'\n *"""(.*?)"""', getsource(of), re.DOTALL)
    except OSError:  # there is no source either
        return ""
    return cleandoc(found[1]) if found else ""


@cache
def field_docs(kind: type) -> Mapping[str, str]:
    """What each setting of a class means, by name: its entry under "Attributes" in the docstring, as one line.

    Settings that are named together share their words.
    """
    _, _, table = docstring(kind).partition("\nAttributes:\n")
    found: dict[str, str] = {}
    for entry in re.split(r"\n {4}(?! )", f"\n{table.partition(chr(10) * 2)[0]}")[1:]:
        names, _, words = entry.partition(": ")
        found |= dict.fromkeys(names.split(", "), " ".join(words.split()))
    return found
