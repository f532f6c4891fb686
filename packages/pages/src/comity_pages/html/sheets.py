"""The rules of a style sheet that may hide what they select: found in one walk, most rules without a closer look.

What a declaration does is for `css` to say; nothing that may hide is left out here.
"""

import re
from typing import Final

from comity_pages.html import css

try:
    import cython
except ModuleNotFoundError:
    from comity_pages import _cython as cython

# What a condition says that holds for whoever reads the page on a screen.
_UNCONDITIONAL: Final = re.compile(
    r"@(?:media\s*(?:(?:only\s+)?(?:all|screen)\s*)?$|layer\b|supports\b|scope\b|starting-style\b)"
)
_HIDING_COMBINATIONS: Final = (css.HIDES, css.CLIPS | css.LEAVES_NO_ROOM, css.NAMES_VALUE | css.TAKES_VALUE)


def rules(sheet: str, naming: str = "") -> list[tuple[str, str]]:
    """What stands before and between the braces of each innermost rule that may hide something, or that names a
    property, but for those in conditions that may not hold."""
    found: list[tuple[str, str]] = []
    at: cython.Py_ssize_t
    start: cython.Py_ssize_t = 0  # behind the last brace
    before: cython.Py_ssize_t = 0  # what stands before the last opening brace: from here
    opened: cython.Py_ssize_t = -1  # to here; -1: there is none since the last closing one
    depth: cython.Py_ssize_t = 0
    conditional: cython.bint = False
    conditions: list[int] = []  # the depths at which a condition began that may not hold
    char: cython.Py_UCS4
    for at, char in enumerate(sheet):
        if char == "{":
            words = sheet[max(start, sheet.rfind(";", start, at) + 1) : at].strip()
            conditional = words[:1] == "@"
            if conditional and not _UNCONDITIONAL.match(words.lower()):
                conditions.append(depth)
            depth += 1
            before, opened = start, at
            start = at + 1
        elif char == "}":
            if opened >= 0 and not conditional and not conditions:
                body = sheet[opened + 1 : at] if naming else ""
                if naming in body.lower() if naming else _can_hide(_effects_of(sheet, opened + 1, at)):
                    found.append((sheet[before:opened], body or sheet[opened + 1 : at]))
            opened = -1
            depth -= depth > 0
            while conditions and conditions[-1] >= depth:
                conditions.pop()
            start = at + 1
    return found


def may_hide(style: str) -> bool:
    """False for a style attribute that neither hides nor colours anything, whatever it says exactly; most do not."""
    if "*" in style or "\\" in style:  # a comment, or an escape
        return True
    ways: cython.int = _effects_of(style, 0, len(style))
    return ways & css.COLOURS != 0 or _can_hide(ways)


@cython.cfunc
def _can_hide(ways: cython.int) -> cython.bint:
    return any(ways & each == each for each in _HIDING_COMBINATIONS)


@cython.cfunc
def _effects_of(text: str, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """What the declarations between two places may do together."""
    ways: cython.int = 0
    colon: cython.Py_ssize_t = -1
    at: cython.Py_ssize_t
    for at in range(start, end + 1):
        if at == end or text[at] == ";":
            if colon >= 0:
                name = text[start:colon].strip().lower()
                if name in css.PROPERTIES:
                    ways |= css.effect_bits(name, text[colon + 1 : at].strip())
                elif "\\" in name:
                    ways |= css.HIDES
                elif name.startswith("--"):
                    ways |= css.NAMES_VALUE
            start, colon = at + 1, -1
        elif colon < 0 and text[at] == ":":
            colon = at
    return ways
