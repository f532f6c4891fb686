"""A tree becomes Markdown (CommonMark with the tables of GFM). What a page says as text stays text: nothing in it can
become a link, a heading or markup that the page did not have.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Final
from unicodedata import category

from comity_pages import urls
from comity_pages.errors import ExtractionFailed
from comity_pages.html.tree import HEADINGS, Node, Text, Tree, heading_level, is_block
from comity_pages.markdown import tables
from comity_pages.markdown.code import LINE_CLASS, is_number, language
from comity_pages.markdown.footnotes import Footnotes
from comity_pages.markdown.inline import (
    BREAK,
    as_exponent,
    code_span,
    emphasize,
    fence_of,
    heading_end,
    indent_lines,
    line_breaks,
    line_starts,
    parse_number,
    place_emphasis,
    words_of,
)

_MAX_REFERENCE_CHARS: Final = 8192
_MAX_NESTED_LISTS: Final = 24
_MAX_ANCESTORS: Final = 4  # elements around a link in a heading
_CHECK_EVERY: Final = 256
# Where an image alone is the button that shares a page, or leads to who publishes it.
_SHARE_LINK: Final = re.compile(
    r"https?://(?:[\w-]+\.)*(?:(?:facebook|twitter|x|linkedin|pinterest|reddit|tumblr|whatsapp|instagram|plus\.google|vk"
    r"|telegram|t|wa)\.(?:com|me)/|addthis\.com|addtoany\.com)|mailto:\?",
    re.IGNORECASE,
)
# A block of nothing but images that lead elsewhere: before and after the content, logos and advertisements.
_LINKED_IMAGES: Final = re.compile(
    r"(?:(?:(?:[-*]|\d+[.)]) +)?\[!\[(?:[^\[\]\\]|\\.)*\]\([^()]*\)\]"
    r"\((?![^()]*\.(?i:jpe?g|png|webp|avif|gif)[?)])[^()]*\)\s*)+"
)
_IMAGE: Final = re.compile(r"!\[(?:[^\[\]\\]|\\.)*\]\([^()]*\)")
_INVISIBLE: Final = re.compile("[\\s\\u200b-\\u200f\\u2060\\ufeff\\ue000-\\uf8ff]+")
"""What a reader does not see, and glyphs of icon fonts."""
_NOTE_MARK: Final = re.compile(r"\s*(?:\\\[|\()?(\[\^\d+\](?:\s*[,;–-]\s*\[\^\d+\])*)(?:\\\]|\))?\s*")
_NOTE_LABEL: Final = re.compile(r"^(?:[.:)]|\\\[\d*\\?\]|\d{1,3}\\?[.):]?|\^|\*|†|‡)(?:\s+|$)")
_PERMALINK: Final = re.compile(r"(?i)(?:(?:direct |copy |perma)?link|anchor|section titled)\b")  # said to who listens
_PERMALINKS: Final = frozenset(("¶", "#", "§", "\N{LINK SYMBOL}"))  # beside a heading, for people to copy
_EMPHASES: Final = {"b": "b", "strong": "b", "i": "i", "em": "i", "cite": "i", "del": "s", "s": "s", "strike": "s"}
_CODE_ELEMENTS: Final = frozenset(("code", "kbd", "samp", "tt"))
_LAZY_ATTRIBUTES: Final = ("data-src", "data-lazy-src", "data-original", "data-lazy", "data-srcset", "data-lazy-srcset")
_MAX_EMOJI_CHARS: Final = 16
_JOINS_EMOJI: Final = "\u200d\ufe0f"  # what makes one of several, or says that it has colours
_LAZY_NAME: Final = re.compile(r"src|original|lazy|echo")
_IMAGE_FILE: Final = re.compile(r"\.(?:jpe?g|png|webp|avif|gif|svg)(?:[?#]|$)", re.IGNORECASE)
"""How an attribute of another name says where an image is."""
_MAX_SRCSET_WORDS: Final = 200
_PLACEHOLDER: Final = re.compile(
    r"^\s*data:|(?:\b|_)(?:blank|placeholder|spacer|pixel|transparent|loading|lazy(?:load)?|1x1)\.(?:gif|png|svg|jpe?g)",
    re.IGNORECASE,
)
# One of these stands in whatever the expression above finds, and is found faster.
_PLACEHOLDER_WORDS: Final = "data: blank placeholder spacer pixel transparent loading lazy 1x1".split()
_BULLETS: Final = frozenset("•·▪◦‣●○■–")
_BULLET: Final = re.compile(r"(?m)^(?:-|(\d+)\.)(?= )")
_MAX_ITEM_NUMBER: Final = 10**9 - 1
# What would end a link's destination, percent-encoded.
_IN_DESTINATION: Final = {ord(char): f"%{ord(char):02X}" for char in " ()<>\n\r\t\\|"}
_ENDS_DESTINATION: Final = re.compile(r"[ ()<>\n\r\t\\|]")


def render(tree: Tree, base: urls.Base, notes: Footnotes, *, without: set[Node], deadline: float, url: str) -> str:
    """Markdown of a page but for the elements `without`; relative references start at `base`.

    Raises:
        ExtractionFailed: this thread has worked until the deadline: a busy machine makes no page hostile.
    """
    writer = Writer(base, notes, without, deadline, url)
    top = tree.first("body") or tree.root
    blocks = writer.container(top, [])
    for end in (0, -1) if top.words else ():  # what is content was chosen
        while blocks and _LINKED_IMAGES.fullmatch(blocks[end][1]):
            del blocks[end]
    writer.inline_notes(blocks)
    text = join_blocks(blocks)
    return text + "\n" if text else ""


Block = tuple[str, str]  # what it is (`text`, `heading`, `list`, `code`, `table`, `rule`) and its lines


def join_blocks(blocks: Iterable[Block], *, tight: bool = False) -> str:
    """Blocks with what stands between them; `tight` for an item, whose lists follow its text at once."""
    parts: list[str] = []
    before = ""
    other = False
    for kind, text in blocks:
        if kind == "rule" and (not parts or before == "rule"):
            continue
        other = kind == before == "list" and not other  # another bullet begins another list (CommonMark, 5.3)
        if other:
            text = _BULLET.sub(lambda match: f"{match[1]})" if match[1] else "*", text)
        if parts:
            parts.append("\n" if tight and kind == "list" and before == "text" else "\n\n")
        parts.append(text)
        before = kind
    if before == "rule":
        del parts[-2:]
    return "".join(parts)


_TABLES: Final = frozenset(("table", "grid", "treegrid"))


class Writer:
    """Writes one page; `container` and `inline` call each other as the page is nested."""

    def __init__(self, base: urls.Base, notes: Footnotes, without: set[Node], deadline: float, url: str) -> None:
        self._base = base
        self._notes = notes
        self._without = without
        self._deadline = deadline
        self._url = url
        self._seen = 0
        self._indent = 0
        self._link: str | None = None  # of an `a` around blocks, until a heading or a text has taken it
        self._kinds: dict[str, Callable[[Node, list[Block]], None]] = {
            **dict.fromkeys(HEADINGS, self._heading),
            **dict.fromkeys(("ul", "ol", "menu", "dir"), self._list),
            "dl": self._definitions,
            "pre": self._code,
            "blockquote": self._quote,
            "table": partial(tables.write, self),
            "hr": lambda _, out: out.append(("rule", "---")),
        }

    def container(self, node: Node, out: list[Block]) -> list[Block]:
        """The blocks of an element's content, added to `out`."""
        return self._contents(node.children, out)

    def _contents(self, children: Iterable[Node | Text], out: list[Block]) -> list[Block]:
        run: list[str] = []
        piece: Text
        child: Node
        for each in children:
            if isinstance(each, Text):
                piece = each
                if piece.kept:
                    run.append(words_of(piece.text))
                elif run:
                    run.append(" ")
                continue
            child = each
            if self.is_left_out(child):
                if run:
                    run.append(" ")
                continue
            self._tick()
            if child in self._notes.inline:
                run.append(f"[^{self._notes.inline[child]}]")
            elif is_block(child):
                self._flush(run, out)
                self.block(child, out)
            else:
                self.inline(child, run, frozenset())
        self._flush(run, out)
        return out

    def block(self, node: Node, out: list[Block]) -> list[Block]:
        """The blocks of one block-level element, added to `out`."""
        kind = self._kinds.get(node.name)
        if kind is None and "role" in node.attributes:
            role = node.attributes["role"].strip().lower()
            kind = self._heading if role == "heading" else self._kinds["table"] if role in _TABLES else None
            if role == "list" and all(each.attributes.get("role") == "listitem" for each in node.elements()):
                kind = self._list
        if node in self._notes.notes:
            self._note(node, out)
        elif kind is not None:
            kind(node, out)
        elif node.name == "a" and (target := self._target(node)) is not None:
            outer, self._link = self._link, target
            if not node.descendants(*HEADINGS):
                self.container(node, out)
            else:
                self._link = None
                self._linked_heading(node, target, out)
            self._link = outer
        else:
            self.container(node, out)
        return out

    def inline(self, node: Node, run: list[str], inside: frozenset[str]) -> None:
        """An inline element's part of a run of text; `inside`: the marks that are open around it."""
        name = node.name
        if name == "br":
            run.append(BREAK)
        elif name == "img":
            run.append(self._image(node))
        elif name in ("video", "audio"):
            run.append(self._medium(node))
        elif name in _CODE_ELEMENTS:
            code = code_span(self._raw(node))
            link = _only_link(node)
            target = self._target(link) if link is not None and "[" not in inside else None
            run.append(code if target is None else f"[{code}]({target})")
        elif name == "a":
            self._anchor(node, run, inside)
        elif name == "math":
            formula = self._formula(node)
            run.append(f" {formula}" if run and run[-1].endswith("$") else formula)
        elif name in ("sup", "sub"):
            inner = self._inline_text(node, inside)
            note = _NOTE_MARK.fullmatch(inner)
            run.append(note[1] if note else as_exponent(name, inner, run[-1][-1:] if run else ""))
        elif name == "q":
            run.append(f"“{self._inline_text(node, inside).strip()}”")
        elif (mark := _EMPHASES.get(name)) is not None and mark not in inside:
            run.append(emphasize(self._inline_text(node, inside | {mark}), mark))
        elif name == "rt":
            run.append(f"({self._inline_text(node, inside).strip()})")
        elif name == "input":
            if not run and node.attributes.get("type", "").lower() == "checkbox" and _begins_item(node):
                run.append("[x] " if "checked" in node.attributes else "[ ] ")
        elif name != "rp":
            if not run and node.attributes.get("role") == "checkbox" and _begins_item(node):
                run.append("[x] " if node.attributes.get("aria-checked") == "true" else "[ ] ")
            self._write_children(node, run, inside)

    def text_of(self, node: Node) -> str:
        """An element's content on one line, for a heading or a cell."""
        blocks = self.container(node, [])
        lines = (text.partition(" ")[2] if kind == "heading" else text for kind, text in blocks)  # one in another
        return " ".join(text.replace("  \n", " ").replace("\n", " ") for text in lines)

    def is_left_out(self, node: Node) -> bool:
        """Whether nothing of it is written."""
        return node.skipped or (node.words > 0 and node.kept_words == 0) or node in self._without

    def _inline_text(self, node: Node, inside: frozenset[str]) -> str:
        run: list[str] = []
        self._write_children(node, run, inside)
        return place_emphasis("".join(run))

    def _write_children(self, node: Node, run: list[str], inside: frozenset[str]) -> None:
        piece: Text
        child: Node
        for each in node.children:
            if isinstance(each, Text):
                piece = each
                run.append(words_of(piece.text) if piece.kept else " ")
                continue
            child = each
            if not self.is_left_out(child):
                self._tick()
                if child in self._notes.inline:
                    run.append(f"[^{self._notes.inline[child]}]")
                elif is_block(child):  # only where a table or a heading stands inside of a run
                    run.append(" ")
                    self._write_children(child, run, inside)
                    run.append(" ")
                else:
                    self.inline(child, run, inside)

    def _tick(self) -> None:
        self._seen += 1
        if self._seen % _CHECK_EVERY == 1 and time.thread_time() > self._deadline:
            raise ExtractionFailed(f"{self._url} could not be turned into Markdown in time", url=self._url)

    def _flush(self, run: list[str], out: list[Block]) -> None:
        if not run:
            return
        text = place_emphasis("".join(run))
        run.clear()
        if not text or text.isspace():
            return
        text = line_breaks(text)
        if self._link is not None and ("](" not in text or _IMAGE.fullmatch(text)):
            text, self._link = f"[{text}]({self._link})", None
        out.append(("text", line_starts(text)))

    def _heading(self, node: Node, out: list[Block]) -> None:
        text = self.text_of(node).strip()
        if text:
            out.append(("heading", f"{'#' * heading_level(node)} {heading_end(text)}"))

    def _linked_heading(self, node: Node, target: str, out: list[Block]) -> None:
        """A link around a heading: the heading is the link."""
        before = len(out)
        self.container(node, out)
        for number in range(before, len(out)):
            kind, text = out[number]
            if kind == "heading":
                marks, _, words = text.partition(" ")
                if "](" not in words:
                    out[number] = (kind, f"{marks} [{words}]({target})")
                return

    def _list(self, node: Node, out: list[Block]) -> None:
        backwards = "reversed" in node.attributes
        first = sum(child.name == "li" for child in node.elements()) if backwards else 1
        number = parse_number(node.attributes.get("start", ""), _MAX_ITEM_NUMBER, first) if node.name == "ol" else 0
        items: list[str] = []
        bullet = "  "
        notes: list[Block] = []
        deep = self._indent >= _MAX_NESTED_LISTS
        self._indent += 1
        for is_item, children in _parts(node):
            child = children[0]
            if isinstance(child, Node) and child in self._notes.notes and not self.is_left_out(child):
                self._note(child, notes)
                number += -1 if backwards else 1
                continue
            blocks = self._contents(children, [])
            if len(blocks) > 1 and (blocks[0][1] in _BULLETS or blocks[0][1] == f"{number}\\."):
                del blocks[0]  # a list whose style writes no mark of its own
            text = join_blocks(blocks, tight=True)
            if not text:
                continue
            if not is_item and not items:  # beside what stands before the first item no mark is drawn
                out += blocks
                continue
            if isinstance(child, Node) and "value" in child.attributes:
                number = parse_number(child.attributes["value"], _MAX_ITEM_NUMBER, number)
            if is_item:
                bullet = f"{number}. " if node.name == "ol" else "- "
                number = max(0, number - 1) if backwards else number + 1
            else:  # it belongs to the item above
                bullet = " " * len(bullet)
                if blocks[0][0] != "list":
                    items.append("")
            items.append(text if deep else bullet + indent_lines(text, " " * len(bullet)))
        self._indent -= 1
        if items:
            out.append(("list", "\n".join(items)))
        out += notes

    def _definitions(self, node: Node, out: list[Block]) -> None:
        """Terms with what they mean: a line each where that is a line (`: `, as in pandoc), else as it stands."""
        children: list[Node | Text] = []
        for each in node.children:  # a `div` may hold a group of them (HTML, 4.4.9)
            if isinstance(each, Node) and each.name == "div" and not self.is_left_out(each):
                children += each.children
            else:
                children.append(each)
        others = (child for child in children if not isinstance(child, Node) or child.name not in ("dt", "dd"))
        if any(isinstance(child, Node) or not child.text.isspace() for child in others):
            self.container(node, out)
            return
        nodes = [child for child in children if isinstance(child, Node) and not self.is_left_out(child)]
        parts = [(child.name, self.block(child, [])) for child in nodes]
        simple = all([kind for kind, _ in blocks] in ([], ["text"]) for _, blocks in parts)
        for name, blocks in parts:
            if simple and name == "dd" and blocks and out and out[-1][0] == "term":
                out[-1] = ("term", f"{out[-1][1]}\n: {indent_lines(blocks[0][1], '  ')}")
            else:
                out += [("term", text) for _, text in blocks] if simple and name == "dt" else blocks

    def inline_notes(self, out: list[Block]) -> None:
        """The notes that stand in the text, below it."""
        for node in self._notes.inline:
            if not self.is_left_out(node):
                self._note(node, out, self._notes.inline[node])

    def _note(self, node: Node, out: list[Block], number: int = 0) -> None:
        text = _NOTE_LABEL.sub("", join_blocks(self.container(node, []))).strip()
        if text:
            out.append(("note", f"[^{number or self._notes.notes[node]}]: {indent_lines(text, '    ')}"))

    def _quote(self, node: Node, out: list[Block]) -> None:
        self._indent += 1
        text = join_blocks(self.container(node, []))
        self._indent -= 1
        if text and self._indent < _MAX_NESTED_LISTS:
            text = "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
        if text:
            out.append(("quote", text))

    def _code(self, node: Node, out: list[Block]) -> None:
        code = self._raw(node).removeprefix("\n").rstrip()
        if not code.strip():
            return
        fence = fence_of(code)
        out.append(("code", f"{fence}{language(node)}\n{code}\n{fence}"))

    def _raw(self, node: Node) -> str:
        """The text of code: lines and indentation as they are."""
        parts: list[str] = []
        is_open = False  # a line whose end is not written yet

        def take(inner: Node) -> None:
            nonlocal is_open
            for child in inner.children:
                if isinstance(child, Text):
                    if child.kept and child.text:
                        if is_open and child.text[0] not in "\r\n":
                            parts.append("\n")
                        is_open = False
                        parts.append(child.text)
                elif child.name == "br":
                    is_open = False
                    parts.append("\n")
                elif not self.is_left_out(child):
                    self._tick()
                    if is_number(child):
                        continue
                    lines = is_block(child) and child.name not in ("td", "th")
                    is_line = child.name == "span" and LINE_CLASS.search(child.attributes.get("class", "")) is not None
                    if (is_line and is_open) or (lines and parts and not parts[-1].endswith("\n")):
                        parts.append("\n")
                        is_open = False
                    before = len(parts)
                    take(child)
                    if lines and parts and not parts[-1].endswith("\n"):
                        parts.append("\n")
                        is_open = False
                    if is_line:
                        is_open = len(parts) == before or not parts[-1].endswith("\n")

        take(node)
        return "".join(parts).replace("\r\n", "\n").replace("\xa0", " ")

    def _anchor(self, node: Node, run: list[str], inside: frozenset[str]) -> None:
        if "[" in inside:
            self._write_children(node, run, inside)
            return
        if node in self._notes.backs:
            return
        if (note := self._notes.marks.get(node)) is not None:
            run.append(f"[^{note}]")
            return
        words = self._inline_text(node, inside | {"["})
        label = words.strip(" \x0c")
        target = self._target(node)
        if "#" in node.attributes.get("href", ""):
            plain = _INVISIBLE.sub("", label.replace("\\", ""))
            if plain in _PERMALINKS or not plain:
                return
            if _PERMALINK.match(label) and "anchor" in node.attributes.get("class", ""):
                near = node.ancestors()[1:_MAX_ANCESTORS]
                if any(each.name in HEADINGS for each in (*near, *near[0].elements())):
                    return
            if _leads_to_its_heading(node):
                run.append(words)
                return
        if not label or target is None:
            run.append(words)
            return
        is_image = label[:2] == "![" and label[-1] == ")"
        if is_image and _SHARE_LINK.match(target) and node.words == 0 and node.ancestors()[-1].words > 0:
            return  # of what was chosen as the main content
        label = label.replace(BREAK, " ")
        lead = " " if words[:1] == " " else ""
        trail = " " if words[-1:] == " " else ""
        run.append(f"{lead}[{label}]({target}){trail}")

    def _target(self, node: Node) -> str | None:
        return self.reference(node.attributes.get("href"), ("mailto:", "tel:"))

    def reference(self, reference: str | None, other: tuple[str, ...] = ()) -> str | None:
        """An absolute http or https URL (or one of the other schemes), or None: `javascript:` is no place to go to."""
        if reference is None or len(reference) > _MAX_REFERENCE_CHARS:
            return None
        reference = reference.strip()
        if reference[:7].lower().startswith(other) and other:
            return _destination(reference)
        target = self._base.join(reference)
        if target is None:
            return None
        _, mark, fragment = reference.partition("#")  # the join leaves it out; people cite by it
        return _destination(f"{target}{mark}{fragment}")

    def _formula(self, node: Node) -> str:
        tex = " ".join(self._raw(node).split())
        if "$" in tex.replace("\\$", "") or not tex:
            return words_of(tex)
        return f"$${tex}$$" if node.attributes.get("display") == "block" else f"${tex}$"

    def _image(self, node: Node) -> str:
        attributes = node.attributes
        label = words_of(attributes.get("alt", "")).strip()
        if label and ("emoji" in attributes.get("class", "").lower() or _is_emoji(label)):
            return label
        sources = [_largest(name, attributes[name]) for name in _LAZY_ATTRIBUTES if name in attributes]
        shown = attributes.get("src", "")
        if not shown or _is_placeholder(shown):
            around = node.parent.elements() if node.parent is not None and node.parent.name == "picture" else []
            choices = [each.attributes for each in (node, *around)]
            sources += [_largest("srcset", each["srcset"]) for each in choices if "srcset" in each]
            for name, value in attributes.items():
                if name[:5] == "data-" and (_LAZY_NAME.search(name) or _IMAGE_FILE.search(value)):
                    sources.append(_largest(name, value))
        target = self._first(node, [*filter(_is_address, sources), shown])
        return f"![{label}]({target})" if target else ""

    def _medium(self, node: Node) -> str:
        attributes = node.attributes
        target = self._first(node, [each.attributes.get("src", "") for each in (node, *node.descendants("source"))])
        label = attributes.get("title") or attributes.get("aria-label") or node.name
        return f"[{words_of(label).strip()}]({target})" if target else ""

    def _first(self, node: Node, sources: list[str]) -> str | None:
        """The first address of an image or a medium, where the text around it, as far as there is any, is kept."""
        around = next((each for each in node.ancestors() if each.words), None)
        if around is not None and around.kept_words * 2 < around.words:
            return None
        found = (self.reference(each) for each in sources if each and each.lstrip()[:5].lower() != "data:")
        return next(filter(None, found), None)


def _destination(reference: str) -> str:
    return reference.translate(_IN_DESTINATION) if _ENDS_DESTINATION.search(reference) else reference


def _only_link(node: Node) -> Node | None:
    """The link that is all that stands in an element."""
    only = node.children[0] if len(node.children) == 1 else None
    return only if isinstance(only, Node) and only.name == "a" and only.children else None


def _leads_to_its_heading(link: Node) -> bool:
    around = link.ancestors()[:_MAX_ANCESTORS]
    place = link.attributes["href"]
    stands = any(each.name in HEADINGS for each in around)
    return stands and place[:1] == "#" and any(each.attributes.get("id") == place[1:] for each in around)


def _parts(node: Node) -> Iterator[tuple[bool, list[Node | Text]]]:
    """The items of a list, and what stands between them, which is no item; where nothing is one, all elements are."""
    counts = any(each.name == "li" for each in node.elements())
    between: list[Node | Text] = []
    for each in node.children:
        if isinstance(each, Text) or (each.name != "li" if counts else each.name in ("ul", "ol")):
            between.append(each)
            continue
        if between:
            yield False, between
            between = []
        yield True, [each]
    if between:
        yield False, between


def _is_emoji(label: str) -> bool:
    """Whether a text is made of emoji alone, as the one is that stands for a picture of an emoji."""
    return len(label) <= _MAX_EMOJI_CHARS and all(
        category(char) == "So" or char in _JOINS_EMOJI or "\U0001f3fb" <= char <= "\U0001f3ff" for char in label
    )


def _is_placeholder(source: str) -> bool:
    lower = source.lower()
    return any(word in lower for word in _PLACEHOLDER_WORDS) and _PLACEHOLDER.search(source) is not None


def _is_address(source: str) -> bool:
    return len(source.split()) == 1 and ("/" in source or "." in source) and source[:1] not in "{["


def _largest(name: str, value: str) -> str:
    """The address in an attribute; of a `srcset`, the one of the largest image (HTML, 4.8.4.3.9)."""
    if "srcset" not in name:
        return value.strip()
    sizes: dict[str, int] = {}
    address = ""
    for word in value.split()[:_MAX_SRCSET_WORDS]:
        if address:
            size, comma, following = word.partition(",")
            sizes[address] = max(sizes[address], parse_number(size[:-1].partition(".")[0], _MAX_ITEM_NUMBER, 0))
            address = following.strip(",") if comma else address
        else:
            address = word.strip(",")
        if address:
            sizes.setdefault(address, 0)
        if word[-1] == ",":  # without a size, or behind it
            address = ""
    return max(sizes, key=sizes.__getitem__, default="")


def _begins_item(node: Node) -> bool:
    """Whether it is the first thing in an item of a list."""
    for child, around in pairwise(node.ancestors()):
        before = around.children[: around.children.index(child)]
        if any((each.text() if isinstance(each, Node) else each.text).strip() for each in before):
            return False
        if around.name not in ("p", "label", "span", "div"):
            return around.name == "li"
    return False
