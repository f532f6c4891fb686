"""PDF as Markdown: headings, paragraphs and pages; what is encrypted, damaged or hostile ends in an error."""

import subprocess
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
from commands import ALLOW, comity
from examples import first_of
from libraries import chromium
from pdfs import made
from sites import Site

from comity.errors import ExtractionFailed
from comity_pages import documents, pdf, reader_processes
from comity_pages.documents import read_body
from comity_pages.extraction import ExtractedPage

pytest.importorskip("pypdfium2", reason="pip install 'comity[pdf]'")
URL = "https://example.com/lamps.pdf"


ENCRYPTED = f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -1 /O ({'x' * 32}) /U ({'y' * 32}) >>"
TWO = made(
    [(24, 50, "Of lamps"), (10, 100, "Oil burns slowly,"), (10, 112, "all the night."), (10, 150, "Wicks are cut.")],
    [(16, 50, "Gas"), (10, 80, "It hisses.")],
)


def read_here(body: bytes) -> ExtractedPage:
    """The page as `read_body` has it, read without the process of its own, which takes longer than all else."""
    told = pdf._answer(body)
    return documents._extract_pdf(
        pdf.PdfText(told["markdown"], tuple(told["pages"]), told["truncated"], told["said"]), URL
    )


def test_larger_type_is_a_heading_and_lines_make_paragraphs() -> None:
    page = read_body(TWO, URL, "application/pdf")
    assert page is not None
    assert page.markdown == (
        "# Of lamps\n\nOil burns slowly, all the night.\n\nWicks are cut.\n\n## Gas\n\nIt hisses.\n"
    )
    assert [page.markdown[start:].lstrip().split("\n")[0] for start in page.page_starts] == ["# Of lamps", "## Gas"]
    said = page.metadata
    assert said.title is not None
    assert said.author is not None
    assert said.date is not None
    assert (said.title.value, said.author.value, said.date.value) == ("Of lamps", "Ada Keeper", "2024-05-17")


def test_a_word_that_a_hyphen_divides_is_whole() -> None:
    lines = ["Oil burns for a consid-", "erable time, and the wicks last.", "A well-known lamp."]
    page = read_here(made([(10, 50 + 12 * n, words) for n, words in enumerate(lines)]))
    assert page.markdown == "Oil burns for a considerable time, and the wicks last. A well-known lamp.\n"
    lines = [pdf._Line("a con\xadsid\x02", 10.0, 50.0, 0), pdf._Line("erable lamp", 10.0, 50.0, 0)]
    assert pdf._write(lines, 1)[0] == "a considerable lamp\n"


WIDTHS = dict(
    zip("Lampsthburnel ", (556, 556, 833, 556, 500, 278, 556, 556, 556, 333, 556, 556, 222, 278), strict=True)
)


def placed(parts: list[str], between: float) -> str:
    """Parts of a text, each placed by itself (`Td`), gaps of so many thousandths of its size between them."""
    out, move = "", 0.0
    for each in parts:
        out += f") Tj {move / 100:.2f} 0 Td ({each}" if out else each
        move = sum(WIDTHS[letter] for letter in each) + between
    return out


@pytest.mark.parametrize(
    ("parts", "between", "whole"),
    [
        ("Lamps that burn the least".split(), 200, "Lamps that burn the least"),
        ("Lamps that burn the least".split(), 150, "Lamps that burn the least"),
        (list("Lamps"), 300, "Lamps"),
        (list("Lamps burn"), 500, "Lamps burn"),
        (list("Lam"), 1500, "L a m"),
        (["L a m p s"], 0, "L a m p s"),
    ],
)
def test_gaps_tell_words_from_spaced_letters(parts: list[str], between: float, whole: str) -> None:
    assert read_here(made([(10, 50, placed(parts, between))])).markdown == f"{whole}\n"


@pytest.mark.long
def test_words_and_spaced_letters_of_a_browsers_pdf_are_whole(tmp_path: Path) -> None:
    html = (
        "<h1 style='letter-spacing:.3em'>OIL LAMPS</h1><p style='word-spacing:-.15em'>A lamp burns slowly."
        "<p style='letter-spacing:.2em;text-align:justify'>Its glass is <b>honey</b>."
        "<p><i>Height</i><i style='margin:.2em'>30</i>"
    )
    (tmp_path / "lamps.html").write_text(html)
    command = [chromium(), "--headless", "--no-sandbox", "--print-to-pdf=lamps.pdf", "--no-pdf-header-footer"]
    subprocess.run([*command, "lamps.html"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    page = read_here((tmp_path / "lamps.pdf").read_bytes())
    assert page.markdown == "# OIL LAMPS\n\nA lamp burns slowly.\n\nIts glass is honey.\n\nHeight 30\n"


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("a lamp of Smith\x02", "Jones and sons", "a lamp of Smith-Jones and sons"),
        ("in 2019\x02", "2020 it burnt", "in 2019-2020 it burnt"),
        ("a well\x02", "known lamp", "a wellknown lamp"),
        ("POLI\x02", "TIK", "POLITIK"),
    ],
)
def test_a_hyphen_before_a_capital_or_a_figure_is_one_of_the_word(first: str, second: str, whole: str) -> None:
    assert pdf._write([pdf._Line(first, 10.0, 50.0, 0), pdf._Line(second, 10.0, 62.0, 0)], 1)[0] == f"{whole}\n"


def test_a_large_letter_that_begins_a_text_is_no_heading() -> None:
    lines = [(30, 90, "T"), (16, 50, "A report"), (10, 90, "he harbour museum has"), (10, 102, "a lamp.")]
    page = read_here(made(lines))
    assert page.markdown == "# A report\n\nThe harbour museum has a lamp.\n"
    assert read_here(made([(30, 50, "A"), (10, 90, "He came.")])).markdown == "# A\n\nHe came.\n"


@pytest.mark.parametrize("head", ["{} Harbour Yearbook", "Harbour Yearbook", "Harbour Yearbook - {}", "{}"])
@pytest.mark.parametrize("edge", [20, 780])
def test_what_stands_at_the_edge_of_each_page_is_no_text(head: str, edge: int) -> None:
    said = ["Its glass is", "the colour of", "honey, and its", "light goes far."]
    pages = [[(10, 100, words), (10, edge, head.format(12 + at))] for at, words in enumerate(said)]
    assert read_here(made(*(sorted(page, key=lambda line: line[1]) for page in pages))).markdown == (
        "Its glass is the colour of honey, and its light goes far.\n"
    )
    twice = read_here(made(*(sorted(page, key=lambda line: line[1]) for page in pages[:2]))).markdown
    assert head.format(13) in twice  # of two pages, nothing says so


def test_text_that_would_be_markup_is_text() -> None:
    lines = ["# not a heading *x* and `y` and <b>", "1. of a_b_c [x]\\(y\\)"]
    page = read_here(made([(10, 50, lines[0]), (10, 100, lines[1]), (10, 150, "Oil."), (16, 200, "C #")]))
    assert page.markdown == (
        "\\# not a heading \\*x\\* and ‘y‘ and \\<b>\n\n1\\. of a_b_c \\[x\\]\\(y)\n\nOil.\n\n# C \\#\n"
    )


def test_lines_that_begin_with_a_bullet_are_items_of_a_list() -> None:
    lines = ["We sell:", "- oil of olives, which", "burns slowly", "\\267 wicks", "\\261 gas"]
    page = read_here(made([(10, 50 + 12 * n, words) for n, words in enumerate(lines)]))
    assert page.markdown == "We sell:\n\n- oil of olives, which burns slowly\n- wicks\n- gas\n"


def test_the_number_of_a_page_at_its_edge_is_no_text() -> None:
    body = made(
        [(10, 50, "The lamp burns all the"), (10, 700, "Page 1 of 2")],
        [(10, 20, "2/2"), (10, 50, "night. Of 10 lamps"), (10, 62, "1 of 2"), (10, 74, "burns.")],
    )
    page = read_here(body)
    assert page.markdown == "The lamp burns all the night. Of 10 lamps 1 of 2 burns.\n"


def test_a_chunk_leads_to_its_page() -> None:
    page = read_here(TWO)
    assert [(chunk.path, chunk.url) for chunk in page.chunks()] == [
        (("Of lamps",), f"{URL}#page=1"),
        (("Of lamps", "Gas"), f"{URL}#page=2"),
    ]


def test_a_pdf_is_known_by_what_it_is_where_its_type_says_nothing() -> None:
    assert read_body(TWO, URL, "application/octet-stream") is not None
    assert read_body(b"\x00\x01", URL, "application/octet-stream") is None


def test_pictures_of_pages_are_no_page() -> None:
    page = read_here(made([]))
    assert (page.judgement.kind, page.markdown) == ("empty", "")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"%PDF-1.4\nnothing", "is damaged"),
        (TWO[:300], "is damaged"),
        (
            made(
                [(10, 50, "x")],
                more=f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -1 /O ({'x' * 32}) /U ({'y' * 32}) >>",
            ),
            "is encrypted",
        ),
    ],
)
def test_what_cannot_be_read_is_an_error_in_words(body: bytes, word: str) -> None:
    with pytest.raises(ExtractionFailed, match=word):
        read_body(body, URL, "application/pdf")


def test_what_takes_too_much_memory_or_time_ends_with_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zlib.compress(b"(x) Tj " * 3_000_000, 1)
    body = TWO.replace(b"%%EOF", b"")
    content = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(bomb), bomb)
    hostile = body.replace(b"%PDF-1.4\n", b"%PDF-1.4\n4 0 obj\n" + content + b"\nendobj\n")
    monkeypatch.setattr(reader_processes, "MAX_SECONDS", 1)
    with suppress(ExtractionFailed):
        page = read_body(hostile, URL, "application/pdf")
        assert page is not None
        assert len(page.markdown) <= pdf.MAX_TEXT + 1000


@pytest.mark.parametrize("seconds", [pdf._MAX_READING_SECONDS, 0])
def test_a_page_that_is_damaged_or_comes_too_late_takes_no_other_with_it(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "_MAX_READING_SECONDS", seconds)
    at = TWO.rindex(b"/Type /Page ")
    answer = pdf._answer(TWO[:at] + b"/Type /Gone " + TWO[at + len(b"/Type /Page ") :])
    assert answer["markdown"].startswith("# Of lamps")
    assert answer["truncated"]


def test_a_title_that_is_no_text_is_left_out() -> None:
    page = read_here(made([(10, 50, "Oil")], info="<FEFFD83DD83D0041>"))
    assert (page.markdown, page.metadata.title) == ("Oil\n", None)


def test_more_text_than_is_taken_is_cut_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [pdf._Line("word " * 20, 10.0, 100.0 - number, 0) for number in range(100)]
    monkeypatch.setattr(pdf, "MAX_TEXT", 1000)
    markdown, _, cut = pdf._write(lines, 1)
    assert cut
    assert len(markdown) < 1300


def test_a_pdf_is_fetched_as_markdown(site: Site, tmp_path: Path) -> None:
    site.set("/lamps.pdf", TWO, content_type="application/pdf")
    told = comity("fetch", site.url("/lamps.pdf"), *ALLOW)
    assert told.stdout.startswith("# Of lamps\n\nOil burns slowly, all the night.\n"), told.stderr
    assert comity("crawl", site.url("/lamps.pdf"), "-o", "out", *ALLOW, cwd=tmp_path).returncode == 0
    assert "It hisses." in comity("pages", "out", "--markdown", cwd=tmp_path).stdout


def test_where_the_library_is_not_installed_it_is_said_what_to_install(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.set("/lamps.pdf", TWO, content_type="application/pdf")
    assert comity("crawl", site.url("/lamps.pdf"), "-o", "out", *ALLOW, cwd=tmp_path).returncode == 0
    monkeypatch.setattr(pdf, "available", lambda: False)
    for words in (("fetch", site.url("/lamps.pdf"), *ALLOW), ("pages", "out", "--markdown")):
        assert "to read PDF: pip install 'comity[pdf]'" in comity(*words, cwd=tmp_path).stderr


@pytest.mark.parametrize("form", first_of("jsonl", "markdown"))
def test_pages_of_a_crawl_have_chunks_by_their_page_and_tell_what_could_not_be_read(
    form: str, site: Site, tmp_path: Path
) -> None:
    site.link("/", "/lamps.pdf", "/damaged.pdf")
    site.set("/lamps.pdf", TWO, content_type="application/pdf")
    site.set("/damaged.pdf", TWO[:300], content_type="application/pdf")
    words = ("--format", form, "-o", "out", "--delay", "0", *ALLOW)
    assert comity("crawl", site.url("/"), *words, cwd=tmp_path).returncode == 0
    told = comity("pages", "out", "--chunks", "300", cwd=tmp_path)
    assert site.url("/lamps.pdf#page=2") in told.stdout
    assert f"{site.url('/damaged.pdf')}: the PDF is damaged" in told.stderr
