"""Text that a page carries and a person would not see: found, quoted as data, reported.

It warns and obeys nothing. Judged is what stands in the page itself: attributes, inline styles, simple rules of its
style elements, characters; linked style sheets and scripts are not read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from comity.retrieve import css
from comity.retrieve.tree import Node, Tree

HidingKind = Literal[
    "hidden_attribute",
    "aria_hidden",
    "display_none",
    "visibility_hidden",
    "font_size_zero",
    "transparent",
    "same_colour",
    "off_screen",
    "clipped",
    "instructing_comment",
    "zero_width",
    "bidi_control",
    "tag_characters",
]

MAX_FOUND: Final = 100
"""Places reported of one page."""
EXCERPT: Final = 200
"""Characters quoted of each."""

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
    "instructing_comment": "An HTML comment speaks to a language model.",
    "zero_width": "The text holds characters of no width.",
    "bidi_control": "The text holds characters that change the order in which text is shown.",
    "tag_characters": "The text holds invisible tag characters or runs of variation selectors.",
}
# Legitimate more often than not (icons, fading in): reported, and left in the Markdown.
_KEPT: Final = frozenset(("aria_hidden", "transparent"))

_ZERO_WIDTH: Final = re.compile("[\u200b\u2060-\u2064\u180e]|(?<!^)\ufeff|(?<=[A-Za-z])[\u200c\u200d]+(?=[A-Za-z])")
_BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
# A flag of a region is a black flag and tags: that is what they are for.
_TAGS: Final = re.compile("(?<![\U0001f3f4\U000e0000-\U000e007f])[\U000e0000-\U000e007f]+|[\U000e0100-\U000e01ef]{2,}")
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e01ef]"
)
# The octets with which every such character is written in UTF-8: searching for a few of them is fast.
_OCTETS: Final = (
    *(b"\xe2\x80" + bytes([last]) for last in (0x8B, 0x8C, 0x8D, *range(0xAA, 0xAF))),
    b"\xe2\x81",
    b"\xe1\xa0\x8e",
    b"\xef\xbb\xbf",
    b"\xf3\xa0",
)
_COMMENT: Final = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_INSTRUCTS: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|any|your)\b"
    r"|\b(?:language models?|llms?|chatgpt|gpt-?\d|claude|gemini|copilot|ai (?:agents?|assistants?|models?|systems?)"
    r"|system prompt|assistant)\b"
    r"|\byou (?:are|must|should|will) (?:now|not|an?|always|never)\b"
    r"|\b(?:do not|don't|never) (?:tell|reveal|mention|inform) the user\b"
    r"|\binstead,? (?:say|answer|respond|reply|output|print)\b",
    re.IGNORECASE,
)
# One of these stands in whatever the expression above finds, and is found faster.
_INSTRUCTING: Final = (
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


def in_text(text: str, *, comments: bool = True) -> tuple[HiddenText, ...]:
    """What Markdown or plain text hides: characters nobody sees and, where `comments`, HTML comments that instruct.

    Such text passes through unchanged, so all of it is kept.
    """
    found = list(_characters(text))
    if comments and "<!--" in text:
        found += [
            _found("instructing_comment", match[1], True)
            for match in _COMMENT.finditer(text)
            if _instructs(match[1][:10_000])
        ]
    return tuple(found[:MAX_FOUND])


def in_page(tree: Tree) -> tuple[tuple[HiddenText, ...], set[Node]]:
    """What an HTML page hides, and the elements whose text is not to be kept."""
    rules = css.hiding_rules(style.text() for style in tree.all("style"))
    controlled: set[str] | None = None  # ids of what a click would show
    found = [
        _found("instructing_comment", comment, False)
        for comment in tree.comments
        if len(comment) > 7 and _instructs(comment[:10_000])
    ][:MAX_FOUND]
    removed: set[Node] = set()
    reported: set[Node] = set()
    known: dict[tuple[str, str, str], HidingKind | None] = {}
    for node in tree.styled if not rules.hiding else tree.named_nodes():
        kind, kept = _hides(node, rules, known)
        if kind is None or node.name in ("html", "body"):  # scripts show those again
            continue
        inside = False
        around = node.parent
        while around is not None:
            if around in removed:
                break
            inside |= around in reported
            around = around.parent
        if around is not None:
            continue
        text = "" if kept and (inside or len(found) >= MAX_FOUND) else " ".join(node.text().split())
        if not kept and len(text) >= _LEAST_PANEL and kind in _UNFOLDED:
            if controlled is None:
                controlled = _controlled(tree)
            kept = _unfolds(node, controlled) or len(text) > len(tree.text()) / 2
        (reported if kept else removed).add(node)
        if not inside and len(found) < MAX_FOUND and text:
            found.append(_found(kind, text, kept))
    found += _characters(tree.text())
    return tuple(found), removed


# What scripts show again at a click, or once the page has loaded.
_UNFOLDED: Final = frozenset(("hidden_attribute", "display_none", "visibility_hidden", "clipped"))
_LEAST_PANEL: Final = 80
_PANEL: Final = re.compile(
    r"\btab|-tab|panel|accordion|collaps|expand|toggle|faq|answer|read-?more|show-?more|spoiler|\bcontent\b|\bdetails?\b"
)
_REFERENCES: Final = frozenset(("aria-controls", "data-target", "data-bs-target", "data-toggle-target", "aria-owns"))


def _controlled(tree: Tree) -> set[str]:
    """The ids that tabs and buttons name as what they show."""
    found: set[str] = set()
    for node in tree.all("a", "button", "li", "div", "span", "h2", "h3", "h4", "summary", "label", "input"):
        attributes = node.attributes
        if not _REFERENCES.isdisjoint(attributes):
            for name in _REFERENCES.intersection(attributes):
                found.update(attributes[name].replace("#", " ").split()[:10])
        if "role" in attributes and node.name == "a" and attributes.get("href", "")[:1] == "#":
            found.add(attributes["href"][1:])
    return found


def _unfolds(node: Node, controlled: set[str]) -> bool:
    """Whether an element is a panel of tabs or of an accordion: hidden until people ask for it, and meant for them."""
    attributes = node.attributes
    if attributes.get("role", "").lower() == "tabpanel" or attributes.get("id", "") in controlled - {""}:
        return True
    return bool(_PANEL.search(attributes.get("class", "").lower()))


def _hides(
    node: Node, rules: css.HidingRules, known: dict[tuple[str, str, str], HidingKind | None]
) -> tuple[HidingKind | None, bool]:
    """How an element hides its text, and whether that text is kept."""
    attributes = node.attributes
    if "hidden" in attributes and attributes["hidden"].lower() != "until-found":
        return "hidden_attribute", False
    if (style := attributes.get("style")) and css.may_hide(style):
        declared = css.declarations(style)
        kind = css.hides(declared)
        if kind is not None:
            return kind, kind in _KEPT
        if "color" in declared:
            same = _same_colour(node, declared["color"])
            if same is not None:
                return "same_colour", not same
    if attributes.get("aria-hidden", "").lower() == "true":
        return "aria_hidden", True
    if not rules.hiding:
        return None, True
    # Later rules, other states and media may show it again: that is for a browser to know.
    key = node.name, attributes.get("id", ""), attributes.get("class", "")
    if key not in known:
        known[key] = rules.of(*key)
    return known[key], True


def _same_colour(node: Node, colour: str) -> bool | None:
    """True: the background declared on it or around it is the same; False: none is, and the text is white."""
    own = css.colour(colour)
    if own is None:
        return None
    around: Node | None = node
    while around is not None:
        declared = css.declarations(around.attributes.get("style", ""))
        words = declared.get("background-color") or declared.get("background") or around.attributes.get("bgcolor")
        if words:
            return True if css.colour(words) == own else None
        around = around.parent
    return False if own == (255, 255, 255) else None


def _characters(text: str) -> Iterator[HiddenText]:
    kinds: tuple[tuple[HidingKind, re.Pattern[str]], ...] = (
        ("zero_width", _ZERO_WIDTH),
        ("bidi_control", _BIDI),
        ("tag_characters", _TAGS),
    )
    if text.isascii():
        return
    octets = text.encode("utf-8", "surrogatepass")
    if not any(each in octets for each in _OCTETS):
        return
    for kind, pattern in kinds:
        first = pattern.search(text)
        if first is not None:
            around = text[max(0, first.start() - 40) : first.end() + EXCERPT - 40]
            length = sum(len(match[0]) for match in pattern.finditer(text))
            yield HiddenText(kind, _SENTENCES[kind], _shown(around), length, True)


def _instructs(comment: str) -> bool:
    """Whether a comment speaks to a language model."""
    if comment.isascii():  # beyond ASCII, more letters are alike but for their case
        lower = comment.lower()
        if not any(each in lower for each in _INSTRUCTING):
            return False
    return _INSTRUCTS.search(comment) is not None


def _found(kind: HidingKind, text: str, kept: bool) -> HiddenText:
    return HiddenText(kind, _SENTENCES[kind], _shown(text), len(text), kept)


def _shown(text: str) -> str:
    """An excerpt on one line, what cannot be seen written out."""
    text = " ".join(text[: 4 * EXCERPT].split())
    if len(text) > EXCERPT:
        text = text[: EXCERPT - 1] + "…"
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
