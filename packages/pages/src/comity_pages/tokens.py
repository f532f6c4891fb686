"""How much of a text fits into a number of tokens, whatever the model: counted high, cut where a reader would cut.

A token is counted for every four letters of a word (three, where it is long), for every digit, sign and line end, and
two for every three octets of anything else: half as many again as tokenizers of today need for pages (docs/agents.md).
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import Final

_PIECES: Final = re.compile(r"[A-Za-z]+|[ \t]+|[^A-Za-z \t]")
_LETTERS_A_TOKEN: Final = 4  # letters that a token holds in a short word
_MIN_LONG_WORD: Final = 12  # letters from which on a word is counted dearer: such are seldom words


def count_tokens(text: str) -> int:
    """At least as many as a tokenizer of today makes of it, where it is a page's text."""
    total = 0
    for piece in _PIECES.findall(text):
        first = piece[0]
        if first in " \t":
            total += (len(piece) - 1 + 7) // 8  # one space belongs to the word after it
        elif first.isascii() and first.isalpha():
            total += -(-len(piece) // _LETTERS_A_TOKEN) if len(piece) <= _MIN_LONG_WORD else -(-len(piece) // 3)
        elif first.isascii():
            total += 1
        else:
            total += (len(piece.encode("utf-8", "replace")) * 2 + 2) // 3
    return total


def longest_prefix(text: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning that fits, up to the end of a paragraph, a line or a word, whichever loses least.

    Args:
        fits: whether a beginning fits; of two, the shorter fits wherever the longer does.
    """
    if fits(text):
        return text
    low = bisect_left(range(1, len(text)), True, key=lambda end: not fits(text[:end]))
    for end, least in (("\n\n", low // 2), ("\n", low * 3 // 4), (" ", low * 7 // 8)):
        at = text.rfind(end, 0, low)
        if at > least:
            return text[: at + len(end)]
    return text[:low]
