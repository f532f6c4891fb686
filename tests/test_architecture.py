"""Imports run downwards only, between rooms and between the modules of a room; floors 0 to 4 do no I/O.

Read from the source: imports at the top, inside functions and for type checkers alike, and names of modules in strings,
by which a module may be imported late.
"""

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import comity

ROOT = Path(comity.__file__).parent
REPOSITORY = Path(__file__).parents[1]
FLOORS = {
    "errors": 0,
    "fields": 0,
    "urls": 0,
    "domains": 0,
    "http": 0,
    "times": 0,
    "_compiled": 0,
    "_cython": 0,
    "_extras": 0,
    "_late": 0,
    "_utf8": 0,
    "usage": 1,
    "robots": 2,
    "signals": 3,
    "policy": 4,
    "gate": 5,
    "_ray": 6,
    "net": 6,
    "frontier": 6,
    "retrieve": 7,
    "clients": 8,
    "compat": 8,
    "middleware": 8,
    "bulk": 8,
    "crawler": 8,
    "audit": 9,
    "configuration": 9,
    "mcp": 10,
    "cli": 11,
    "web": 11,
    "demo": 9,
    "__main__": 12,
}
IMPURE = {"socket", "asyncio", "aiohttp", "time", "sqlite3", "subprocess", "threading", "http", "requests"}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("comity", *(parts[:-1] if parts[-1] == "__init__" else parts)))


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"}


ALL = {"comity", *MODULES}


def imports(path: Path) -> Iterator[str]:
    """Every module that a module names, as `import`, as `from ... import` or as a string."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the full name"
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield inner if inner in MODULES else module
        elif isinstance(node, ast.Constant) and node.value in MODULES:
            yield str(node.value)


@cache
def graph() -> dict[str, set[str]]:
    """What each module imports of comity."""
    return {
        name: {other for other in imports(path) if other in MODULES and other != name} for name, path in MODULES.items()
    }


def room(module: str) -> str:
    return module.split(".")[1]


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


def test_floors_0_to_4_do_no_io_and_read_no_clock() -> None:
    lower = {module: path for module, path in MODULES.items() if FLOORS[room(module)] <= 4}
    impure = {module: {name.split(".")[0] for name in imports(path)} & IMPURE for module, path in lower.items()}
    assert not {module: names for module, names in impure.items() if names}


def test_programs_beside_the_package_import_what_is_there() -> None:
    """Benchmarks, fuzzing and examples: most of them no test runs."""
    beside = [each for name in ("benchmarks", "fuzz", "examples") for each in sorted((REPOSITORY / name).glob("*.py"))]
    assert beside
    lost = []
    for path in beside:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module is None or module.partition(".")[0] != "comity":
                continue
            for alias in node.names:
                is_module = f"{module}.{alias.name}" in MODULES
                if not is_module and not (module in ALL and hasattr(import_module(module), alias.name)):
                    lost.append(f"{path.name}:{node.lineno}: {alias.name} of {module}")
    assert lost == []
