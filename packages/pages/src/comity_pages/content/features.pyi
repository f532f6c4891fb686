from array import array
from collections.abc import Sequence

from comity_pages.content.blocks import Block
from comity_pages.content.facts import Facts

MIN_CORE_SHARE: float
MIN_WIDE_SHARE: float
MAX_SECTION_SHARE: float

class SimilarBlocks:
    words: int
    expected: float

def measure(blocks: Sequence[Block], facts: Facts, url: str) -> tuple[array[float], list[SimilarBlocks]]: ...
