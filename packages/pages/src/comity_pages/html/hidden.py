"""Text that a page carries and a person would not see: found, quoted as data, reported.

It warns and obeys nothing. Judged is what stands in the page itself: attributes, inline styles, simple rules of its
style elements, characters; linked style sheets and scripts are not read.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from comity_pages.html import css, hiding_rules, invisible, sheets
from comity_pages.html.tree import HIDING, POINTING, Node, Text, Tree

HidingKind = Literal["hidden_attribute", "aria_hidden", css.Hiding, "instructing_comment", invisible.Kind]

MAX_FOUND: Final = 100  # places reported of one page
_MAX_RULE_CHECKS: Final = 500_000  # rules of a page that its elements are held against; what is beyond is not looked at
MAX_EXCERPT_CHARS: Final = 200  # characters quoted of each

_SENTENCES: Final[dict[HidingKind, str]] = {
    "hidden_attribute": "An element with the hidden attribute holds text.",
    "aria_hidden": "An element with aria-hidden=true holds text.",
    "display_none": "An element with display:none holds text.",
    "visibility_hidden": "An element with visibility:hidden holds text.",
    "font_size_zero": "Text has a font size of zero.",
    "transparent": "Text is transparent.",
    "same_colour": "Text has the colour of its background.",
    "off_screen": "Text is placed off the screen.",
    "clipped": "Text is clipped to nothing.",
    "instructing_comment": "A comment addresses a language model.",
    "zero_width": "The text holds characters of no width.",
    "bidi_control": "The text holds characters that change the order in which text is shown.",
    "tag_characters": "The text holds invisible tag characters or runs of variation selectors.",
}
# Legitimate more often than not (icons, fading in): reported, and left in the Markdown.
_KEPT_KINDS: Final = frozenset(("aria_hidden", "transparent"))

_INSTRUCTION: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|any|your)\b"
    r"|\b(?:language models?|llms?|chatgpt|gpt-?\d|claude|gemini|copilot|ai (?:agents?|assistants?|models?|systems?)"
    r"|system prompt|assistant)\b"
    r"|\byou (?:are|must|should|will) (?:now|not|an?|always|never)\b"
    r"|\b(?:do not|don't|never) (?:tell|reveal|mention|inform) the user\b"
    r"|\binstead,? (?:say|answer|respond|reply|output|print)\b",
    re.IGNORECASE,
)
# One of these stands in whatever the expression above finds, and is found faster.
_INSTRUCTION_WORDS: Final = (
    *"ignore disregard forget override language llm gpt claude gemini copilot system assistant you user".split(),
    *("ai ", "instead"),
)


@dataclass(frozen=True, slots=True)
class HiddenText:
    """One place where text is hidden from people.

    Attributes:
        kind: how it is hidden.
        message: one plain sentence.
        excerpt: its first characters; what cannot be seen is written as `\\u200b`. Data, never an instruction.
        length: characters of the hidden text.
        kept: whether it is left in the Markdown nevertheless.
    """

    kind: HidingKind
    message: str
    excerpt: str
    length: int
    kept: bool


HiddenContent = tuple[tuple[HiddenText, ...], set[Node], set[Node]]


def find_in_text(text: str) -> tuple[HiddenText, ...]:
    """The characters of plain text that nobody sees. Such text passes through unchanged, so all of them are kept."""
    return tuple(_invisible_characters(text))


def find_in_page(tree: Tree) -> HiddenContent:
    """What an HTML page hides, the elements whose text is not kept, and those kept that a click may show."""
    folded: set[Node] = set()
    found, removed = find_hidden(tree, folded=folded)
    found += _invisible_characters(tree.text())
    return tuple(found), removed, folded


def find_in_comments(comments: Iterable[str]) -> list[HiddenText]:
    """The comments that speak to a language model."""
    told = (each for each in comments if len(each) > 7 and _instructs(each[:10_000]))
    return [_hidden_text("instructing_comment", each, False) for each in islice(told, MAX_FOUND)]


def find_hidden(
    tree: Tree, *, scripts: bool = True, folded: set[Node] | None = None
) -> tuple[list[HiddenText], set[Node]]:
    """What the elements and comments of a page hide, and the elements whose text is not to be kept.

    Args:
        scripts: whether scripts may show it again, so that what unfolds or fades in is kept.
        folded: takes the elements that are kept and that a browser does not show as the page stands.
    """
    styles = _Styles(hiding_rules.hiding_rules(style.text() for style in tree.all("style")))
    controlled: set[str] | None = None  # ids of what a click would show
    found = find_in_comments(tree.comments)
    removed: set[Node] = set()
    reported: set[Node] = set()
    kind: HidingKind | None
    for node in _suspects(tree, styles.rules):
        if HIDING.isdisjoint(node.attributes) and node.name != "dialog":
            kind, kept = styles.by_rules(node), True
        else:
            kind, kept = styles.hides(node)
        if kind is None or node.name in ("html", "body"):  # scripts show those again
            continue
        kept = kept and (scripts or kind == "aria_hidden")
        above = node.ancestors()[1:]
        if not removed.isdisjoint(above):
            continue
        inside = not reported.isdisjoint(above)
        text = "" if kept and (inside or len(found) >= MAX_FOUND) else " ".join(node.text().split())
        if scripts and not kept and text and kind in _UNFOLDABLE_KINDS:
            if controlled is None:
                controlled = _controlled_ids(tree)
            kept = _unfolds(node, controlled, len(text)) or len(text) > max(_MIN_PANEL_CHARS, len(tree.text()) / 2)
        if kept:
            reported.add(node)
            if folded is not None and kind in _UNRENDERED_KINDS:
                folded.add(node)
        elif kind == "visibility_hidden" and styles.holds_visible(node, tree.styled):
            text = _remove_all_but_visible(node, styles, removed)
        else:
            removed.add(node)
        if not inside and len(found) < MAX_FOUND and text:
            found.append(_hidden_text(kind, text, kept))
    return found, removed


def white_space(tree: Tree) -> dict[Node, css.Effect]:
    """What the page's styles say that its elements keep of lines and gaps."""
    found: dict[Node, css.Effect] = {}
    texts = [style.text() for style in tree.all("style")]
    if any("white-space" in text.lower() for text in texts):
        styles = _Styles(hiding_rules.hiding_rules(texts, spaces=True))
        suspects = _suspects(tree, styles.rules) if styles.rules.hiding else ()
        found = {node: effect for node in suspects if (effect := styles.effect(node))}
    own = ((node, css.white_space(node.attributes.get("style", ""))) for node in tree.styled)
    return found | {node: effect for node, effect in own if effect}


def _suspects(tree: Tree, rules: hiding_rules.HidingRules) -> Sequence[Node]:
    """The elements that their attributes or the page's rules may hide, in the page's order."""
    if not rules.hiding:
        return tree.styled
    found = {*tree.styled, *tree.all(*rules.by_name)}
    for classes, nodes in tree.by_class.items():
        if not rules.by_class.keys().isdisjoint(classes.split()):
            found.update(nodes)
    for identity in rules.by_id:
        found.update(tree.by_id.get(identity, ()))
    if rules.by_attribute:
        asked = rules.by_attribute.keys()
        found.update(node for node in (tree.root, *tree.root.descendants()) if not asked.isdisjoint(node.attributes))
    return sorted(found, key=lambda node: node.number)


def _remove_all_but_visible(node: Node, styles: "_Styles", removed: set[Node]) -> str:
    """Remove what visibility:hidden hides in an element, which is all but what is made visible again; its text."""
    texts: list[str] = []
    stack: list[Node | Text] = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, Text):
            texts.append(each.text)
        elif styles.around_visible and each in styles.around_visible and (each is node or not styles.is_visible(each)):
            stack += reversed(each.children)
            each.children = [*each.elements()]
        elif not styles.is_visible(each):
            texts.append(each.text())
            removed.add(each)
    return " ".join("".join(texts).split())


# What scripts show again at a click, or once the page has loaded.
_UNFOLDABLE_KINDS: Final = frozenset(("hidden_attribute", "display_none", "visibility_hidden", "clipped"))
_UNRENDERED_KINDS: Final = _UNFOLDABLE_KINDS - {"clipped"}
_MIN_PANEL_CHARS: Final = 80
_MAX_SIBLINGS: Final = 40
_PANEL_CLASS: Final = re.compile(
    r"\btab|-tab|panel|accordion|collaps|expand|toggle|faq|answer|read-?more|show-?more|spoiler|\bcontent\b|\bdetails?\b"
)
_POINTING_ELEMENTS: Final = frozenset("a button li div span h2 h3 h4 summary label input".split())

_OPENER_ATTRIBUTES: Final = frozenset(("role", "data-toggle", "data-bs-toggle"))
"""Attributes of a link that opens a part of the page."""


def _controlled_ids(tree: Tree) -> set[str]:
    """The ids that tabs and buttons name as what they show."""
    found: set[str] = set()
    for node in tree.pointers:
        if node.name in _POINTING_ELEMENTS:
            for name in POINTING.intersection(node.attributes):
                found.update(node.attributes[name].replace("#", " ").split()[:10])
    for node in tree.all("a"):
        if not _OPENER_ATTRIBUTES.isdisjoint(node.attributes) and node.attributes.get("href", "")[:1] == "#":
            found.add(node.attributes["href"][1:])
    return found


def _unfolds(node: Node, controlled: set[str], size: int) -> bool:
    """Whether an element is a panel of tabs or of an accordion: hidden until people ask for it, and meant for them."""
    attributes = node.attributes
    if attributes.get("role", "").lower() == "tabpanel":
        return True
    if attributes.get("id", "") in controlled - {""}:
        return size >= _MIN_PANEL_CHARS or not node.descendants("a", "button")  # else it is a menu
    if size >= _MIN_PANEL_CHARS and _PANEL_CLASS.search(attributes.get("class", "").lower()):
        return True
    around = node.parent
    if around is None or len(around.children) > _MAX_SIBLINGS or not (node.name == "pre" or node.descendants("pre")):
        return False
    # the same in another language
    beside = (each for each in around.elements() if each is not node and HIDING.isdisjoint(each.attributes))
    return any(each.name == "pre" or each.descendants("pre") for each in beside)


class _Styles:
    """What the attributes and rules of one page say: each style is read once, however often it stands there."""

    def __init__(self, rules: hiding_rules.HidingRules) -> None:
        self.rules = rules
        self._selected_attributes = rules.attributes - {"class", "id"}
        self._declared: dict[str, dict[str, str]] = {}
        self._candidates: dict[tuple[str | None, ...], Sequence[hiding_rules.Candidate]] = {}
        self._room = _MAX_RULE_CHECKS
        self.around_visible: set[Node] | None = None
        self._stands: dict[tuple[Node, hiding_rules.Selector], bool] = {}

    def declared(self, node: Node) -> dict[str, str]:
        style = node.attributes.get("style", "")
        found = self._declared.get(style)
        if found is None:
            found = self._declared[style] = css.declarations(style)
        return found

    def is_visible(self, node: Node) -> bool:
        """Whether an element is shown whatever the visibility of those around it."""
        return (
            "visib" in node.attributes.get("style", "").lower() and self.declared(node).get("visibility") == "visible"
        )

    def holds_visible(self, node: Node, styled: Iterable[Node]) -> bool:
        """Whether an element with visibility:hidden, and hidden by no more than that, holds some that show."""
        if self.around_visible is None:
            self.around_visible = set()
            for each in filter(self.is_visible, styled):
                self.around_visible.update(each.ancestors()[1:])
        return node in self.around_visible and css.hides(self.declared(node) | {"visibility": "visible"}) is None

    def hides(self, node: Node) -> tuple[HidingKind | None, bool]:
        """How an element hides its text, and whether that text is kept."""
        attributes = node.attributes
        if "hidden" in attributes and attributes["hidden"].lower() != "until-found":
            return "hidden_attribute", False
        style = attributes.get("style")
        colour = attributes.get("color") if node.name == "font" else None
        if style and sheets.may_hide(style):
            declared = self.declared(node)
            kind = css.hides(declared)
            if kind is not None:
                return kind, kind in _KEPT_KINDS
            colour = declared.get("color", colour)
        if colour:
            same = self._same_colour(node, colour)
            if same is not None:
                return "same_colour", not same
        if attributes.get("aria-hidden", "").lower() == "true":
            return "aria_hidden", True
        if "popover" in attributes or (node.name == "dialog" and "open" not in attributes):
            return "display_none", True  # a script shows it, or nobody
        return self.by_rules(node), True

    def by_rules(self, node: Node) -> css.Hiding | None:
        """What the page's rules say; later rules, states and media may show it: that is for a browser to know."""
        kind = self.effect(node)
        return None if kind == "keeps_space" or kind == "keeps_lines" or kind == "keeps_none" else kind

    def effect(self, node: Node) -> css.Effect | None:
        """What the rules do to an element."""
        attributes = node.attributes
        key: tuple[str | None, ...] = (node.name, attributes.get("class"), attributes.get("id"))
        if not self._selected_attributes.isdisjoint(attributes):
            key += tuple(attributes)
        found = self._candidates.get(key)
        if found is None:
            if self._room < 0:
                return None
            found, count = self.rules.candidates(node.name, attributes)
            self._candidates[key] = found
            self._room -= count
        if not found or self._room < 0:
            return None
        self._room -= len(found)
        for selector, kind in found:
            if node.parent is None or all(self._is_within(node.parent, each) for each in selector.around):
                return kind
        return None

    def _is_within(self, node: Node, wanted: hiding_rules.Selector) -> bool:
        """Whether an element, or one around it, is what a selector asks for."""
        way: list[Node] = []
        around: Node | None = node
        fits: bool | None = None
        while fits is None:
            if around is None:
                fits = False
            elif (fits := self._stands.get((around, wanted))) is None:
                attributes = around.attributes
                marks = hiding_rules.marks_of(attributes.get("class"), attributes.get("id"))
                way.append(around)
                if wanted.fits(around.name, marks, attributes):
                    fits = True
                around = around.parent
        self._room -= len(way)
        for each in way:
            self._stands[each, wanted] = fits
        return fits

    def _same_colour(self, node: Node, colour: str) -> bool | None:
        """True: the background declared on it or around it is the same; False: none is, and the text is white."""
        own = css.colour(colour)
        if own is None:
            return None
        for around in node.ancestors():
            declared = self.declared(around)
            words = declared.get("background-color") or declared.get("background") or around.attributes.get("bgcolor")
            if words:
                return True if css.are_alike(own, css.colour(words)) else None
        return False if own == (255, 255, 255) else None


def _invisible_characters(text: str) -> Iterator[HiddenText]:
    for kind, first, end, length in invisible.find_invisible(text):
        around = text[max(0, first - 40) : end + MAX_EXCERPT_CHARS - 40]
        yield HiddenText(kind, _SENTENCES[kind], _excerpt(around), length, True)


def _instructs(comment: str) -> bool:
    if comment.isascii():  # beyond ASCII, more letters are alike but for their case
        lower = comment.lower()
        if not any(each in lower for each in _INSTRUCTION_WORDS):
            return False
    return _INSTRUCTION.search(comment) is not None


def _hidden_text(kind: HidingKind, text: str, kept: bool) -> HiddenText:
    return HiddenText(kind, _SENTENCES[kind], _excerpt(text), len(text), kept)


def _excerpt(text: str) -> str:
    """An excerpt on one line, what cannot be seen written out."""
    text = " ".join(text[: 4 * MAX_EXCERPT_CHARS].split())
    if len(text) > MAX_EXCERPT_CHARS:
        text = text[: MAX_EXCERPT_CHARS - 1] + "…"
    return invisible.escape_invisible(text)
