from array import array
from collections.abc import Sequence

from comity_pages.content.blocks import Block
from comity_pages.content.facts import Facts

CORE: float
WIDE: float
SECTION: float

class Alike:
    words: int
    expected: float

def measure(blocks: Sequence[Block], facts: Facts, url: str) -> tuple[array[float], list[Alike]]: ...
