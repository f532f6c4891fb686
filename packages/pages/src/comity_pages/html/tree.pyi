from collections.abc import Iterable, Iterator, Sequence
from typing import Final

MAX_DEPTH: Final[int]
MAX_NODES: Final[int]
HIDING: Final[frozenset[str]]
POINTING: Final[frozenset[str]]
HEADINGS: Final[dict[str, int]]
SKIPPED: Final[frozenset[str]]

class Text:
    text: str
    kept: bool
    def __init__(self, text: str) -> None: ...

class Node:
    name: str
    number: int
    attributes: dict[str, str]
    parent: Node | None
    children: list[Node | Text]
    apart: bool
    skipped: bool
    blocky: bool
    words: int
    kept_words: int
    def text(self) -> str: ...
    def around(self) -> list[Node]: ...
    def elements(self) -> list[Node]: ...
    def below(self, *names: str) -> list[Node]: ...

def is_block(node: Node) -> bool: ...
def heading_level(node: Node) -> int: ...
def ordered(nodes: Iterable[Node], names: Sequence[str]) -> list[Node]: ...

class Tree:
    root: Node
    named: dict[str, list[Node]]
    comments: list[str]
    styled: list[Node]
    pointing: list[Node]
    stating: list[Node]
    headings: list[Node]
    by_class: dict[str, list[Node]]
    by_id: dict[str, list[Node]]
    unread: list[tuple[Node, str]]
    truncated: bool
    def __init__(self, html: str) -> None: ...
    def all(self, *names: str) -> Iterator[Node]: ...
    def text(self) -> str: ...
    def holding(self, parts: Sequence[str], names: Sequence[str]) -> list[Node]: ...
    def first(self, name: str) -> Node | None: ...
    def take_apart(self) -> None: ...

def parse(html: str, url: str) -> Tree: ...
