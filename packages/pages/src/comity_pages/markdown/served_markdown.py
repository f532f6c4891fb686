"""Markdown as a site serves it, and what of it a person sees: HTML in it is read by the rules of pages.

Blocks are told apart by markdown-it-py. Within a paragraph, code is told from HTML here, where places in the text are
needed; what is not certain is taken for HTML, so that nothing passes as code that is hidden. The HTML goes through the
parser and the rules for pages with marks in its text; a piece of text whose mark is not found again, or stands in what
is hidden, is not seen. Time grows with the length alone.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from comity_pages.errors import ExtractionFailed
from comity_pages.html import hidden
from comity_pages.html.hidden import HiddenText
from comity_pages.html.tree import Node, Text, Tree, parse
from comity_pages.markdown.reader import leaves

_ATTRIBUTES: Final = r"""(?:[\s/]++|[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+)*+"""
_TOKEN: Final = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])|(?P<ticks>`+)|(?P<link><[a-z][a-z0-9+.-]{1,31}:[^\s<>]*+>)"
    r"|(?P<aside><!--|<\?|<!\[CDATA\[|<![a-z])|(?P<tag></?[a-z])",
    re.IGNORECASE,
)
_TAG: Final = re.compile(rf"</?([a-z][^\s/>]*+)({_ATTRIBUTES})>", re.IGNORECASE)
_ASIDE_END: Final = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>", "": ">"}
_NO_COMMENT: Final = re.compile("<!---?>")  # ends where it begins
_TICKS: Final = re.compile("`+")
_HIDING_ATTRIBUTE: Final = re.compile(r"\b(?:hidden|style|popover|class|id|aria-hidden)\b", re.IGNORECASE)
_MIB: Final = 1024 * 1024
_RAW_ELEMENTS: Final = frozenset("script style title iframe noembed noframes textarea xmp".split())
_HTML_ELEMENTS: Final = frozenset(
    "a abbr address article aside audio b bdi bdo big blockquote body br button canvas caption center cite code"
    " col data dd del details dfn dialog dir div dl dt em embed fieldset figcaption figure font footer form frame"
    " h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map mark"
    " math menu meta nav noembed noframes noscript object ol optgroup option p picture pre q rp rt ruby s samp"
    " script search section select small source span strike strong style sub summary sup svg table tbody td"
    " template textarea tfoot th thead time title tr track tt u ul var video wbr xmp".split()
)
_SHOWN_ATTRIBUTES: Final = re.compile(
    r"""\s(?:href|src|alt|width|height|align|open|start|colspan|rowspan)\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+)""",
    re.IGNORECASE,
)
_NO_TEXT: Final = frozenset("script style title template noscript iframe object noembed noframes datalist head".split())
_MARK: Final = re.compile("/\\*\ue000([0-9]+)\\*/")
_DEFINITION: Final = re.compile(
    r"^(?P<before>[ \t>]*)\[(?P<label>(?:[^\[\]\\]|\\.){1,999}+)\]:[ \t]*+\n?[ \t>]*+(?P<target><[^<>\n]*+>|[^\s<]\S*+)"
    r"(?P<title>(?:[ \t]++|[ \t]*+\n[ \t>]*+)"
    r'(?:"(?:[^"\\]|\\.)*+"|\'(?:[^\'\\]|\\.)*+\'|\((?:[^()\\]|\\.)*+\)))?+[ \t]*+$\n?',
    re.MULTILINE | re.DOTALL,
)
_LABEL: Final = re.compile(r"\[([^\[\]]{1,999})\](?!:)")
_LINK_TITLE: Final = re.compile(r"(\]\([^()\s<>]*+)[ \t\n]++(?:\"[^\"\n]*+\"|'[^'\n]*+'|\([^()\n]*+\))[ \t]*+(?=\))")


@dataclass(frozen=True, slots=True)
class VisibleMarkdown:
    """What a person sees of served Markdown.

    Attributes:
        text: without what is hidden; otherwise as it was served.
        hidden: what is.
        removed: what is not in the text, by what it is.
    """

    text: str
    hidden: tuple[HiddenText, ...]
    removed: Counter[str]


@dataclass(slots=True)
class _Piece:
    """`text`, `code`, `tag`, `comment` (also what else is no content) or `raw`, whose content is no HTML."""

    kind: str
    start: int
    end: int
    name: str = ""


def remove_hidden(markdown: str, url: str = "") -> VisibleMarkdown:
    """What a person sees of Markdown that a site serves.

    Raises:
        ExtractionFailed: HTML in it is built to exhaust a parser.
    """
    removed: Counter[str] = Counter()
    pieces = _Splitter(markdown, url).pieces()
    visible = set(range(len(pieces)))
    found: list[HiddenText] = []
    if any(piece.kind not in ("text", "code") for piece in pieces):
        tree = parse(_with_marks(markdown, pieces), url)
        try:
            found, visible = _find_visible(tree, pieces)
        finally:
            tree.release()
    said = (words for piece in pieces for words in _unrendered_texts(piece.kind, markdown[piece.start : piece.end]))
    found = [*hidden.find_in_text(markdown), *hidden.find_in_comments(said), *found]
    before = True
    for number, piece in enumerate(pieces):
        if piece.kind == "comment":
            visible.discard(number)
            removed["comments"] += 1
            continue
        shown = number in visible
        removed["hidden elements"] += before and not shown
        before = shown
    text = _write(markdown, pieces, visible, removed)
    return VisibleMarkdown(text, tuple(replace(each, kept=True) for each in found), +removed)


def _unrendered_texts(kind: str, text: str) -> Iterator[str]:
    """What no renderer shows: comments, definitions and titles of links (`[//]: # (...)` is a comment too)."""
    if kind == "comment":
        yield text.removeprefix("<!--")
    elif kind == "text" and "]" in text:
        yield from (match[0] for match in _DEFINITION.finditer(text))
        yield from (match[0] for match in _LINK_TITLE.finditer(text))


def _with_marks(markdown: str, pieces: list[_Piece]) -> str:
    """HTML with the pieces' text in it, and a mark in each; a closing tag has its mark before it."""
    out: list[str] = []
    for number, piece in enumerate(pieces):
        text = markdown[piece.start : piece.end]
        mark = f"/*\ue000{number}*/"
        if piece.kind == "tag":
            out.append(mark + text if text[1] == "/" else text + mark)
        elif piece.kind == "raw":
            out.append(f"{mark}{text}</{piece.name}>")
        elif piece.kind != "comment":
            out.append(mark + text.replace("<", "&lt;"))
    return "".join(out)


def _find_visible(tree: Tree, pieces: list[_Piece]) -> tuple[list[HiddenText], set[int]]:
    """What the HTML hides, and the numbers of the pieces that are seen."""
    places: list[tuple[Node, list[int]]] = []
    for node in (tree.root, *tree.root.descendants()):
        for child in node.children:
            if isinstance(child, Text) and (numbers := [int(each) for each in _MARK.findall(child.text)]):
                child.text = _MARK.sub("", child.text)
                places.append((node, numbers))
    found, removed = hidden.find_hidden(tree, scripts=False)
    removed |= {node for name in _NO_TEXT for node in tree.by_name.get(name, ())}
    visible = {number for node, numbers in places if removed.isdisjoint(node.ancestors()) for number in numbers}
    visible -= {number for number, piece in enumerate(pieces) if piece.kind == "raw" and piece.name in _NO_TEXT}
    return found, visible


def _write(markdown: str, pieces: list[_Piece], visible: set[int], removed: Counter[str]) -> str:
    """The text of what is seen: tags with the attributes that show, links without titles, definitions that are used."""
    used = {_label(match[1]) for match in _LABEL.finditer(markdown)}

    def definition(match: re.Match[str]) -> str:
        if _label(match["label"]) in used and not match["title"]:
            return match[0]
        removed["link definitions that show nothing"] += 1
        if _label(match["label"]) not in used:
            return ""
        return f"{match['before']}[{match['label']}]: {match['target']}\n"

    def title(match: re.Match[str]) -> str:
        removed["titles of links"] += 1
        return match[1]

    out: list[str] = []
    for number, piece in enumerate(pieces):
        if number not in visible:
            continue
        text = markdown[piece.start : piece.end]
        if piece.kind == "text" and "]" in text:
            text = _LINK_TITLE.sub(title, _DEFINITION.sub(definition, text))
        elif piece.kind == "tag" and (match := _TAG.fullmatch(text)) is not None and match[2].strip(" /\n\t"):
            text = text[: match.start(2)] + "".join(_SHOWN_ATTRIBUTES.findall(match[2])) + ">"
            removed["attributes that show nothing"] += len(text) < piece.end - piece.start
        out.append(text)
    return "".join(out)


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


class _Splitter:
    """Cuts a text into pieces: code, tags, what else is no text, and all else."""

    def __init__(self, text: str, url: str) -> None:
        self.text = text
        self.url = url
        self.found: list[_Piece] = []
        self.opened: set[str] = set()
        self.room = 4 * len(text) + _MIB  # characters that may be looked through for the end of what has none

    def pieces(self) -> list[_Piece]:
        """Block by block; what stands between two (definitions of links) is read as text."""
        at = 0
        for kind, start, end in leaves(self.text):
            if end <= at:
                continue  # what began before goes on
            self.paragraph(at, start)
            at = max(at, start)
            if kind == "html":
                end = self.inline(at, end, html=True)
            elif kind == "code":
                self.add("code", at, end)
            else:
                self.paragraph(at, end)
            at = end
        self.paragraph(at, len(self.text))
        return self.found

    def add(self, kind: str, start: int, end: int, name: str = "") -> None:
        if start < end:
            self.found.append(_Piece(kind, start, end, name))

    def paragraph(self, start: int, end: int) -> None:
        """What stands between blank lines. Spans of code count where each ends in its line and no tag holds a backtick:
        else it depends on where blocks end."""
        mark = len(self.found)
        if start >= end:
            return
        if self.text.find("<", start, end) < 0:
            self.add("text", start, end)
        elif self.inline(start, end) < 0:
            del self.found[mark:]
            self.inline(start, end, code=False)

    def inline(self, start: int, end: int, *, html: bool = False, code: bool = True) -> int:
        """Cut a paragraph or, where `html`, a block of HTML, in which what is open goes on behind its end. Gives where
        it ends; -1 where it is not certain what is code."""
        text = self.text
        spans = {} if html or not code else _spans(text, start, end)
        if spans is None:
            return -1
        limit = len(text) if html else end
        at = begin = start
        while at < end and (token := _TOKEN.search(text, at, end)) is not None:
            kind, first, at = token.lastgroup, token.start(), token.end()
            name = ""
            if kind == "ticks" and first in spans:
                at, made = spans[first], "code"
            elif kind == "aside":
                at, made = self.aside(token, limit, html=html), "comment"
            elif kind == "tag" or (kind == "link" and html):
                made, name, at = self.tag(first, limit)
            else:
                if html and kind == "escape":
                    at = first + 1
                continue
            if at < 0:
                at = token.end()
                continue
            if spans and made != "code" and "`" in text[first:at]:
                return -1
            self.add("text", begin, first)
            self.add(made, first, at, name)
            begin = at
        self.add("text", begin, max(end, begin))
        return max(end, begin)

    def aside(self, token: re.Match[str], limit: int, *, html: bool) -> int:
        """Where a comment, an instruction or a declaration ends; -1 where it is none."""
        mark = "<!--" if token[0] == "<!--" else token[0].upper()
        if mark == "<!--" and (match := _NO_COMMENT.match(self.text, token.start())) is not None:
            return match.end()
        end = _ASIDE_END[mark if mark in _ASIDE_END else ""]
        found = self.text.find(end, token.end(), limit)
        if found >= 0:
            return found + len(end)
        self.spend(limit - token.end())
        return limit if html else -1

    def tag(self, first: int, limit: int) -> tuple[str, str, int]:
        """What begins with `<` and a letter: what it is, its name and its end; -1 where it is text."""
        text = self.text
        match = _TAG.match(text, first, limit)
        if match is None:
            self.spend(limit - first)
            return "", "", -1
        name, closing = match[1].lower(), text[first + 1] == "/"
        if name in _RAW_ELEMENTS and not closing:
            end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(text, match.end())
            return "raw", name, (text.find(">", end.end()) + 1 if end is not None else 0) or len(text)
        if name not in _HTML_ELEMENTS and not (name in self.opened if closing else _HIDING_ATTRIBUTE.search(match[2])):
            return "", "", -1
        self.opened.add(name)
        return "tag", name, match.end()

    def spend(self, characters: int) -> None:
        """Raises ExtractionFailed: too much was begun that does not end."""
        self.room -= characters
        if self.room < 0:
            raise ExtractionFailed(f"{self.url} begins more tags than it ends; it is not read", url=self.url)


def _spans(text: str, start: int, end: int) -> dict[int, int] | None:
    """The spans of code of a paragraph, from and to; None where one goes on in another line, or a mark is escaped."""
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text, start, end)]
    following: dict[int, int] = {}  # length of a run to the next of that length
    closing: list[int | None] = [None] * len(runs)
    for number in range(len(runs) - 1, -1, -1):
        first, last = runs[number]
        closing[number] = following.get(last - first)
        following[last - first] = number
    spans: dict[int, int] = {}
    number = 0
    while number < len(runs):
        first, _ = runs[number]
        if first > start and text[first - 1] == "\\":
            return None
        other = closing[number]
        if other is not None:
            if text.find("\n", first, runs[other][0]) >= 0:
                return None
            spans[first] = runs[other][1]
            number = other
        number += 1
    return spans
