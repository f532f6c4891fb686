"""Footnotes: which links are marks of notes, and which elements the notes are. A note belongs to the text that refers
to it, wherever on the page it stands; in the Markdown both are `[^1]`.
"""

import re
from collections.abc import Sequence, Set
from itertools import islice
from typing import Final

from comity_pages.content.blocks import Block
from comity_pages.html.tree import Node, Text, Tree

_MARK: Final = re.compile(r"[\[(]?(?:\d{1,3}|[a-z]|[ivx]{1,5}|[*†‡§¶]{1,3}|note\s?\d{1,3})[\])]?", re.IGNORECASE)
_NOTE_CLASS: Final = re.compile(r"footnote|noteref|fn-?ref|fnref|sdfootnote|endnote|\bfn\b", re.IGNORECASE)
_BACK_LINK: Final = re.compile(
    r"[\s\[(]*+(?:[↩↑⤴^⇑⏎]\N{VARIATION SELECTOR-15}?\s*+|back|return|\d{1,3}|[a-z]\b)*+[\s\])]*+", re.IGNORECASE
)
_NOTE_ELEMENTS: Final = frozenset("li p div aside dd section blockquote".split())
_INLINE_NOTES: Final = ("sidenote", "marginnote", "ltx_role_footnote")
_LATEXML_MARKS: Final = frozenset(("ltx_note_mark", "ltx_tag_note"))
_MAX_NOTES: Final = 2_000
_MAX_NOTE_CHARS: Final = 20_000


class Footnotes:
    """The notes of a page."""

    def __init__(self) -> None:
        self.marks: dict[Node, int] = {}  # the number of the note that a link refers to
        self.notes: dict[Node, int] = {}  # the number of the note that an element is
        self.backs: set[Node] = set()  # the links in notes that lead back
        self.inline: dict[Node, int] = {}  # the number of a note that stands where it is referred to

    def keep(self, blocks: Sequence[Block]) -> None:
        """Keep the notes that kept text refers to, and leave out marks of notes that are not there."""
        if not self.marks:
            return
        of_text = {id(piece): block for block in blocks for piece in block.texts}

        def of(node: Node) -> list[Block]:
            inner = (node, *node.descendants())
            texts = (id(piece) for each in inner for piece in each.children if isinstance(piece, Text))
            return [of_text[key] for key in texts if key in of_text]

        used = {number for node, number in self.marks.items() if any(block.kept for block in of(node))}
        for node, number in self.notes.items():
            for block in of(node) if number in used else ():
                block.kept = True


def find_footnotes(tree: Tree, url: str) -> Footnotes:
    """The notes of a page served at `url`, numbered as they are first referred to."""
    notes = Footnotes()
    _number_notes(notes, tree, url)
    for node in (*tree.find_by_class_or_id(_INLINE_NOTES, ("span",)), *tree.all("d-footnote")):
        if node.name == "d-footnote" or any(each in _INLINE_NOTES for each in node.attributes.get("class", "").split()):
            notes.inline[node] = len(notes.notes) + len(notes.inline) + 1
            for mark in node.descendants("sup", "span"):
                mark.skipped |= not _LATEXML_MARKS.isdisjoint(mark.attributes.get("class", "").split())
    return notes


def _number_notes(notes: Footnotes, tree: Tree, url: str) -> None:
    numbers = notes.notes
    anchors = tree.by_name.get("a", ())[: _MAX_NOTES * 10]
    stated = ((node, href) for node in anchors if "#" in (href := node.attributes.get("href", "")))
    hrefs = ((node, href.removeprefix(url)) for node, href in stated)
    links = [(node, href[1:]) for node, href in hrefs if href[:1] == "#" and len(href) > 1]
    leading = {target for _, target in links}  # a link that another one leads to may be a mark, however it looks
    marks = [(node, target) for node, target in links if _is_mark(node, leading)][:_MAX_NOTES]
    if not marks:
        return
    places = {node: number for number, node in enumerate(anchors)}
    by_id = {node.attributes["name"]: node for node in reversed(anchors) if "name" in node.attributes}
    by_id |= {identity: nodes[0] for identity, nodes in tree.by_id.items()}
    named: dict[str, Node] = {}
    referring: set[Node] = set()
    first: dict[Node, int | None] = {}  # the first link in what may be a note; None: it is a part of the page
    for mark, target in marks:
        note = _note_of(by_id.get(target), mark)
        if note is None or note in referring:  # what leads to a mark leads back
            continue
        if note not in first:  # each is looked through once, however many marks lead there
            links_in = (places.get(link, 0) for link in note.descendants("a"))
            first[note] = min(links_in, default=len(places)) if len(note.text()) < _MAX_NOTE_CHARS else None
        place = first[note]
        if place is None or (note not in numbers and place < places[mark]):
            continue  # a note stands below its mark
        if note not in numbers:
            numbers[note] = len(numbers) + 1
            for label in note.descendants("sup")[:1]:
                label.skipped |= label.text().strip() == mark.text().strip()
        notes.marks[mark] = numbers[note]
        named[_identity(mark)] = mark
        referring.update(mark.ancestors()[1:])
    for note in numbers:
        for link in note.descendants("a"):
            back = link.attributes.get("href", "").removeprefix(url)
            if back[:1] == "#" and (back[1:] in named or _BACK_LINK.fullmatch(link.text())):
                notes.backs.add(link)
                notes.marks.pop(link, None)


def _is_mark(node: Node, leading: Set[str]) -> bool:
    """Whether a link within the page is the mark of a note: by its role, its class, its look, or a link back to it."""
    words = node.text().strip()
    if not words or len(words) > 12:
        return False
    if "noteref" in (node.attributes.get("role", "")[4:], node.attributes.get("epub:type")) or _NOTE_CLASS.search(
        node.attributes.get("class", "")
    ):
        return True
    raised = any(each.name == "sup" for each in (node, *node.elements()))
    near = node.ancestors()[1:3]
    raised = raised or any(each.name == "sup" or _NOTE_CLASS.search(each.attributes.get("class", "")) for each in near)
    raised = raised or not leading.isdisjoint((node.attributes.get("name"), _identity(node)))
    return raised and _MARK.fullmatch(words) is not None


def _note_of(target: Node | None, mark: Node) -> Node | None:
    """The element that is the note: what the fragment names, or what stands around an anchor that it names."""
    if target is None or target in mark.ancestors():  # a mark in its own note, or beside the heading that it leads to
        return None
    node: Node | None = target
    while node is not None and node.name not in _NOTE_ELEMENTS and not (node is target and node.name == "table"):
        if node.name == "dt" and node.parent is not None:  # the label of a note, which is what follows
            siblings = node.parent.children
            node.skipped = True
            behind = islice(siblings, siblings.index(node), None)
            node = next((each for each in behind if isinstance(each, Node) and each.name == "dd"), None)
            break
        node = node.parent
    if node is None or node.name == "body":
        return None
    return node if node not in mark.ancestors() else None


def _identity(mark: Node) -> str:
    """The fragment that leads back to a mark."""
    return next((identity for each in mark.ancestors()[:3] if (identity := each.attributes.get("id"))), "")
