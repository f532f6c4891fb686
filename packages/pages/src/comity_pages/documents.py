"""The body of an answer becomes Markdown: which reader takes which media type."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from comity_pages import extraction, pdf
from comity_pages.content.kinds import PAGE, Judgement
from comity_pages.extraction import Content, ExtractedPage
from comity_pages.html import hidden
from comity_pages.markdown import reader, served_markdown
from comity_pages.metadata.days import day_of
from comity_pages.metadata.json_ld import Entity
from comity_pages.metadata.metadata import Metadata
from comity_pages.metadata.page import Field
from comity_pages.signals import encodings, xhtml
from comity_pages.signals.content_type import HTML_TYPES, extract
from comity_pages.signals.links import Page, read_page

Form = Literal["html", "markdown", "text", "pdf"]
FORMS: Final[dict[str, Form]] = {
    **dict.fromkeys(HTML_TYPES, "html"),
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/plain": "text",
}
TO_READ_PDF: Final = "to read PDF: pip install 'comity[pdf]'"
_UNCERTAIN_TYPES: Final = ("", "text/html", "application/octet-stream", "binary/octet-stream", "application/x-pdf")


_MAX_SNIFFED_BYTES: Final = 1445  # octets of a body that say whether it is text (WHATWG MIME Sniffing, 5.2)
_BINARY_DATA: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_BOMS: Final = (b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf")


def form_of(body: bytes, content_type: str) -> Form | None:
    """Tell by the body and its Content-Type which reader takes it; None for what is no text, whatever its type says."""
    stated = extract(content_type)
    media_type, charset = stated if stated is not None else ("", None)
    if encodings.is_html(body, content_type):
        return None if encodings.is_binary(body) else "html"
    if media_type == "application/pdf" or (media_type in _UNCERTAIN_TYPES and body[:5] == b"%PDF-"):
        return "pdf" if pdf.available() else None
    form = FORMS.get(media_type)
    if form is None or body.startswith(_BOMS) or (charset or "").lower().startswith(("utf-16", "utf-32")):
        return form
    return None if _BINARY_DATA.search(body, 0, _MAX_SNIFFED_BYTES) else form  # "binary data byte", as above, 7.2


def read_body(
    body: bytes,
    url: str,
    content_type: str,
    *,
    encoding: str | None = None,
    content: Content = "main",
    convert: bool = True,
) -> ExtractedPage | None:
    """A body as Markdown; None where it is no page, Markdown, plain text or PDF (extra `pdf`). Markdown and plain text
    pass through unchanged.

    Args:
        content_type: the header, with its charset.
        encoding: of a text, where it is known: the name of Python's codec.
        content, convert: as of `extraction.read`.

    Raises:
        ExtractionFailed: it is built to exhaust a parser; a PDF that is encrypted or damaged.
    """
    form = form_of(body, content_type)
    if form is None:
        return None
    if form == "pdf":
        return _extract_pdf(pdf.read(body, url), url)
    text = text_of(body, content_type, encoding)
    if form == "html":
        return extraction.read(text, url, content=content, convert=convert)
    found = served_markdown.remove_hidden(text, url).hidden if form == "markdown" else hidden.find_in_text(text)
    return ExtractedPage(text, found, truncated=False, url=url)


def read_answer(
    body: bytes,
    url: str,
    content_type: str,
    link_headers: Sequence[str] = (),
    refresh_header: str | None = None,
    *,
    content: Content = "main",
    convert: bool = True,
) -> tuple[Page, ExtractedPage | None]:
    """What `read_page` and `read_body` say of an answer, whose body is decoded once. A PDF's title is that of its data;
    without one, and of Markdown, it is the first heading.

    Raises:
        ExtractionFailed: as of `read_body`.
    """
    if form_of(body, content_type) != "html":
        said = read_page(b"", url, "text/plain", link_headers, refresh_header)
        page = read_body(body, url, content_type, content=content, convert=convert)
        if page is None:
            return said, None
        stated = page.metadata.title
        return replace(said, title=stated.value if stated is not None else reader.title(page.markdown)), page
    encoding = encodings.detect(body, content_type)
    text = text_of(body, content_type, encoding)
    said = read_page(text, url, f"text/html; charset={encoding}", link_headers, refresh_header)
    return said, extraction.read(text, url, content=content, convert=convert)


def overview(
    body: bytes, url: str, content_type: str, *, encoding: str | None = None
) -> tuple[Judgement, tuple[Entity, ...]] | None:
    """What a body is (a page, a shell, "not found") and what it states as data, as `read_body` says both, for a part of
    what reading it takes; None where that gives None.

    Raises:
        ExtractionFailed: it is built to exhaust a parser.
    """
    form = form_of(body, content_type)
    if form != "html":
        return (PAGE, ()) if form else None
    return extraction.overview(text_of(body, content_type, encoding), url)


def text_of(body: bytes, content_type: str, encoding: str | None = None) -> str:
    """A body as text, XHTML as HTML says it; `encoding` as of `read_body`."""
    text = encodings.to_text(body, encoding or encodings.detect(body, content_type))
    return xhtml.as_html(text) if xhtml.is_xhtml(body, content_type) else text


def _extract_pdf(found: pdf.PdfText, url: str) -> ExtractedPage:
    title, author = found.properties["title"].strip(), found.properties["author"].strip()
    created = found.properties["created"].removeprefix("D:")[:8]
    metadata = Metadata(
        title=Field(title[:500], "meta") if title else None,
        author=Field(author[:500], "meta") if author else None,
        date=Field(day, "meta") if (day := day_of(created)) else None,
    )
    seen = hidden.find_in_text(found.markdown)
    kind = PAGE if found.markdown else Judgement("empty", "There is no text in it: it may be pictures of pages.")
    return ExtractedPage(
        found.markdown, seen, found.truncated, kind, metadata=metadata, url=url, page_starts=found.pages
    )
