from collections.abc import Iterator
from typing import Final

MAX_DEPTH: Final[int]
MAX_NODES: Final[int]
HIDING: Final[frozenset[str]]
POINTING: Final[frozenset[str]]
HEADINGS: Final[frozenset[str]]
SKIPPED: Final[frozenset[str]]

class Text:
    text: str
    kept: bool
    def __init__(self, text: str) -> None: ...

class Sort:
    name: str
    apart: bool
    element: bool
    heading: bool
    skipped: bool
    textless: bool
    unread: bool
    nodes: list[Node]
    def __init__(self, name: str) -> None: ...

class Node:
    name: str
    attributes: dict[str, str]
    parent: Node | None
    children: list[Node | Text]
    apart: bool
    skipped: bool
    blocky: bool
    words: int
    kept_words: int
    def __init__(self, sort: Sort, attributes: dict[str, str], parent: Node | None) -> None: ...
    def text(self) -> str: ...

def is_block(node: Node) -> bool: ...

class Tree:
    root: Node
    named: dict[str, list[Node]]
    comments: list[str]
    styled: list[Node]
    pointing: list[Node]
    stating: list[Node]
    headings: list[Node]
    unread: list[tuple[Node, str]]
    truncated: bool
    def __init__(self, html: str) -> None: ...
    def all(self, *names: str) -> Iterator[Node]: ...
    def named_nodes(self) -> Iterator[Node]: ...
    def text(self) -> str: ...
    def first(self, name: str) -> Node | None: ...
    def take_apart(self) -> None: ...

def parse(html: str, url: str) -> Tree: ...
