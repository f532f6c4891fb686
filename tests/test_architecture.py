"""Imports run downwards only, between rooms and between the modules of a room; the floors up to the gate do no I/O.

Read from the source: imports at the top, inside functions and for type checkers alike, what is taken from `comity`
itself, cimports, and names of modules in strings, by which a module may be imported late.
"""

import ast
import inspect
import re
import sys
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import comity
import comity_pages
import comity_robots

ROOT = Path(comity.__file__).parent
ROOTS = {
    "comity_robots": Path(comity_robots.__file__).parent,
    "comity_pages": Path(comity_pages.__file__).parent,
    "comity": ROOT,
}
REPOSITORY = Path(__file__).parents[1]
FLOORS = {
    "comity_robots/_building": -8,
    "comity_robots/_compiled": -8,
    "comity_robots/_forms": -8,
    "comity_robots/_lazy": -8,
    "comity_robots/as_json": -8,
    "comity_robots/errors": -8,
    "comity_robots/fields": -8,
    "comity_robots/plain_urls": -8,
    "comity_robots/shown": -8,
    "comity_robots/usage": -7,
    "comity_robots": -6,
    "comity_robots/arrays": -5,
    "comity_robots/compat": -5,
    "comity_pages/_compiled": -4,
    "comity_pages/_cython": -4,
    "comity_pages/errors": -4,
    "comity_pages/_extras": -3,
    "comity_pages/_utf8": -3,
    "comity_pages/urls": -3,
    "comity_pages/reader_processes": -2,
    "comity_pages/signals": -2,
    "comity_pages": -1,
    "errors": 0,
    "payment": 0,
    "robots": 0,
    "urls": 0,
    "digests": 0,
    "domains": 0,
    "cells": 0,
    "http_caching": 0,
    "http_rules": 0,
    "times": 0,
    "url_lists": 1,
    "_compiled": 0,
    "_serving": 9,
    "policy": 4,
    "gate": 5,
    "files": 6,
    "templates": 7,
    "signatures": 7,
    "_ray": 8,
    "net": 8,
    "frontier": 8,
    "retrieve": 9,
    "client": 10,
    "compat": 11,
    "middleware": 11,
    "bulk": 11,
    "crawler": 11,
    "audit": 12,
    "configuration": 12,
    "identity": 11,
    "demo": 12,
    "mcp": 13,
    "web": 13,
    "cli": 14,
    "__main__": 15,
}
PURE = set(
    """
    __future__ ada_url array base64 bisect codecs collections collections.abc contextlib csv cython dataclasses datetime
    email.utils enum errno functools hashlib html html.entities http_sf inspect io ipaddress itertools json math
    operator publicsuffixlist re types typing unicodedata urllib.parse webencodings xml.parsers xml.parsers.expat zlib
    """.split()
)
"""All that the floors up to the gate import from elsewhere. None of it is there to do I/O, to read a clock, or to be
random."""
ALSO = {
    "comity_robots._forms": {"importlib", "importlib.abc", "importlib.machinery", "importlib.util", "os", "sys"},
    "comity_robots._building": {
        "Cython",
        "Cython.Build",
        "os",
        "pathlib",
        "runpy",
        "setuptools",
        "setuptools.command.bdist_wheel",
        "setuptools.command.build_ext",
        "sys",
        "tomllib",
        "print",
    },
    "comity_pages._extras": {"importlib"},
    "comity_robots._lazy": {"sys"},
    "comity_robots.compat.reppy": {"time"},  # how old a file is, as the libraries replaced say
    "comity_robots.compat.robotparser": {"time", "urllib.robotparser"},  # its RequestRate, which programs know
    "comity.policy.decision": {"importlib.resources"},  # its schema lies beside it
    "comity_robots.agent_table": {"importlib.resources"},  # the table lies beside it
}
"""What else a module of theirs may import or call: mostly those that find other modules."""
OUTSIDE = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}
"""Builtins that lead out of the process, or run what no import shows."""
ASKING = {"now", "open", "today", "utcnow"}
"""Methods of the modules in PURE that do."""


def name_of(path: Path) -> str:
    package, root = next((name, root) for name, root in ROOTS.items() if path.is_relative_to(root))
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))


FILES = sorted(path for root in ROOTS.values() for path in (*root.rglob("*.py"), *root.rglob("*.pyx")))
MODULES = {name_of(path): path for path in FILES if path != ROOT / "__init__.py"}


ALL = {"comity", *MODULES}
_NAME = re.compile(r"(?:comity|comity_pages|comity_robots)(\.[\w*]+)+")
_CIMPORT = re.compile(r"^\s*(?:from\s+(comity[\w.]*)\s+cimport|cimport\s+(comity[\w.]*))", re.MULTILINE)
_IMPORT = re.compile(r"^(?:from \S+ )?import .*$", re.MULTILINE)


@cache
def homes() -> dict[str, str]:
    """Where each name of `comity` is defined: the table in comity/__init__.py."""
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    tables = [
        ast.literal_eval(node.args[1])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lazy_exports"
    ]
    return {name.partition("=")[0]: home for table in tables for home, names in table.items() for name in names.split()}


def within(name: str) -> str:
    """The module that a name of the package leads to: itself, that which defines it, or that which it is part of."""
    package, _, first = name.partition(".")
    first = first.partition(".")[0]
    if package == "comity" and first in homes():
        return homes()[first]
    while name not in ALL:
        assert name, "no module of ours"
        name = name.rpartition(".")[0]
    return name


def dotted(node: ast.expr) -> str:
    """`package.module.name` where an expression is one, empty where it is not."""
    if isinstance(node, ast.Attribute):
        return f"{before}.{node.attr}" if (before := dotted(node.value)) else ""
    return node.id if isinstance(node, ast.Name) else ""


def in_text(text: str) -> Iterator[str]:
    """The modules that a string names: `package.module`, `package.module:member`; * stands for what is filled in."""
    name = re.sub(r"%s|\{\w*\}", "*", text.partition(":")[0])
    if _NAME.fullmatch(name):
        if "*" in name:
            yield from (module for module in MODULES if fnmatchcase(module, name))
        elif name in MODULES:
            yield name


def python_of(path: Path) -> str:
    """A module's source, and of one that is written in Cython its imports."""
    text = path.read_text(encoding="utf-8")
    return "\n".join(_IMPORT.findall(text)) if path.suffix == ".pyx" else text


parsed = cache(ast.parse)


@cache
def nodes_of(source: str) -> list[ast.AST]:
    """All nodes of a source: several tests look at each of them."""
    return list(ast.walk(parsed(source)))


def imports(source: str) -> Iterator[str]:
    """Every module that a source names."""
    nodes = nodes_of(source)
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        names: list[str] = []
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom():
                assert node.level == 0, f"{ast.unparse(node)}: relative import; write the full name"
                module = node.module or ""
                ours = module.removeprefix("cython.cimports.").split(".")[0] in ROOTS
                names = [f"{module}.{alias.name}" for alias in node.names] if ours else [module]
            case ast.Attribute():
                names = [name] if (name := dotted(node)).partition(".")[0] in ROOTS else []
            case ast.Constant() if isinstance(node.value, str) and id(node) not in parts:
                yield from in_text(node.value)
            case ast.BinOp(left=ast.Constant(value=str(beginning)), op=ast.Add()):
                yield from in_text(f"{beginning}*")
            case ast.JoinedStr():
                yield from in_text(
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)
                )
        for name in names:
            name = name.removeprefix("cython.cimports.") if name.startswith("cython.cimports.comity") else name
            yield within(name) if name.split(".")[0] in ROOTS else name


def cimports(source: str) -> Iterator[str]:
    """Every module of ours that a .pxd file names."""
    yield from (within(one or other) for one, other in _CIMPORT.findall(source))


@cache
def graph() -> dict[str, set[str]]:
    """What each module imports of comity."""
    found: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        named = set(imports(python_of(path)))
        if (declared := path.with_suffix(".pxd")).exists():
            named.update(cimports(declared.read_text(encoding="utf-8")))
        found[name] = {other for other in named if other in MODULES and other != name}
    return found


def impurities(module: str, source: str) -> set[str]:
    """What a module of the floors up to the gate has that it should not have."""
    found = set()
    for name in imports(source):
        if name.split(".")[0] not in (*ROOTS, "cython") and name not in PURE | ALSO.get(module, set()):
            found.add(name)
    for node in nodes_of(source):
        if isinstance(node, ast.Name) and node.id in OUTSIDE - ALSO.get(module, set()):
            found.add(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ASKING:
            found.add(f".{node.func.attr}")
    return found


def room(module: str) -> str:
    package, _, name = module.partition(".")
    first = name.partition(".")[0]
    if package == "comity":
        return first
    return own if (own := f"{package}/{first}") in FLOORS else package


def test_a_module_imports_nothing_from_a_higher_floor() -> None:
    upwards = [(m, other) for m, others in graph().items() for other in others if FLOORS[room(other)] > FLOORS[room(m)]]
    assert not upwards


def test_rooms_of_one_floor_know_nothing_of_each_other() -> None:
    across = [
        (module, other)
        for module, others in graph().items()
        for other in others
        if room(other) != room(module) and FLOORS[room(other)] == FLOORS[room(module)] > 0
    ]
    assert not across


def test_no_modules_import_each_other_in_a_circle() -> None:
    left = {module: set(others) for module, others in graph().items()}
    while leaves := [module for module, others in left.items() if not others]:
        for leaf in leaves:
            del left[leaf]
        for others in left.values():
            others.difference_update(leaves)
    assert not left, f"in a circle, or above one: {sorted(left)}"


def folder(module: str) -> str:
    """A module's folder, or itself where that is its room's own: `comity.crawler.run`, `comity.times`."""
    package = module.partition(".")[0]
    parts = MODULES[module].relative_to(ROOTS[package]).parts[:-1]
    return ".".join((package, *parts)) if len(parts) > (package == "comity") else module


def test_no_folders_import_each_other() -> None:
    """What lies at the top of a room stands for itself: the crawl's settings are below its folders, its face above."""
    left: dict[str, set[str]] = {}
    for module, others in graph().items():
        left.setdefault(folder(module), set()).update(map(folder, others))
    for one, others in left.items():
        others.discard(one)
    left["comity_pages.content"].discard("comity_pages.markdown")  # the one circle that is left
    while leaves := [one for one, others in left.items() if not others]:
        for leaf in leaves:
            del left[leaf]
        for others in left.values():
            others.difference_update(leaves)
    circles = {one: sorted(other for other in others if one in left[other]) for one, others in left.items()}
    assert not left, f"in a circle, or above one: {circles}"


def test_the_floors_up_to_the_gate_do_no_io_and_read_no_clock() -> None:
    lower = {module: path for module, path in MODULES.items() if FLOORS[room(module)] <= FLOORS["gate"]}
    lower = {
        module: path
        for module, path in lower.items()
        if room(module) not in ("comity_pages", "comity_pages/reader_processes")
    }
    found = {module: impurities(module, python_of(path)) for module, path in lower.items()}
    assert not {module: names for module, names in found.items() if names}


def test_the_floors_name_the_rooms_that_are_there() -> None:
    assert {room(module) for module in MODULES} == set(FLOORS)


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("from comity import Client", "comity.client"),
        ("from comity import load_settings", "comity.configuration"),
        ("from comity import bulk", "comity.bulk"),
        ("import comity\ncomity.crawl('https://example.com/')", "comity.crawler"),
        ("import comity.net.session", "comity.net.session"),
        ("def late():\n    from comity.net import session", "comity.net.session"),
        ("name = 'comity.crawler.crawl_settings:CrawlSettings'", "comity.crawler.crawl_settings"),
        ("import_module('comity.crawler')", "comity.crawler"),
        ("import_module(f'comity.{name}')", "comity.crawler"),
        ("import_module(f'comity.crawler.{name}')", "comity.crawler.crawl_settings"),
        ("import_module('comity.' + name)", "comity.crawler"),
        ("import_module('comity.%s' % name)", "comity.crawler"),
        ("import_module('comity.{}'.format(name))", "comity.crawler"),
        ("from cython.cimports.comity_pages.urls import path_end", "comity_pages.urls"),
    ],
)
def test_a_module_is_found_however_it_is_named(source: str, module: str) -> None:
    assert module in set(imports(source))


def test_a_cimport_is_found() -> None:
    source = (
        "from libc.string cimport memchr\nfrom comity_pages.urls cimport Base\ncimport comity_robots.engine.paths\n"
    )
    assert list(cimports(source)) == ["comity_pages.urls", "comity_robots.engine.paths"]
    assert "comity_robots.plain_urls" in graph()["comity_robots.arrays.rows"]


@pytest.mark.parametrize(
    "text",
    [
        "f'comity.{kind}({name}) is missing'",
        "'comity: not found'",
        "'comity.org'",
        "name.removeprefix('comity.crawler.')",
    ],
)
def test_other_text_names_no_module(text: str) -> None:
    assert not list(imports(text))


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "import random",
        "import time",
        "import urllib.request",
        "from urllib import request",
        "import ssl",
        "import tempfile",
        "from pathlib import Path",
        "open('file')",
        "read = open",
        "__import__('os')",
        "import io\nio.open('file')",
        "from datetime import datetime\ndatetime.now()",
    ],
)
def test_what_leads_out_of_the_process_is_found(source: str) -> None:
    assert impurities("comity.gate.throttle", source)


def test_programs_beside_the_package_import_what_is_there() -> None:
    """Benchmarks, fuzzing, examples and what crawls for long: most of them no quick test runs."""
    folders = ("benchmarks", "fuzz", "examples", "tests/endurance")
    beside = [each for name in folders for each in sorted((REPOSITORY / name).glob("*.py"))]
    assert beside
    lost = []
    for path in beside:
        for node in ast.walk(parsed(python_of(path))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module is None or module.partition(".")[0] != "comity":
                continue
            for alias in node.names:
                is_module = f"{module}.{alias.name}" in MODULES
                if not is_module and not (module in ALL and hasattr(import_module(module), alias.name)):
                    lost.append(f"{path.name}:{node.lineno}: {alias.name} of {module}")
    assert lost == []


def test_no_module_at_the_top_hides_one_of_the_standard_library() -> None:
    """Whoever runs a script from the package's folder has that folder first on the path."""
    assert not {path.stem for path in ROOT.iterdir()} & sys.stdlib_module_names


CONSTRUCTING = ("__init__", "__new__", "__post_init__")
VALUES = ("Protocol", "NamedTuple", "TypedDict", "StrEnum", "IntEnum")
"""Classes that say what values look like."""


def set_on(function: ast.AST, name: str = "self") -> set[str]:
    """The attributes of an object to which a method gives a value, by assignment or by name."""
    nodes = list(ast.walk(function))
    announced = {id(node.target) for node in nodes if isinstance(node, ast.AnnAssign) and node.value is None}
    stored = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and id(node) not in announced
        if isinstance(node.value, ast.Name) and node.value.id == name
    }
    by_name = {
        ast.unparse(node.args[1]).strip("'")
        for node in nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("setattr", "__setattr__"))
        if len(node.args) == 3 and ast.unparse(node.args[0]) == name
    }
    return stored | by_name


def set_on_another(method: ast.AST) -> set[str]:
    """The attributes that a class method gives to what it has made."""
    made = {
        target.id
        for node in ast.walk(method)
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith(("cls(", "cls.__new__("))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return {attribute for name in made for attribute in set_on(method, name)}


def faults(tree: ast.AST, inherited: Collection[str] = ()) -> Iterator[str]:
    """Classes that are not whole once they are made, and callbacks that are given to another object.

    Args:
        inherited: attributes that a class may have of another.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from faults_of(node, inherited)
        for target in getattr(node, "targets", ()):
            for part in ast.walk(target):
                if (
                    isinstance(part, ast.Attribute)
                    and part.attr.startswith("on_")
                    and ast.unparse(part.value) != "self"
                ):
                    yield f"line {part.lineno}: {ast.unparse(part)} is assigned from outside"


def faults_of(made: ast.ClassDef, inherited: Collection[str]) -> Iterator[str]:
    if {ast.unparse(base).partition("[")[0] for base in made.bases} & set(VALUES):
        return
    functions = [each for each in made.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    methods = {each.name: each for each in functions}
    constructing, found = [methods[name] for name in CONSTRUCTING if name in methods], set()
    for method in constructing:  # and what is called by it
        found |= set_on(method)
        called = {ast.unparse(each.func) for each in ast.walk(method) if isinstance(each, ast.Call)}
        constructing += [
            each for name, each in methods.items() if f"self.{name}" in called and each not in constructing
        ]
    every = {name for method in functions for name in set_on(method) | set_on_another(method)}
    cached = {
        each.name
        for each in functions
        if "cached_property" in {ast.unparse(d).split(".")[-1] for d in each.decorator_list}
    }
    slots = {name for each in made.body if isinstance(each, ast.Assign) for name in map(ast.unparse, each.targets)}
    announced = {
        ast.unparse(each.target).removeprefix("self.")
        for each in (*made.body, *(node for node in ast.walk(made) if hasattr(node, "target")))
        if isinstance(each, ast.AnnAssign) and each.value is None and "ClassVar" not in ast.unparse(each.annotation)
        if each in made.body or ast.unparse(each.target).startswith("self.")
    }
    for each in made.body:
        if isinstance(each, ast.AnnAssign) and (each.value is not None or made.decorator_list):
            (slots if "init=False" not in ast.unparse(each) else announced).add(ast.unparse(each.target))
    late = (announced | every | cached) - found - slots - (set(inherited) if made.bases else set())
    if late:
        yield f"{made.name}: {', '.join(sorted(late))} has no value once it is made"


WHOLE = ("crawler", "frontier", "audit", "cli")


def whole_rooms() -> Iterator[Path]:
    return (path for path in FILES if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in WHOLE)


def test_a_part_of_a_crawl_is_whole_when_it_is_made() -> None:
    rooms = {path: parsed(python_of(path)) for path in whole_rooms()}
    made = [node for tree in rooms.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inherited = {name for each in made if each.name == "__init__" for name in set_on(each)}
    found = [f"{path.relative_to(ROOT)}: {what}" for path, tree in rooms.items() for what in faults(tree, inherited)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("class A:\n    def __init__(self):\n        self.a: int", ["A: a has no value once it is made"]),
        ("class A:\n    a: int\n    def b(self):\n        self.a = 1", ["A: a has no value once it is made"]),
        ("class A:\n    def begin(self):\n        self.a = 1", ["A: a has no value once it is made"]),
        ("class A:\n    def __init__(self):\n        self._b()\n    def _b(self):\n        self.a = 1", []),
        ("class A(B):\n    def __init__(self):\n        self.a: int", ["A: a has no value once it is made"]),
        ("class A(B):\n    def begin(self):\n        self.a = 1", ["A: a has no value once it is made"]),
        ("a.on_page = print", ["line 1: a.on_page is assigned from outside"]),
        ("b, a.b.on_page = 1, print", ["line 1: a.b.on_page is assigned from outside"]),
        ("@dataclass\nclass A:\n    a: int", []),
        (
            "@dataclass\nclass A:\n    a: int = field(init=False)",
            ["A: a has no value once it is made"],
        ),
        (
            "@dataclass\nclass A:\n    a: int\n    def b(self):\n        self.c = 1",
            ["A: c has no value once it is made"],
        ),
        ("class A:\n    def b(self):\n        setattr(self, 'a', 1)", ["A: a has no value once it is made"]),
        (
            "class A:\n    def b(self):\n        object.__setattr__(self, 'a', 1)",
            ["A: a has no value once it is made"],
        ),
        ("class A:\n    @contextmanager\n    def b(self):\n        self.a = 1", ["A: a has no value once it is made"]),
        ("class A:\n    @cached_property\n    def a(self): ...", ["A: a has no value once it is made"]),
        (
            "class A:\n    @classmethod\n    def b(cls):\n        made = cls()\n        made.a = 1",
            ["A: a has no value once it is made"],
        ),
        (
            "class A:\n    @property\n    def b(self): ...\n    @b.setter\n    def b(self, c):\n        self.a = c",
            ["A: a has no value once it is made"],
        ),
        ("class A:\n    def b(self):\n        with c as self.a: ...", ["A: a has no value once it is made"]),
        ("class A(Protocol):\n    a: int", []),
    ],
)
def test_what_is_not_whole_is_found(text: str, found: list[str]) -> None:
    assert list(faults(ast.parse(text))) == found


MAX_PARAMETERS = 8
"""Of a constructor: whoever needs more is several things, or takes what is one value apart."""


def large_constructors(module: str, nodes: Collection[ast.AST]) -> Iterator[tuple[str, int]]:
    """Constructors with more than MAX_PARAMETERS, and how many these are. A dataclass is a record: its fields are what
    it is made of, and its constructor is not written."""
    for made in nodes:
        for method in made.body if isinstance(made, ast.ClassDef) else ():
            if isinstance(method, ast.FunctionDef) and method.name in ("__init__", "__new__"):
                given = method.args
                count = len((*given.posonlyargs, *given.args, *given.kwonlyargs)) - 1
                if count > MAX_PARAMETERS:
                    yield f"{module}.{made.name}", count


def test_a_constructor_takes_at_most_eight_parameters() -> None:
    made = ((name, nodes_of(python_of(path))) for name, path in MODULES.items())
    assert {name: count for each in made for name, count in large_constructors(*each)} == {}


@pytest.mark.parametrize(
    ("parameters", "count"), [("a, b, c, d, e, f, g, h", 0), ("a, b, c, d, e, /, f, g, *, h, i", 9)]
)
def test_a_constructor_that_takes_more_is_found(parameters: str, count: int) -> None:
    nodes = nodes_of(f"class A:\n    def __init__(self, {parameters}): ...")
    assert list(large_constructors("m", nodes)) == ([("m.A", count)] if count else [])


def test_no_two_test_files_have_one_name() -> None:
    """pytest takes them for one module."""
    files = [path.name for path in REPOSITORY.rglob("test_*.py") if not {".venv", "build"} & set(path.parts)]
    assert sorted(files) == sorted(set(files))


DOCUMENTED = re.compile(r"^(?:Args|Attributes):\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
"""The sections of a docstring that say what parameters and attributes are."""


def undocumented_words(sources: Collection[tuple[Path, str]]) -> Iterator[str]:
    """Names in `Args:` and `Attributes:` that neither the function or class nor one of its bases has."""
    made = [(path, each) for path, source in sources for each in nodes_of(source)]
    classes = {each.name: each for _, each in made if isinstance(each, ast.ClassDef)}

    @cache
    def words(of: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
        if not isinstance(of, ast.ClassDef):
            return set(re.findall(r"\w+", ast.unparse(of.args)))
        members = (ast.unparse(each) for each in of.body if not isinstance(each, ast.Expr))
        found = {word for each in members for word in re.findall(r"\w+", each)}
        bases = (classes.get(ast.unparse(base).partition("[")[0].rpartition(".")[2]) for base in of.bases)
        return found.union(*(words(base) for base in bases if base is not None and base is not of))

    for path, each in made:
        if not isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not any(word in (text := ast.get_docstring(each, clean=False) or "") for word in ("Args:", "Attributes:")):
            continue
        sections = "".join(DOCUMENTED.findall(f"{inspect.cleandoc(text)}\n"))
        stated = re.findall(r"^ {4}(\w[\w, ]*?)(?: \([^)]*\))?: ", sections, re.MULTILINE)
        known = words(each) if stated else set()
        if (types := path.with_suffix(".pxd")).exists():
            known |= set(re.findall(r"\w+", types.read_text(encoding="utf-8")))
        yield from (f"{each.name}: {name}" for names in stated for name in names.split(", ") if name not in known)


def test_what_a_docstring_says_of_parameters_and_attributes_is_there() -> None:
    assert list(undocumented_words([(path, python_of(path)) for path in MODULES.values()])) == []


def test_a_docstring_that_names_what_is_not_there_is_found() -> None:
    text = '''
class A(Base):
    """Some.

    Args:
        a, b: known and not.
    Attributes:
        c (int): inherited.
        d: renamed.
    """
    def __init__(self, a): ...

class Base:
    c: int

def f(x):
    """Some.

    Args:
        y: none.
    """
'''
    assert list(undocumented_words([(Path("m.py"), text)])) == ["A: b", "A: d", "f: y"]
