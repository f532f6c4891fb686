"""The body of an answer becomes Markdown: which reader takes which media type."""

import re
from typing import Final, Literal

from comity_pages import extraction, pdf
from comity_pages.content.kinds import PAGE, Judgement
from comity_pages.extraction import Content, ExtractedPage
from comity_pages.html import hidden, served
from comity_pages.metadata.days import day_of
from comity_pages.metadata.metadata import Metadata
from comity_pages.metadata.page import Field
from comity_pages.signals import encodings, xhtml

Form = Literal["html", "markdown", "text", "pdf"]
FORMS: Final[dict[str, Form]] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/plain": "text",
}
TO_READ_PDF: Final = "to read PDF: pip install 'comity[pdf]'"
_ANY: Final = ("", "text/html", "application/octet-stream", "binary/octet-stream", "application/x-pdf")


_HEADER: Final = 1445  # octets of a body that say whether it is text (WHATWG MIME Sniffing, 5.2)
_NO_TEXT: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_BOMS: Final = (b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf")


def form_of(body: bytes, content_type: str) -> Form | None:
    """What a body is, by its header too; None for what is no text to be read, also where it is said to be text."""
    media_type, _, parameters = content_type.lower().partition(";")
    media_type = media_type.strip() if "/" in media_type else ""  # `html` names no type: as if there were none
    if not media_type and body[:1024].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return "html"
    if media_type == "application/pdf" or (media_type in _ANY and body[:5] == b"%PDF-"):
        return "pdf" if pdf.available() else None
    form = FORMS.get(media_type)
    if form == "html" and encodings.is_binary(body):
        return None
    if form not in ("text", "markdown") or body.startswith(_BOMS) or "utf-16" in parameters or "utf-32" in parameters:
        return form
    return None if _NO_TEXT.search(body, 0, _HEADER) else form  # "binary data byte", as above, 7.2


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
        return _of_pdf(pdf.read(body, url), url)
    text = _text(body, content_type, encoding)
    if form == "html":
        return extraction.read(text, url, content=content, convert=convert)
    found = served.seen(text, url).hidden if form == "markdown" else hidden.in_text(text)
    return ExtractedPage(text, found, truncated=False, url=url)


def judgement_of(body: bytes, url: str, content_type: str, *, encoding: str | None = None) -> Judgement | None:
    """What a body is, as `read_body` says it: a page, a shell, "not found"; None where that gives None.

    Raises:
        ExtractionFailed: it is built to exhaust a parser.
    """
    form = form_of(body, content_type)
    if form != "html":
        return form and PAGE
    return extraction.judged(_text(body, content_type, encoding), url)


def _text(body: bytes, content_type: str, encoding: str | None) -> str:
    text = encodings.to_utf8(body, encoding or encodings.detect(body, content_type)).decode("utf-8", "replace")
    return xhtml.as_html(text) if xhtml.is_xhtml(content_type) else text


def _of_pdf(found: pdf.PdfText, url: str) -> ExtractedPage:
    title, author = found.said["title"].strip(), found.said["author"].strip()
    created = found.said["created"].removeprefix("D:")[:8]
    metadata = Metadata(
        title=Field(title[:500], "meta") if title else None,
        author=Field(author[:500], "meta") if author else None,
        date=Field(day, "meta") if (day := day_of(created)) else None,
    )
    seen = hidden.in_text(found.markdown)
    kind = PAGE if found.markdown else Judgement("empty", "There is no text in it: it may be pictures of pages.")
    return ExtractedPage(
        found.markdown, seen, found.truncated, kind, metadata=metadata, url=url, page_starts=found.pages
    )
