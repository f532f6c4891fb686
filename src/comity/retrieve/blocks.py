"""A page cut into blocks: the runs of text that stand in one block-level element each, with what is measured of them.

A block is the least that is kept or left out. With it goes what is known of where it stands: the landmarks around it,
and what the classes and ids of the elements around it say.
"""

from __future__ import annotations

import re
from typing import Final

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

from comity.retrieve.tree import SKIPPED, Node, Text, Tree

LANDMARKS: Final = [
    "main",
    "article",
    "nav",
    "aside",
    "footer",
    "header",
    "form",
    "table",
    "ul",
    "ol",
    "dl",
    "figure",
    "dialog",
    "section",
    "blockquote",
    "details",
    "li",
    "p",
]
LANDMARK_BITS: Final = {name: 1 << number for number, name in enumerate(LANDMARKS)}
SURROUNDINGS: Final = sum(LANDMARK_BITS[name] for name in ("nav", "footer", "header", "aside", "dialog", "form"))
"""The landmarks that stand around content."""
_ROLES: Final = {
    "main": "main",
    "article": "article",
    "navigation": "nav",
    "banner": "header",
    "contentinfo": "footer",
    "complementary": "aside",
    "search": "form",
    "form": "form",
    "dialog": "dialog",
    "alertdialog": "dialog",
    "menu": "nav",
    "menubar": "nav",
    "tablist": "nav",
    "list": "ul",
    "table": "table",
}
WORDS_OF_NAMES: Final = {
    "navigation": r"nav|menu|breadcrumb|crumb|pagin|pager|\btoc\b|table-of-contents|\btabs?\b|skip|jump",
    "foot": r"foot|copyright|legal|colophon|bottom",
    "head": r"header|masthead|topbar|top-bar|toolbar|logo|brand",
    "side": r"side|aside|\brail\b|widget|secondary",
    "related": r"relat|recommend|similar|\bmore\b|also|popular|trending|latest|recent|upsell|cross|next|prev|read-next",
    "slides": r"carousel|slider|swiper|slick|gallery|thumb",
    "comment": r"comment|disqus|respond",
    "share": r"shar(?:e|ing)|social|follow|facebook|twitter",
    "promotion": r"promo|\bads?\b|advert|sponsor|newsletter|subscri|sign-?up|\bcta\b|banner|donat|offer|mailing",
    "consent": r"cookie|consent|gdpr|modal|popup|pop-up|overlay|lightbox|drawer|offcanvas|tooltip|toast|notice|alert",
    "meta": r"meta|byline|author|\bdate|time|\btags?\b|categor|posted|publish|avatar|profile|user|\bbio\b",
    "form": r"log-?in|search|form|filter|facet|\bsort|cart|checkout|account|quantity|button|btn|input|wishlist|compare",
    "content": r"content|article|\bpost\b|post-(?:body|content)|entry|story|body|markdown|prose|rich-?text|wysiwyg|rte",
    "text": r"text|paragraph|copy|editor|block",
    "product": r"product|\bpdp|sku|variant|shipping|stock|price",
    "description": r"desc|detail|spec|feature|attribute|summary|about|overview",
    "thread": r"thread|message|repl(?:y|ies)|topic|forum|answer|question|discussion|quote|bbp|phpbb",
    "list": r"card|item|tile|grid|list|result|row|col(?:umn)?\b|feed|archive|loop",
    "review": r"review|rating|testimonial|star",
    "faq": r"faq|accordion|collaps|toggle|expand|panel",
    "title": r"hero|title|headline|heading|intro|lead|subtitle|dek",
    "caption": r"caption|figure|credit|image|photo|media|video|embed",
    "hidden": r"hidden|hide|sr-only|screen-reader|visually|invisible|offscreen|mobile|print",
}
_NAMES: Final = {name: re.compile(words) for name, words in WORDS_OF_NAMES.items()}
NAME_BITS: Final = {name: 1 << number for number, name in enumerate(WORDS_OF_NAMES)}
_WORD: Final = re.compile(r"\w+")
_SENTENCE: Final = re.compile(r"[.!?…。！？][\"'”’)\]]*(?:\s|$)")
_TOKEN: Final = re.compile(r"[a-z]{2,24}")
_TOKENS: dict[str, int] = {}
_MOST_TOKENS: Final = 20_000


def _bits_of(token: str) -> int:
    """What a part of a class or id says; kept, for the same parts come again and again."""
    bits = 0
    for name, pattern in _NAMES.items():
        if pattern.search(token):
            bits |= NAME_BITS[name]
    if len(_TOKENS) < _MOST_TOKENS:
        _TOKENS[token] = bits
    return bits


class Block:
    """A run of text.

    Attributes:
        node: the element it stands in.
        text: its words, white space joined.
        words: how many.
        links: how many of its characters are inside of links.
        near, names: what classes and ids say, of the three elements around it and of all.
        landmarks: the elements with a meaning that it stands in.
        chance: that it is content, 0 to 1.
        kept: whether it is taken for content.
    """

    __slots__ = ("chance", "kept", "landmarks", "links", "names", "near", "node", "pieces", "text", "words")

    def __init__(self, node: Node, names: int, near: int, landmarks: int) -> None:
        self.node = node
        self.names = names
        self.near = near
        self.landmarks = landmarks
        self.pieces: list[str] = []
        self.links = 0
        self.text = ""
        self.words = 0
        self.chance = 1.0
        self.kept = True


class _Cutter:
    """The walk that cuts a page into blocks."""

    def __init__(self, without: set[Node]) -> None:
        self.blocks: list[Block] = []
        self.open: Block | None = None
        self.without = without
        self.known: dict[str, int] = {}

    def names(self, attributes: dict[str, str]) -> int:
        words = f"{attributes.get('class', '')} {attributes.get('id', '')}"
        known = self.known.get(words)
        if known is None:
            known = 0
            for token in _TOKEN.findall(words[:500].lower()):
                bits = _TOKENS.get(token)
                known |= _bits_of(token) if bits is None else bits
            self.known[words] = known
        return known

    def walk(self, node: Node, names: tuple[int, int, int, int], landmarks: int, link: bool) -> None:
        child: Node
        piece: Text
        block: Block | None
        for each in node.children:
            if type(each) is Text:
                piece = each
                text = piece.text
                block = self.open
                if block is None:
                    if text.isspace():
                        continue
                    near = names[0] | names[1] | names[2]
                    block = self.open = Block(node, names[3] | near, near, landmarks)
                    self.blocks.append(block)
                piece.block = block
                block.pieces.append(text)
                if link:
                    block.links += len(text.strip())
                continue
            child = each
            name = child.name
            if name in SKIPPED or child in self.without:
                continue
            attributes = child.attributes
            marks = landmarks | LANDMARK_BITS.get(name, 0)
            said = 0
            if attributes:
                role = attributes.get("role")
                if role is not None:
                    marks |= LANDMARK_BITS.get(_ROLES.get(role.strip().lower(), ""), 0)
                if "class" in attributes or "id" in attributes:
                    said = self.names(attributes)
            if child.blocky or child.apart:
                self.open = None
                self.walk(child, (said, names[0], names[1], names[2] | names[3]), marks, link or name == "a")
                self.open = None
            elif name == "br":
                if self.open is not None:
                    self.open.pieces.append("\n")
            else:
                own = (names[0] | said, names[1], names[2], names[3]) if said else names
                self.walk(child, own, marks, link or name == "a")


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def _words(text: str) -> cython.Py_ssize_t:
    """How many words a text has."""
    if not cython.compiled:
        return len(_WORD.findall(text))
    count: cython.Py_ssize_t = 0
    inside: cython.bint = False
    char: cython.Py_UCS4
    for char in text:
        if char.isalnum() or char == "_":
            count += not inside
            inside = True
        else:
            inside = False
    return count


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def sentences_in(text: str) -> cython.Py_ssize_t:
    """How many sentences end in a text: at a stop, and what closes after it, before white space or the end."""
    if not cython.compiled:
        return len(_SENTENCE.findall(text))
    size: cython.Py_ssize_t = len(text)
    at: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t = 0
    while at < size:
        if text[at] not in ".!?…。！？":
            at += 1
            continue
        at += 1
        while at < size and text[at] in "\"'”’)]":
            at += 1
        if at == size or text[at].isspace():
            count += 1
    return count


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def share_of(text: str, known: set) -> cython.double:  # type: ignore[type-arg]
    """Of a text's words, the share that are known."""
    if not cython.compiled:
        words = _WORD.findall(text)
        return sum(word in known for word in words) / len(words) if words else 0.0
    size: cython.Py_ssize_t = len(text)
    at: cython.Py_ssize_t = 0
    start: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    found: cython.Py_ssize_t = 0
    while at < size:
        if not (text[at].isalnum() or text[at] == "_"):
            at += 1
            continue
        start = at
        while at < size and (text[at].isalnum() or text[at] == "_"):
            at += 1
        count += 1
        found += text[start:at] in known
    return found / count if count else 0.0


def cut(tree: Tree, without: set[Node]) -> list[Block]:
    """The blocks of a page in its order, hidden and unread elements left out."""
    cutter = _Cutter(without)
    cutter.walk(tree.first("body") or tree.root, (0, 0, 0, 0), 0, False)
    blocks = []
    block: Block
    for block in cutter.blocks:
        block.text = " ".join("".join(block.pieces).split())
        block.pieces.clear()
        block.words = _words(block.text)
        if block.words:
            blocks.append(block)
    return blocks
