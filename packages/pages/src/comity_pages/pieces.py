"""Parts of a page's Markdown that can be cited: its sections, chunks of so many tokens, links, images and tables.

Blocks are told apart as CommonMark does (markdown-it-py). Nothing is cut within a line of code, a row of a table or a
link. A chunk's URL has a text fragment (WICG, URL Fragment Text Directives), by which a browser finds the passage.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, Final, Literal, Protocol
from urllib.parse import quote

from comity_pages.errors import InvalidSetting
from comity_pages.html.tree import HEADINGS, Node, Tree
from comity_pages.markdown.reader import NOTE, block_tokens, line_starts, parser
from comity_pages.metadata.titles import is_inside
from comity_pages.tokens import count_tokens as estimated
from comity_robots.as_json import jsonable

PieceKind = Literal["sections", "chunks", "links", "images", "tables"]
MAX_TOKENS: Final = 512
MIN_CHUNK_TOKENS: Final = 32
_WORD: Final = re.compile(r"\w+")
_UNCUT: Final = re.compile(r"!?\[[^\[\]]*\]\([^()\s]*\)|(?<!`)(`++)[^`]++\1")  # not to be cut: links, images, code
_SENTENCE: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n")
_BREAK: Final = re.compile(r"\s+|(?<=[、，；,])")
_JOINING_CHARS: Final = "\u200d\\เแโใไ"  # characters that belong to the one after them
_MAX_CUT_OFFSET_CHARS: Final = 32  # characters within which a better place for a cut is looked for
_MAX_UNBROKEN_PARTS: Final = 8  # of a chunk at most, that text without breaks is cut into
_MARKERS: Final = re.compile(r"\A(?:[ \t>]|[-+*][ \t]|\d{1,9}[.)][ \t]|\[\^\w+\]:)+")
_FENCE: Final = re.compile(r"(`{3,}|~{3,}).*")
# Where Markdown says something else than the page's text: indices, formulas, marks of notes, bullets that a
# style writes, quotation marks of `q`; or a browser may: words grown together of elements that a style sets apart.
_MARKDOWN_ONLY: Final = re.compile(
    "[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎“”•·●○◦▪▫■□►▶‣✓✔|»«™\ue000-\uf8ff\ufffc]+|[a-z]{2}(?=[A-Z][a-z])|[\\^_]\\{[^}]{0,200}+\\}|\\^\\w|\\[\\^\\w+\\]|\\$+[^$]*\\$+|</?su[bp]>|\\*\\*|~~"
)
_LINKS: Final = {1: "\1", -1: "\2"}
_LINK: Final = re.compile("[\1\2]")
_LINK_TEXT: Final = re.compile("\1[^\1\2]*\2?|^[^\1\2]*\2")
_IN_WORD: Final = re.compile("(?:(?<![^\\s\1\2])[^\\s\1\2]++)?+(?<=[^\\s\1\2])[\1\2](?=[^\\s\1\2])[^\\s\1\2]*+")
"""A word in which a link begins or ends."""
_WORD_AT_NUL: Final = re.compile("(?<!\\S)[^\\s\0]*+\0\\S*+")
_GAP: Final = re.compile(r"\s{2,}|[^\S ]")  # space that a browser does not take for one space everywhere
_MAX_FRAGMENT_CHARS: Final = 300  # characters of a run of text that are looked at
_MAX_RUN_CHARS: Final = 2000
_FRAGMENT_WORDS: Final = 8  # words that a passage is found by
_MAX_TRIED_RUNS: Final = 12  # runs of a chunk in which a beginning is looked for
_RANKS: Final = {"tr_open": 1, "heading_open": 3, "html_block": 3}
"""Where words are found less surely: a cell may hold several blocks, a heading stands in lists of contents too."""
_CONTAINERS: Final = frozenset(("bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open"))


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it.

    Attributes:
        level: 1 to 6.
        title: as plain text.
        id: of the element that the page links to it by (`url#id`); None where there is none.
        start, end: characters of the Markdown, from the heading to the next one of its level or above.
        sections: below it.
    """

    level: int
    title: str
    id: str | None
    start: int
    end: int
    sections: "tuple[Section, ...]" = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a page.

    Attributes:
        text: its Markdown; where a table or code is cut, with the table's head and the fences again.
        path: the headings above it and its own, from the top.
        tokens: of the text.
        url: the page's with a text fragment that leads a browser to the passage; without one where all of its words
            stand earlier on the page too, or a browser shows none of them before a click.
        start, end: characters of the page's Markdown that it is; chunks follow each other without a gap.
    """

    text: str
    path: tuple[str, ...]
    tokens: int
    url: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link in the content: its text and where it leads."""

    text: str
    url: str
    start: int


@dataclass(frozen=True, slots=True)
class Image:
    """An image in the content: the text that stands for it, and its URL."""

    text: str
    url: str
    start: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table of data: its head, empty texts where it has none, and its rows, as plain text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    start: int


class Encoder(Protocol):
    """A tokenizer as tiktoken, tokenizers and transformers have it."""

    def encode(self, text: str, /) -> Any: ...


Tokenizer = Callable[[str], int] | Encoder
"""What counts tokens: a function of a text, or an object whose `encode` gives something with a length or `ids`."""


class Pieces:
    """What a page is made of, worked out of its Markdown each time it is asked for."""

    __slots__ = ()
    markdown: str
    url: str
    heading_ids: tuple[tuple[str, str], ...]
    page_starts: tuple[int, ...]
    folded: tuple[str, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        """The page's headings as a tree."""
        return _Markdown(self.markdown).sections(self.heading_ids)

    @property
    def links(self) -> tuple[Link, ...]:
        """The links in the content, in its order."""
        return tuple(_Markdown(self.markdown).references("link_open", "href", Link))

    @property
    def images(self) -> tuple[Image, ...]:
        """The images in the content, in its order."""
        return tuple(_Markdown(self.markdown).references("image", "src", Image))

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables in the content, in its order."""
        return tuple(_Markdown(self.markdown).tables())

    def chunks(self, max_tokens: int = MAX_TOKENS, tokenizer: Tokenizer | None = None) -> tuple[Chunk, ...]:
        """The content in passages for retrieval. Each heading begins one; what is longer than `max_tokens` is cut
        between blocks, items of lists, rows, lines of code, sentences or words, and text without any between
        characters. A heading, a row, a line of code or a link that is longer stays whole. No chunk is empty.

        Args:
            max_tokens: of a chunk, at least MIN_CHUNK_TOKENS.
            tokenizer: counts tokens; None for a count that is rather too high, whatever the model.

        Raises:
            InvalidSetting: `max_tokens` is too small.
        """
        if max_tokens < MIN_CHUNK_TOKENS:
            raise InvalidSetting(f"max_tokens: {max_tokens} is less than {MIN_CHUNK_TOKENS}")
        count, parts = _token_counter(tokenizer), _Markdown(self.markdown)
        cutter = _Chunker(parts, max_tokens, count, self)
        return tuple(cutter.chunks())

    def pieces(self, wanted: Iterable[PieceKind], max_tokens: int = MAX_TOKENS) -> dict[str, Any]:
        """The kinds of pieces that are wanted, as plain values that `json.dumps` takes."""
        return {
            each: jsonable(self.chunks(max_tokens) if each == "chunks" else getattr(self, each))
            for each in dict.fromkeys(wanted)
        }


def _token_counter(tokenizer: Tokenizer | None) -> Callable[[str], int]:
    if tokenizer is None:
        return estimated
    encode: Any = getattr(tokenizer, "encode", tokenizer)

    def count(text: str) -> int:
        made = encode(text)
        return made if isinstance(made, int) else len(getattr(made, "ids", made))

    return count


def ids_of_headings(tree: Tree) -> tuple[tuple[str, str], ...]:
    """Letters and digits of each heading that can be linked to, and the id to do so: its own, that of an anchor in it
    or right before it, or of the section that it begins. In the page's order."""
    named = ((node, _id_of(node)) for node in tree.headings if not is_inside(node, HEADINGS))
    return tuple((_letters(node.text()), name) for node, name in named if name)


def _id_of(heading: Node) -> str:
    inner = heading.elements()
    for node in (heading, *inner, *(each for child in inner for each in child.elements())):
        if name := node.attributes.get("id") or (node.name == "a" and node.attributes.get("name")):
            return name[:500]
    around = heading
    while (parent := around.parent) is not None and parent.name in ("section", "div", "article", "header"):
        siblings = parent.children[: parent.children.index(around)]
        before = next((each for each in reversed(siblings) if isinstance(each, Node)), None)
        if before is not None:
            return (before.attributes.get("id") or "")[:500] if before.name in ("a", "span") else ""
        if name := parent.attributes.get("id"):
            return name[:500] if parent.name in ("section", "div") else ""
        around = parent
    return ""


def _letters(text: str) -> str:
    return "".join(_WORD.findall(text))[:200]


@dataclass(slots=True)
class _Run:
    """Text that stands in one block: what Markdown it is, and where; `kind` is that of the block around it."""

    content: str
    start: int
    end: int
    kind: str


@dataclass(slots=True)
class _Block:
    """A block and those in it; `kind` as markdown-it names its first token. Between blocks nothing is left over."""

    kind: str
    start: int
    end: int
    level: int = 0
    blocks: "list[_Block]" = field(default_factory=list)


class _Markdown:
    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = line_starts(text)
        self.runs: list[_Run] = []
        self.top = _Block("page", 0, len(text))
        self._env: dict[str, Any] = {}
        self._read(block_tokens(text, self._env))
        blocks = self.top.blocks
        if not text.strip():
            blocks.clear()
        elif not blocks:
            blocks.append(_Block("paragraph_open", 0, len(text)))
        for block, after in pairwise(blocks):  # what is no block, a definition of a link say, belongs to the one before
            block.end = after.start
        if blocks:
            blocks[0].start, blocks[-1].end = 0, len(text)

    def _read(self, found: Sequence[Any]) -> None:
        stack = [self.top]
        row: list[int] = [0, 0]
        for token in found:
            if token.type == "tr_open" and token.map:
                row = token.map
            if token.type == "inline":
                first, last = token.map or row
                if stack[-1].kind == "tr_open":
                    first, last = row
                self.runs.append(_Run(token.content, self._at(first), self._at(last), stack[-1].kind))
            elif token.type in ("fence", "code_block", "html_block"):
                before = stack[-1].blocks[-1] if stack[-1].blocks else None
                block = self._block(token, stack[-1])
                if block.kind == "code_block" and before is not None and self._is_note(before):
                    block.kind = "note"
                self.runs.append(_Run(token.content, block.start, block.end, block.kind))
            elif token.nesting > 0 and token.map and token.type not in ("th_open", "td_open"):
                stack.append(self._block(token, stack[-1]))
            elif token.nesting < 0 and stack[-1].kind == token.type.replace("_close", "_open"):
                stack.pop()

    def _is_note(self, block: _Block) -> bool:
        """Whether a block is a note or one of its further paragraphs, whose indentation is none of code."""
        return block.kind == "note" or NOTE.match(self.text, block.start) is not None

    def _block(self, token: Any, around: _Block) -> _Block:
        level = int(token.tag[1]) if token.type == "heading_open" else 0
        block = _Block(token.type, self._at(token.map[0]), min(self._at(token.map[1]), around.end), level)
        around.blocks.append(block)
        return block

    def _at(self, line: int) -> int:
        return self._lines[min(line, len(self._lines) - 1)]

    def words(self, content: str) -> str:
        """The words of a run, without markup."""
        return " ".join(self.plain(content, exact=False).replace("\0", " ").split())

    def plain(self, content: str, *, exact: bool = True) -> str:
        """The text of a run, without markup; NUL for images and, where it is to be exact, for what Markdown says
        otherwise than the page, and marks around links."""
        parts: list[str] = []
        for token in self.inline(content[:_MAX_RUN_CHARS]):
            if token.type in ("text", "code_inline"):
                text = token.content
                if exact and token.type == "text":
                    follows_a_term = parts[-1:] == [" "] and text[:2] == ": "
                    text = _MARKDOWN_ONLY.sub("\0", f"\0 {text[2:]}" if follows_a_term else text)
                parts.append(text)
            elif token.type == "softbreak":
                parts.append(" ")
            elif token.type in ("link_open", "link_close") and exact:
                parts.append(_LINKS[token.nesting])
            elif token.type in ("image", "html_inline", "hardbreak"):
                parts.append(" \0 " if token.type == "hardbreak" else "\0")
        return "".join(parts)

    def inline(self, content: str) -> Sequence[Any]:
        children: Sequence[Any] = parser().parseInline(content, self._env)[0].children or ()
        return children

    def headings(self, ids: Sequence[tuple[str, str]]) -> Iterator[tuple[_Block, str, str | None]]:
        """The headings that stand in no quote or list, their words, and their ids."""
        titles = {run.start: run.content for run in self.runs if run.kind == "heading_open"}
        place = 0
        for block in self.top.blocks:
            if block.kind == "heading_open":
                title = self.words(titles.get(block.start, ""))
                letters = _letters(title)
                found = next((number for number in range(place, len(ids)) if ids[number][0] == letters), None)
                place = place if found is None else found + 1
                yield block, title, None if found is None else ids[found][1]

    def sections(self, ids: Sequence[tuple[str, str]]) -> tuple[Section, ...]:
        made: list[Section] = []  # those that are in no other yet, the last first
        end = [len(self.text)] * 8
        for block, title, name in reversed(list(self.headings(ids))):  # what stands below one is there already
            below: list[Section] = []
            while made and made[-1].level > block.level:
                below.append(made.pop())
            made.append(Section(block.level, title, name, block.start, end[block.level], tuple(below)))
            end[block.level :] = [block.start] * (8 - block.level)
        return tuple(reversed(made))

    def references(self, kind: str, attribute: str, make: Callable[[str, str, int], Any]) -> Iterator[Any]:
        for run in self.runs:
            if run.kind in ("fence", "code_block", "html_block") or (
                "](" not in run.content and "<" not in run.content
            ):
                continue
            words: list[str] | None = None
            target = ""
            for token in self.inline(run.content):
                if token.type == kind == "image":
                    yield make(token.content, str(token.attrs.get(attribute, "")), run.start)
                elif token.type == kind:
                    words, target = [], str(token.attrs.get(attribute, ""))
                elif token.type == "link_close" and words is not None:
                    yield make(" ".join("".join(words).split()), target, run.start)
                    words = None
                elif words is not None:
                    words.append(token.content or " ")

    def tables(self) -> Iterator[Table]:
        stack = list(reversed(self.top.blocks))
        starts: dict[int, list[str]] = {}
        for run in self.runs:
            if run.kind == "tr_open":
                starts.setdefault(run.start, []).append(self.words(run.content))
        while stack:
            block = stack.pop()
            if block.kind != "table_open":
                stack.extend(reversed(block.blocks))
                continue
            rows = [tuple(starts.get(row.start, ())) for part in block.blocks for row in part.blocks]
            yield Table(rows[0], tuple(rows[1:]), block.start)


_Unit = tuple[int, int, str, str]
"""A part that is not cut: its start and end, and what stands before and after it where the whole is cut there."""


class _Chunker:
    def __init__(self, page: _Markdown, most: int, count: Callable[[str], int], known: Pieces) -> None:
        self._page_starts = known.page_starts
        self._page = page
        self._text = page.text
        self._most = most
        self._count = count
        self._url = known.url.partition("#")[0]
        self._headings = {block.start: (block, title, name) for block, title, name in page.headings(known.heading_ids)}
        words = [(match[0].lower(), match.start()) for match in _WORD.finditer(self._text)]
        self._flat = f" {' '.join(word for word, _ in words)} "
        self._folded = " \n ".join(["", *(" ".join(_WORD.findall(each.lower())) for each in known.folded), ""])
        self._starts = [run.start for run in page.runs]
        self._at = [start for _, start in words]
        self._in_flat: list[int] = []
        size = 0
        for word, _ in words:
            self._in_flat.append(size)
            size += len(word) + 1

    def chunks(self) -> Iterator[Chunk]:
        path: list[tuple[int, str]] = []
        name: str | None = None
        for blocks in self._by_heading():
            for block in blocks:
                if (heading := self._headings.get(block.start)) is not None and block.kind == "heading_open":
                    path = [each for each in path if each[0] < block.level]
                    path.append((block.level, heading[1]))
                    name = heading[2]
            yield from self._cut(blocks, tuple(title for _, title in path), name)

    def _by_heading(self) -> Iterator[list[_Block]]:
        """Blocks up to the next heading; headings that nothing stands between are together."""
        group: list[_Block] = []
        for block in self._page.top.blocks:
            if block.kind == "heading_open" and any(
                each.kind != "heading_open" and not self._text[each.start : each.end].isspace() for each in group
            ):
                yield group
                group = []
            group.append(block)
        if group:
            yield group

    def _cut(self, blocks: list[_Block], path: tuple[str, ...], name: str | None) -> Iterator[Chunk]:
        units: list[_Unit] = []
        for block in blocks:
            units += self._units(block)
        group: list[_Unit] = []
        size = 0
        blank = True  # space alone is no chunk: it belongs to what is before it, or to what follows
        for unit in units:
            text = self._text[unit[0] : unit[1]]
            size += self._count(text)
            may_end = not (blank or text.isspace() or all(start in self._headings for start, _, _, _ in group))
            if may_end and self._is_too_long([*group, unit], size):
                yield self._chunk(group, path, name)
                group, size = [], self._count(text)
            group.append(unit)
            blank = blank and text.isspace()
        if group:
            yield self._chunk(group, path, name)

    def _is_too_long(self, group: Sequence[_Unit], about: int) -> bool:
        return about > 1.2 * self._most or (about > 0.7 * self._most and self._count(self._text_of(group)) > self._most)

    def _units(self, block: _Block) -> Iterator[_Unit]:
        """The parts that a block is cut into, as large as may be."""
        start, end = block.start, block.end
        if self._count(self._text[start:end]) <= self._most or block.kind == "heading_open":
            yield start, end, "", ""
        elif block.kind in _CONTAINERS and block.blocks:
            for number, inner in enumerate(block.blocks):
                first = inner.start if number else start  # the marker of an item belongs to what is first in it
                last = block.blocks[number + 1].start if number + 1 < len(block.blocks) else end
                if first < last:
                    yield from self._units(_Block(inner.kind, first, last, 0, inner.blocks))
        elif block.kind == "table_open":
            rows = [row for part in block.blocks for row in part.blocks]
            head = self._text[start : rows[1].start if len(rows) > 1 else end]
            yield start, start + len(head), "", ""
            yield from ((row.start, end if row is rows[-1] else row.end, head, "") for row in rows[1:])
        elif block.kind in ("fence", "code_block", "html_block"):
            lines = self._text[start:end].splitlines(keepends=True)
            opening = _FENCE.search(lines[0]) if block.kind == "fence" else None
            fence, close = (opening[0].rstrip(), opening[1]) if opening else ("", "")
            at = start
            for line in lines:
                yield at, at + len(line), f"{fence}\n" if at > start and fence else "", close
                at += len(line)
        else:
            yield from self._sentences(start, end)

    def _sentences(self, start: int, end: int) -> Iterator[_Unit]:
        text = self._text[start:end]
        whole = [match.span() for match in _UNCUT.finditer(text)]
        starts = [first for first, _ in whole]

        def may_cut(at: int) -> bool:
            number = bisect_right(starts, at) - 1
            return number < 0 or at <= starts[number] or at >= whole[number][1]

        ends = [match.end() for match in _SENTENCE.finditer(text) if may_cut(match.end())]
        for first, last in pairwise([0, *ends, len(text)]):
            if first == last:
                continue
            if self._count(text[first:last]) <= self._most:
                yield start + first, start + last, "", ""
                continue
            breaks = [first + match.end() for match in _BREAK.finditer(text[first:last])]
            breaks = [at for at in breaks if may_cut(at)]
            for before, after in pairwise([first, *breaks, last]):
                if before < after and self._count(text[before:after]) <= self._most:
                    yield start + before, start + after, "", ""
                    continue
                spans = whole[bisect_left(starts, before) : bisect_left(starts, after)]
                for number, (left, right) in enumerate(pairwise([before, *chain.from_iterable(spans), after])):
                    if number % 2:
                        yield start + left, start + right, "", ""
                    elif left < right:
                        yield from self._characters(start + left, start + right)

    def _characters(self, start: int, end: int) -> Iterator[_Unit]:
        """Text in which nothing says where to cut it: halved until its parts are small."""
        stack = [(start, end)]
        while stack:
            first, last = stack.pop()
            if last - first < 2 or self._count(self._text[first:last]) * _MAX_UNBROKEN_PARTS <= self._most:
                yield first, last, "", ""
                continue
            middle = self._cut_place(first, last)
            stack += ((middle, last), (first, middle))

    def _cut_place(self, first: int, last: int) -> int:
        """Where text is cut: in no character of several code points or escape, and if possible in no word or entity."""
        middle = (first + last) // 2
        places = sorted(
            range(middle - _MAX_CUT_OFFSET_CHARS, middle + _MAX_CUT_OFFSET_CHARS), key=lambda at: abs(at - middle)
        )
        possible = [at for at in places if first < at < last and not _is_joined(*self._text[at - 1 : at + 1])]
        ends = (at for at in possible if not self._text[at - 1 : at + 1].isascii())
        return next(chain(ends, possible), middle)

    def _chunk(self, group: Sequence[_Unit], path: tuple[str, ...], name: str | None) -> Chunk:
        text = self._text_of(group)
        start, end = group[0][0], group[-1][1]
        return Chunk(text, path, self._count(text), self._address(start, end, name), start, end)

    def _text_of(self, group: Sequence[_Unit]) -> str:
        text = group[0][2] + self._text[group[0][0] : group[-1][1]].rstrip()
        if (close := group[-1][3]) and text.rpartition("\n")[2].strip() != close:
            text += f"\n{close}"
        return text.strip("\n")

    def _address(self, start: int, end: int, name: str | None) -> str:
        """The page's address with a fragment by which the passage is found: of a PDF `page=N` (RFC 8118, 3)."""
        if self._page_starts:
            return f"{self._url}#page={bisect_right(self._page_starts, start)}"
        first = bisect_right(self._starts, start)
        while first > 0 and self._page.runs[first - 1].end > start:
            first -= 1
        found = self._page.runs[first : bisect_left(self._starts, end)]
        words: list[tuple[int, list[str]]] = []  # how good to begin with, and the words
        for run in (*found[:_MAX_TRIED_RUNS], *found[-2:]) if len(found) > _MAX_TRIED_RUNS else found:
            for each in self._words(run, start, end):
                rank = (len(each) < 4) + (len(each) < 3) + _RANKS.get(run.kind, 0)
                words.append((rank, each))
        chosen: list[str] = []
        for _, each in sorted(words, key=lambda pair: pair[0]):
            if chosen := self._unique_words(each, start):
                break
        place = quote(name, safe="") if name else ""
        if not chosen:
            return f"{self._url}#{place}" if place else self._url
        return f"{self._url}#{place}:~:text={quote(' '.join(chosen), safe='').replace('-', '%2D')}"

    def _words(self, run: _Run, start: int, end: int) -> Iterator[list[str]]:
        """The words of a run that lie in a chunk, as far as they stand on the page one after the other."""
        if run.kind in ("fence", "code_block"):
            lines = self._text[max(run.start, start) : min(run.end, end)].split("\n")
            parts = [part for line in lines[:_MAX_TRIED_RUNS] if "```" not in line for part in _GAP.split(line.strip())]
            yield from (part.split() for part in parts if any(map(str.isalnum, part)))
            return
        contents = [run.content]
        if run.kind == "note":
            lines = self._text[max(run.start, start) : min(run.end, end)].split("\n")
            contents = [_MARKERS.sub("", line, count=1) for line in lines[:_MAX_TRIED_RUNS]]
        elif run.kind != "tr_open" and (run.start < start or run.end > end):
            content = self._text[max(run.start, start) : min(run.end, end)]
            contents = [_MARKERS.sub("", content, count=1) if run.start >= start else content]
        for plain in map(self._page.plain, contents):
            for part in _GAP.split(_WORD_AT_NUL.sub("\n", plain.removeprefix("\0"))):
                if len(part) > _MAX_FRAGMENT_CHARS:  # no word is cut
                    part = part[:_MAX_FRAGMENT_CHARS].rpartition(" ")[0] or part[:_MAX_FRAGMENT_CHARS]
                if _LINK.search(part):  # a style may set links apart, or break their text
                    inner = _LINK.split(_IN_WORD.sub("\1", part))
                    yield from (words for each in inner if len(words := each.split()) >= _FRAGMENT_WORDS // 2)
                if any(map(str.isalnum, _LINK_TEXT.sub("", part))):
                    yield _LINK.sub("", part).split()

    def _unique_words(self, words: list[str], start: int) -> list[str]:
        """The first words, as few as are enough, where they are not found earlier on the page."""
        for number in (_FRAGMENT_WORDS, 2 * _FRAGMENT_WORDS, 4 * _FRAGMENT_WORDS):
            key = " ".join(_WORD.findall(" ".join(words[:number]).lower()))
            at = self._flat.find(f" {key} ")
            is_first = at < 0 or self._at[bisect_right(self._in_flat, at) - 1] >= start
            if is_first and f" {key} " not in self._folded:
                return words[:number]
            if number >= len(words):
                break
        return []


def _is_joined(before: str, after: str) -> bool:
    return before in _JOINING_CHARS or after in "\u200dำຳ" or unicodedata.category(after).startswith("M")
