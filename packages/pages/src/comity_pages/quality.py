"""How good extracted Markdown is likely to be for a reader who never sees the page: a score and the reasons for it.

The score is a product of named factors, each between 0 and 1 and each shown; it judges form, never truth. docs/
retrieve.md states the formula.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from comity_pages.extraction import ExtractedPage

Name = Literal[
    "text_length", "text_to_markup", "link_density", "boilerplate", "title_missing", "truncated", "javascript_shell",
    "content_unclear", "not_a_page",
]  # fmt: skip

MIN_TEXT_CHARS: Final = 600  # characters of text from which length costs nothing
MIN_TEXT_RATIO: Final = 0.05  # characters of text per byte of source from which markup costs nothing
MAX_LINK_SHARE: Final = 0.3  # share of the text that may be links before it costs something

# Neither can look further than to the next bracket, so both are linear.
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:[ \t]+\"[^\"()]*\")?\)")
_MARKS: Final = re.compile(r"[#>*_`|~\\\-+=]+|\s+")
_BOILERPLATE: Final = re.compile(
    r"cookie|privacy (?:policy|notice)|terms (?:of|and)|all rights reserved|\(c\)|©|subscribe|newsletter|sign (?:in|up)"
    r"|log ?in|skip to (?:main )?content|share (?:on|this)|follow us|advertisement|back to top|toggle navigation",
    re.IGNORECASE,
)
_MAX_NOTICE_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class QualityInputs:
    """What the score is made of.

    Attributes:
        text: characters of text, Markdown's own marks and white space not counted.
        link_text: how many of them are links.
        boilerplate: how many of them stand in short lines about cookies, logins, copyright and the like.
        source: bytes of HTML it was taken from; 0 for what was Markdown or plain text already.
        title: whether there is a title.
        truncated: whether a limit cut the source.
        javascript_shell: whether the page shows next to nothing without running its scripts.
        agreement: how far what was kept is expected to agree with the page's content (F1, 0 to 1); None where nothing
            was estimated.
        page: whether it is a page (or a shell of one), and no wall, challenge or error.
    """

    text: int
    link_text: int = 0
    boilerplate: int = 0
    source: int = 0
    title: bool = True
    truncated: bool = False
    javascript_shell: bool = False
    agreement: float | None = None
    page: bool = True


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that lowered the score: its factor (the score was multiplied by it) and one plain sentence."""

    name: Name
    factor: float
    message: str


@dataclass(frozen=True, slots=True)
class Quality:
    """The score, 0 to 1, what lowered it, and what it was computed from."""

    score: float
    reasons: tuple[Reason, ...]
    signs: QualityInputs


def assess(signs: QualityInputs) -> Quality:
    """The score for these signs: monotone in each of them. Better signs never lower it, worse ones never raise it."""
    reasons: list[Reason] = []

    def count(name: Name, factor: float, message: str) -> None:
        factor = round(max(factor, 0.0), 3)
        if factor < 1.0:
            reasons.append(Reason(name, factor, message))

    text = max(signs.text, 0)
    count("text_length", min(1.0, text / MIN_TEXT_CHARS) ** 0.5, f"The text has {text} character{'s' * (text != 1)}.")
    if signs.source > 0 and signs.agreement is None:  # what is kept says more than how much there is of it
        ratio = text / signs.source
        markup = f"Text is {ratio:.1%} of the page's {signs.source} bytes."
        count("text_to_markup", 0.6 + 0.4 * min(1.0, ratio / MIN_TEXT_RATIO), markup)
    links, waste = _share(signs.link_text, text), _share(signs.boilerplate, text)
    over = max(0.0, links - MAX_LINK_SHARE) / (1.0 - MAX_LINK_SHARE)
    count("link_density", 1.0 - 0.6 * over, f"{links:.0%} of the text is links.")
    about = "of the text is about cookies, logins, copyright and the like."
    count("boilerplate", 1.0 - 0.5 * waste, f"{waste:.0%} {about}")
    count("title_missing", 1.0 if signs.title else 0.9, "The page has no title.")
    count("truncated", 0.7 if signs.truncated else 1.0, "A limit cut the page; the rest is missing.")
    shell = "The page shows next to nothing without running its scripts."
    count("javascript_shell", 0.1 if signs.javascript_shell else 1.0, shell)
    if signs.agreement is not None:
        count("content_unclear", signs.agreement, f"Extraction confidence: about {signs.agreement:.0%}.")
    count("not_a_page", 1.0 if signs.page else 0.1, "It is not the page, but something sent in its place.")
    score = 1.0
    for reason in reasons:
        score *= reason.factor
    return Quality(round(score, 3), tuple(reasons), signs)


def quality_of(read: "ExtractedPage", source: int, *, has_title: bool) -> Quality:
    """The score of a page as it was read. `source`: bytes of HTML that it was, 0 for anything else; `has_title`: or
    needs none."""
    is_page = read.judgement.kind in ("page", "javascript_shell")
    flags = has_title, read.truncated, read.javascript_shell
    return assess(QualityInputs(*measure_text(read.markdown), source, *flags, read.agreement, is_page))


def measure_text(markdown: str) -> tuple[int, int, int]:
    """Characters of some Markdown: of its text, of links in it, of boilerplate in it; as of `QualityInputs`."""
    text = links = waste = 0
    for line in markdown.split("\n"):
        plain = _LINK.sub(r"\1", line)
        size = _size(plain)
        text += size
        links += sum(_size(label) for label in _LINK.findall(line)) if "](" in line else 0
        if len(plain) <= _MAX_NOTICE_CHARS and _BOILERPLATE.search(plain):
            waste += size
    return text, min(links, text), waste


def _size(text: str) -> int:
    return len(_MARKS.sub("", text))


def _share(part: int, whole: int) -> float:
    """A part as a share of the whole; of nothing, everything."""
    if part <= 0:
        return 0.0
    return min(1.0, part / whole) if whole > 0 else 1.0
