"""The blocks of a Markdown text, told apart as CommonMark does (markdown-it-py), with the table of GFM."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final

LINE_END: Final = re.compile(r"\r\n?|\n")
NOTE: Final = re.compile(r"\[\^\w+\]:")
MAX_NESTING: Final = 100
MAX_TITLE_OFFSET_CHARS: Final = 65_536
MAX_TITLE_CHARS: Final = 500


@cache
def parser() -> Any:
    from markdown_it import MarkdownIt, rules_block  # late: most callers read no Markdown

    def reference(state: Any, first: int, last: int, silent: bool) -> bool:
        """A definition of a link, which a note of one word looks like too."""
        is_note = NOTE.match(state.src, state.bMarks[first] + state.tShift[first])
        return is_note is None and rules_block.reference(state, first, last, silent)

    found = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    found.block.ruler.at("reference", reference)
    return found


def block_tokens(text: str, definitions: dict[str, Any]) -> Sequence[Any]:
    """The tokens of the blocks of a text; what stands in each is not read. `definitions` takes those of links."""
    found = parser()
    with found.reset_rules():
        found.core.ruler.enableOnly(["normalize", "block"])
        tokens: Sequence[Any] = found.parse(text, definitions)
    return tokens


def title(text: str) -> str | None:
    """The first heading of the first level that stands in no list or quote, as it is written; None where none begins in
    the first MAX_TITLE_OFFSET_CHARS.
    """
    tokens = block_tokens(text[:MAX_TITLE_OFFSET_CHARS], {})
    for heading, inner in pairwise(tokens):
        if heading.type == "heading_open" and heading.tag == "h1" and heading.level == 0:
            return inner.content[:MAX_TITLE_CHARS] or None
    return None


def line_starts(text: str) -> list[int]:
    """Where each line begins that tokens number, and where the text ends."""
    return [0, *(match.end() for match in LINE_END.finditer(text)), len(text)]


def leaves(text: str) -> Iterator[tuple[str, int, int]]:
    """The blocks in which no others stand, as `code`, `html` or `text` with the characters that they begin and end at.
    Code that is one for its indentation is text behind a note, of which it may be a further paragraph.
    """
    starts = line_starts(text)
    row: Sequence[int] = (0, 0)
    in_note = False
    for token in block_tokens(text, {}):
        if token.type == "tr_open" and token.map:
            row = token.map
        kind = {"inline": "text", "fence": "code", "code_block": "code", "html_block": "html"}.get(token.type)
        if kind is None:
            continue
        first, last = token.map or row
        start, end = starts[first], starts[min(last, len(starts) - 1)]
        in_note = NOTE.match(text, start) is not None or (in_note and token.type == "code_block")
        yield "text" if in_note else kind, start, end
