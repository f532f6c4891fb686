"""As much of CSS as it takes to see that an element is hidden: declarations, lengths, colours.

Nothing is loaded and nothing laid out, so a browser alone knows what is finally shown. What the declarations of an
element's own attribute say is decided here; what rules say is told, for other rules, states and media may differ.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal

Hiding = Literal[
    "display_none", "visibility_hidden", "font_size_zero", "transparent", "same_colour", "off_screen", "clipped"
]
WhiteSpace = Literal["keeps_space", "keeps_lines", "keeps_none"]
Effect = Hiding | WhiteSpace
Colour = tuple[int, int, int]

MAX_STYLE: Final = 4096  # characters read of one style attribute or one rule's declarations
OFF_SCREEN_PX: Final = 999.0  # pixels to the left or above from which text is off the screen
_MIN_OFFSET_PIXELS: Final = 9_000.0
"""Pixels in any direction from which it is, where pages move what they show: slides stand beside each other."""

_WHITE_SPACE: Final[dict[str, WhiteSpace]] = {
    **dict.fromkeys(("pre", "pre-wrap", "preserve", "break-spaces"), "keeps_space"),
    **dict.fromkeys(("pre-line", "preserve-breaks"), "keeps_lines"),
    **dict.fromkeys(("normal", "nowrap", "collapse", "initial"), "keeps_none"),
}
COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\([0-9a-fA-F]{1,6})[ \t\n]?")
# One part of a declaration: what is quoted, a bracket, a semicolon, anything else.
_PIECE: Final = re.compile(r"""("[^"\n]*+"?|'[^'\n]*+'?)|([(\[{])|([)\]}])|(;)|[^"'()\[\]{};]++""")
_IMPORTANT: Final = re.compile(r"!\s*important\s*$")
_VARIABLE: Final = re.compile(r"var\(\s*(--[\w-]+)\s*(?:,([^()]*))?\)")
_NUMBER: Final = re.compile(
    r"\s*([+-]?(?:[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})(?:e[+-]?[0-9]{1,2})?)([a-z]+|%)?"
)
_FUNCTION: Final = re.compile(r"(?<![a-z0-9-])([a-z][a-z0-9-]*+)\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_UNIT_PIXELS: Final = {
    "px": 1.0, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "vw": 10.0, "vh": 8.0, "%": 10.0, "pt": 1.3, "pc": 16.0,
    "cm": 38.0, "mm": 3.8, "q": 0.95, "in": 96.0,
}  # fmt: skip
_UNIT_TURNS: Final = {"deg": 1 / 360, "grad": 1 / 400, "rad": 1 / 6.283185307, "turn": 1.0}
_HEX: Final = re.compile(r"#([0-9a-f]{3,8})\b")
_RGB: Final = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})")
_HSL: Final = re.compile(r"hsla?\(\s*(-?\d{1,4})(?:deg)?[\s,]+(\d{1,3})%?[\s,]+(\d{1,3})%?")
_TRANSPARENT_COLOUR: Final = re.compile(
    r"transparent|#[0-9a-f]{3}0|#[0-9a-f]{6}00|(?:rgb|hsl)a?\([^()]*[,/]\s*+(?:0++(?:\.0++)?+|\.0++)%?\s*+\)"
)
_NAMED_COLOURS: Final = dict(
    each.split("=")
    for each in "white=#fff black=#000 red=#f00 green=#008000 blue=#00f yellow=#ff0 gray=#808080 grey=#808080"
    " silver=#c0c0c0 snow=#fffafa ivory=#fffff0".split()
)
_MAX_COLOUR_DIFFERENCE: Final = 12  # of 255, in each of red, green and blue: nobody tells them apart
_KEYWORDS: Final = {
    "display": re.compile(
        r"(?:(?:none|contents|block|inline|flow|flow-root|table|flex|grid|ruby|list-item|run-in|math|(?:inline|table)-[a-z-]+"
        r"|-(?:webkit|moz|ms)-[a-z-]+|inherit|initial|unset|revert|revert-layer)(?:\s++|\Z))++"
    ).fullmatch,
    "visibility": re.compile("visible|hidden|collapse|inherit|initial|unset|revert|revert-layer").fullmatch,
}
_OFFSETS: Final = ("left", "top", "right", "bottom", "inset", "inset-inline-start", "inset-block-start")
_INDENTS: Final = ("text-indent", "margin-left", "margin-top", "margin", "margin-inline-start", "margin-block-start")
_SIZES: Final = tuple(
    f"{most}{side}" for most in ("", "max-") for side in ("width", "height", "inline-size", "block-size")
)
_CLIPPING_VALUES: Final = frozenset(("hidden", "clip"))

# What one declaration may do, as bits: hide, clip what is too large, leave no room, colour, name or take a value.
HIDES: Final = 1
CLIPS: Final = 2
LEAVES_NO_ROOM: Final = 4
COLOURS: Final = 8
NAMES_VALUE: Final = 16
TAKES_VALUE: Final = 32
_EFFECTS: Final[dict[str, tuple[int, Mapping[str, str]]]] = {
    name: (bit, company)
    for names, bit, company in (
        ("display visibility content-visibility font font-size zoom translate scale transform", HIDES, {}),
        ("clip clip-path opacity filter mask mask-image -webkit-mask-image -webkit-text-fill-color", HIDES, {}),
        ("margin margin-left margin-top margin-inline-start margin-block-start", HIDES, {}),
        ("text-indent", HIDES, {"overflow": "hidden"}),
        (" ".join(_OFFSETS), HIDES, {"position": "absolute"}),
        ("color", HIDES, {}),
        ("overflow overflow-x overflow-y contain", CLIPS, {"height": "0"}),
        (" ".join(("line-height", *_SIZES)), LEAVES_NO_ROOM, {"overflow": "hidden"}),
    )
    for name in names.split()
}
"""By property: what it may do, and the declarations with which it does."""
PROPERTIES: Final = frozenset(_EFFECTS)


def declarations(style: str) -> dict[str, str]:
    """Property to value, both lower case. Of several the last counts, an important one before others, and nothing that
    no browser takes for a value."""
    if not style:
        return {}
    text = style[:MAX_STYLE]
    if "/*" in text or "\\" in text:
        text = _ESCAPE.sub(_unescape, COMMENT.sub("", text))
    text = text.lower()
    found: dict[str, str] = {}
    important: set[str] = set()
    for part in _split_parts(text) if '"' in text or "'" in text or "{" in text or "(" in text else text.split(";"):
        name, colon, value = part.partition(":")
        if not colon:
            continue
        name, value = name.strip(), value.strip()
        urgent = value.endswith("important") and _IMPORTANT.search(value)
        if urgent:
            value = value[: urgent.start()].strip()
        elif name in important:
            continue
        valid = _KEYWORDS.get(name)
        if valid is not None and not valid(value) and "var(" not in value:
            continue
        if urgent:
            important.add(name)
        found[name] = value
    if "var(" in text:
        for name, value in found.items():
            if "var(" in value:
                value = _VARIABLE.sub(lambda match: found.get(match[1], match[2] or "").strip(), value)
                found[name] = value[:MAX_STYLE]  # each may hold the one before it twice
    return found


def _split_parts(text: str) -> Iterator[str]:
    """A style cut at its semicolons, but for those in quotes and brackets."""
    start = depth = 0
    for match in _PIECE.finditer(text):
        if match[2]:
            depth += 1
        elif match[3]:
            depth -= depth > 0
        elif match[4] and not depth:
            yield text[start : match.start()]
            start = match.end()
    yield text[start:]


@lru_cache(8_192)  # the same ones stand in the sheets of many pages
def effect_bits(name: str, value: str) -> int:
    """What one declaration of those PROPERTIES may do, by itself or with others of its rule."""
    bit, company = _EFFECTS[name]
    colours = COLOURS if name == "color" else 0
    if "\\" in value or value.count("(") != value.count(")") or value.count('"') % 2 or value.count("'") % 2:
        return bit | colours  # it ends elsewhere
    takes = TAKES_VALUE if "(" in value and "var(" in value.lower() else 0
    return takes | colours | (bit if hides({**company, **declarations(f"{name}:{value}")}) else 0)


def hides(declared: Mapping[str, str]) -> Hiding | None:
    """How these declarations hide an element's text, if they do."""
    if declared.get("display") == "none":
        return "display_none"
    if declared.get("visibility") in ("hidden", "collapse") or declared.get("content-visibility") == "hidden":
        return "visibility_hidden"
    if _is_too_small(declared):
        return "font_size_zero"
    if _is_off_screen(declared):
        return "off_screen"
    if _is_clipped(declared):
        return "clipped"
    if _is_transparent(declared):
        return "transparent"
    own = colour(declared.get("color", "")) if "color" in declared else None
    if own is not None and are_alike(own, colour(declared.get("background-color") or declared.get("background", ""))):
        return "same_colour"
    return None


def white_space(style: str) -> WhiteSpace | None:
    """What a style keeps of white space (CSS Text 4, 3); None where it says nothing of it."""
    if "white-space" not in style.lower():
        return None
    declared = declarations(style)
    value = declared.get("white-space-collapse") or declared.get("white-space", "")
    return next((_WHITE_SPACE[word] for word in value.split() if word in _WHITE_SPACE), None)


def are_alike(one: Colour, other: Colour | None) -> bool:
    """Whether nobody tells two colours apart."""
    return other is not None and all(abs(a - b) <= _MAX_COLOUR_DIFFERENCE for a, b in zip(one, other, strict=True))


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
    if match := _HSL.search(words):
        from colorsys import hls_to_rgb  # late: few pages write colours so

        hue, saturation, light = (int(match[number]) for number in (1, 2, 3))
        red, green, blue = hls_to_rgb(hue % 360 / 360, min(light, 100) / 100, min(saturation, 100) / 100)
        return round(red * 255), round(green * 255), round(blue * 255)
    return next((colour(_NAMED_COLOURS[word]) for word in words.split() if word in _NAMED_COLOURS), None)


def _unescape(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _length(value: str, percent: float = 10.0) -> float | None:
    """A length in pixels, also one that is computed of others; None where it is none, or not told beforehand."""
    match = _NUMBER.match(value)
    if match is not None and (match.end() == len(value) or value[match.end()].isspace()):
        return _to_pixels(match, percent)
    if "(" not in value:
        return None
    return _Calculation(value[:200], percent).total()


def _to_pixels(match: re.Match[str], percent: float) -> float | None:
    unit = match[2]
    scale = 1.0 if unit is None else percent if unit == "%" else _UNIT_PIXELS.get(unit)
    return None if scale is None else float(match[1]) * scale


class _Calculation:
    """A value of `calc()`, `min()`, `max()` or `clamp()`, read once from its beginning."""

    _SIGN: Final = re.compile(r"\s*([-+*/(),]|[a-z-]+\()")

    def __init__(self, text: str, percent: float) -> None:
        self._text = text
        self._at = 0
        self._percent = percent

    def total(self) -> float | None:
        try:
            return self._sum(0)
        except (ValueError, ZeroDivisionError, OverflowError):
            return None

    def _sum(self, depth: int) -> float:
        total = self._product(depth)
        while (sign := self._next_sign("+-")) is not None:
            total += self._product(depth) if sign == "+" else -self._product(depth)
        return total

    def _product(self, depth: int) -> float:
        total = self._factor(depth)
        while (sign := self._next_sign("*/")) is not None:
            total = total * self._factor(depth) if sign == "*" else total / self._factor(depth)
        return total

    def _factor(self, depth: int) -> float:
        if depth > 8:
            raise ValueError
        if (match := _NUMBER.match(self._text, self._at)) is not None:
            self._at = match.end()
            size = _to_pixels(match, self._percent)
            if size is None:
                raise ValueError
            return size
        match = self._SIGN.match(self._text, self._at)
        if match is None or match[1][-1] != "(":
            raise ValueError
        self._at = match.end()
        values = [self._sum(depth + 1)]
        while self._next_sign(",") is not None:
            values.append(self._sum(depth + 1))
        self._next_sign(")")
        match match[1]:
            case "calc(" | "(":
                return values[0]
            case "min(":
                return min(values)
            case "max(":
                return max(values)
            case "clamp(" if len(values) == 3:
                return max(values[0], min(values[1], values[2]))
        raise ValueError

    def _next_sign(self, signs: str) -> str | None:
        match = self._SIGN.match(self._text, self._at)
        if match is None or match[1] not in signs:
            return None
        self._at = match.end()
        return match[1]


def _values(value: str, percent: float = 10.0) -> list[float]:
    parts = re.findall(r"[a-z-]+\([^()]*(?:\([^()]*\)[^()]*)*\)|[^\s,]+", value[:500])
    return [size for part in parts if (size := _length(part, percent)) is not None]


def _is_too_small(declared: Mapping[str, str]) -> bool:
    size = _length(declared.get("font-size", ""), 0.16)
    if size is None and "font" in declared:  # the size stands before the slash, or is the first length
        sizes = _values(declared["font"].partition("/")[0], 0.16)
        size = next((each for each in reversed(sizes) if each < 100 or len(sizes) == 1), None)
    zoom = _length(declared.get("zoom", ""), 0.01)
    return (size is not None and size <= 1.0) or (zoom is not None and zoom < 0.06)


def _is_off_screen(declared: Mapping[str, str]) -> bool:
    if declared.get("position") in ("absolute", "fixed", "relative", "sticky"):
        for side in _OFFSETS:
            for value in _values(declared[side]) if side in declared else ():
                if value <= -OFF_SCREEN_PX or value >= _MIN_OFFSET_PIXELS or (value >= 1000 and "v" in declared[side]):
                    return True
    if any(value <= -OFF_SCREEN_PX for side in _INDENTS if side in declared for value in _values(declared[side])):
        return True
    if "translate" in declared and any(abs(value) >= _MIN_OFFSET_PIXELS for value in _values(declared["translate"])):
        return True
    if "scale" in declared and any(abs(each) < 0.01 for each in _values(declared["scale"], 0.01)):
        return True
    return "transform" in declared and _is_moved_away(declared["transform"])


def _is_moved_away(transform: str) -> bool:
    for name, words in _FUNCTION.findall(transform[:500]):
        values = _values(words.replace(",", " "))
        if name in ("translate", "translatex", "translatey"):
            if any(value <= -OFF_SCREEN_PX or value >= _MIN_OFFSET_PIXELS for value in values):
                return True
        elif (
            (name == "translate3d" and any(abs(value) >= _MIN_OFFSET_PIXELS for value in values))
            or (name.startswith("scale") and any(abs(value) < 0.01 for value in values[:2]))
            or (name == "matrix" and len(values) >= 4 and abs(values[0] * values[3] - values[1] * values[2]) < 1e-4)
        ):
            return True
        elif name in ("rotatex", "rotatey") and (match := _NUMBER.match(words)) is not None:
            turn = float(match[1]) * _UNIT_TURNS.get(match[2] or "", 0.0)
            if abs(turn % 0.5 - 0.25) < 0.001:
                return True
    return False


def _is_clipped(declared: Mapping[str, str]) -> bool:
    clip = declared.get("clip", "").replace(" ", "").replace(",", "").replace("px", "")
    if clip in ("rect(0000)", "rect(1111)") or _clips_all(declared.get("clip-path", "")):
        return True
    overflow = {word for side in ("", "-x", "-y") for word in declared.get(f"overflow{side}", "").split()}
    contained = declared.get("contain", "").split()
    if _CLIPPING_VALUES.isdisjoint(overflow) and "strict" not in contained and "paint" not in contained:
        return False
    line = declared.get("line-height", "")  # without a unit a factor of the font's size
    sizes = [_length(f"{line}em" if line[-1:].isdigit() else line, 0.16)]
    sizes += [_length(declared.get(side, "")) for side in _SIZES]
    indent = _length(declared.get("text-indent", ""))
    return any(size is not None and size <= 1.0 for size in sizes) or (indent is not None and indent >= OFF_SCREEN_PX)


def _clips_all(path: str) -> bool:
    for name, words in _FUNCTION.findall(path[:500]):
        values = _values(words, 1.0)
        if name == "inset" and values and (values[0] >= 50 and "%" in words) and min(values) >= 50:
            return True
        if name in ("circle", "ellipse") and values and values[0] <= 1:
            return True
        if name in ("rect", "xywh") and values and not any(values):
            return True
        if name == "polygon" and len(values) >= 2 and (len(set(values[::2])) == 1 or len(set(values[1::2])) == 1):
            return True
    return False


def _is_transparent(declared: Mapping[str, str]) -> bool:
    opacity = _length(declared.get("opacity", ""), 0.01)
    if opacity is not None and opacity <= 0.05:
        return True
    for name, words in _FUNCTION.findall(declared.get("filter", "")[:500]):
        if name == "opacity" and (value := _length(words, 0.01)) is not None and value <= 0.05:
            return True
    mask = (declared.get("mask") or declared.get("mask-image") or declared.get("-webkit-mask-image") or "")[:500]
    if mask.startswith("linear-gradient(") and not mask[16:].replace("transparent", "").strip(" ,)"):
        return True
    shown = declared.get("-webkit-text-fill-color") or declared.get("color", "")
    return bool(shown) and _TRANSPARENT_COLOUR.fullmatch(shown[:200]) is not None
