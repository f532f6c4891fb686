"""What is measured of a block before it is decided whether it is content: its length and links, where it stands, the
elements around it and what their names say, its neighbours, and the page as a whole. Numbers only; nothing is decided
here. The trees of content.json are fitted to these numbers in this order (benchmarks/extraction_model.py).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import Final

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

from comity.retrieve.blocks import LANDMARKS, WORDS_OF_NAMES, Block
from comity.retrieve.facts import Facts
from comity.retrieve.tree import Node, Tree

if not cython.compiled:  # compiled, they come from the .pxd file, without Python in between
    from math import log1p

    from comity.retrieve.blocks import sentences_in, share_of

_OWNERS: Final[dict[str, float]] = {
    name: float(number)
    for number, name in enumerate(
        (
            *("other", "p", "li", "h1", "h2", "h3", "h4", "h5", "h6", "td", "th", "dt", "dd", "pre", "blockquote"),
            *("figcaption", "button", "label", "a", "span", "div", "section", "article", "summary", "caption", "body"),
        )
    )
}
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_NAME_NUMBERS: Final = range(len(WORDS_OF_NAMES))
_MARK_NUMBERS: Final = tuple(
    number for number, name in enumerate(LANDMARKS) if name not in ("ul", "section", "blockquote", "details", "p")
)
_ABOUT: Final = (  # what a heading says of what is below it
    re.compile(
        r"\b(?:relat|recommend|also|similar|popular|trending|latest|recent|more|next|other|featured|read|you may)"
    ),
    re.compile(r"\b(?:comment|repl|leave|discuss|review|responses?\b|thoughts)"),
    re.compile(
        r"\b(?:share|follow|subscri|newsletter|sign up|join|contact|about|connect|stay|get in touch|author|tags?\b)"
    ),
)
_ENDS: Final = frozenset(".!?…。！？؟।။។")


class _Entry:
    """An element that holds text: how much, and where it stands to the page's core.

    Attributes:
        first, last: its first and last block.
        depth: elements from the root to it.
        alike: children of its parent that hold text and have its name and class.
        section: the largest element around it with at most SECTION of the page's words.
        steps: from the core down to it; -1 outside of it.
        branch: the part of the core that it stands in, or the largest element around it that is beside the core.
        within: whether it stands in the element that holds nearly all prose.
    """

    __slots__ = tuple(
        "_form alike blocks branch characters depth first key last links parent prose"
        " section steps within words".split()
    )

    def __init__(self, key: str, parent: _Entry | None, number: int) -> None:
        self.key = key
        self.parent = parent
        self.first = self.last = number
        self.words = self.characters = self.links = self.blocks = self.prose = 0
        self.depth: int = 1 if parent is None else parent.depth + 1
        self.alike = 1
        self.section = self.branch = self
        self.steps = -1
        self.within = False
        self._form: tuple[float, float, float, float] | None = None

    def form(self) -> tuple[float, float, float, float]:
        """How much it holds, how much of that is links and prose, and how many are like it."""
        if self._form is None:
            links, prose = self.shares()
            self._form = (log1p(self.words), links, log1p(self.alike), prose)
        return self._form

    def shares(self) -> tuple[float, float]:
        """The share of links in its characters, and of prose in its words."""
        return self.links / self.characters, self.prose / self.words


_NO_FORM: Final = (0.0, 0.0, 0.0, 0.0)
_OF_BLOCK: Final = 59  # numbers of a block alone; then come its names and landmarks, and the page
CORE: Final = 0.6
"""Of the page's prose, what its core holds at least."""
WIDE: Final = 0.9
"""Of the page's prose, what all but a little of it is."""
SECTION: Final = 0.6
"""Of the page's words, what a section of it holds at most."""


class Rows:
    """The numbers of a page's blocks: `width` for each, one after the other."""

    __slots__ = ("numbers", "width")

    def __init__(self, numbers: array[float], width: int) -> None:
        self.numbers = numbers
        self.width = width


def measure(blocks: Sequence[Block], tree: Tree, url: str) -> Rows:
    """The numbers of a page's blocks, of which there is at least one."""
    numbers = array("d")
    row: cython.double[:] = numbers
    width: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    number: cython.Py_ssize_t
    size: cython.Py_ssize_t
    words: cython.Py_ssize_t
    links: cython.Py_ssize_t
    block: Block
    entry: _Entry | None
    over: _Entry | None
    above: _Entry | None
    first: _Entry | None
    second: _Entry | None
    third: _Entry | None
    around: _Entry
    core: _Entry
    node: Node
    total_blocks = len(blocks)
    inside: dict[Node, _Entry] = {}
    own: list[_Entry] = []
    shapes: list[tuple[float, float]] = []
    sentences: list[int] = []
    same_shape: dict[tuple[str, str, str], list[int]] = {}
    keys: list[tuple[str, str, str]] = []
    repeated: dict[str, int] = {}
    earlier: list[int] = []
    long: list[int] = []
    total = characters = linked = prose_total = 0
    for number, block in enumerate(blocks):
        text, words = block.text, block.words
        size = len(text)
        links = min(block.links, size)
        count = sentences_in(text) if words > 3 else 0
        sentences.append(count)
        prose = words if words >= 15 and count and links < 0.3 * size else 0
        if prose and words >= 20:
            long.append(number)
        total += words
        characters += size
        linked += links
        prose_total += prose
        shapes.append((log1p(words), links / size))
        times = repeated.get(text, 0)
        earlier.append(times)
        repeated[text] = times + 1
        entry = inside.get(block.node)
        if entry is None:
            entry = _entered(inside, block.node, number)
        entry.words += words
        entry.characters += size
        entry.links += links
        entry.blocks += 1
        entry.prose += prose
        entry.last = number
        own.append(entry)
        over = entry.parent
        above = over.parent if over is not None else None
        shape = (entry.key, over.key if over is not None else "", above.key if above is not None else "")
        keys.append(shape)
        same = same_shape.get(shape)
        if same is None:
            same_shape[shape] = [1, words, links, size]
        else:
            same[0] += 1
            same[1] += words
            same[2] += links
            same[3] += size
    first_long = long[0] if long else total_blocks
    last_long = long[-1] if long else -1
    first_heading = next((number for number, block in enumerate(blocks) if block.node.name == "h1"), -1)
    facts = Facts(tree)
    firsts: cython.ulonglong = facts.firsts
    page = array(
        "d",
        [
            log1p(total),
            log1p(total_blocks),
            linked / characters,
            prose_total / total,
            log1p(len(long)),
            *facts.numbers(url),
        ],
    )
    entries = list(inside.values())
    core = _placed(entries, total, prose_total)
    flags: dict[tuple[int, int, int], array[float]] = {}
    sections: dict[_Entry, tuple[float, ...]] = {}
    branches: dict[_Entry, tuple[float, ...]] = {}
    nothing = (0.0, 0.0)
    below = [0.0, 0.0, 0.0]
    level = since = before = 0
    heading_words = 0.0
    for number, block in enumerate(blocks):
        node = block.node
        name = node.name
        text, words = block.text, block.words
        size = len(text)
        lower = text[:120].lower()
        shape_here = shapes[number]
        since += 1
        if name in _HEADINGS:
            since, level, heading_words = 0, _HEADINGS[name], shape_here[0]
            below = [float(each.search(lower) is not None) for each in _ABOUT]
        same = same_shape[keys[number]]
        entry = own[number]
        first = entry.parent
        second = first.parent if first is not None else None
        third = second.parent if second is not None else None
        p2, p1 = shapes[number - 2] if number > 1 else nothing, shapes[number - 1] if number else nothing
        n1 = shapes[number + 1] if number + 1 < total_blocks else nothing
        n2 = shapes[number + 2] if number + 2 < total_blocks else nothing
        section = sections.get(entry.section)
        if section is None:
            around = entry.section
            section = sections[around] = (around.words / total, *around.shares())
        branch = branches.get(entry.branch)
        if branch is None:
            around = entry.branch
            branch = branches[around] = (
                around.words / total,
                *around.shares(),
                log1p(around.blocks),
                around.first - core.first,
                core.last - around.last,
            )
        key3 = (block.near, block.names, block.landmarks)
        known = flags.get(key3)
        if known is None:
            near, names, marks = key3
            known = flags[key3] = array("d", [((near >> bit) & 1) + ((names >> bit) & 1) for bit in _NAME_NUMBERS])
            known.extend([(marks >> bit) & 1 for bit in _MARK_NUMBERS])
        if not width:
            width = _OF_BLOCK + len(known) + len(page)
            numbers = array("d", bytes(8 * width * total_blocks))
            row = numbers
        at = number * width
        row[at] = shape_here[0]
        row[at + 1] = shape_here[1]
        row[at + 2] = sentences[number]
        row[at + 3] = 1.0 if text[-1] in _ENDS else 0.5 if text[-1] == ":" else 0.0
        row[at + 4] = _OWNERS.get(name, 0.0)
        row[at + 5] = _OWNERS.get(node.parent.name, 0.0) if node.parent is not None else -1.0
        row[at + 6] = repeated[text]
        row[at + 7] = before / total
        row[at + 8] = number / total_blocks
        row[at + 9] = number - first_heading if first_heading >= 0 else -999.0
        row[at + 10] = number - first_long
        row[at + 11] = last_long - number
        row[at + 12] = p2[1]
        row[at + 13] = p1[0]
        row[at + 14] = p1[1]
        row[at + 15] = n1[0]
        row[at + 16] = n1[1]
        row[at + 17] = n2[0]
        row[at + 18] = since
        row[at + 19] = level
        row[at + 20] = heading_words
        row[at + 21] = below[0]
        row[at + 22] = below[1]
        row[at + 23] = below[2]
        row[at + 24] = log1p(same[0])
        row[at + 25] = same[1] / total
        row[at + 26] = same[2] / same[3]
        row[at + 27] = log1p(same[1] / same[0])
        row[at + 28] = log1p(entry.words)
        row[at + 29] = log1p(entry.alike)
        form = first.form() if first is not None else _NO_FORM
        row[at + 30] = form[0]
        row[at + 31] = form[1]
        row[at + 32] = form[2]
        row[at + 33] = form[3]
        form = second.form() if second is not None else _NO_FORM
        row[at + 34] = form[0]
        row[at + 35] = form[1]
        row[at + 36] = form[2]
        row[at + 37] = form[3]
        form = third.form() if third is not None else _NO_FORM
        row[at + 38] = form[0]
        row[at + 39] = form[1]
        row[at + 40] = form[2]
        row[at + 41] = form[3]
        row[at + 42] = section[0]
        row[at + 43] = section[1]
        row[at + 44] = section[2]
        row[at + 45] = entry.depth
        row[at + 46] = entry.steps if entry.steps >= 0 else 99.0
        row[at + 47] = 0.0 if entry.within else 1.0
        row[at + 48] = number - core.first
        row[at + 49] = core.last - number
        row[at + 50] = core.words / total
        row[at + 51] = branch[0]
        row[at + 52] = branch[1]
        row[at + 53] = branch[2]
        row[at + 54] = branch[3]
        row[at + 55] = branch[4]
        row[at + 56] = branch[5]
        row[at + 57] = share_of(lower, facts.title, firsts)
        row[at + 58] = earlier[number]
        at += _OF_BLOCK
        numbers[at : at + len(known)] = known
        at += len(known)
        numbers[at : at + len(page)] = page
        before += words
    return Rows(numbers, width)


def _entered(inside: dict[Node, _Entry], node: Node, number: int) -> _Entry:
    """The entry of an element, made with those of the elements around it that have none yet."""
    way: list[Node] = []
    climbing: Node | None = node
    entry: _Entry | None = None
    while climbing is not None:
        entry = inside.get(climbing)
        if entry is not None:
            break
        way.append(climbing)
        climbing = climbing.parent
    for each in reversed(way):
        entry = inside[each] = _Entry(f"{each.name}.{each.attributes.get('class', '')}", entry, number)
    assert entry is not None
    return entry


def _placed(entries: list[_Entry], total: int, prose: int) -> _Entry:
    """Sum up what is in each element, place it to the page's core, and return that: the smallest element with most of
    the page's prose.
    """
    alike: dict[tuple[int, str], int] = {}
    entry: _Entry
    over: _Entry | None
    for entry in reversed(entries):  # made after what is around them, so summed up before
        over = entry.parent
        if over is None:
            continue
        over.words += entry.words
        over.characters += entry.characters
        over.links += entry.links
        over.blocks += entry.blocks
        over.prose += entry.prose
        if entry.first < over.first:
            over.first = entry.first
        if entry.last > over.last:
            over.last = entry.last
        key = (id(over), entry.key)
        alike[key] = alike.get(key, 0) + 1
    core: _Entry = _densest(entries, CORE * prose)
    wide: _Entry = _densest(entries, WIDE * prose)
    at_most = SECTION * total
    for entry in entries:
        over = entry.parent
        entry.within = entry is wide or (over is not None and over.within)
        if over is not None:
            entry.alike = alike[id(over), entry.key]
            if over.words <= at_most:
                entry.section = over.section
        if entry is core:
            entry.steps = 0
        elif over is not None and over.steps >= 0:
            entry.steps = over.steps + 1
            if over is not core:
                entry.branch = over.branch
        elif over is not None and (over.first > core.last or over.last < core.first):
            entry.branch = over.branch
    return core


def _densest(entries: list[_Entry], least: float) -> _Entry:
    """The smallest element that holds so many words of prose; of equals the innermost."""
    best: _Entry | None = None
    entry: _Entry
    for entry in entries:
        if entry.prose < least:
            continue
        if best is None or entry.words < best.words or (entry.words == best.words and entry.first == best.first):
            best = entry
    return best if best is not None else entries[0]  # none for rounding alone
