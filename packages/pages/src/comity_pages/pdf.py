"""The text of a PDF as Markdown: pages, paragraphs, and headings as far as larger type tells them.

PDFium (pypdfium2, extra `pdf`) reads it in a process of its own, with bounds on memory, time, pages and text: what a
hostile file does ends there. docs/decisions/0037-documents.md says why this library.
"""

import math
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from comity_pages.errors import ExtractionFailed
from comity_pages.markdown.inline import heading_end, line_starts, words_of
from comity_pages.reader_processes import MAX_SECONDS, read_alone

MAX_PAGES: Final = 1000
MAX_TEXT: Final = 4 * 1024 * 1024  # characters of text
_MAX_READING_SECONDS: Final = 0.8 * MAX_SECONDS  # after which no further page is read
_MIN_HEADING_RATIO: Final = 1.15  # than most of the text: a heading
_MAX_HEADING_CHARS: Final = 200
_LEVELS: Final = 4
_HYPHENS: Final = "\x02￾"  # what PDFium leaves of a hyphen that ends a line; the next line is then no line of its own
_NO_TEXT: Final = re.compile(f"[{_HYPHENS}\xad]")
_LONG_WORD: Final = re.compile(r"[^\W\d]{16}")
_SINGLE_LETTERS: Final = re.compile(r"[^\W\d](?: [^\W\d]){2,}(?: .)?")
_MIN_WORD_GAP: Final = 0.1  # of the type's height, more than between letters
_MAX_LETTER_GAP: Final = 0.8
_BULLET: Final = re.compile(r"[-*•◦▪‣·●○■\uf0b7\uf0a7–—] (?=\S)")
_NUMBER: Final = re.compile(r"(?:\w+ )?(\d{1,4}) ?(?:/|of|de|di|sur|van|von) ?(\d{1,4})")
"""A page's number as it stands at its edge."""
_DIGITS: Final = re.compile(r"\d{1,6}")
_MIN_RUNNING_PAGES: Final = 3  # pages at whose edge the same stands, but for a number that counts them: a running head
_MIN_DROP_CAP_RATIO: Final = 1.5  # how much larger a letter is that begins a text over several lines


class PdfText(NamedTuple):
    """What was read: Markdown, where each page begins in it, whether a bound cut it or a page is damaged, and what the
    file says of itself (`title`, `author`, `created`)."""

    markdown: str
    pages: tuple[int, ...]
    truncated: bool
    properties: dict[str, str]


def available() -> bool:
    """Whether the library is installed."""
    return find_spec("pypdfium2") is not None


def read(body: bytes, url: str) -> PdfText:
    """The text of a PDF. Raises ExtractionFailed: it is encrypted, damaged, or takes more than the bounds."""
    try:
        answer = read_alone(_answer, body)
    except ExtractionFailed as error:
        raise ExtractionFailed(f"{url}: {error.args[0]}", url=url) from None
    if "error" in answer:
        raise ExtractionFailed(f"{url}: the PDF {answer['error']}", url=url)
    return PdfText(answer["markdown"], tuple(answer["pages"]), answer["truncated"], answer["said"])


class _Line(NamedTuple):
    text: str
    size: float
    top: float
    page: int


def _lines(document: Any) -> tuple[list[_Line], int]:
    """The lines of the pages, and how many pages were read: no damaged one, and none once most of the time is over."""
    from pypdfium2 import PdfiumError

    enough = time.monotonic() + _MAX_READING_SECONDS
    lines: list[_Line] = []
    read = 0
    for number in range(min(len(document), MAX_PAGES)):
        if time.monotonic() > enough and read:
            break
        with suppress(PdfiumError):
            text = document[number].get_textpage()
            lines += _lines_of(text, number)
            text.close()
            read += 1
    return lines, read


def _lines_of(text: Any, number: int) -> Iterator[_Line]:
    import ctypes

    from pypdfium2 import raw

    edges = [ctypes.c_double() for _ in range(4)]
    matrix = raw.FS_MATRIX()
    sizes: Counter[float] = Counter()
    chars: list[str] = []
    top = 0.0
    first = 0
    count = text.count_chars()
    for at in range(count + 1):
        code = raw.FPDFText_GetUnicode(text, at) if at < count else 10
        if hyphen := chr(code) in _HYPHENS:
            chars.append(chr(code))
        if hyphen or code in (10, 13):
            if sizes and (words := " ".join("".join(chars).split())):
                if _LONG_WORD.search(words) or _SINGLE_LETTERS.fullmatch(words):
                    words = _split_by_gaps(text, first, at + hyphen)
                yield _Line(words, sizes.most_common(1)[0][0], top, number)
            sizes, chars = Counter(), []
        elif code:
            if not chars:
                first = at
                raw.FPDFText_GetCharBox(text, at, *map(ctypes.byref, edges))
                top = edges[3].value
            if not chars or chars[-1].isspace():  # of each word: asking takes as long as all else
                raw.FPDFText_GetMatrix(text, at, ctypes.byref(matrix))  # by which browsers, for one, make all smaller
                height = math.hypot(matrix.c, matrix.d) or 1.0
                sizes[round(raw.FPDFText_GetFontSize(text, at) * height * 2) / 2] += 1
            chars.append(chr(code))


def _split_by_gaps(text: Any, first: int, end: int) -> str:
    """The words of a line as the gaps between its letters tell them.

    PDFium takes the gaps of spaced letters for blanks, and leaves out blanks between words that are set one by one with
    less than a fifth of the type's size between them. Blanks that the file has stay.
    """
    import ctypes

    from pypdfium2 import raw

    box = raw.FS_RECTF()
    letters: list[tuple[str, float]] = []  # and the gap before it, as a share of the type's height
    right = 0.0
    for at in range(first, end):
        if raw.FPDFText_IsGenerated(text, at) != 1 and (code := raw.FPDFText_GetUnicode(text, at)):
            raw.FPDFText_GetLooseCharBox(text, at, ctypes.byref(box))
            letters.append((chr(code), (box.left - right) / ((box.top - box.bottom) or 1.0) if letters else 0.0))
            right = box.right
    gaps = sorted(gap for letter, gap in letters if not letter.isspace())
    usual = min(max(gaps[len(gaps) // 2], 0.0), _MAX_LETTER_GAP) if gaps else 0.0
    least = usual + max(_MIN_WORD_GAP, usual / 2)
    return " ".join("".join(" " * (gap > least) + letter for letter, gap in letters).split())


def _write(lines: list[_Line], pages: int) -> tuple[str, list[int], bool]:
    lines = [*_with_first_letters([*_without_edges(lines, pages)])]
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    larger = sorted((size for size in sizes if size >= _MIN_HEADING_RATIO * usual), reverse=True)
    levels = {size: min(number, _LEVELS) for number, size in enumerate(larger, start=1)}
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    before: _Line | None = None
    in_list = False
    for line in lines:
        level = levels.get(line.size, 0) if len(line.text) <= _MAX_HEADING_CHARS else 0
        goes_on = before is not None and before.size == line.size and 0 < before.top - line.top < 1.9 * line.size
        if before is not None and before.page != line.page and not level and before.size == line.size:
            goes_on = parts[-1][-1:] not in ".:!?\n"
        if not (words := _NO_TEXT.sub("", line.text).strip()):
            continue
        is_divided = before is not None and before.text[-1] in _HYPHENS and before.size == line.size
        goes_on = goes_on or is_divided
        bullet = None if level or is_divided else _BULLET.match(words)
        if bullet and bullet[0][0] in "–—" and goes_on and not in_list and parts[-1][-1:] != ":":
            bullet = None  # a dash within a sentence
        text = words_of(words[bullet.end() :] if bullet else words)
        if bullet:
            piece = ("\n" if in_list and goes_on else "\n\n" * bool(parts)) + f"- {line_starts(text)}"
        elif goes_on:
            piece = f"{'-' * _keeps_hyphen(before, words)}{text}" if is_divided else f" {text}"
        else:
            mark = "#" * level + " " if level else ""
            piece = "\n\n" * bool(parts) + mark + (heading_end(text) if level else line_starts(text))
        in_list = bullet is not None or (in_list and goes_on)
        while len(starts) <= line.page:
            starts.append(length)
        parts.append(piece)
        length += len(piece)
        if length > MAX_TEXT:
            return "".join(parts), starts, True
        before = line
    starts += [length] * (pages - len(starts))
    return "".join(parts) + "\n" * bool(parts), starts, False


def _keeps_hyphen(before: _Line | None, words: str) -> bool:
    """Whether the hyphen that ends a line is one of its word: before a capital or a figure (Smith-Jones)."""
    last = _NO_TEXT.sub("", before.text)[-1:] if before is not None else ""
    return (last.islower() and words[:1].isupper()) or (last.isdigit() and words[:1].isdigit())


def _with_first_letters(lines: list[_Line]) -> Iterator[_Line]:
    """The lines, a large first letter with the text that it begins, which may stand behind a heading."""
    letters: dict[int, str] = {}  # number of a line to the letter before it; of the letter, nothing
    for at, line in enumerate(lines):
        if len(line.text) == 1 and line.text.isupper():
            for number in range(at + 1, min(at + 4, len(lines))):
                text = lines[number]
                if text.page == line.page and text.text[0].islower() and line.size >= _MIN_DROP_CAP_RATIO * text.size:
                    letters |= {at: "", number: line.text}
                    break
    for at, line in enumerate(lines):
        if letters.get(at) != "":
            yield line._replace(text=letters.get(at, "") + line.text)


def _without_edges(lines: list[_Line], pages: int) -> Iterator[_Line]:
    """The lines but those that begin or end a page and say only its number, as in "Page 1 of 2", or what begins or ends
    others too."""
    ends = {0, len(lines) - 1}.union(
        *({at - 1, at} for at in range(1, len(lines)) if lines[at].page != lines[at - 1].page)
    )
    same = Counter(key for at in ends if lines for key in {*_running_keys(lines[at])})
    for at, line in enumerate(lines):
        number = _NUMBER.fullmatch(line.text) if at in ends and pages > 1 else None
        is_number = number is not None and (int(number[1]), int(number[2])) == (line.page + 1, pages)
        if not is_number and (at not in ends or max(map(same.__getitem__, _running_keys(line))) < _MIN_RUNNING_PAGES):
            yield line


def _running_keys(line: _Line) -> Iterator[tuple[str, float, int]]:
    """What a running head has in common with those of other pages: its words, or these and how far its number is from
    that of the page."""
    yield line.text, line.size, 0
    if number := _DIGITS.search(line.text):
        yield _DIGITS.sub("#", line.text), line.size, int(number[0]) - line.page


def _answer(body: bytes) -> dict[str, Any]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        return {"error": "is encrypted" if "assword" in str(error) else "is damaged"}
    pages = min(len(document), MAX_PAGES)
    lines, read = _lines(document)
    if not read:
        return {"error": "is damaged"}
    markdown, starts, cut = _write(lines, pages)
    said = {"title": "Title", "author": "Author", "created": "CreationDate"}
    for name, key in said.items():
        try:
            said[name] = document.get_metadata_value(key)
        except UnicodeError:  # half a character, say
            said[name] = ""
    return {"markdown": markdown, "pages": starts, "truncated": cut or read < len(document), "said": said}
