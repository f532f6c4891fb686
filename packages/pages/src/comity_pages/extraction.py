"""HTML becomes Markdown: what is content of a page, what is hidden in it, what was left out. Nothing is run, fetched or
obeyed, and the work is bounded whatever stands there.
"""

import time
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

from comity_pages import urls
from comity_pages.content import blocks
from comity_pages.content.blocks import Block
from comity_pages.content.content import ExcludedPart, choose, excluded_parts
from comity_pages.content.kinds import PAGE, Judgement, judge
from comity_pages.errors import ExtractionFailed
from comity_pages.html import hidden, tabs
from comity_pages.html.hidden import HiddenText
from comity_pages.html.normalization import gather_items, normalize_markup
from comity_pages.html.tree import Node, Tree, parse
from comity_pages.markdown import code, footnotes, formulas, markdown
from comity_pages.metadata import json_ld, metadata, microdata
from comity_pages.metadata.json_ld import Entity
from comity_pages.metadata.metadata import NO_METADATA, Metadata
from comity_pages.pieces import Pieces, ids_of_headings
from comity_pages.signals import encodings
from comity_pages.signals.link_header import relation_types

Content = Literal["main", "all"]

MAX_SECONDS: Final = 10.0  # processor time after which a page is given up
_MIN_COMMON_CHARS: Final = 12  # characters from which on texts are taken to begin alike


@dataclass(frozen=True, slots=True)
class ExtractedPage(Pieces):
    """What was taken from an HTML page.

    Attributes:
        markdown: of its content; empty where there is no page (`judgement`) or no conversion was asked for.
        hidden: text that a person would not see.
        truncated: whether a limit cut the page.
        judgement: whether it is a page, and if not, what and why.
        licences: relation types, media type and URL of its links to licences (`rel=license`).
        metadata: what the page says it is.
        left_out: what is no content, by place; where all was asked for, only what is no text to be read.
        agreement: how far what is kept is expected to agree with the content (F1, 0 to 1); None where landmarks alone
            decided.
        url: where it was served.
        heading_ids: letters and digits of each heading that can be linked to, and the id to do so.
        page_starts: of a PDF, the characters of the Markdown that its pages begin with.
        folded: texts where a browser looks for a passage in vain: of the content, what a script unfolds and
            what has a wide gap in it; of what was left out, what begins as something below it does.
    """

    markdown: str
    hidden: tuple[HiddenText, ...]
    truncated: bool
    judgement: Judgement = PAGE
    licences: tuple[tuple[str, str, str], ...] = ()
    metadata: Metadata = NO_METADATA
    left_out: tuple[ExcludedPart, ...] = ()
    agreement: float | None = None
    url: str = ""
    heading_ids: tuple[tuple[str, str], ...] = ()
    page_starts: tuple[int, ...] = ()
    folded: tuple[str, ...] = ()

    @property
    def javascript_shell(self) -> bool:
        """Whether it shows next to nothing without running its scripts."""
        return self.judgement.kind == "javascript_shell"


def read(
    html: bytes | str, url: str, *, content: Content = "main", convert: bool = True, seconds: float = MAX_SECONDS
) -> ExtractedPage:
    """Take Markdown and the rest from a page.

    Args:
        html: the page; bytes are decoded as browsers decode a page without a Content-Type.
        url: where it was served; relative links start here or at its `<base>`.
        content: `main` leaves out what is not the page's content; `all` keeps whatever a person would see, also of
            what is no page.
        convert: False leaves the Markdown empty, for callers that have their own converter.
        seconds: processor time after which it gives up.

    Raises:
        ExtractionFailed: the page is built to exhaust a parser.
    """
    deadline = time.thread_time() + seconds
    if isinstance(html, bytes):
        html = encodings.to_text(html, encodings.detect(html))
    with _open_page(html, url) as (tree, base, (found, removed, folded), cut, judgement):
        notes = footnotes.find_footnotes(tree, url)
        text = ""
        agreement = choose(cut, tree, url, notes) if content == "main" else None
        if convert and (judgement.kind == "page" or content == "all"):
            gather_items(tree)
            text = markdown.render(tree, base, notes, without=removed, deadline=deadline, url=url)
        return ExtractedPage(
            text,
            found,
            tree.truncated,
            judgement,
            tuple(_licences(tree, base)),
            metadata.read(tree, base, url, removed),
            excluded_parts(cut, tree, removed),
            agreement,
            url,
            ids_of_headings(tree),
            folded=tuple(_unfindable_texts(cut, folded)),
        )


def overview(html: str, url: str) -> tuple[Judgement, tuple[Entity, ...]]:
    """What `read` says of the page as a whole and of its data, for a part of what reading it takes.

    Raises:
        ExtractionFailed: the page is built to exhaust a parser.
    """
    with _open_page(html, url) as (tree, *_, judgement):
        return judgement, json_ld.entities([*json_ld.objects(tree), *microdata.objects(tree)])


@contextmanager
def _open_page(html: str, url: str) -> Iterator[tuple[Tree, urls.Base, hidden.HiddenContent, list[Block], Judgement]]:
    """A page as it is shown: its tree, what is hidden in it, its blocks and what it is."""
    tree: Tree | None = None
    try:
        tree = parse(html, url)
        normalize_markup(tree)
        code.mark_code(tree)
        formulas.mark_formulas(tree)
        base = _base(tree, url)
        seen = hidden.find_in_page(tree)
        if any(mark in html for mark in tabs.TAB_MARKS):
            tabs.label_panels(tree, seen[1])
        cut = blocks.split_blocks(tree, seen[1])
        yield tree, base, seen, cut, judge(tree, cut, html)
    except RecursionError:
        raise ExtractionFailed(f"{url} is nested too deep to be turned into Markdown", url=url) from None
    finally:
        if tree is not None:
            tree.release()


def _licences(tree: Tree, base: urls.Base) -> Iterator[tuple[str, str, str]]:
    for node in tree.by_name.get("link", [])[:1000]:
        attributes = node.attributes
        rel, href = attributes.get("rel", ""), attributes.get("href", "")
        if "license" in relation_types(rel):
            yield rel, attributes.get("type", ""), base.join(href) or href


def _unfindable_texts(cut: list[Block], folded: Set[Node]) -> Iterator[str]:
    """Yield the texts at which a text fragment would not lead a browser to the content: it finds their words in an
    earlier part of the page, shows none of them, or shows them with gaps between.
    """
    below: set[str] = set()
    for block in reversed(cut):
        begins = block.text[:_MIN_COMMON_CHARS]
        if not block.kept:
            unfindable = begins in below
        else:
            below.add(begins)
            unfindable = (
                any("\xa0" in each.text and _has_wide_end(each.text) for each in block.texts)
                or (block.level > 0 and bool(block.line.descendants("br")))  # one line of Markdown
                or (bool(folded) and not folded.isdisjoint(block.node.ancestors()))
            )
        if unfindable:
            yield block.text


def _has_wide_end(text: str) -> bool:
    """Whether a piece of text begins or ends with space that stays wider than one space."""
    ends = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return any(len(each) > 1 and "\xa0" in each for each in ends)


def _base(tree: Tree, url: str) -> urls.Base:
    stated = next((node.attributes["href"] for node in tree.all("base") if "href" in node.attributes), None)
    return urls.Base((urls.join(url, stated) if stated is not None else None) or url)
