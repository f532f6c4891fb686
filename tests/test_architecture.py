"""Imports run downwards only: nothing on a lower floor knows a higher one, and the two lower floors do no I/O."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import comity

ROOT = Path(comity.__file__).parent
FLOORS = {
    "errors": 0,
    "urls": 0,
    "domains": 0,
    "http_date": 0,
    "_compiled": 0,
    "_cython": 0,
    "_extras": 0,
    "_late": 0,
    "robots": 1,
    "signals": 1,
    "policy": 2,
    "gate": 3,
    "store": 3,
    "net": 4,
    "crawl": 5,
    "bulk": 5,
    "integrations": 5,
    "retrieve": 5,
    "clients": 6,
    "configuration": 6,
    "cli": 6,
    "web": 6,
    "mcp": 6,
    "demo": 6,
    "__main__": 6,
}
IMPURE = {"socket", "asyncio", "aiohttp", "time", "sqlite3", "subprocess", "threading", "http", "requests"}


def _modules() -> Iterator[Path]:
    yield from sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the full name"
            module = node.module or ""
            yield module
            if module == "comity":
                yield from (f"comity.{alias.name}" for alias in node.names)


def _room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", list(_modules()), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_nothing_from_a_higher_floor(path: Path) -> None:
    floor = FLOORS[_room(path)]
    for name in _imports(path):
        if name.startswith("comity."):
            room = name.split(".")[1]
            assert FLOORS.get(room, 0) <= floor, f"{path} (floor {floor}) imports {name} (floor {FLOORS[room]})"


@pytest.mark.parametrize(
    "path",
    [path for path in _modules() if FLOORS[_room(path)] <= 2],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_lower_floors_do_no_io_and_read_no_clock(path: Path) -> None:
    assert not {name.split(".")[0] for name in _imports(path)} & IMPURE
