"""An HTML page as a small tree of our own: lexbor parses it, one walk takes over what the later passes read.

What a hostile page could make expensive is bounded before (`bounds`) and in the walk; what is cut is said to be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from comity.retrieve import bounds

MAX_DEPTH: Final = 128
"""Levels of nesting that are read; what is deeper is cut off."""
MAX_NODES: Final = 300_000
"""Elements that are read: a parser may make more of them than there are tags."""

_BLOCKS: Final = frozenset(
    "address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption"
    " figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html label legend li main menu nav ol optgroup option p"
    " pre search section select summary table tbody td textarea tfoot th thead tr ul".split()
)
_UNREAD: Final = frozenset(("template", "iframe", "object", "embed", "svg", "canvas", "math", "map"))
SKIPPED: Final = _UNREAD | {"script", "style", "noscript", "head", "select", "textarea", "option", "datalist"}
"""Elements whose text is not the page's."""
_NO_TEXT: Final = frozenset(("script", "style"))
_LEAST_NOSCRIPT: Final = 400


class Text:
    """A piece of text, and the block that it belongs to; None for white space between blocks."""

    __slots__ = ("block", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.block: Any = None  # a Block, known above

    @property
    def kept(self) -> bool:
        """Whether it is content; white space within a run is, too."""
        return self.block is None or self.block.kept


class Node:
    """An element: its name, its attributes, what it holds.

    Attributes:
        apart: whether it stands in lines of its own by its name.
        blocky: whether a block-level element stands in it.
        words, kept_words: of the blocks in it, where it was decided what is kept.
    """

    __slots__ = ("apart", "attributes", "blocky", "children", "kept_words", "name", "parent", "words")

    def __init__(self, name: str, attributes: dict[str, str], parent: Node | None) -> None:
        self.name = name
        self.attributes = attributes
        self.parent = parent
        self.children: list[Node | Text] = []
        self.apart = name in _BLOCKS or "-" in name
        self.blocky = False
        self.words = 0
        self.kept_words = 0

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


def is_block(node: Node) -> bool:
    """Whether an element stands in lines of its own, by its name or by what is in it."""
    return node.blocky or node.apart


class Tree:
    """A page: its root, its elements by name in the page's order, its comments, and whether a limit cut it; `styled`:
    the elements with an attribute that may hide them.
    """

    def __init__(self, html: str) -> None:
        self.root = Node("html", {}, None)
        self.named: dict[str, list[Node]] = {"html": [self.root]}
        self.comments: list[str] = []
        self.styled: list[Node] = []
        self.truncated = False
        self._texts: list[str] = []
        self._count = 0
        self._size = 0
        self._size_without_scripts = 0
        top = LexborHTMLParser(html).root
        if top is not None:
            self.root.attributes = _attributes(top)
            self._fill(top, self.root, 1, False)
        if self._size_without_scripts > max(_LEAST_NOSCRIPT, self._size):
            for node in self.named["noscript"]:  # the page as it is meant for who runs no scripts
                node.name = "div"
                node.apart = True

    def all(self, *names: str) -> Iterator[Node]:
        """The elements of these names."""
        return (node for name in names for node in self.named.get(name, ()))

    def named_nodes(self) -> Iterator[Node]:
        """The elements with attributes in the page's order."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node.attributes:
                yield node
            if len(node.children) == 1:
                child = node.children[0]
                if type(child) is Node:
                    stack.append(child)
            else:
                stack.extend([child for child in reversed(node.children) if type(child) is Node])

    def text(self) -> str:
        """All text of the page but scripts and styles."""
        if len(self._texts) > 1:
            self._texts = ["".join(self._texts)]
        return self._texts[0] if self._texts else ""

    def first(self, name: str) -> Node | None:
        """The first element of a name."""
        found = self.named.get(name)
        return found[0] if found else None

    def _fill(self, source: Any, parent: Node, depth: int, noscript: bool) -> None:
        children = parent.children
        named = self.named
        unread = parent.name in _NO_TEXT
        node = source.child
        while node is not None:
            name = node.tag or "-unnamed"  # a processing instruction that is none has no name
            if name == "-text":
                text = node.text_content
                if text:
                    children.append(Text(text))
                    if not unread:
                        self._texts.append(text)
                        if noscript:
                            self._size_without_scripts += len(text)
                        else:
                            self._size += len(text)
            elif name[0] != "-":
                self._count += 1
                if self._count > MAX_NODES:
                    self.truncated = True
                    return
                attributes = node.attributes
                element = Node(name, attributes, parent)
                children.append(element)
                if attributes:
                    if None in attributes.values():
                        element.attributes = {key: value or "" for key, value in attributes.items()}
                    if "style" in attributes or "hidden" in attributes or "aria-hidden" in attributes:
                        self.styled.append(element)
                known = named.get(name)
                if known is None:
                    named[name] = [element]
                else:
                    known.append(element)
                if element.apart and not parent.blocky:
                    around: Node | None = parent
                    while around is not None and not around.blocky:
                        around.blocky = True
                        around = around.parent
                if name not in _UNREAD:
                    if depth < MAX_DEPTH:
                        self._fill(node, element, depth + 1, noscript or name == "noscript")
                    elif node.child is not None:
                        self.truncated = True
            elif name == "-comment":
                self.comments.append(node.comment_content or "")
            node = node.next


def parse(html: str, url: str) -> Tree:
    """The tree of a page, within bounds.

    Raises:
        ExtractionFailed: a tag has more than MAX_ATTRIBUTES attributes.
    """
    cut, truncated = bounds.bounded(html, url)
    tree = Tree(cut)
    tree.truncated |= truncated
    return tree


def _attributes(node: Any) -> dict[str, str]:
    attributes: dict[str, str] = node.attributes
    if None in attributes.values():
        return {name: value or "" for name, value in attributes.items()}
    return attributes
