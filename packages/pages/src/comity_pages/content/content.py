"""Which blocks of a page are its content. Fitted trees give each block a chance; kept is what makes the expected
agreement with the content (F1, in words) largest, and that expectation says how sure the choice is.

Pages too small to tell anything from are read by their landmarks alone.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from html import unescape
from importlib.resources import files
from itertools import takewhile
from typing import Any, Final, Literal

from comity_pages import urls
from comity_pages.content._forest import Forest
from comity_pages.content.blocks import LANDMARK_BITS, NAME_BITS, SURROUNDINGS, Block, mark_kept
from comity_pages.content.facts import Facts
from comity_pages.content.features import measure
from comity_pages.html.tree import Node, Tree
from comity_pages.markdown.footnotes import Footnotes

Place = Literal[
    "navigation", "header", "footer", "sidebar", "comments", "related", "sharing", "promotion", "overlay", "form",
    "drawing", "other",
]  # fmt: skip

MAX_LANDMARK_WORDS: Final = 60  # words of a page up to which its landmarks decide
MAX_BLOCKS: Final = 10_000
"""Blocks of a page from which its landmarks decide, too: what is that long is measured in vain."""
MAX_EXCERPT_CHARS: Final = 80

# Of a place: the landmark that it is, and what the names of classes and ids say there; the first that fits counts.
_PLACE_RULES: Final[tuple[tuple[Place, int, int], ...]] = (
    ("navigation", LANDMARK_BITS["nav"], 0),
    ("overlay", LANDMARK_BITS["dialog"], NAME_BITS["consent"]),
    ("footer", LANDMARK_BITS["footer"], NAME_BITS["foot"]),
    ("comments", 0, NAME_BITS["comment"]),
    ("sharing", 0, NAME_BITS["share"]),
    ("promotion", 0, NAME_BITS["promotion"]),
    ("related", 0, NAME_BITS["related"]),
    ("sidebar", LANDMARK_BITS["aside"], NAME_BITS["side"]),
    ("form", LANDMARK_BITS["form"], 0),
    ("header", LANDMARK_BITS["header"], NAME_BITS["head"]),
    ("navigation", 0, NAME_BITS["navigation"]),
)
_SITE_NAMES: Final = NAME_BITS["consent"] | NAME_BITS["share"] | NAME_BITS["promotion"]
_NON_TEXT_LANDMARKS: Final = sum(LANDMARK_BITS[name] for name in ("nav", "footer", "dialog", "form"))
_MAX_HEADING_WORDS: Final = 30
_MAX_CELL_WORDS: Final = 60  # words of a cell of a table that is no layout
_BESIDE_BITS: Final = LANDMARK_BITS["nav"] | LANDMARK_BITS["aside"] | LANDMARK_BITS["footer"] | LANDMARK_BITS["dialog"]
_MAIN_LANDMARKS: Final = sum(LANDMARK_BITS[name] for name in ("main", "nav", "dialog", "form"))
_GENERATOR: Final = re.compile(r"docutils|sphinx", re.IGNORECASE)
_MIN_PROSE_WORDS: Final = 15  # words of a paragraph
_MIN_ARTICLE_WORDS: Final = 250  # words of prose in one element that make it the body of an article
_MIN_LIKELY_CHANCE: Final = 0.3
_MIN_SURE_CHANCE: Final = 0.8
_MIN_LARGE_SHARE: Final = 0.8
_MAX_GAP_CHARS: Final = 2_000  # letters of an article's text between two of its blocks
_TAG: Final = re.compile(r"<[^<>]*>")
_MIN_TEASERS: Final = 3
_MAX_TEASER_WORDS: Final = 90  # words of a teaser beside its headline
_MIN_HEADLINE_WORDS: Final = 4  # words of a headline; names of people and of days have fewer
_COUNTER: Final = re.compile(r"[0-9]+|\b(?:odd|even|first|last|active)\b")
_LATIN_WORD: Final = re.compile("[a-z]+")
_ASIDE_CLASSES: Final = frozenset("admonition callout note notecard warning caution danger tip hint important".split())
"""Words in a class of what an author says beside the text: a note, a warning."""
MIN_COPY_WORDS: Final = 12  # words from which on a part that stood on the page already is left out
_MIN_COPY_WORDS_APART: Final = 50  # words of a part that is no sentence said of two things
_MAX_BEGINNINGS: Final = 8
_MAX_COMPARED_BLOCKS: Final = 64
"""Blocks by which it is told where a copy began: a page of equal ones is read in linear time."""
_CONTENT_LANDMARKS: Final = LANDMARK_BITS["main"] | LANDMARK_BITS["article"]
_AUTHOR_LANDMARKS: Final = _CONTENT_LANDMARKS | LANDMARK_BITS["blockquote"]
_SOURCE_HEADINGS: Final = frozenset(
    "sources|references|bibliography|works cited|quellen|quellenangaben|einzelnachweise|literatur|références|"
    "bibliographie|fuentes|referencias|bibliografía|fonti|bibliografia|referências|bronnen|källor|referenser|kilder|"
    "lähteet|źródła|przypisy|zdroje|források|kaynaklar|kaynakça|источники|литература|примечания|джерела|"
    "参考文献|参考资料|參考資料|出典|脚注|참고 문헌|참고문헌|المصادر|المراجع|מקורות".split("|")
)
"""What stands above a list of sources."""


@dataclass(frozen=True, slots=True)
class ExcludedPart:
    """What was left out of one place of the page.

    Attributes:
        place: where it stands, by landmarks and by the names of classes.
        blocks, words: how much it is.
        excerpt: how the first of it begins. Data, never an instruction.
    """

    place: Place
    blocks: int
    words: int
    excerpt: str


def choose(blocks: Sequence[Block], tree: Tree, url: str, notes: Footnotes | None = None) -> float | None:
    """Set which blocks are kept.

    Args:
        notes: the page's footnotes; those that kept text refers to are kept.

    Returns:
        The expected agreement with the page's content, 0 to 1; None where landmarks alone decided.
    """
    sure: float | None = None
    if sum(block.words for block in blocks) <= MAX_LANDMARK_WORDS or len(blocks) > MAX_BLOCKS:
        _keep_by_landmarks(blocks)
    else:
        facts = Facts(tree)
        _estimate_chances(blocks, facts, url)
        if not facts.is_thread(url):
            _doubt_comments(blocks)
        sure = _maximize_agreement(blocks)
        _keep_tables(blocks)
        if _is_manual(tree):
            _keep_main(blocks)
        _keep_headings(blocks, url)
        _drop_copies(blocks)
        _drop_teasers(blocks)
        if facts.body:
            _keep_article_body(blocks, facts.body)
        _keep_sources(blocks)
    _keep_asides(blocks, tree)
    if notes is not None:
        notes.keep(blocks)
    mark_kept(blocks)
    return sure


def excluded_parts(blocks: Sequence[Block], tree: Tree, hidden: Set[Node]) -> tuple[ExcludedPart, ...]:
    """What was not kept, by place, the largest first: blocks, and the text of what is no text to be read, which are
    drawings, choices and fields.
    """
    found: dict[Place, list[tuple[str, int]]] = {}
    for block in blocks:
        if not block.kept:
            place = _place_of(block.landmarks, block.names)
            found.setdefault(place, []).append((block.text, block.words))
    for place, text in _unread_texts(tree, hidden):
        found.setdefault(place, []).append((text, len(text.split())))
    named = (
        ExcludedPart(place, len(each), sum(words for _, words in each), each[0][0][:MAX_EXCERPT_CHARS])
        for place, each in found.items()
    )
    return tuple(sorted(named, key=lambda each: -each.words))


def _unread_texts(tree: Tree, hidden: Set[Node]) -> Iterator[tuple[Place, str]]:
    fields = ((node, node.text()) for node in tree.all("select", "textarea"))
    for node, text in (*tree.unread, *fields):
        if hidden.isdisjoint(node.ancestors()) and (words := " ".join(text.split())):
            yield "drawing" if node.name == "svg" else "form", words


def _keep_by_landmarks(blocks: Sequence[Block]) -> None:
    """What stands in a landmark of navigation is left out, and in the surroundings of a `main` or `article`."""
    titled = any(block.landmarks & _CONTENT_LANDMARKS for block in blocks)
    for block in blocks:
        around = block.landmarks & SURROUNDINGS
        if around & (LANDMARK_BITS["nav"] | LANDMARK_BITS["dialog"]):
            block.kept = False
        elif around == LANDMARK_BITS["form"] and not block.landmarks & _AUTHOR_LANDMARKS:
            block.kept = block.line.name in ("p", "h1", "h2", "h3", "li", "td")
        elif around and not block.landmarks & _AUTHOR_LANDMARKS:
            header = _closest(block, "header") if around == LANDMARK_BITS["header"] and not titled else None
            block.kept = header is not None and bool(header.descendants("h1"))
    if not any(block.kept for block in blocks):
        for block in blocks:
            block.kept = True


def _estimate_chances(blocks: Sequence[Block], facts: Facts, url: str) -> None:
    """Ask the trees how likely each block is content. Half of each chance is the mean of blocks in elements alike, for
    these are content alike.
    """
    numbers, alike = measure(blocks, facts, url)
    for block, chance, same in zip(blocks, _forest().chances(numbers), alike, strict=True):
        block.chance = chance
        same.expected += chance * block.words
    for block, same in zip(blocks, alike, strict=True):
        block.chance = (block.chance + same.expected / same.words) / 2


def _doubt_comments(blocks: Sequence[Block]) -> None:
    """Below an article, what names call comments and what stands aside is no content, unless it is as sure as the
    article is. In a thread all is, as are comments in code.
    """
    article = words = 0
    chances = 0.0
    comments = []
    for block in blocks:
        prose = _is_prose(block)
        if block.names & NAME_BITS["comment"] or block.landmarks & LANDMARK_BITS["aside"]:
            if article and _closest(block, "pre") is None:
                comments.append(block)
            if article and prose:
                words += block.words
                chances += block.chance * block.words
        elif prose and block.chance >= _MIN_LIKELY_CHANCE and not block.names & NAME_BITS["thread"]:
            article += block.words
            if block.chance >= _MIN_SURE_CHANCE:  # the article goes on: that was a section of it
                words, chances = 0, 0.0
                comments.clear()
    if article >= _MIN_ARTICLE_WORDS and chances < _MIN_SURE_CHANCE * words:
        for block in comments:
            block.chance = 0.0


def _is_prose(block: Block) -> bool:
    return block.words >= _MIN_PROSE_WORDS and block.links < 0.3 * len(block.text)


def _keep_article_body(blocks: Sequence[Block], body: str) -> None:
    """Where the page's data hold the text of its article, that is content, and nothing below it."""
    stated = _letters(_TAG.sub(" ", unescape(body)))
    inside = []
    at = words = found = 0
    for number, block in enumerate(blocks):
        letters = _letters(block.text) if block.words >= _MIN_HEADLINE_WORDS else ""
        place = stated.find(letters, at, at + len(letters) + _MAX_GAP_CHARS) if letters else -1
        if place >= 0:
            inside.append(number)
            at = place + len(letters)
            found += len(letters)
            words += block.words
    kept = sum(block.words for block in blocks if block.kept)
    if words < _MIN_ARTICLE_WORDS or found < _MIN_LARGE_SHARE * len(stated) or words < _MIN_LARGE_SHARE * kept:
        return  # the text is not on the page, or is an excerpt of it
    for number in inside:
        blocks[number].kept = True
    for block in blocks[inside[-1] + 1 :]:
        block.kept = False


def _keep_sources(blocks: Sequence[Block]) -> None:
    """A list of sources stays with the article above it, and the name below a quote with the quote."""
    article = False
    heading: Block | None = None
    listed: Node | None = None
    quote: Node | None = None
    for block in blocks:
        if heading is not None and (inside := _closest(block, "ol", "ul")) is not None and listed in (None, inside):
            listed = inside
            heading.kept = block.kept = True
            continue
        named = article and block.words <= _MIN_HEADLINE_WORDS and not block.landmarks & _BESIDE_BITS
        heading = block if named and block.text.lower().strip(" :：") in _SOURCE_HEADINGS else None
        listed = None
        if block.kept:
            article = article or _is_prose(block)
            quote = _closest(block, "blockquote") if block.landmarks & LANDMARK_BITS["blockquote"] else None
        elif quote is not None and block.words <= _MAX_HEADING_WORDS:
            name = _closest(block, "footer", "cite", "figcaption")
            block.kept = name is not None and (quote in name.ancestors() or quote.parent is name.parent)


def _keep_asides(blocks: Sequence[Block], tree: Tree) -> None:
    """A note, a tip or a warning stays with the kept text that it stands beside, but a site's own do not: of cookies,
    of a newsletter, in a dialog."""
    asides = {
        node
        for classes, nodes in tree.by_class.items()
        if not _ASIDE_CLASSES.isdisjoint(_LATIN_WORD.findall(classes.lower()))
        for node in nodes
    }
    asides.update(node for node in tree.all("aside", "div") if node.attributes.get("role") == "note")
    inside: dict[Node, list[Block]] = {}
    beside: set[Node | None] = set()
    for block in blocks if asides else ():
        if (aside := next((node for node in block.node.ancestors() if node in asides), None)) is not None:
            inside.setdefault(aside, []).append(block)
        elif block.kept and (block.level or _is_prose(block)):
            beside.add(block.line.parent)
    for aside, held in inside.items():
        of_site = any(each.near & _SITE_NAMES or each.landmarks & _NON_TEXT_LANDMARKS for each in held)
        links = sum(each.links for each in held)
        if aside.parent in beside and not of_site and links < 0.3 * sum(len(each.text) for each in held):
            for block in held:
                block.kept = True


def _closest(block: Block, *names: str) -> Node | None:
    return next((node for node in block.node.ancestors() if node.name in names), None)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _maximize_agreement(blocks: Sequence[Block]) -> float:
    """Keep the blocks with which the expected F1 is largest: the likeliest first, as long as it rises."""
    expected = sum(block.chance * block.words for block in blocks)
    kept = right = 0.0
    best = 0.0
    least = 1.0
    for block in sorted(blocks, key=lambda each: -each.chance):
        kept += block.words
        right += block.chance * block.words
        if 2 * right >= best * (kept + expected):
            best = 2 * right / (kept + expected)
            least = block.chance
    for block in blocks:
        block.kept = block.chance >= least
    return best


def _is_manual(tree: Tree) -> bool:
    """Whether a generator of documentation made the page: those mark with `main` what the author wrote, no more."""
    return any(
        node.attributes.get("name", "").lower() == "generator" and _GENERATOR.search(node.attributes.get("content", ""))
        for node in tree.by_name.get("meta", ())[:100]
    )


def _keep_main(blocks: Sequence[Block]) -> None:
    inside = [block.landmarks & _MAIN_LANDMARKS == LANDMARK_BITS["main"] for block in blocks]
    if any(inside):
        for block, kept in zip(blocks, inside, strict=True):
            block.kept = kept


def _keep_headings(blocks: Sequence[Block], url: str) -> None:
    """A heading stays with what it is the heading of, and the page with its own. Those that lead to other pages stay
    where at least half of their shape do: the posts of a front page, no teasers.
    """
    leading = {block for block in blocks if block.level and _leads_away(block, url)}
    shapes = Counter[tuple[str, str]]()
    for block in leading:
        shapes[_shape_of(block.line)] += 1 if block.kept else -1
    follows = False
    for block in reversed(blocks):
        if (
            block.level
            and block.words <= _MAX_HEADING_WORDS
            and (block not in leading or shapes[_shape_of(block.line)] >= 0)
        ):
            block.kept = block.kept or follows
        follows = block.kept
    first = [block for block in blocks if block.level == 1 and not block.landmarks & _BESIDE_BITS]
    own = [block for block in first if not _leads_away(block, url)]
    if own and not any(block.kept for block in own):
        max(own, key=lambda each: each.chance).kept = True


def _leads_away(block: Block, url: str) -> bool:
    """Whether the text of a heading is a link to another page: that of a teaser, or of the site's name."""
    if block.links < _MIN_LARGE_SHARE * len(block.text):
        return False
    inner = takewhile(lambda node: node is not block.line, block.node.ancestors())
    href = next((node.attributes.get("href", "") for node in inner if node.name == "a"), "#")
    return (urls.join(url, href) or url).partition("#")[0] != url.partition("#")[0]


def _keep_tables(blocks: Sequence[Block]) -> None:
    """A table of which most is kept is kept whole: where a cell is missing, others stand in its column."""
    tables: dict[Node, list[Block]] = {}
    for block in blocks:
        if block.landmarks & LANDMARK_BITS["table"] and (table := _closest(block, "table")) is not None:
            tables.setdefault(table, []).append(block)
    for cells in tables.values():
        words = sum(block.words * (1 if block.kept else -1) for block in cells)
        if words >= 0 and max(block.words for block in cells) <= _MAX_CELL_WORDS:
            for block in cells:
                block.kept = True


def _drop_copies(blocks: Sequence[Block]) -> None:
    """A part that the page shows twice stands there once: sites write the same for wide and narrow screens, and forums
    quote. Code and tables stay.
    """
    kept = [block for block in blocks if block.kept]
    data = [_is_data(block) for block in kept]
    beginnings: dict[str, list[int]] = {}
    at = 0

    def alike(start: int, most: int) -> int:
        """How many blocks from `at` on are those from `start` on, up to so many."""
        size = 0
        most = min(most, len(kept) - at, at - start)
        while size < most and kept[at + size].text == kept[start + size].text and not data[at + size]:
            size += 1
        return size

    while at < len(kept):
        before = beginnings.setdefault(kept[at].text, [])
        original = max(before, key=lambda start: alike(start, _MAX_COMPARED_BLOCKS), default=at)
        copy = kept[at : at + alike(original, _MAX_COMPARED_BLOCKS)]
        if sum(block.words for block in copy) >= MIN_COPY_WORDS and _is_shown_twice(kept, original, at, len(copy)):
            copy = kept[at : at + alike(original, len(kept))]
            for block in copy:
                block.kept = False
            at += len(copy)
        else:
            if len(before) < _MAX_BEGINNINGS:
                before.append(at)
            at += 1


def _drop_teasers(blocks: Sequence[Block]) -> None:
    """Below an article, siblings of one shape that each have a linked headline lead to other stories; their texts go,
    as long as they are not more than the article.
    """
    prose = Counter[Node | None]()
    end: dict[Node | None, int] = {}
    for number, block in enumerate(blocks):
        if block.kept and block.words >= _MIN_PROSE_WORDS:
            prose[block.line.parent] += block.words * _is_prose(block)
            end[block.line.parent] = number
    body, article = max(prose.items(), key=lambda each: each[1], default=(None, 0))
    if article < _MIN_ARTICLE_WORDS:
        return
    below = blocks[end[body] + 1 :]
    around = {*blocks[end[body]].node.ancestors()}
    ways = [[*takewhile(lambda node: node not in around, block.node.ancestors())] for block in below]
    shapes: dict[Node, tuple[Node | None, str, str]] = {}  # of elements with a linked headline
    texts = Counter[Node]()
    for block, way in zip(below, ways, strict=True):
        if block.words >= _MIN_HEADLINE_WORDS and block.links >= 0.8 * len(block.text):
            shapes |= {node: (node.parent, *_shape_of(node)) for node in way if node not in shapes}
        else:
            texts.update(dict.fromkeys(way, block.words))
    alike = Counter(shapes.values())
    teasers = {node for node, key in shapes.items() if alike[key] >= _MIN_TEASERS and texts[node] <= _MAX_TEASER_WORDS}
    others = [block for block, way in zip(below, ways, strict=True) if block.kept and not teasers.isdisjoint(way)]
    if sum(block.words for block in others) <= article:
        for block in others:
            block.kept = False


def _is_shown_twice(kept: Sequence[Block], original: int, at: int, size: int) -> bool:
    """Whether the page shows one thing twice (a wide and a narrow layout, a slide and its clone, a quote of a post).
    Entries of one list and stanzas of one song that are worded alike are two things, and so is a sentence that stands
    somewhere else again, or under headings that differ: of two parameters, in two clauses, as a warning.
    """
    first, copy = kept[original], kept[at]
    quoted = copy.landmarks & LANDMARK_BITS["blockquote"] and copy.names & NAME_BITS["thread"]
    if quoted or copy.names & NAME_BITS["slides"]:
        return True
    if sum(block.words for block in kept[at : at + size]) < _MIN_COPY_WORDS_APART:
        above, over = kept[original - 1], kept[at - 1]
        if size == 1 and at > original + 1 and _is_prose(copy) and not copy.level:
            return False
        if original and above.level and over.level and above.text != over.text:
            return False
    return _path_down(first.node, copy.node) != _path_down(copy.node, first.node)


def _path_down(node: Node, other: Node) -> list[tuple[str, str]]:
    """The elements from what holds both nodes down to the first, by name and class, numbers left out."""
    above = {*other.ancestors()}
    return [_shape_of(each) for each in node.ancestors() if each not in above]


def _shape_of(node: Node) -> tuple[str, str]:
    return node.name, _COUNTER.sub("", node.attributes.get("class", ""))


def _is_data(block: Block) -> bool:
    return bool(block.landmarks & LANDMARK_BITS["table"]) or _closest(block, "pre") is not None


@lru_cache(4_096)
def _place_of(landmarks: int, said: int) -> Place:
    for place, marks, names in _PLACE_RULES:
        if landmarks & marks or said & names:
            return place
    return "other"


def forest_of(table: Mapping[str, Any]) -> Forest:
    """The trees of a table such as content.json."""
    return Forest(table["width"], table["roots"], table["features"], table["values"], table["others"])


@cache
def _forest() -> Forest:
    return forest_of(json.loads(files(__package__).joinpath("content.json").read_text("utf-8")))
