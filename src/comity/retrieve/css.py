"""As much of CSS as it takes to see that an element is hidden: declarations, colours, simple rules.

Nothing cascades, and nothing is loaded: a browser alone knows what is finally shown.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Hiding = Literal[
    "display_none", "visibility_hidden", "font_size_zero", "transparent", "same_colour", "off_screen", "clipped"
]
Colour = tuple[int, int, int]

MAX_STYLE: Final = 4096
"""Characters read of one style attribute or one rule's declarations."""
MAX_SHEET: Final = 256 * 1024
"""Characters read of a page's style elements."""
OFF_SCREEN: Final = 999.0
"""Pixels to the left or above from which text is off the screen."""

_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\([0-9a-fA-F]{1,6})[ \t\n]?")
_LENGTH: Final = re.compile(r"([+-]?[0-9]{0,9}(?:\.[0-9]{1,9})?)(px|em|rem|ex|ch|vw|vh|%|pt|cm|in)?(?:\s|$)")
_PIXELS: Final = {
    "em": 16.0,
    "rem": 16.0,
    "ex": 8.0,
    "ch": 8.0,
    "vw": 10.0,
    "vh": 8.0,
    "%": 10.0,
    "pt": 1.3,
    "cm": 38.0,
}
# What every way to hide something is written with, in lower case; most rules have none of it and need no reading.
_MAY_HIDE: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*[hc]|font-size\s*:\s*\+?[0.]|overflow\s*:\s*(?:hidden|clip)|clip|inset|opacity"
    r"|transparent|-\s*\.?\d\d|scale|/\*|\\"
)
_SIMPLE: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9-]*)?((?:[.#][\w-]+)?)")
_HEX: Final = re.compile(r"#([0-9a-f]{3,8})\b")
_RGB: Final = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})")
_NAMED: Final[dict[str, Colour]] = {
    "white": (255, 255, 255),
    "black": (0, 0, 0),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
}
_SIDES: Final = ("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top")


@dataclass(frozen=True, slots=True)
class HidingRules:
    """The simple selectors (`p`, `.x`, `#x`, `p.x`) of a page's style elements that hide what they select."""

    hiding: Mapping[str, Hiding]
    names: frozenset[str] = frozenset()
    """All names of elements, ids and classes in them."""

    def of(self, name: str, identity: str, classes: str) -> Hiding | None:
        """How an element of this name, id and class attribute is hidden."""
        if name not in self.names and identity not in self.names and self.names.isdisjoint(classes.split()):
            return None
        marks = [f"#{identity}"] if identity else []
        marks += [f".{each}" for each in classes.split()[:50]]
        for selector in (name, *marks, *(name + mark for mark in marks)):
            if selector in self.hiding:
                return self.hiding[selector]
        return None


def may_hide(style: str) -> bool:
    """False for a style that hides nothing, whatever its declarations say; most do not."""
    style = style.lower()
    return _MAY_HIDE.search(style) is not None or "color" in style


def declarations(style: str) -> dict[str, str]:
    """Property to value, both lower case, `!important` dropped; the last declaration of a property counts."""
    if not style:
        return {}
    text = _ESCAPE.sub(_unescaped, _COMMENT.sub("", style[:MAX_STYLE]))
    found: dict[str, str] = {}
    for part in text.lower().split(";"):
        name, colon, value = part.partition(":")
        if colon:
            found[name.strip()] = value.replace("!important", "").strip()
    return found


def hides(declared: Mapping[str, str]) -> Hiding | None:
    """How these declarations hide an element's text, if they do."""
    if declared.get("display") == "none":
        return "display_none"
    if declared.get("visibility") in ("hidden", "collapse"):
        return "visibility_hidden"
    size = _pixels(declared.get("font-size", ""))
    if size is not None and size < 1.0:
        return "font_size_zero"
    if _off_screen(declared):
        return "off_screen"
    if _clipped(declared):
        return "clipped"
    if _is_zero(declared.get("opacity", "")) or declared.get("color") == "transparent":
        return "transparent"
    return None


def hiding_rules(sheets: Iterable[str]) -> HidingRules:
    """The rules that hide something, those inside `@media` and the like left out."""
    found: dict[str, Hiding] = {}
    room = MAX_SHEET
    for sheet in sheets:
        text = _COMMENT.sub("", sheet[:room])
        room -= len(text)
        for selectors, body in _rules(text):
            if not _MAY_HIDE.search(body.lower()):
                continue
            kind = hides(declarations(body))
            if kind is None:
                continue
            for selector in selectors[-MAX_STYLE:].rpartition(";")[2].split(","):
                if selector.strip() and _SIMPLE.fullmatch(selector.strip()):
                    found[selector.strip()] = kind
    return HidingRules(found, frozenset(name for selector in found for name in re.split(r"[.#]", selector) if name))


def colour(words: str) -> Colour | None:
    """The first colour named in a value, for the usual ways to write one."""
    words = words[:MAX_STYLE].lower()
    if match := _HEX.search(words):
        digits = match[1]
        if len(digits) in (3, 4):
            digits = "".join(digit * 2 for digit in digits)
        return (int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)) if len(digits) in (6, 8) else None
    if match := _RGB.search(words):
        return int(match[1]), int(match[2]), int(match[3])
    for word in words.split():
        if word in _NAMED:
            return _NAMED[word]
    return None


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """What stands before and between the braces of each innermost rule, those in `@media` and the like left out; in
    time linear in the sheet's length.
    """
    depth = 0
    at_rule = False
    *parts, _ = sheet.split("}")
    for part in parts:
        before, brace, body = part.rpartition("{")
        if brace:
            if depth == 0:
                at_rule = before.partition("{")[0].rpartition(";")[2].lstrip().startswith("@")
            depth += before.count("{") + 1
            if not at_rule:
                yield before.rpartition("{")[2], body
        if depth:
            depth -= 1


def _pixels(value: str) -> float | None:
    match = _LENGTH.match(value)
    if match is None or match[1] in ("", "+", "-"):
        return None
    return float(match[1]) * _PIXELS.get(match[2] or "px", 1.0)


def _is_zero(value: str) -> bool:
    match = re.match(r"0*\.?0{0,9}(%?)$", value)
    return match is not None and any(char == "0" for char in value)


def _off_screen(declared: Mapping[str, str]) -> bool:
    placed = declared.get("position") in ("absolute", "fixed", "relative")
    for side in _SIDES:
        if side not in declared or (side in ("left", "top", "right", "bottom") and not placed):
            continue
        value = _pixels(declared[side])
        if value is not None and value <= -OFF_SCREEN:
            return True
    move = declared.get("transform", "")
    return bool(re.search(r"translate[xy]?\(\s*-\s*\d{4,}", move)) or "scale(0)" in move.replace(" ", "")


def _clipped(declared: Mapping[str, str]) -> bool:
    clip = declared.get("clip", "").replace(" ", "").replace(",", "").replace("px", "")
    if clip in ("rect(0000)", "rect(1111)") or declared.get("clip-path", "").replace(" ", "") == "inset(50%)":
        return True
    if declared.get("overflow") not in ("hidden", "clip"):
        return False
    return any((size := _pixels(declared.get(side, ""))) is not None and size <= 1.0 for side in ("width", "height"))
