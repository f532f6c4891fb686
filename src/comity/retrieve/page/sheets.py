"""The rules of a style sheet that may hide what they select: found in one walk, most rules without a closer look.

What a declaration does exactly is for `css` to say; here its property and the shape of its value tell that it hides
nothing, and nothing that may hide is left out.
"""

from __future__ import annotations

import re
from typing import Final

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

if not cython.compiled:  # compiled, it comes from the .pxd file
    from operator import getitem as char_at

# What a condition says that holds for whoever reads the page on a screen.
_ALWAYS: Final = re.compile(
    r"@(?:media\s*(?:(?:only\s+)?(?:all|screen)\s*)?$|layer\b|supports\b|scope\b|starting-style\b)"
)
# Ways to hide something, as bits: at once, and of two kinds those that hide together.
_HIDES = cython.declare(cython.int, 1)
_COLOURED = cython.declare(cython.int, 2)
_CLIPPED = cython.declare(cython.int, 8)
_SMALL = cython.declare(cython.int, 16)
_CUT = cython.declare(cython.int, 24)
_NAMES_VALUE = cython.declare(cython.int, 32)
_TAKES_VALUE = cython.declare(cython.int, 64)
_BY_NAME = cython.declare(cython.int, 96)
# Shapes of values, in the order of the properties below.
_ANY = cython.declare(cython.int, 0)
_DISPLAY = cython.declare(cython.int, 1)
_VISIBILITY = cython.declare(cython.int, 2)
_SIZE = cython.declare(cython.int, 3)
_MOVED = cython.declare(cython.int, 4)
_INDENTED = cython.declare(cython.int, 5)
_OPACITY = cython.declare(cython.int, 6)
_COLOUR = cython.declare(cython.int, 7)
_OVERFLOW = cython.declare(cython.int, 8)
_SIDE = cython.declare(cython.int, 9)
_OF_SHAPE: Final = (
    (
        "font zoom translate scale transform clip clip-path contain filter mask mask-image -webkit-mask-image"
        " -webkit-text-fill-color text-indent"
    ),
    "display",
    "visibility content-visibility",
    "font-size",
    "left top right bottom inset inset-inline-start inset-block-start",
    "margin margin-left margin-top margin-inline-start margin-block-start",
    "opacity",
    "color",
    "overflow overflow-x overflow-y",
    "width height inline-size block-size max-width max-height max-inline-size max-block-size line-height",
)
_PROPERTIES = cython.declare(dict, {name: number for number, names in enumerate(_OF_SHAPE) for name in names.split()})


@cython.boundscheck(False)
def rules(sheet: str) -> list[tuple[str, str]]:
    """What stands before and between the braces of each innermost rule that may hide something, those in conditions
    that may not hold left out; in time linear in the sheet's length.
    """
    found: list[tuple[str, str]] = []
    size: cython.Py_ssize_t = len(sheet)
    at: cython.Py_ssize_t
    start: cython.Py_ssize_t = 0  # behind the last brace
    part: cython.Py_ssize_t = 0  # behind the last brace or semicolon
    before: cython.Py_ssize_t = 0  # what stands before the last opening brace: from here
    opened: cython.Py_ssize_t = -1  # to here; -1: there is none since the last closing one
    depth: cython.Py_ssize_t = 0
    ways: cython.int = 0
    conditional: cython.bint = False
    named: cython.bint = False  # whether the property of this declaration was seen
    conditions: list[int] = []  # the depths at which a condition began that may not hold
    char: cython.Py_UCS4
    for at, char in enumerate(sheet):
        if char == "{":
            words = sheet[part:at].strip()
            conditional = words[:1] == "@"
            if conditional and not _ALWAYS.match(words.lower()):
                conditions.append(depth)
            depth += 1
            before, opened = start, at
            start = part = at + 1
            ways = 0
            named = False
        elif char == "}":
            if opened >= 0 and not conditional and not conditions and _together(ways):
                found.append((sheet[before:opened], sheet[opened + 1 : at]))
            opened = -1
            depth -= depth > 0
            while conditions and conditions[-1] >= depth:
                conditions.pop()
            start = part = at + 1
            named = False
        elif char == ";":
            part = at + 1
            named = False
        elif char == ":" and opened >= 0 and not named:
            ways |= _way(sheet, part, at, size)
            named = True
    return found


def may_hide(style: str) -> bool:
    """False for a style attribute that neither hides nor colours anything, whatever it says exactly; most do not."""
    size: cython.Py_ssize_t = len(style)
    at: cython.Py_ssize_t
    part: cython.Py_ssize_t = 0
    ways: cython.int = 0
    named: cython.bint = False
    char: cython.Py_UCS4
    for at, char in enumerate(style):
        if char == ";":
            part = at + 1
            named = False
        elif char == "*" or char == "\\":  # a comment, or an escape
            return True
        elif char == ":" and not named:
            ways |= _way(style, part, at, size)
            named = True
    return ways & _COLOURED != 0 or _together(ways)


@cython.cfunc
def _together(ways: cython.int) -> cython.bint:
    """Whether declarations hide something, each by itself or one with another."""
    return ways & _HIDES != 0 or ways & _CUT == _CUT or ways & _BY_NAME == _BY_NAME


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def _way(sheet: str, start: cython.Py_ssize_t, colon: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.int:
    """How a declaration may hide something, its property from `start` to its colon."""
    at: cython.Py_ssize_t = colon
    while start < at and char_at(sheet, start).isspace():
        start += 1
    while start < at and char_at(sheet, at - 1).isspace():
        at -= 1
    name = sheet[start:at]
    shape = _PROPERTIES.get(name)
    if shape is None:
        if "\\" in name:
            return _HIDES
        shape = _PROPERTIES.get(name.lower())
        if shape is None:
            return _NAMES_VALUE if name[:2] == "--" else 0
    kind: cython.int = shape
    if kind == _ANY:
        return _HIDES
    char: cython.Py_UCS4
    at = colon + 1
    while at < size and char_at(sheet, at).isspace():
        at += 1
    first: cython.Py_UCS4 = char_at(sheet, at) if at < size else ";"
    run: cython.Py_ssize_t = 0  # digits so far
    longest: cython.Py_ssize_t = 0
    token: cython.Py_ssize_t = 0  # characters of the first word
    ended: cython.bint = False
    odd: cython.bint = False  # computed, or written with an exponent or escapes
    brackets: cython.int = 0
    last: cython.Py_UCS4 = " "  # but for white space, and what stood before that
    inner: cython.Py_UCS4 = " "
    comma: cython.bint = False
    tenth: cython.bint = False  # the first number begins with 0.1 to 0.9
    minus: cython.bint = False
    percent: cython.bint = False
    dot: cython.bint = False
    metric: cython.bint = False  # em or rem
    hidden: cython.bint = False  # an h or c, as in hidden and clip
    inches: cython.bint = False  # an i, as in in
    while at < size:
        char = char_at(sheet, at)
        if char == ";" or char == "}" or char == "{" or char == "!":
            break
        if "0" <= char <= "9":
            run += 1
            tenth |= last == "." and char != "0" and (first == "0" or first == ".") and not ended
            if run > longest:
                longest = run
        else:
            if char == "(" or char == "\\" or (run and (char == "e" or char == "E") and not _is_unit(sheet, at, size)):
                odd = True
                brackets += 2 if char == "\\" else char == "("
            run = 0
            comma |= char == ","
            minus |= char == "-"
            percent |= char == "%"
            metric |= char == "m" and last == "e" and not ended
            dot |= char == "."
            hidden |= char == "h" or char == "H" or char == "c" or char == "C"
            inches |= char == "i" or char == "I"
        if char.isspace():
            ended = True
        else:
            inner, last = last, char
        token += not ended
        at += 1
    if (first == "v" or first == "V") and brackets == 1 and not comma and last == ")":
        return _TAKES_VALUE | (_COLOURED if kind == _COLOUR else 0)  # what it is hides nothing unless it stands here
    whole: cython.bint = "1" <= first <= "9"
    hides: cython.bint = odd
    if kind == _DISPLAY:
        hides |= first == "n" or first == "N"
    elif kind == _VISIBILITY:
        hides |= first in "hHcC"
    elif kind == _SIZE:
        hides |= (first in "0.+-" and not (tenth and metric)) or (
            whole and not metric and (longest < 2 or dot or percent)
        )
    elif kind == _MOVED:
        hides |= inches or longest > 2 or (minus and longest > 1)
    elif kind == _INDENTED:
        hides |= minus and longest > 1
    elif kind == _OPACITY:
        hides |= not (whole or tenth) or percent
    elif kind == _COLOUR:
        if first == "#":
            hides = brackets > 0 or (last == "0" and (token == 5 or token == 9))
        else:
            hides = (odd and (brackets != 1 or last != ")" or inner == "0" or inner == "%")) or first in "tT"
        if hides:
            return _HIDES | _COLOURED
        return _COLOURED
    elif kind == _OVERFLOW:
        return _CLIPPED if hides or hidden else 0
    else:
        return _SMALL if hides or first in "0.+-" or (first == "1" and (longest < 2 or dot)) else 0
    return _HIDES if hides else 0


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def _is_unit(sheet: str, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.bint:
    """Whether the letter e begins a unit (em, ex), and no exponent."""
    return at + 1 < size and (("a" <= char_at(sheet, at + 1) <= "z") or ("A" <= char_at(sheet, at + 1) <= "Z"))
