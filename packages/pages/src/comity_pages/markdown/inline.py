"""Pieces of Markdown within a line: text in which nothing is markup, emphasis, code, exponents, breaks."""

import re
import unicodedata
from typing import Final

BREAK: Final = "\x0c"  # a `br` within a run; text cannot hold it, for its white space is joined
EMPHASIS: Final = {"b": "**", "i": "*", "s": "~~"}
# Its marks within a run: neither is in a text, for both are white space.
_EMPHASIS: Final = re.compile("\x1c([bis])([^\x1c\x1d]*)\x1d[bis]")
_NO_END: Final = re.compile("\x1d([bis])\x1c\\1")
_SIGNS_FIRST: Final = re.compile(r"(?:\\[^\w\s]|[^\w\s\\`*\[\]<&!~$])+")
_SIGNS_LAST: Final = re.compile(  # from where they begin, neither within them nor after the backslash of one
    r"(?<![^\w\s`*\[\]>~$])(?<!\\[^\w\s])(?:\\[^\w\s]|[^\w\s\\`*\[\]>~$])++$"
)
_LINE_ENDS: Final = re.compile("\n+")
_SPACE: Final = re.compile(r"[^\S\xa0]+")
_NO_BREAK: Final = re.compile(r"(?<!\s)\s*\xa0\s*")
_MARKUP: Final = re.compile(
    r"[\\`*\[\]]|(?<=\])\(|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?[A-Za-z0-9]{1,32};)|~(?=~)|(?<=~)~"
)
_MAY_BE_MARKUP: Final = re.compile(
    r"[\\`*\[\]_<&~]"
)  # one stands in whatever the pattern above finds, and is found faster
_LINE_START: Final = re.compile(
    r"(?m)^(#{1,6}(?=\s|$)|>|[-+](?=\s|$)|\d{1,9}(?=[.)](?:\s|$))|[-=|:](?=[-=|: ])|(?<=\n)=(?=[ \t]*$))"
)
_CLOSING_MARKS: Final = re.compile(r"(?:^|(?<=\s))(#+)$")
_SUPERSCRIPTS: Final = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_SUBSCRIPTS: Final = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_ENDINGS: Final = frozenset("st nd rd th er re e ère ème eme o a os as te de ste me nde tm sm mc md".split())
"""Raised letters that are no exponent: 4th, 1er, Brand TM."""
_EXPONENT: Final = re.compile(r"[0-9+\-−=()ni]{1,12}")
_INDEX: Final = re.compile(r"[0-9+\-−=()]{1,12}")


def escape_markup(text: str) -> str:
    """Text in which nothing is markup; what begins a line is seen to when the line is there."""
    return _MARKUP.sub(r"\\\g<0>", text)


def line_breaks(text: str) -> str:
    """A run of text with its white space joined and its breaks as lines of their own; empty lines make a paragraph."""
    if BREAK not in text:
        return _join_space(text).strip()
    lines = "\n".join([_join_space(line).strip() for line in text.split(BREAK)])
    return _LINE_ENDS.sub(lambda match: "  \n" if len(match[0]) == 1 else "\n\n", lines.strip("\n"))


def _escape_start(match: re.Match[str]) -> str:
    mark = match[1]
    return f"{mark}\\" if mark[0].isdigit() else f"\\{mark}"


def emphasize(text: str, mark: str) -> str:
    """Text with emphasis, whose marks are written when what stands beside them is known (`place_emphasis`)."""
    core = text.strip(" \x0c")
    if not core or not any(map(str.isalnum, core)):
        return text
    lead = text[: text.index(core)]
    return f"{lead}\x1c{mark}{core}\x1d{mark}{text[len(lead) + len(core) :]}"


def place_emphasis(text: str) -> str:
    """Text with its marks of emphasis. Between a sign and a letter they are none (CommonMark, 6.2): there the signs
    stand outside, and where markup is in the way there is no emphasis."""
    if "\x1c" not in text:
        return text
    return _EMPHASIS.sub(_write_emphasis, _NO_END.sub("", text))


def _write_emphasis(match: re.Match[str]) -> str:
    text, core = match.string, match[2]
    first, last = match.span()
    while first > 1 and text[first - 2] == "\x1d":
        first -= 2
    while text[last : last + 1] == "\x1c":
        last += 2
    lead = trail = ""
    if first > 0 and _is_letter(text[first - 1]) and not _is_letter(core.lstrip("*~")[:1]):
        signs = _SIGNS_FIRST.match(core)
        lead = signs[0] if signs is not None else core
        core = core[len(lead) :]
    if _is_letter(text[last : last + 1]) and not _is_letter(core.rstrip("*~")[-1:]):
        signs = _SIGNS_LAST.search(core)
        trail = signs[0] if signs is not None and not (signs[0][0] == ")" and "](" in core) else core
        core = core[: len(core) - len(trail)]
    if not core or (lead and not _is_letter(core[0])) or (trail and not _is_letter(core[-1])):
        return match[2]
    return f"{lead}{EMPHASIS[match[1]]}{core}{EMPHASIS[match[1]]}{trail}"


def _is_letter(char: str) -> bool:
    """Whether it is neither white space nor punctuation, in the sense of CommonMark (2.1)."""
    return char.isalnum() or (char != "" and not char.isspace() and unicodedata.category(char)[0] not in "PS")


def as_exponent(name: str, text: str, before: str) -> str:
    """An exponent or an index in characters of its own (`10<sup>6</sup>` is not 106), behind the character `before`."""
    core = text.strip()
    if not core or "](" in core or not before.strip():
        return text
    if name == "sup":
        if _EXPONENT.fullmatch(core) and (_is_shifted(before) or core.isdigit()):
            return core.translate(_SUPERSCRIPTS)
        if not _is_shifted(before) or core.lower() in _ENDINGS or not any(map(str.isalnum, core)):
            return text
        return f"^{_brace(core)}"
    if not _is_shifted(before):
        return text
    if _INDEX.fullmatch(core):
        return core.translate(_SUBSCRIPTS)
    return f"_{_brace(core)}" if any(map(str.isalnum, core)) else text


def _is_shifted(before: str) -> bool:
    """Whether what stands behind a character may be its exponent or index."""
    return before.isalnum() or before in ")]}|"


def _brace(text: str) -> str:
    return text if len(text) == 1 else f"{{{text}}}"


def code_span(code: str) -> str:
    code = _SPACE.sub(" ", code)
    core = code.strip()
    if not core:
        return code
    fence = fence_of(core, 1)
    pad = " " if core[0] == "`" or core[-1] == "`" else ""
    lead = " " if code[0] == " " else ""
    return f"{lead}{fence}{pad}{core}{pad}{fence}{' ' if code[-1] == ' ' else ''}"


def fence_of(code: str, least: int = 3) -> str:
    """Backticks, more than the code has in a row."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", code)), default=0))


def line_starts(text: str) -> str:
    """Text of which no line begins with what would be markup there."""
    if "\n" not in text:
        if text[:1].isalpha():
            return text
        match = _LINE_START.match(text)
        return text if match is None else _escape_start(match) + text[match.end() :]
    return _LINE_START.sub(_escape_start, text)


def heading_end(text: str) -> str:
    """A heading's text, whose last marks would be taken for its end."""
    return _CLOSING_MARKS.sub(r"\\\1", text) if text[-1:] == "#" else text


def words_of(text: str) -> str:
    """Text with its white space joined, in which nothing is markup. A gap wider than a space stays one no-break space:
    who looks for words in a browser does not find them across it."""
    if "\xad" in text:  # where a word may be divided, shown nowhere else
        text = text.replace("\xad", "")
    if "\xa0" in text:
        text = _NO_BREAK.sub(_gap, text)
    text = _join_space(text)
    return escape_markup(text) if _MAY_BE_MARKUP.search(text) else text


def _gap(match: re.Match[str]) -> str:
    first, last = match.span()
    return "\xa0" if last - first > 1 and first > 0 and last < len(match.string) else " "


def _join_space(text: str) -> str:
    """A text with each run of its white space as one space; no-break spaces are no part of it."""
    if "\xa0" in text:
        return _SPACE.sub(" ", text)
    core = " ".join(text.split())
    if not core:
        return " " * bool(text)
    return f"{' ' * text[0].isspace()}{core}{' ' * text[-1].isspace()}"


def indent_lines(text: str, by: str) -> str:
    """Lines of which all but the first begin with `by`."""
    first, *others = text.split("\n")
    return "\n".join((first, *(by + line if line else "" for line in others)))


def parse_number(text: str, most: int, otherwise: int) -> int:
    """A number that a page states, within reason."""
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most:
        return int(text)
    return otherwise
