"""Plug-ins: where a crawl starts, what is made of each page, where it is written. Matched by shape, not by ancestry.

A plug-in is an object, or `MODULE:NAME` that names one, or a class or function that makes one when called without
arguments. It decides what is wanted, never what is allowed: robots.txt is asked about whatever it names.
"""

import inspect
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from importlib import import_module
from pathlib import Path, PurePath
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, runtime_checkable
from uuid import UUID

from comity.crawler.output.columns import ColumnType
from comity.crawler.output.sink import Sink
from comity.errors import ComityError, InvalidSetting, PluginError, is_of_the_system
from comity_pages import urls
from comity_pages.signals import encodings
from comity_pages.signals.links import Link, Page

if TYPE_CHECKING:  # who reads a finished crawl needs no HTTP
    from comity.net import Response


@runtime_checkable
class Source(Protocol):
    """Where to start."""

    def urls(self) -> Iterable[str] | AsyncIterable[str]:
        """Absolute URLs; the scope lies around them as around seeds. Read from its start in every run, taken as fast
        as they are wanted. A plain iterable is read in the crawl's own thread: one that waits should be async.
        """
        ...


@dataclass(frozen=True, slots=True)
class Expanded:
    """What an expander made of a page.

    Attributes:
        records: mappings, or typed records: objects of a dataclass, an attrs class, a pydantic model or a NamedTuple.
            They hold what JSON can, each other, and times, enums, decimals, UUIDs and paths, which become text. Each
            goes to the sink's channel `records`, as plain values.
        urls: what to fetch next, absolute or relative to the page, instead of all that the page names;
            None for that.
        misfit: why the page does not fit what records are made by; it is told in the page's record and counted.
    """

    records: Sequence[Any] = ()
    urls: Sequence[str] | None = None
    misfit: str | None = None


@runtime_checkable
class Expander(Protocol):
    """What is made of a page."""

    def expand(self, response: "Response") -> Expanded:
        """Records and further URLs from one page. A page on which this raises is recorded as a failure."""
        ...


BY_SCHEMA: Final = "schema:"  # what the name of an expander begins with that is a schema as JSON
PluginKind = Literal["source", "expander", "sink"]

_SHAPES: dict[PluginKind, type] = {"source": Source, "expander": Expander, "sink": Sink}


def is_code(name: str) -> bool:
    """Whether the name of a plug-in, or of a format, leads to code that is imported."""
    return ":" in name and not name.startswith(BY_SCHEMA)


_FOLDERS: list[str] = []


def look_in(folder: Path) -> None:
    """From now on, plug-ins that are named are looked for in a folder too, after all places where modules lie.

    It is on the path only once a plug-in is named: whatever else lies there is not run.
    """
    if str(folder) not in _FOLDERS:
        _FOLDERS.append(str(folder))


def load(name: str, kind: PluginKind) -> Any:
    """The plug-in that `MODULE:NAME` names.

    Raises:
        InvalidSetting: it is not there, cannot be made, or has not the shape of its kind; the message says what lacks.
    """
    if kind == "expander" and name.startswith(BY_SCHEMA):
        return SchemaExpander(name.removeprefix(BY_SCHEMA))
    module_name, colon, member = name.partition(":")
    if not (colon and module_name and member):
        raise InvalidSetting(f"{kind}: {name!r} is not of the form MODULE:NAME", hint=f"for example my_code:My{kind}")
    sys.path += [folder for folder in _FOLDERS if folder not in sys.path]
    try:
        found: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise InvalidSetting(f"{kind} {name}: {module_name} imports {error.name}, which is not there") from error
        raise InvalidSetting(
            f"{kind} {name}: there is no module {error.name}", hint="is it installed, or in the current folder?"
        ) from error
    except Exception as error:
        raise InvalidSetting(f"{kind} {name}: {module_name} cannot be imported: {_said(error)}") from error
    for part in member.split("."):
        if not hasattr(found, part):
            own = [key for key, value in vars(found).items() if getattr(value, "__module__", "") == module_name]
            there = f"it defines {', '.join(own[:20])}" if own else "it defines no class or function"
            raise InvalidSetting(f"{kind} {name}: there is no {part} in {module_name}", hint=there)
        found = getattr(found, part)
    if isinstance(found, type) or inspect.isroutine(found):
        try:
            found = found()
        except ComityError:
            raise
        except Exception as error:
            raise InvalidSetting(
                f"{kind} {name}: calling it without arguments failed: {_said(error)}",
                hint="name something that needs none",
            ) from error
    return checked(found, kind, name)


_NONE: Final = object()


def checked(plugin: Any, kind: PluginKind, name: str) -> Any:
    """The plug-in, if it has the shape of its kind; else an InvalidSetting says what lacks."""
    methods = [each for each in vars(_SHAPES[kind]).values() if inspect.isfunction(each) and each.__name__[0] != "_"]
    wrong = [_lack(plugin, each) for each in methods]
    # Looked for without being asked for: a property may need what `open` makes.
    if kind == "sink" and inspect.getattr_static(plugin, "pending", _NONE) is _NONE and not hasattr(plugin, "pending"):
        wrong.append("pending is missing")
    if lacks := [lack for lack in wrong if lack]:
        raise InvalidSetting(
            f"{name} is not {'an' if kind[0] in 'aeiou' else 'a'} {kind}: {'; '.join(lacks)}",
            hint=f"see {_SHAPES[kind].__module__}.{_SHAPES[kind].__name__}",
        )
    return plugin


def _lack(plugin: Any, wanted: FunctionType) -> str | None:
    """What is wrong with one method, or None: it must take what the crawler calls it with."""
    method, (_, *given) = wanted.__name__, inspect.signature(wanted).parameters.values()
    arguments = [each.name for each in given if each.kind is not each.KEYWORD_ONLY]
    keywords = [each.name for each in given if each.kind is each.KEYWORD_ONLY]
    if not hasattr(plugin, method):
        return f"the method {method} is missing"
    found = getattr(plugin, method)
    if not callable(found):
        return f"{method} is not a method"
    try:
        inspect.signature(found).bind(*arguments, **dict.fromkeys(keywords))
    except ValueError:  # written in C, without a signature
        return None
    except TypeError:
        call = ", ".join((*arguments, *(f"{keyword}=..." for keyword in keywords)))
        return f"{method} cannot be called as {method}({call})"
    return None


def _list(given: Sequence[Any]) -> Sequence[Any]:
    if isinstance(given, str | bytes | Mapping):
        raise TypeError(f"it returned one {type(given).__name__} instead of an iterable")
    return given


def _plain(record: Any) -> Any:
    """A record as plain values that `json.dumps` accepts."""
    if hasattr(record, "_asdict"):  # a NamedTuple, which JSON would take for a list
        record = record._asdict()
    try:
        json.dumps(record, allow_nan=False)
    except TypeError:
        return json.loads(json.dumps(record, allow_nan=False, default=_simpler))
    return record


def _simpler(value: Any) -> Any:
    """Something nearer to JSON for what `json.dumps` does not know."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    if (of_attrs := getattr(type(value), "__attrs_attrs__", None)) is not None:
        return {each.name: getattr(value, each.name) for each in of_attrs}
    if callable(dump := getattr(value, "model_dump", None)):  # pydantic
        return dump(mode="json")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal | UUID | PurePath):
        return str(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _text(url: object) -> str:
    if not isinstance(url, str):
        raise TypeError(f"it returned {url!r:.200}, which is a {type(url).__name__} and not a URL")
    return url


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


class Plugins:
    """The source and the expander of one crawl, as the crawler uses them; an InvalidSetting says that one cannot be
    loaded or has the wrong shape."""

    def __init__(self, source: Source | str | None, expander: Expander | str | None) -> None:
        self.names: dict[str, str] = {}
        self.source: Source | None = self._take(source, "source")
        self.expander: Expander | None = self._take(expander, "expander")

    def resume(self, names: Mapping[str, str]) -> None:
        """Take up again the schema that the crawl was begun with, where no other expander is given. Code is given again
        for each run (checkpoint.rights_in): InvalidSetting."""
        for kind in ("source", "expander"):
            if kind in self.names or (name := names.get(kind)) is None:
                continue
            if kind == "source" or is_code(name):
                raise InvalidSetting(f"{kind}: the crawl was begun with {name!r}, which is to be given again")
            self.expander = self._take(name, "expander")

    async def urls(self) -> AsyncGenerator[str, None]:
        """What the source names; a PluginError says that it failed."""
        if self.source is None:
            return
        try:
            found = self.source.urls()
            if isinstance(found, AsyncIterable):
                async for url in found:
                    yield _text(url)
            else:
                for url in found:
                    yield _text(url)
        except (Exception, SystemExit) as error:
            if is_of_the_system(error):
                raise
            raise PluginError(f"the source {self.names['source']} failed: {_said(error)}") from error

    def expand(self, response: "Response") -> Expanded:
        """What the expander makes of a page; a PluginError says that it failed, or made what it should not."""
        if self.expander is None:
            return _NOTHING
        name = self.names["expander"]
        try:
            expanded = self.expander.expand(response)
            if not isinstance(expanded, Expanded):
                raise TypeError(f"it gave {type(expanded).__name__}, not comity.crawler.Expanded")
            records = [_plain(record) for record in _list(expanded.records)]
            followed = None if expanded.urls is None else [_text(url) for url in _list(expanded.urls)]
            return Expanded(records, followed, expanded.misfit)
        except (Exception, SystemExit) as error:
            if is_of_the_system(error):
                raise
            raise PluginError(f"the expander {name} failed on {response.url}: {_said(error)}") from error

    def _take(self, given: Any, kind: PluginKind) -> Any:
        if given is None:
            return None
        if isinstance(given, str):
            self.names[kind] = given
            return load(given, kind)
        self.names[kind] = name_of(given)
        return checked(given, kind, self.names[kind])


_NOTHING = Expanded()


_COLUMNS: Final[dict[str, ColumnType]] = {
    "number": "real",
    "integer": "integer",
    "boolean": "boolean",
    "date": "date",
    "list": "json",
}


class SchemaExpander:
    """Records by a schema of CSS selectors (comity_pages.schemas), of HTML pages. `columns`: of what type the column
    of each field is. An InvalidSetting says what is wrong with the schema."""

    def __init__(self, schema: "Mapping[str, Any] | str") -> None:
        from comity_pages.schemas import Schema  # late: few crawls have one

        self._schema = Schema(schema)
        self.name = f"{BY_SCHEMA}{self._schema.text}"
        self.columns = {name: _COLUMNS.get(kind, "text") for name, kind in self._schema.types.items()}

    def expand(self, response: "Response") -> Expanded:
        stated = response.headers.get("Content-Type")
        if not encodings.is_html(response.body, stated):
            return _NOTHING
        html = encodings.to_text(response.body, encodings.detect(response.body, stated))
        found = self._schema.read(html, response.url)
        return Expanded(found.records, misfit=found.misfit)


def name_of(plugin: object) -> str:
    """An object's class as `MODULE:NAME`."""
    if isinstance(plugin, SchemaExpander):
        return plugin.name
    return f"{type(plugin).__module__}:{type(plugin).__qualname__}"


def following(read: "Page | None", expanded: Expanded, url: str) -> "Page | None":
    """The page with what is to be followed: what it names itself, or what the expander chose and nothing else."""
    if expanded.urls is None:
        return read
    links = tuple(Link(target) for reference in expanded.urls if (target := urls.join(url, reference)) is not None)
    return Page(url=url, links=links)
