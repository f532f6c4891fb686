"""An HTML page as a small tree of our own: lexbor parses it, one walk takes over what the later passes read.

What a hostile page could make expensive is bounded before (`bounds`) and in the walk; what is cut is said to be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

try:
    import cython
except ModuleNotFoundError:
    from comity_pages import _cython as cython

from selectolax.lexbor import LexborHTMLParser

from comity_pages.html import bounds

MAX_DEPTH: Final = 128  # levels of nesting that are read; what is deeper is cut off
MAX_NODES: Final = 300_000  # elements that are read: a parser may make more of them than there are tags

_MAX_NODES = cython.declare(cython.Py_ssize_t, MAX_NODES)
_BLOCKS: Final = frozenset(
    "address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption"
    " figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html label legend li main menu nav ol optgroup option p"
    " pre search section select summary table tbody td textarea tfoot th thead tr ul".split()
)
_INLINE: Final = frozenset("amp-img amp-anim lite-youtube math-renderer d-math d-cite d-footnote g-emoji".split())
"""Elements of pages' own that stand in a sentence."""
_UNREAD_ELEMENTS: Final = frozenset(("template", "iframe", "object", "embed", "svg", "canvas", "map"))
SKIPPED: Final = _UNREAD_ELEMENTS.union(
    "script style noscript noframes noembed head math select textarea option datalist".split()
)
"""Elements whose text is not the page's."""
HIDING: Final = frozenset(("style", "hidden", "aria-hidden", "popover", "color"))
POINTING: Final = frozenset(("aria-controls", "data-target", "data-bs-target", "data-toggle-target", "aria-owns"))
"""Attributes that name the element that a click shows."""
_HIDES = cython.declare(cython.int, 1)
_POINTS = cython.declare(cython.int, 2)
_STATES = cython.declare(cython.int, 4)
_NAMES = cython.declare(cython.int, 8)
# What an element with one of these attributes is noted for.
_NOTED_ATTRIBUTES = cython.declare(
    dict,
    {
        **dict.fromkeys(HIDING, _HIDES),
        **dict.fromkeys(POINTING, _POINTS),
        **dict.fromkeys(("itemscope", "itemprop"), _STATES),
        **dict.fromkeys(("class", "id"), _NAMES),
    },
)
HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_IS_BLOCK: Final = re.compile(r"(?i)(?:^|;)\s*display\s*:\s*(?:block|flex|grid|table|list-item)\b")
_MAX_SLOTS: Final = 1_000
_SHADOW: Final = -1  # the number of our own TagInfo
_NO_TEXT: Final = frozenset(("script", "style"))
_EMPTY_ELEMENTS: Final = frozenset(("br", "hr", "img", "meta"))  # empty in formulas too
_MIN_NOSCRIPT_CHARS: Final = 400


class Text:
    """A piece of text; `kept`: whether it is content, as white space between blocks always is. It refers to nothing, so
    that Python's collector of cycles need not look at it."""

    __slots__ = ("kept", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.kept = True


class TagInfo:
    """What the elements of one name have in common, and those of the page; also texts and comments (`-text`)."""

    __slots__ = tuple("block_level dialog element heading name nodes skipped text textless unread word".split())

    def __init__(self, name: str) -> None:
        self.name = name
        self.element = name[0] != "-"
        self.text = name == "-text"
        self.block_level = name in _BLOCKS or ("-" in name and name not in _INLINE)
        self.skipped = name in SKIPPED
        self.unread = name in _UNREAD_ELEMENTS or name in _EMPTY_ELEMENTS
        self.heading = name in HEADINGS
        self.dialog = name == "dialog"
        self.word = name in ("button", "label") or "-" in name  # in a paragraph, a word of a sentence
        self.textless = name in _NO_TEXT
        self.nodes: list[Node] = []


class Node:
    """An element: its name, its attributes, what it holds.

    Attributes:
        number: of its place in the page.
        block_level: whether it stands in lines of its own by its name.
        skipped: whether its text is not the page's.
        has_blocks: whether a block-level element stands in it.
        words, kept_words: of the blocks in it, where it was decided what is kept.
    """

    __slots__ = tuple("attributes block_level children has_blocks kept_words name number parent skipped words".split())

    def text(self) -> str:
        """All text in it, as it stands."""
        parts: list[str] = []
        stack: list[Node | Text] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, Text):
                parts.append(node.text)
            elif node is self or node.name not in _NO_TEXT:
                stack.extend(reversed(node.children))
        return "".join(parts)

    def ancestors(self) -> list[Node]:
        """It and the elements around it, from the innermost."""
        found = []
        node: Node | None = self
        while node is not None:
            found.append(node)
            node = node.parent
        return found

    def elements(self) -> list[Node]:
        """The elements right in it."""
        return [child for child in self.children if type(child) is Node]

    def descendants(self, *names: str) -> list[Node]:
        """The elements in it, at any depth, in the page's order; of these names, if there are any."""
        found = []
        stack = [self]
        node: Node
        while stack:
            node = stack.pop()
            if node is not self and (not names or node.name in names):
                found.append(node)
            stack.extend([child for child in reversed(node.children) if type(child) is Node])
        return found


def is_block(node: Node) -> bool:
    """Whether an element stands in lines of its own, by its name or by what is in it."""
    return node.has_blocks or node.block_level


def heading_level(node: Node) -> int:
    """The level of a heading, by its name or its role (WAI-ARIA 1.2, heading); 0 of other elements."""
    level = HEADINGS.get(node.name, 0)
    role = node.attributes.get("role")
    if level or role is None or role.strip().lower() != "heading":
        return level
    stated = node.attributes.get("aria-level", "").strip()
    return int(stated) if stated in ("1", "2", "3", "4", "5", "6") else 2


def sort_by_name(nodes: Iterable[Node], names: Sequence[str]) -> list[Node]:
    """The elements of these names: by name, then in the page's order."""
    places = {name: place for place, name in enumerate(names)}
    found = [(places[node.name], node.number, node) for node in nodes if node.name in places]
    found.sort()
    return [node for _, _, node in found]


class Tree:
    """A page: its elements by name, in its order, those that may be hidden (`styled`), that name what a click shows
    (`pointers`), with microdata, and `unread`: formulas and drawings, of which only the text is known."""

    def __init__(self, html: str) -> None:
        top = TagInfo("html")
        self.root = _element(top, {}, None)
        top.nodes.append(self.root)
        self._clear()
        self.by_name["html"] = top.nodes
        self._drawn = "<text" in html
        self.truncated = False
        self._placed: dict[int, list[Any]] = {}  # what stands in shadow trees and slots, the last first
        self._moved: set[int] = set()  # what stands in slots
        self._texts: list[str] = []
        self._count = 0
        self._size = 0
        self._size_without_scripts = 0
        source = LexborHTMLParser(html).root
        if source is not None:
            self.root.attributes = _attributes(source)
            _note(self, self.root)
            if "shadowrootmode" in html:
                self._open_shadows(source)
            _fill(self, source, self.root, False, 1, False)
        if self._size_without_scripts > max(_MIN_NOSCRIPT_CHARS, self._size):
            for node in self.by_name["noscript"]:  # the page as it is meant for who runs no scripts
                node.name = "div"
                node.block_level = True
                node.skipped = False

    def _clear(self) -> None:
        self.by_name: dict[str, list[Node]] = {}
        self.comments: list[str] = []
        self.styled: list[Node] = []
        self.pointers: list[Node] = []
        self.microdata: list[Node] = []
        self.headings: list[Node] = []
        self.by_class: dict[str, list[Node]] = {}
        self.by_id: dict[str, list[Node]] = {}
        self._lower: list[str] = []  # all classes, all ids
        self.unread: list[tuple[Node, str]] = []
        self._tag_infos: dict[int, TagInfo] = {}

    def all(self, *names: str) -> Iterator[Node]:
        """The elements of these names."""
        return (node for name in names for node in self.by_name.get(name, ()))

    def text(self) -> str:
        """All text of the page but scripts and styles."""
        if len(self._texts) > 1:
            self._texts = ["".join(self._texts)]
        return self._texts[0] if self._texts else ""

    def find_by_class_or_id(self, parts: Sequence[str], names: Sequence[str]) -> list[Node]:
        """The elements of these names whose class or id holds one of these parts in lower case; by name, in order."""
        found: set[Node] = set()
        if not self._lower:
            self._lower = ["\n".join(index).lower() for index in (self.by_class, self.by_id)]
        for index, lower in zip((self.by_class, self.by_id), self._lower, strict=True):
            held = [part for part in parts if part in lower]
            for words, nodes in index.items() if held else ():
                own = words.lower()
                for part in held:
                    if part in own:
                        found.update(nodes)
                        break
        return sort_by_name(found, names)

    def first(self, name: str) -> Node | None:
        """The first element of a name."""
        return next(iter(self.by_name.get(name, ())), None)

    def release(self) -> None:
        """Let go of all elements: they refer to each other, and Python's collector would have to find that out."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            children = node.children
            node.children = []
            stack.extend([child for child in children if type(child) is Node])
        self._clear()

    def _open_shadows(self, source: Any) -> None:
        """Have shadow trees (`<template shadowrootmode>`) stand where a browser shows them, and what is beside them in
        the slots that it names (DOM, 4.2.2.3).
        """
        self._tag_infos[_SHADOW] = TagInfo("shadow-root")
        hosts: set[int] = set()
        fragments = source.template_fragments()
        for fragment in fragments:
            template = fragment.parent
            host = template.parent
            if "shadowrootmode" not in template.attributes or host is None or host.mem_id in hosts:
                continue
            hosts.add(host.mem_id)
            fragments += fragment.template_fragments()
            self._placed[template.mem_id] = _inside(fragment)[::-1]
            named: dict[str, list[Any]] = {}
            for each in _inside(host)[::-1]:
                if each.mem_id != template.mem_id:
                    named.setdefault(each.attributes.get("slot") or "", []).append(each)
            for slot in fragment.css("slot")[:_MAX_SLOTS]:
                if placed := named.pop(slot.attributes.get("name") or "", None):
                    self._placed[slot.mem_id] = placed
                    self._moved.update([each.mem_id for each in placed])

    def _tag_info(self, source: Any, number: object) -> TagInfo:
        """What a name means that the page has for the first time."""
        name = source.tag or "-unnamed"  # a processing instruction that is none has no name
        sort = TagInfo(name)
        if sort.element:
            sort.nodes = self.by_name.setdefault(name, sort.nodes)
        self._tag_infos[number] = sort
        return sort


def parse(html: str, url: str) -> Tree:
    """The tree of a page, within bounds. Raises ExtractionFailed: a tag has more than MAX_ATTRIBUTES attributes."""
    cut, truncated = bounds.limit_markup(html, url)
    tree = Tree(cut)
    tree.truncated |= truncated
    return tree


def _inside(node: Any) -> list[Any]:
    """What stands right in a node of lexbor's, its texts and comments too."""
    found = []
    child = node.child
    while child is not None:
        found.append(child)
        child = child.next
    return found


@cython.cfunc
def _fill(
    tree: Tree, source: Any, parent: Node, textless: cython.bint, depth: cython.int, noscript: cython.bint
) -> None:
    children = parent.children
    sort: TagInfo | None
    element: Node
    piece: Text
    placed: list | None = tree._placed.get(source.mem_id) if tree._placed else None  # type: ignore[type-arg]
    node = source.child if placed is None else placed.pop() if placed else None
    while node is not None:
        number = node.tag_id
        if tree._placed:
            if placed is None and node.mem_id in tree._moved:
                node = node.next
                continue
            if node.tag == "template" and node.mem_id in tree._placed:
                number = _SHADOW
        sort = tree._tag_infos.get(number)
        if sort is None:
            sort = tree._tag_info(node, number)
        if sort.element:
            tree._count += 1
            if tree._count > _MAX_NODES:
                tree.truncated = True
                return
            attributes = _attributes(node)
            element = _element(sort, attributes, parent)
            element.number = tree._count
            children.append(element)
            sort.nodes.append(element)
            if sort.heading:
                tree.headings.append(element)
            if attributes or sort.dialog:
                _note(tree, element)
            if sort.word and parent.name == "p":
                element.block_level = False
            if element.block_level and not parent.has_blocks:
                around: Node | None = parent
                while around is not None and not around.has_blocks:
                    around.has_blocks = True
                    around = around.parent
            if not sort.unread:
                if depth < MAX_DEPTH:
                    _fill(tree, node, element, sort.textless, depth + 1, noscript or sort.name == "noscript")
                elif node.child is not None:
                    tree.truncated = True
            elif sort.name == "svg" and tree._drawn:
                tree.unread.append((element, " ".join([each.text(deep=True) for each in node.css("text")])))
        elif sort.text:
            text: str = node.text_content
            if text:
                piece = Text.__new__(Text)
                piece.text = text
                piece.kept = True
                children.append(piece)
                if not textless:
                    tree._texts.append(text)
                    if noscript:
                        tree._size_without_scripts += len(text)
                    else:
                        tree._size += len(text)
        elif sort.name == "-comment":
            tree.comments.append(node.comment_content or "")
        node = node.next if placed is None else placed.pop() if placed else None


@cython.cfunc
def _element(sort: TagInfo, attributes: dict[str, str], parent: Node | None) -> Node:
    node: Node = Node.__new__(Node)
    node.name = sort.name
    node.number = 0
    node.attributes = attributes
    node.parent = parent
    node.children = []
    node.block_level = sort.block_level
    node.skipped = sort.skipped
    node.has_blocks = False
    node.words = 0
    node.kept_words = 0
    return node


@cython.cfunc
def _note(tree: Tree, node: Node) -> None:
    """Note an element for what its attributes say."""
    noted: cython.int = _HIDES if node.name == "dialog" else 0
    attributes = node.attributes
    name: object
    known: object
    for name in attributes:
        known = _NOTED_ATTRIBUTES.get(name)
        if known is not None:
            noted |= known
    if noted & _NAMES:
        if (classes := attributes.get("class")) is not None:
            tree.by_class.setdefault(classes, []).append(node)
        if (identity := attributes.get("id")) is not None:
            tree.by_id.setdefault(identity, []).append(node)
    if noted & _HIDES:
        tree.styled.append(node)
        style = attributes.get("style")
        if style is not None and not node.block_level and "display" in style.lower() and _IS_BLOCK.search(style):
            node.block_level = True
    if noted & _POINTS:
        tree.pointers.append(node)
    if noted & _STATES:
        tree.microdata.append(node)


@cython.cfunc
def _attributes(node: Any) -> dict[str, str]:
    attributes: dict[str, str] = node.attributes
    value: object
    for value in attributes.values():
        if value is None:
            return {name: value or "" for name, value in attributes.items()}
    return attributes
