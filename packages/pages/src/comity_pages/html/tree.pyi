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
    block_level: bool
    skipped: bool
    has_blocks: bool
    words: int
    kept_words: int
    def text(self) -> str: ...
    def ancestors(self) -> list[Node]: ...
    def elements(self) -> list[Node]: ...
    def descendants(self, *names: str) -> list[Node]: ...

def is_block(node: Node) -> bool: ...
def heading_level(node: Node) -> int: ...
def sort_by_name(nodes: Iterable[Node], names: Sequence[str]) -> list[Node]: ...

class Tree:
    root: Node
    by_name: dict[str, list[Node]]
    comments: list[str]
    styled: list[Node]
    pointers: list[Node]
    microdata: list[Node]
    headings: list[Node]
    by_class: dict[str, list[Node]]
    by_id: dict[str, list[Node]]
    unread: list[tuple[Node, str]]
    truncated: bool
    def __init__(self, html: str) -> None: ...
    def all(self, *names: str) -> Iterator[Node]: ...
    def text(self) -> str: ...
    def find_by_class_or_id(self, parts: Sequence[str], names: Sequence[str]) -> list[Node]: ...
    def first(self, name: str) -> Node | None: ...
    def release(self) -> None: ...

def parse(html: str, url: str) -> Tree: ...
