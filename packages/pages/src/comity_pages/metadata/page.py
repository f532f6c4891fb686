"""A page as its metadata is read: what it states as data and metas, and what stands about its heading, where readers
look for who wrote it and when.
"""

from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Final, Literal, NamedTuple

from comity_pages.html.tree import Node, Text, Tree
from comity_pages.metadata.days import day_of
from comity_pages.metadata.json_ld import Object, clean_text

MAX_FIELD: Final = 500  # characters kept of a field
_MAX_CHARS_BEFORE: Final = 250
_MAX_CHARS_AFTER: Final = 500  # characters about a heading that are looked at
_MAX_NODES: Final = 300
_SKIPPED_ELEMENTS: Final = frozenset(("nav", "aside", "footer", "figure", "blockquote", "form"))

_ChildAndParent = tuple[Node | Text, Node]  # what stands in an element, and that element
Source = Literal["json-ld", "meta", "heading", "title", "markup", "text", "url", "link", "html"]


@dataclass(frozen=True, slots=True)
class Field:
    """A value, and where it was found."""

    value: str
    source: Source


def field(value: str, source: Source) -> Field | None:
    """A value as a field, if there is any."""
    value = clean_text(value)[:MAX_FIELD]
    return Field(value, source) if value else None


class Piece(NamedTuple):
    """A text, and the element it stands in."""

    text: str
    node: Node


@dataclass(frozen=True, slots=True)
class Page:
    """What the readers of fields read.

    Attributes:
        url: where the page was served.
        hidden: elements nobody sees.
        metas: what the `meta` elements state, by their names in lower case; what is said again in lines.
        json_ld: what it states as JSON-LD.
        data: the same, then what it states as microdata.
        site: what the site calls itself.
        day_first: whether 3/4/2024 is a day of April; None where nothing says so.
    """

    tree: Tree
    url: str
    hidden: set[Node]
    metas: dict[str, str]
    json_ld: list[Object]
    data: list[Object]
    site: Field | None
    day_first: bool | None

    def day(self, text: str) -> str:
        """The first date in a text, or the one of publication in it; empty where there is none."""
        return day_of(text, day_first=self.day_first)

    def texts_near(self, heading: Node | None) -> list[Piece]:
        """The texts before and after a heading but what stands beside a page; an empty one for the heading itself."""
        if heading is None:
            return []
        before: list[_ChildAndParent] = []
        after: list[_ChildAndParent] = []
        for parent, node in pairwise(reversed(heading.ancestors())):
            at = parent.children.index(node)
            before += [(each, parent) for each in parent.children[:at][-_MAX_NODES:]]
            after += [(each, parent) for each in parent.children[at + 1 :][:_MAX_NODES][::-1]]
        shown = self._texts(before, _MAX_CHARS_BEFORE, backwards=True)
        return [*reversed(shown), Piece("", heading), *self._texts(after, _MAX_CHARS_AFTER)]

    def texts_in(self, node: Node, most: int = _MAX_CHARS_AFTER) -> list[Piece]:
        """The texts in an element, up to a number of characters in all."""
        return self._texts([(each, node) for each in reversed(node.children)], most)

    def _texts(self, stack: list[_ChildAndParent], most: int, *, backwards: bool = False) -> list[Piece]:
        """The texts of elements, from the last, up to a number of characters in all."""
        found: list[Piece] = []
        left = max(_MAX_NODES, most)
        while stack and most > 0 and left > 0:
            each, parent = stack.pop()
            left -= 1
            if isinstance(each, Text):
                if text := " ".join(each.text[:1000].split()):
                    found.append(Piece(text, parent))
                    most -= len(text)
            elif not each.skipped and each.name not in _SKIPPED_ELEMENTS and each not in self.hidden:
                stack += zip(each.children if backwards else reversed(each.children), repeat(each))
        return found
