"""A page cut into blocks: the runs of text that stand in one block-level element each, with what is measured of them.

A block is the least that is kept or left out. With it goes what is known of where it stands: the landmarks around it,
and what the classes and ids of the elements around it say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

try:
    import cython
except ModuleNotFoundError:
    from comity_pages import _cython as cython

from comity_pages.html.tree import Node, Text, Tree, heading_level

if not cython.compiled:  # compiled, it comes from the .pxd file
    from operator import getitem as char_at

LANDMARKS: Final = (
    "main article nav aside footer header form table ul ol dl figure dialog section blockquote details li p".split()
)
LANDMARK_BITS: Final = {name: 1 << number for number, name in enumerate(LANDMARKS)}
SURROUNDINGS: Final = sum(LANDMARK_BITS[name] for name in ("nav", "footer", "header", "aside", "dialog", "form"))
"""The landmarks that stand around content."""
_BITS_BY_ELEMENT = cython.declare(dict, LANDMARK_BITS)
_ROLES: Final = {
    "main": "main", "article": "article", "navigation": "nav", "banner": "header", "contentinfo": "footer",
    "complementary": "aside", "search": "form", "form": "form", "dialog": "dialog", "alertdialog": "dialog",
    "menu": "nav", "menubar": "nav", "tablist": "nav", "list": "ul", "table": "table",
}  # fmt: skip
WORDS_OF_NAMES: Final = {
    "navigation": r"nav|menu|breadcrumb|crumb|pagin|pager|\btoc\b|table-of-contents|\btabs?\b|skip|jump",
    "foot": r"foot|copyright|legal|colophon|bottom",
    "head": r"header|masthead|topbar|top-bar|toolbar|logo|brand",
    "side": r"side|aside|\brail\b|widget|secondary",
    "related": r"relat|recom|similar|\bmore\b|also|popular|trending|latest|recent|upsell|cross|next|prev|relac|verwandt"
    r"|hnlich|empfehl|\bmehr\b|weitere|correl|gerelat|teaser|taboola|outbrain",
    "slides": r"carousel|slider|swiper|slick|gallery|thumb",
    "comment": r"comment|disqus|\brespond\b|komment|coment|yorum|reactie",
    "share": r"shar(?:e|ing)|social|follow|facebook|twitter|teilen|partag|compart|condivid|whatsapp|\bsns\b",
    "promotion": r"promo|\bads?\b|advert|sponsor|newsletter|subscri|sign-?up|\bcta\b|banner|donat|offer|mailing|abonn"
    r"|suscri|inscri|anzeige|werbung|publici|reklam|paywall",
    "consent": r"cookie|consent|gdpr|modal|popup|pop-up|overlay|lightbox|drawer|offcanvas|tooltip|toast|notice|alert",
    "meta": r"meta|byline|author|\bdate|time|\btags?\b|categor|posted|publish|avatar|profile|user|\bbio\b"
    r"|\bautor|auteur|fecha|datum",
    "form": r"log-?in|search|suche|recherch|busca|form|filter|facet|\bsort|cart|checkout|account|quantity|button|btn"
    r"|input|wishlist|compare",
    "content": r"content|article|\bpost\b|entry|story|body|markdown|prose|rich-?text|wysiwyg|rte"
    r"|arti[kg]|articu|articol|contenu|contenid|conteud|inhalt|noticia",
    "text": r"text|paragraph|copy|editor|block",
    "product": r"product|\bpdp|sku|variant|shipping|stock|price",
    "description": r"desc|detail|spec|feature|attribute|summary|about|overview",
    "thread": r"thread|message|repl(?:y|ies)|topic|forum|answer|question|discussion|quote|bbp|phpbb",
    "list": r"card|item|tile|grid|list|result|row|col(?:umn)?\b|feed|archive|loop",
    "review": r"review|rating|testimonial|star",
    "faq": r"faq|accordion|collaps|toggle|expand|panel",
    "title": r"hero|title|headline|heading|intro|lead|subtitle|dek|tit[uo]l|titre|\btitel",
    "caption": r"caption|figure|credit|image|photo|media|video|embed|\bfoto|\bbild",
    "hidden": r"hidden|hide|sr-only|screen-reader|visually|invisible|offscreen|mobile|print",
}
_NAME_PATTERNS: Final = {name: re.compile(words) for name, words in WORDS_OF_NAMES.items()}
NAME_BITS: Final = {name: 1 << number for number, name in enumerate(WORDS_OF_NAMES)}
_MARKS_OF_LETTERS: Final = "\xad\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u200c\u200d"
"""Vowels and accents that no letter is (of Hebrew, Arabic, the scripts of India), and joiners: no word ends there."""
_WORD: Final = re.compile(rf"\w[\w{_MARKS_OF_LETTERS}]*")
_SENTENCE: Final = re.compile(r"[.!?…؟۔][\"'”’)\]»]*(?:\s|$)|[。！？｡।။។]")
_IDEOGRAPHS: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_WORD_OR_IDEOGRAPH: Final = re.compile(
    rf"(?=\w){_IDEOGRAPHS.pattern}|[^\W{_IDEOGRAPHS.pattern[1:-1]}](?:(?!{_IDEOGRAPHS.pattern})[\w{_MARKS_OF_LETTERS}])*"
)
_THAI_LIKE: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Thai, Lao, Burmese and Khmer, which write no space between words either."""
_SCRIPT_TENTHS: Final = (5, 2)
"""Tenths of a word that a character of these counts for: Chinese and Japanese words have two, Thai ones five."""
_SENTENCE_TENTHS: Final = 120
"""Tenths of words of such scripts that are a sentence, whatever ends it: Thai has no full stop, and Chinese may do
without at the end of a line."""
_TOKEN: Final = re.compile(r"[a-z]{2,24}")
_TOKEN_BITS = cython.declare(dict, {})
_MAX_KNOWN_TOKENS: Final = 20_000
_NAMING_ATTRIBUTES: Final = ("itemprop", "data-testid", "data-component")
"""Attributes that name what stands in an element, as classes do."""
_MAX_NAME_CHARS: Final = 500  # characters of a class and an id that are read


def _bits_of(token: str) -> int:
    """What a part of a class or id says; kept, for the same parts come again and again."""
    bits = 0
    for name, pattern in _NAME_PATTERNS.items():
        if pattern.search(token):
            bits |= NAME_BITS[name]
    if len(_TOKEN_BITS) < _MAX_KNOWN_TOKENS:
        _TOKEN_BITS[token] = bits
    return bits


class Block:
    """A run of text.

    Attributes:
        node: the innermost element it begins in, which may be a link or emphasis.
        line: the element that gives it its lines: a paragraph, an item, a heading.
        level: of the heading that it stands in; 0 outside of any.
        texts: the pieces of text in it.
        text: its words, white space joined.
        words: how many.
        links: how many of its characters are inside of links.
        near, names: what classes and ids say, of the three elements around it and of all.
        landmarks: the elements with a meaning that it stands in.
        chance: that it is content, 0 to 1.
        kept: whether it is taken for content.
    """

    __slots__ = tuple("chance kept landmarks level line links names near node pieces text texts words".split())

    def __init__(self, node: Node, line: Node, level: int, names: int, near: int, landmarks: int) -> None:
        self.node = node
        self.line = line
        self.level = level
        self.names = names
        self.near = near
        self.landmarks = landmarks
        self.pieces: list[str] = []
        self.texts: list[Text] = []
        self.links = 0
        self.text = ""
        self.words = 0
        self.chance = 1.0
        self.kept = True


class _Splitter:
    def __init__(self, without: set[Node], top: Node) -> None:
        self.line = top
        self.level = 0
        self.blocks: list[Block] = []
        self.open: Block | None = None
        self.without = without
        self.known: dict[str, int] = {}


@cython.cfunc
def _name_bits(cutter: _Splitter, attributes: dict[str, str]) -> cython.Py_ssize_t:
    said: cython.Py_ssize_t = 0
    stated: str | None
    for key in _NAMING_ATTRIBUTES:
        stated = attributes.get(key)
        if stated is not None:
            said |= _cached_bits(cutter, stated)
    return said | _class_and_id_bits(cutter, attributes)


@cython.cfunc
def _class_and_id_bits(cutter: _Splitter, attributes: dict[str, str]) -> cython.Py_ssize_t:
    classes: str | None = attributes.get("class")
    identity: str | None = attributes.get("id")
    if classes is None:
        return _cached_bits(cutter, identity) if identity is not None else 0
    if identity is None:
        return _cached_bits(cutter, classes)
    if len(classes) + len(identity) < _MAX_NAME_CHARS:
        return _cached_bits(cutter, classes) | _cached_bits(cutter, identity)
    return _cached_bits(cutter, f"{classes} {identity}")


@cython.cfunc
def _cached_bits(cutter: _Splitter, words: str) -> cython.Py_ssize_t:
    known = cutter.known.get(words)
    if known is None:
        known = cutter.known[words] = _bits_in(words[:_MAX_NAME_CHARS].lower())
    return known


@cython.cfunc
def _walk(
    cutter: _Splitter,
    node: Node,
    own: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    second: cython.Py_ssize_t,
    others: cython.Py_ssize_t,
    landmarks: cython.Py_ssize_t,
    link: cython.bint,
) -> None:
    """Visit an element and what stands in it, with what the names of the elements around it say."""
    said: cython.Py_ssize_t
    marks: cython.Py_ssize_t
    near: cython.Py_ssize_t
    child: Node
    piece: Text
    block: Block | None
    line: Node
    level: cython.Py_ssize_t
    for each in node.children:
        if type(each) is Text:
            piece = each
            text = piece.text
            block = cutter.open
            if block is None:
                if text.isspace():
                    continue
                near = own | first | second
                block = cutter.open = Block(node, cutter.line, cutter.level, others | near, near, landmarks)
                cutter.blocks.append(block)
            block.texts.append(piece)
            block.pieces.append(text)
            if link:
                block.links += len(text.strip())
            continue
        child = each
        name = child.name
        if child.skipped or child in cutter.without:
            continue
        attributes = child.attributes
        bits = _BITS_BY_ELEMENT.get(name)
        marks = landmarks if bits is None else landmarks | bits
        said = 0
        if attributes:
            role = attributes.get("role")
            if role is not None:
                marks |= _BITS_BY_ELEMENT.get(_ROLES.get(role.strip().lower(), ""), 0)
            said = _name_bits(cutter, attributes)
        if child.has_blocks or child.block_level:
            line, level = cutter.line, cutter.level
            cutter.open = None
            cutter.line = child
            cutter.level = heading_level(child) or level
            _walk(cutter, child, said, own, first, second | others, marks, link or name == "a")
            cutter.open = None
            cutter.line, cutter.level = line, level
        elif name == "br":
            if cutter.open is not None:
                cutter.open.pieces.append("\n")
        else:
            _walk(cutter, child, own | said, first, second, others, marks, link or name == "a")


def _bits_in(text: str) -> int:
    """What a class or id in lower case says: the bits of all of its parts."""
    known = 0
    for token in _TOKEN.findall(text):
        bits = _TOKEN_BITS.get(token)
        known |= _bits_of(token) if bits is None else bits
    return known


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def _count_words(text: str) -> cython.Py_ssize_t:
    """How many words a text has; of scripts without spaces, about how many."""
    count: cython.Py_ssize_t = 0
    tenths: cython.Py_ssize_t = 0
    if not cython.compiled:
        rest, ideographs = _IDEOGRAPHS.subn(" ", text)
        rest, unspaced = _THAI_LIKE.subn(" ", rest)
        return len(_WORD.findall(rest)) + (_SCRIPT_TENTHS[0] * ideographs + _SCRIPT_TENTHS[1] * unspaced + 9) // 10
    inside: cython.bint = False
    of: cython.Py_ssize_t
    char: cython.Py_UCS4
    for char in text:
        of = _tenths_of(char) if char >= 0xE00 else 0
        if of:
            tenths += of
            inside = False
        elif _is_word_char(char):
            count += not inside
            inside = True
        elif inside:
            inside = _continues_word(char)
    return count + (tenths + 9) // 10


@cython.cfunc
@cython.inline
def _is_word_char(char: cython.Py_UCS4) -> cython.bint:
    """As `\\w`, faster."""
    return char.isalnum() if char > "z" else char >= "a" or "A" <= char <= "Z" or "0" <= char <= "9" or char == "_"


@cython.cfunc
@cython.inline
def _continues_word(char: cython.Py_UCS4) -> cython.bint:
    """Whether a word does not end at a character that is none of its letters."""
    if char < 0x300:
        return char == 0xAD
    if char < 0x900:
        return char <= 0x36F or 0x591 <= char <= 0x5C7 or 0x64B <= char <= 0x65F
    return (char <= 0xDFF and char != 0x964 and char != 0x965) or char == 0x200C or char == 0x200D


@cython.cfunc
def _tenths_of(char: cython.Py_UCS4) -> cython.Py_ssize_t:
    """Tenths of a word that a character counts for, where its script has no spaces; else 0."""
    if char < 0x3040:
        return 2 if char <= 0xEFF or 0x1000 <= char <= 0x109F or 0x1780 <= char <= 0x17FF else 0
    if char <= 0x30FF or 0x3400 <= char <= 0x9FFF or 0xF900 <= char <= 0xFAFF or 0x20000 <= char <= 0x3FFFF:
        return 5
    return 0


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def count_sentences(text: str) -> cython.Py_ssize_t:
    """How many sentences end in a text: at a stop, and what closes after it, before white space or the end."""
    if not cython.compiled:
        tenths = _SCRIPT_TENTHS[0] * len(_IDEOGRAPHS.findall(text)) + _SCRIPT_TENTHS[1] * len(_THAI_LIKE.findall(text))
        return max(len(_SENTENCE.findall(text)), tenths // _SENTENCE_TENTHS)
    size: cython.Py_ssize_t = len(text)
    at: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t = 0
    tenths: cython.Py_ssize_t = 0
    char: cython.Py_UCS4
    while at < size:
        char = char_at(text, at)
        at += 1
        if char >= 0x900 and char in "。！？｡।။។":
            count += 1
        elif char in ".!?…؟۔":
            while at < size and char_at(text, at) in "\"'”’)]»":
                at += 1
            if at == size or char_at(text, at).isspace():
                count += 1
        if char >= 0xE00:
            tenths += _tenths_of(char)
    return max(count, tenths // _SENTENCE_TENTHS)


def words_in(text: str) -> list[str]:
    """The words of a text; of Chinese and Japanese, the characters."""
    return _WORD_OR_IDEOGRAPH.findall(text)


@cython.cfunc
@cython.inline
def _is_inner_char(char: cython.Py_UCS4) -> cython.bint:
    """Whether a word that began before goes on with a character."""
    return (_is_word_char(char) and _tenths_of(char) != 5) or _continues_word(char)


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def known_share(text: str, known: set, firsts: cython.ulonglong) -> cython.double:  # type: ignore[type-arg]
    """Of a text's words, the share that are known; `firsts`: a bit for each letter that known words begin with."""
    if not cython.compiled:
        words = words_in(text)
        return sum(word in known for word in words) / len(words) if words else 0.0
    size: cython.Py_ssize_t = len(text)
    at: cython.Py_ssize_t = 0
    start: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    found: cython.Py_ssize_t = 0
    while at < size:
        if not _is_word_char(char_at(text, at)):
            at += 1
            continue
        start = at
        at += 1
        if _tenths_of(char_at(text, start)) != 5:
            while at < size and _is_inner_char(char_at(text, at)):
                at += 1
        count += 1
        if (firsts >> (cython.cast(cython.int, char_at(text, start)) & 63)) & 1:
            found += text[start:at] in known
    return found / count if count else 0.0


def split_blocks(tree: Tree, without: set[Node]) -> list[Block]:
    """The blocks of a page in its order, hidden and unread elements left out."""
    top: Node = tree.first("body") or tree.root
    cutter = _Splitter(without, top)
    _walk(cutter, top, 0, 0, 0, 0, 0, False)
    blocks = []
    block: Block
    for block in cutter.blocks:
        block.text = " ".join("".join(block.pieces).split())
        block.pieces.clear()
        block.words = _count_words(block.text)
        if block.words:
            blocks.append(block)
    return blocks


def mark_kept(blocks: Sequence[Block]) -> None:
    """Set on each text whether it is kept, and on each element its words and how many of them are kept."""
    block: Block
    piece: Text
    node: Node | None
    for block in blocks:
        if not block.kept:
            for each in block.texts:
                piece = each
                piece.kept = False
        node = block.node
        while node is not None:
            node.words += block.words
            if block.kept:
                node.kept_words += block.words
            node = node.parent
