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
    from comity_pages import _cython as cython

from comity_pages.content.blocks import LANDMARK_BITS, LANDMARKS, WORDS_OF_NAMES, Block
from comity_pages.content.facts import Facts
from comity_pages.html.tree import Node

if not cython.compiled:  # compiled, they come from the .pxd file, without Python in between
    from math import log1p

    from comity_pages.content.blocks import count_sentences, known_share

_OWNER_NAMES: Final = (
    "other p li h1 h2 h3 h4 h5 h6 td th dt dd pre blockquote figcaption button label a span div section article summary"
    " caption body"
).split()
_OWNER_NUMBERS = cython.declare(dict, {name: float(number) for number, name in enumerate(_OWNER_NAMES)})
_HEADINGS = cython.declare(dict, {f"h{level}": level for level in range(1, 7)})
_NAME_COUNT = cython.declare(cython.int, len(WORDS_OF_NAMES))
_LANDMARK_COUNT = cython.declare(cython.int, len(LANDMARKS))
_UNMEASURED: Final = ("ul", "section", "blockquote", "details", "p")
_UNMEASURED_BITS = cython.declare(cython.Py_ssize_t, sum(LANDMARK_BITS[name] for name in _UNMEASURED))
_TOPICS: Final = (  # what a heading says of what is below it
    re.compile(
        r"\b(?:relat|recommend|also|similar|popular|trending|latest|recent|more|next|other|featured|read|you may"
        r"|mehr\b|weitere|auch interess|ähnlich|verwandt|meistgelesen|beliebt|empfehl|neueste|lesen sie|das könnte"
        r"|lire\b|plus lus|voir aussi|similaires|autres|liés|relacion|te puede|más|también|últim|otr[ao]s"
        r"|leia\b|mais\b|também|outr[ao]s|leggi|correlat|altr[ei]\b|più|potrebbe|lees\b|meer\b|gerelat|meest"
        r"|czytaj|zobacz|podobn|polecan|najnowsz|läs\b|mest\b|les også|další|související|читайте|похож|популярн|ещё"
        r"|еще|также|по теме|рекоменд|друг|последни|ilgili|benzer|diğer|öneril|çok okunan|đọc|liên quan|baca|terkait"
        r"|اقرأ|المزيد|ذات صلة|الأكثر|مواضيع|עוד|נוספ|מומלצ|संबंधित|यह भी|और पढ़|관련|추천|인기|더보기|많이)"
        r"|相关|相關|推荐|推薦|热门|熱門|延伸|更多|最新|猜你|関連|おすすめ|人気|ランキング|新着|あわせて|こちらも"
        r"|เกี่ยวข้อง|แนะนำ|ล่าสุด|ยอดนิยม"
    ),
    re.compile(
        r"\b(?:comment|repl|leave|discuss|review|responses?\b|thoughts|komment|coment|reactie|réacti|réagir|yorum"
        r"|bình luận|komentar|комментар|комент|обсужд|تعليق|التعليق|תגוב|टिप्पण|댓글|의견)"
        r"|评论|評論|留言|回复|回覆|コメント|感想|ความคิดเห็น"
    ),
    re.compile(
        r"\b(?:share|follow|subscri|newsletter|sign up|join|contact|about|connect|stay|get in touch|author|tags?\b"
        r"|teilen|abonn|autor|kontakt|schlagw|partag|suivez|inscri|auteur|compart|suscri|sígue|siga\b|assine|etiquet"
        r"|condivid|iscri|volg\b|schrijf|udostęp|śledź|zapisz|подел|подпис|автор|теги\b|метк|paylaş|abone|takip"
        r"|yazar|chia sẻ|bagikan|شارك|تابع|اشترك|שתפו|הירשמו|साझा|공유|구독|기자)"
        r"|分享|订阅|訂閱|关注|關注|作者|标签|標籤|シェア|フォロー|登録|著者|タグ|แชร์|ติดตาม|ผู้เขียน"
    ),
)
_ANY_TOPIC: Final = re.compile("|".join(each.pattern for each in _TOPICS))
_SENTENCE_ENDS: Final = frozenset(".!?…。！？．｡؟۔।॥။។።։")
_CLOSING_MARKS: Final = frozenset("\"'”’»)]」』）】")


class _Entry:
    """An element that holds text: how much, and where it stands to the page's core.

    Attributes:
        first, last: its first and last block.
        depth: elements from the root to it.
        alike: children of its parent that hold text and have its name and class.
        section: the largest element around it with at most MAX_SECTION_SHARE of the page's words.
        steps: from the core down to it; -1 outside of it.
        branch: the part of the core that it stands in, or the largest element around it that is beside the core.
        within: whether it stands in the element that holds nearly all prose.
    """

    __slots__ = tuple(
        "alike blocks branch characters depth first key last links parent prose section steps within words".split()
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


class SimilarBlocks:
    """The blocks that stand in elements alike: how many, their words, characters and those of links; and how many
    of the words are expected to be content.
    """

    __slots__ = ("blocks", "characters", "expected", "links", "words")

    def __init__(self) -> None:
        self.blocks = self.words = self.characters = self.links = 0
        self.expected = 0.0


_BLOCK_NUMBERS = cython.declare(
    cython.Py_ssize_t, 59
)  # numbers of a block alone; then come its names and landmarks, and the page
MIN_CORE_SHARE: Final = 0.6  # of the page's prose, what its core holds at least
MIN_WIDE_SHARE: Final = 0.9  # of the page's prose, what all but a little of it is
MAX_SECTION_SHARE: Final = 0.6  # of the page's words, what a section of it holds at most


class _Page:
    """What is summed up of a page before the numbers of its blocks are known; lists have an item for each block.

    Attributes:
        own: the element that each block stands in.
        shapes: words and the share of links.
        earlier: how many blocks before it say the same.
        same: those that stand in elements alike, by names and classes of the elements; and of each block.
        long: the blocks of prose with at least 20 words.
    """

    __slots__ = tuple(
        "alike characters core earlier firsts inside linked long own page prose repeated same sentences shapes title"
        " total".split()
    )

    def __init__(self, blocks: Sequence[Block], facts: Facts, url: str) -> None:
        self.inside: dict[Node, _Entry] = {}
        self.own: list[_Entry] = []
        self.shapes: list[tuple[float, float]] = []
        self.sentences: list[int] = []
        self.same: dict[tuple[str, str, str], SimilarBlocks] = {}
        self.alike: list[SimilarBlocks] = []
        self.repeated: dict[str, int] = {}
        self.earlier: list[int] = []
        self.long: list[int] = []
        self.total = self.characters = self.linked = self.prose = 0
        for number, block in enumerate(blocks):
            _add(self, block, number)
        self.title = facts.title
        self.firsts = facts.firsts
        self.page = array(
            "d",
            [
                log1p(self.total),
                log1p(len(blocks)),
                self.linked / self.characters,
                self.prose / self.total,
                log1p(len(self.long)),
                *facts.numbers(url),
            ],
        )
        self.core = _sum_up(list(self.inside.values()), self.total, self.prose)


@cython.cfunc
def _add(page: _Page, block: Block, number: cython.Py_ssize_t) -> None:
    entry: _Entry | None
    over: _Entry | None
    above: _Entry | None
    same: SimilarBlocks | None
    text = block.text
    words: cython.Py_ssize_t = block.words
    size: cython.Py_ssize_t = len(text)
    links: cython.Py_ssize_t = min(block.links, size)
    count: cython.Py_ssize_t = count_sentences(text) if words > 3 else 0
    prose: cython.Py_ssize_t = words if words >= 15 and count and links < 0.3 * size else 0
    page.sentences.append(count)
    if prose and words >= 20:
        page.long.append(number)
    page.total += words
    page.characters += size
    page.linked += links
    page.prose += prose
    page.shapes.append((log1p(words), links / size))
    times = page.repeated.get(text, 0)
    page.earlier.append(times)
    page.repeated[text] = times + 1
    entry = page.inside.get(block.node)
    if entry is None:
        entry = _get_entry(page.inside, block.node, number)
    entry.words += words
    entry.characters += size
    entry.links += links
    entry.blocks += 1
    entry.prose += prose
    entry.last = number
    page.own.append(entry)
    over = entry.parent
    above = over.parent if over is not None else None
    shape = (entry.key, over.key if over is not None else "", above.key if above is not None else "")
    same = page.same.get(shape)
    if same is None:
        same = page.same[shape] = SimilarBlocks()
    same.blocks += 1
    same.words += words
    same.links += links
    same.characters += size
    page.alike.append(same)


class _Heading:
    """The last heading: how many blocks ago, its level, how long it is, and what it says of what is below it."""

    __slots__ = ("about", "level", "since", "words")

    def __init__(self) -> None:
        self.since = self.level = 0
        self.words = 0.0
        self.about = (0.0, 0.0, 0.0)


def measure(blocks: Sequence[Block], facts: Facts, url: str) -> tuple[array[float], list[SimilarBlocks]]:
    """The numbers of a page's blocks, of which there is at least one: as many for each, one after the other; and for
    each the blocks in elements alike.
    """
    number: cython.Py_ssize_t
    place: cython.Py_ssize_t
    at: cython.Py_ssize_t = 0
    block: Block
    page = _Page(blocks, facts, url)
    of_page: cython.double[::1] = page.page
    size: cython.Py_ssize_t = len(page.page)
    width: cython.Py_ssize_t = _BLOCK_NUMBERS + _NAME_COUNT + _LANDMARK_COUNT - len(_UNMEASURED) + size
    numbers = array("d", bytes(8 * width * len(blocks)))
    row: cython.double[::1] = numbers
    heading = _Heading()
    before: cython.Py_ssize_t = 0
    first_heading = next((number for number, block in enumerate(blocks) if block.node.name == "h1"), -1)
    for number, block in enumerate(blocks):
        row[at + 7] = before / page.total
        row[at + 8] = number / len(blocks)
        row[at + 9] = number - first_heading if first_heading >= 0 else -999.0
        _write_text(row, at, page, block, number)
        _write_neighbours(row, at, page, number)
        _write_heading(row, at, page, block, number, heading)
        _write_elements(row, at, page, number)
        _write_core(row, at, page, number)
        at = _write_flags(row, at + _BLOCK_NUMBERS, block)
        for place in range(size):
            row[at + place] = of_page[place]
        at += size
        before += block.words
    return numbers, page.alike


@cython.cfunc
def _write_flags(row: cython.double[::1], at: cython.Py_ssize_t, block: Block) -> cython.Py_ssize_t:
    """What names and landmarks say, a number for each; the place behind them."""
    bit: cython.Py_ssize_t
    for bit in range(_NAME_COUNT):
        row[at] = ((block.near >> bit) & 1) + ((block.names >> bit) & 1)
        at += 1
    for bit in range(_LANDMARK_COUNT):
        if not (_UNMEASURED_BITS >> bit) & 1:
            row[at] = (block.landmarks >> bit) & 1
            at += 1
    return at


@cython.cfunc
def _write_text(
    row: cython.double[::1], at: cython.Py_ssize_t, page: _Page, block: Block, number: cython.Py_ssize_t
) -> None:
    """The block's own text, and what says the same or stands in elements alike."""
    node: Node = block.node
    same: SimilarBlocks = page.alike[number]
    text = block.text
    shape = page.shapes[number]
    row[at] = shape[0]
    row[at + 1] = shape[1]
    row[at + 2] = page.sentences[number]
    last = text[-2] if text[-1] in _CLOSING_MARKS and len(text) > 1 else text[-1]
    row[at + 3] = 1.0 if last in _SENTENCE_ENDS else 0.5 if last in ":：" else 0.0
    row[at + 4] = _OWNER_NUMBERS.get(node.name, 0.0)
    row[at + 5] = _OWNER_NUMBERS.get(node.parent.name, 0.0) if node.parent is not None else -1.0
    row[at + 6] = page.repeated[text]
    row[at + 24] = log1p(same.blocks)
    row[at + 25] = same.words / page.total
    row[at + 26] = same.links / same.characters
    row[at + 27] = log1p(same.words / same.blocks)
    row[at + 57] = known_share(text[:120].lower(), page.title, page.firsts)
    row[at + 58] = page.earlier[number]


@cython.cfunc
def _write_neighbours(row: cython.double[::1], at: cython.Py_ssize_t, page: _Page, number: cython.Py_ssize_t) -> None:
    """The two blocks before and behind it, and how far prose is."""
    count: cython.Py_ssize_t = len(page.shapes)
    shape: tuple[float, float]
    row[at + 10] = number - (page.long[0] if page.long else count)
    row[at + 11] = (page.long[-1] if page.long else -1) - number
    if number > 1:
        shape = page.shapes[number - 2]
        row[at + 12] = shape[1]
    if number:
        shape = page.shapes[number - 1]
        row[at + 13] = shape[0]
        row[at + 14] = shape[1]
    if number + 1 < count:
        shape = page.shapes[number + 1]
        row[at + 15] = shape[0]
        row[at + 16] = shape[1]
    if number + 2 < count:
        shape = page.shapes[number + 2]
        row[at + 17] = shape[0]


@cython.cfunc
def _write_heading(
    row: cython.double[::1],
    at: cython.Py_ssize_t,
    page: _Page,
    block: Block,
    number: cython.Py_ssize_t,
    heading: _Heading,
) -> None:
    """The heading that it stands under, or is."""
    heading.since += 1
    level = _HEADINGS.get(block.node.name)
    if level is not None:
        lower = block.text[:120].lower()
        heading.since, heading.level, heading.words = 0, level, page.shapes[number][0]
        heading.about = (0.0, 0.0, 0.0)
        if _ANY_TOPIC.search(lower) is not None:  # most say none of it
            related, comments, shared = [float(each.search(lower) is not None) for each in _TOPICS]
            heading.about = (related, comments, shared)
    row[at + 18] = heading.since
    row[at + 19] = heading.level
    row[at + 20] = heading.words
    row[at + 21] = heading.about[0]
    row[at + 22] = heading.about[1]
    row[at + 23] = heading.about[2]


@cython.cfunc
def _write_elements(row: cython.double[::1], at: cython.Py_ssize_t, page: _Page, number: cython.Py_ssize_t) -> None:
    """The element that it stands in, and the three around that."""
    entry: _Entry = page.own[number]
    over: _Entry | None = entry.parent
    place: cython.Py_ssize_t
    row[at + 28] = log1p(entry.words)
    row[at + 29] = log1p(entry.alike)
    for place in range(at + 30, at + 42, 4):
        if over is None:
            break
        row[place] = log1p(over.words)
        row[place + 1] = over.links / over.characters
        row[place + 2] = log1p(over.alike)
        row[place + 3] = over.prose / over.words
        over = over.parent


@cython.cfunc
def _write_core(row: cython.double[::1], at: cython.Py_ssize_t, page: _Page, number: cython.Py_ssize_t) -> None:
    """The section and the branch that it stands in, and where it stands to the page's core."""
    entry: _Entry = page.own[number]
    core: _Entry = page.core
    section: _Entry = entry.section
    branch: _Entry = entry.branch
    total: cython.Py_ssize_t = page.total
    row[at + 42] = section.words / total
    row[at + 43] = section.links / section.characters
    row[at + 44] = section.prose / section.words
    row[at + 45] = entry.depth
    row[at + 46] = entry.steps if entry.steps >= 0 else 99.0
    row[at + 47] = 0.0 if entry.within else 1.0
    row[at + 48] = number - core.first
    row[at + 49] = core.last - number
    row[at + 50] = core.words / total
    row[at + 51] = branch.words / total
    row[at + 52] = branch.links / branch.characters
    row[at + 53] = branch.prose / branch.words
    row[at + 54] = log1p(branch.blocks)
    row[at + 55] = branch.first - core.first
    row[at + 56] = core.last - branch.last


@cython.cfunc
def _get_entry(inside: dict[Node, _Entry], node: Node, number: int) -> _Entry:
    """The entry of an element, made with those of the elements around it that have none yet."""
    way: list[Node] = []
    climbing: Node | None = node
    entry: _Entry | None = None
    each: Node
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


@cython.cfunc
def _sum_up(entries: list[_Entry], total: int, prose: int) -> _Entry:
    """Sum up what is in each element, place it to the page's core, and return that: the smallest element with most of
    the page's prose.
    """
    alike: dict[tuple[_Entry, str], int] = {}
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
        key = (over, entry.key)
        alike[key] = alike.get(key, 0) + 1
    core: _Entry = _smallest_with(entries, MIN_CORE_SHARE * prose)
    wide: _Entry = _smallest_with(entries, MIN_WIDE_SHARE * prose)
    at_most = MAX_SECTION_SHARE * total
    for entry in entries:
        over = entry.parent
        entry.within = entry is wide or (over is not None and over.within)
        if over is not None:
            entry.alike = alike[over, entry.key]
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


@cython.cfunc
def _smallest_with(entries: list[_Entry], least: float) -> _Entry:
    """The smallest element that holds so many words of prose; of equals the innermost."""
    best: _Entry | None = None
    entry: _Entry
    for entry in entries:
        if entry.prose < least:
            continue
        if best is None or entry.words < best.words or (entry.words == best.words and entry.first == best.first):
            best = entry
    return best if best is not None else entries[0]  # none for rounding alone
