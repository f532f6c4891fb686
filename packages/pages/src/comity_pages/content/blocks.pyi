from collections.abc import Sequence
from typing import Final

from comity_pages.html.tree import Node, Text, Tree

LANDMARKS: Final[list[str]]
LANDMARK_BITS: Final[dict[str, int]]
SURROUNDINGS: Final[int]
WORDS_OF_NAMES: Final[dict[str, str]]
NAME_BITS: Final[dict[str, int]]

class Block:
    node: Node
    line: Node
    level: int
    text: str
    words: int
    links: int
    names: int
    near: int
    landmarks: int
    pieces: list[str]
    texts: list[Text]
    chance: float
    kept: bool
    def __init__(self, node: Node, line: Node, level: int, names: int, near: int, landmarks: int) -> None: ...

def words_in(text: str) -> list[str]: ...
def split_blocks(tree: Tree, without: set[Node]) -> list[Block]: ...
def mark_kept(blocks: Sequence[Block]) -> None: ...
