"""HTML to Markdown, ours beside other libraries: time, what is kept and what is not.

    python benchmarks/extraction.py web [--corpus FOLDERS] [--pages N] [--folds FOLDER]   real pages of all kinds
    python benchmarks/extraction.py titles [--corpus FOLDERS] [--pages N]                 what a page is called
    python benchmarks/extraction.py documentation [--pages N]            Python's documentation, with its sources
    python benchmarks/extraction.py hostile                              pages made to exhaust a parser

Of the web, the measure is the F1 of words (lower case, as multisets, of scripts without spaces characters; Markdown
without its markup) by folder, type and language of page and of a fifth of the domains alone (by their hash), beside the
score's rank correlation with it, metadata, and pages taken for none. The trees that comity ships are fitted to these
very pages, so its figure as shipped flatters; with the folds that extraction_model.py --folds wrote, each page is also
read by trees that saw none of its domain: that is the figure to compare others by. Of the documentation it is which
words, lines of code and headings of the sources arrive, and how many of ten strings of navigation come along.
"""

import argparse
import gzip
import hashlib
import html
import json
import random
import re
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from common import row as print_row
from common import table

PLACE = "https://docs.example/page"
CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "pages"
LANGUAGES = {
    "English": "en",
    "German": "de",
    "French": "fr",
    "other European": "bg cs da el es fi hr hu it lv nl no pl pt ro ru sv tr uk",
    "Chinese, Japanese": "zh ja",
    "Thai, Burmese": "th my",
    "Arabic, Persian": "ar fa",
    "lorem ipsum": "la",
}
ROOT = Path("/usr/share/doc/python3.11/html")
NAVIGATION = (
    "Previous topic",
    "Next topic",
    "This Page",
    "Report a Bug",
    "Show Source",
    "Quick search",
    "Created using",
    "Last updated on",
    "Navigation",
    "Python Software Foundation is a non-profit",
)
WORD = re.compile(r"[A-Za-z]{4,}")
TAG = re.compile(r"<[^>]*>")
HOSTILE = {
    "tables": lambda n: "<table><tr><td>a<td>b</table>" * n,
    "items": lambda n: "<ol>" + "<li>a</li>" * n,
    "breaks": lambda n: "<p>" + "<br>" * n,
    "depth": lambda n: "<div>" * n + "text",
    "notes": lambda n: (
        "".join(f"<sup><a href=#n{i}>{i % 9}</a></sup>" for i in range(n // 20))
        + f"<div>{''.join(f'<i id=n{i}></i>' for i in range(n // 20))}{'<i></i>' * n}</div>"
    ),
    "code": lambda n: "<pre>a</pre><div>Copy code</div>" * n,
    "attributes": lambda n: "<p " + " ".join(f"a{i}=1" for i in range(n)) + ">text",
}


def ours(page: str, url: str = PLACE) -> str:
    from comity_pages.extraction import read

    return read(page, url).markdown


def trafilatura(page: str, url: str = PLACE) -> str:
    from trafilatura import extract

    options = {"include_links": True, "include_tables": True, "include_formatting": True, "include_comments": False}
    return extract(page, output_format="markdown", **options) or ""


def markdownify(page: str, url: str = PLACE) -> str:
    from markdownify import markdownify as convert

    return convert(page, heading_style="ATX", strip=["script", "style"])


def html2text(page: str, url: str = PLACE) -> str:
    from html2text import HTML2Text

    return HTML2Text(bodywidth=0).handle(page)


def readability(page: str, url: str = PLACE) -> str:
    from markdownify import markdownify as convert
    from readability import Document

    return convert(Document(page).summary(html_partial=True), heading_style="ATX")


def rs_trafilatura(page: str, url: str = PLACE) -> str:
    from rs_trafilatura import extract

    return extract(page, url=url).main_content or ""


def resiliparse(page: str, url: str = PLACE) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text(page, main_content=True)


def title_of_ours(page: str, url: str) -> str:
    from comity_pages.extraction import read

    title = read(page, url, convert=False).metadata.title
    return title.value if title is not None else ""


def title_of_trafilatura(page: str, url: str) -> str:
    from trafilatura import extract_metadata

    return extract_metadata(page, default_url=url).title or ""


def title_of_rs_trafilatura(page: str, url: str) -> str:
    from rs_trafilatura import extract

    return extract(page, url=url).title or ""


def title_of_resiliparse(page: str, url: str) -> str:
    from resiliparse.parse.html import HTMLTree

    return HTMLTree.parse(page).title or ""


def title_of_readability(page: str, url: str) -> str:
    from readability import Document

    return Document(page).short_title()


Row = dict[str, Any]
Library = Callable[..., str]
TITLES: tuple[Library, ...] = (
    title_of_ours,
    title_of_trafilatura,
    title_of_rs_trafilatura,
    title_of_resiliparse,
    title_of_readability,
)
OF_DOCUMENTATION: tuple[Library, ...] = (ours, trafilatura, markdownify, html2text, readability)
OTHERS_OF_THE_WEB: tuple[Library, ...] = (trafilatura, rs_trafilatura, readability, resiliparse)
# Markdown's markup: images go, of links the label stays, and what escapes is no word.
IMAGE = re.compile(r"!\[(?:[^\[\]\\]|\\.)*\]\([^()]*\)")
LINK = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]\([^()]*\)")
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
ANY_WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")


def words(markdown: str) -> Counter[str]:
    text = LINK.sub(r"\1", IMAGE.sub(" ", markdown)).replace("\\", "").replace("<br>", " ")
    return Counter(ANY_WORD.findall(text.lower()))


def agreement(found: Counter[str], wanted: Counter[str]) -> float:
    total = sum(found.values()) + sum(wanted.values())
    return 2 * sum((found & wanted).values()) / total if total else 1.0


@dataclass
class Tally:
    """What a library made of the pages."""

    name: str
    f1: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    precision: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    refused: int = 0

    def add(self, row: Row, text: str) -> float:
        found, wanted = words(text), row["words"]
        common = sum((found & wanted).values())
        here = agreement(found, wanted)
        for group in row["groups"]:
            self.f1[group].append(here)
        self.precision.append(common / sum(found.values()) if found else float(not wanted))
        self.recall.append(common / sum(wanted.values()) if wanted else 1.0)
        return here

    def print_row(self) -> None:
        figures = [statistics.mean(each) for each in (self.f1["all"], self.precision, self.recall)]
        median, mean, longest = (f(self.times or [0]) * 1e3 for f in (statistics.median, statistics.mean, max))
        shown = (*(f"{each:.3f}" for each in figures), f"{median:.1f}", f"{mean:.1f}", f"{longest:.0f}")
        print_row(self.name, *shown, str(self.refused))


def ranks(values: list[float]) -> list[float]:
    """The rank of each, equals sharing theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for number in order[at:end]:
            found[number] = (at + end - 1) / 2
        at = end
    return found


def rows_of(corpora: list[Path], limit: int) -> list[Row]:
    rows: list[Row] = []
    for corpus in corpora:
        for line in gzip.decompress((corpus / "truth.jsonl.gz").read_bytes()).decode().rstrip("\n").split("\n"):
            row = json.loads(line)
            rows.append(row | {"folder": corpus, "domain": domain_of(row)})
    return random.Random(1).sample(rows, limit) if limit < len(rows) else rows


def domain_of(row: Row) -> str:
    domain: str = urlsplit(row["url"] or "").netloc.removeprefix("www.") or row["id"]
    return domain


def html_of(row: Row) -> bytes:
    return gzip.decompress((row["folder"] / "html" / f"{row['id']}.html.gz").read_bytes())


def groups_of(row: Row) -> set[str]:
    """The groups that a page is one of: by folder, in that by type and by a hash of the domain; by language."""
    from py3langid import classify, set_languages

    set_languages(" ".join(LANGUAGES.values()).split())
    told = classify(row["content"])[0] if row["content"] else ""
    language = next((name for name, codes in LANGUAGES.items() if told in codes.split()), "no words")
    folder = row["folder"].name
    groups = {"all", folder, f"{folder}, {row['type']}", language}
    if int(hashlib.sha256(row["domain"].encode()).hexdigest(), 16) % 5 == 0:
        groups.add(f"{folder}, a fifth aside")
    return groups


def web(corpora: list[Path], limit: int, folds: Path | None, only: str) -> None:
    rows = rows_of(corpora, limit)
    for row in rows:
        row["words"], row["groups"] = words(row["content"]), groups_of(row)
    milliseconds = ("ms a page, median", "mean", "longest")
    table(f"{len(rows):,} pages of the web", "F1 of words", "precision", "recall", *milliseconds, "refused")
    tallies = []
    if folds is not None and only in ("", "unseen"):
        tallies.append(unseen(rows, folds))
    if only in ("", "ours"):
        tallies.append(judged(rows))
    for convert in installed(OTHERS_OF_THE_WEB):
        if only not in ("", convert.__name__):
            continue
        tallies.append(tally := Tally(convert.__name__))
        for row in rows:
            page = html_of(row).decode("utf-8", "replace")
            started = time.process_time()
            try:
                text = convert(page, row["url"] or PLACE)
            except Exception:
                text = ""
                tally.refused += 1
            tally.times.append(time.process_time() - started)
            tally.add(row, text)
        tally.print_row()
    print(f"{'F1 of words':24} pages " + " ".join(f"{tally.name:>20}" for tally in tallies))
    for group in sorted({group for row in rows for group in row["groups"]}):
        means = " ".join(f"{statistics.mean(tally.f1[group]):20.3f}" for tally in tallies)
        print(f"{group:24} {len(tallies[0].f1[group]):5} {means}")


def unseen(rows: list[Row], folds: Path) -> Tally:
    """comity as it is, but each page read with trees that were fitted without any page of its domain."""
    from comity_pages.content import content

    tally, estimates = Tally("comity, pages unseen"), Estimates()
    shipped = content._forest
    read = [json.loads(path.read_text("utf-8")) for path in sorted(folds.glob("fold-*.json"))]
    fold_of = {domain: fold for fold in read for domain in fold["unseen"]}
    for fold in read:
        forest = content.forest_of(fold["table"])
        content._forest = lambda forest=forest: forest  # type: ignore[assignment]
        for row in rows:
            if fold_of.get(row["domain"], read[0]) is fold:
                estimates.add(*read_one(row, tally))
    content._forest = shipped
    tally.print_row()
    print(f"  the score's rank correlation with F1: {estimates.correlation():.3f}", flush=True)
    return tally


@dataclass
class Estimates:
    """How good comity holds what it read for, and how good it is."""

    scores: list[float] = field(default_factory=list)
    real: list[float] = field(default_factory=list)

    def add(self, page: Any, score: float, real: float) -> Any:
        self.scores.append(score)
        self.real.append(real)
        return page

    def correlation(self) -> float:
        return statistics.correlation(ranks(self.scores), ranks(self.real))


def read_one(row: Row, tally: Tally) -> tuple[Any, float, float]:
    """A page, its score, and its F1."""
    from comity.errors import ExtractionFailed
    from comity_pages.extraction import ExtractedPage, read
    from comity_pages.quality import quality_of

    source = html_of(row)
    html = source.decode("utf-8", "replace")
    started = time.process_time()
    try:
        page = read(html, row["url"] or "https://example.com/")
    except ExtractionFailed:
        tally.refused += 1
        page = ExtractedPage("", (), truncated=False)
    tally.times.append(time.process_time() - started)
    score = quality_of(page, len(source), has_title=page.metadata.title is not None).score
    return page, score, tally.add(row, page.markdown)


def judged(rows: list[Row]) -> Tally:
    """comity as it is shipped, and what it says of the pages: how sure it is, metadata, what is no page."""
    tally, estimates = Tally("comity, as shipped"), Estimates()
    right: Counter[str] = Counter()
    stated: Counter[str] = Counter()
    misjudged: Counter[str] = Counter()
    for row in rows:
        page = estimates.add(*read_one(row, tally))
        if page.judgement.kind != "page":
            misjudged["with content" if row["words"].total() >= 50 else "without"] += 1
        for name in ("title", "author", "date"):
            if row[name]:
                found = getattr(page.metadata, name)
                said, given = words(found.value if found else ""), words(row[name])
                stated[name] += 1
                right[name] += said == given
                right[f"{name}, nearly"] += agreement(said, given) >= 0.8
    tally.print_row()
    print(f"  the score's rank correlation with F1: {estimates.correlation():.3f}")
    for name, count in stated.items():
        print(f"  {name}: {right[name] / count:.3f} right of {count} ({right[f'{name}, nearly'] / count:.3f} nearly)")
    share = misjudged["with content"] / len(rows)
    print(
        f"  taken for no page: {misjudged['with content']} of 50 words of content or more ({share:.2%}),"
        f" {misjudged['without']} of fewer",
        flush=True,
    )
    return tally


def titles(corpora: list[Path], limit: int) -> None:
    """The titles of comity and of the others, by the same measure."""
    rows = [row for row in rows_of(corpora, limit) if row["title"]]
    table(f"titles of {len(rows):,} pages", "the same words", "F1 of words at least 0.8")
    for named in TITLES:
        right = nearly = 0
        for row in rows:
            try:
                said = words(named(html_of(row).decode("utf-8", "replace"), row["url"] or PLACE))
            except Exception:
                said = Counter()
            given = words(row["title"])
            right += said == given
            nearly += agreement(said, given) >= 0.8
        name = named.__name__.removeprefix("title_of_").replace("ours", "comity")
        print_row(name, f"{right / len(rows):.3f}", f"{nearly / len(rows):.3f}")


def quality(convert: Callable[..., str], pages: list[Path], *, landmarks: bool) -> str:
    times, words, code, headings, navigation = [], [], [], [], []
    for path in pages:
        page = path.read_text("utf-8")
        source = (ROOT / "_sources" / path.relative_to(ROOT)).with_suffix(".rst.txt").read_text("utf-8")
        given = page if landmarks else re.sub(r' role="[^"]*"', "", page)
        started = time.process_time()
        text = convert(given)
        times.append(time.process_time() - started)
        wanted = set(WORD.findall(re.sub(r"(?m)^\.\..*$|:\w+:", "", source))) & set(WORD.findall(TAG.sub(" ", page)))
        words.append(len(wanted & set(WORD.findall(text.replace("\\", "")))) / max(len(wanted), 1))
        lines = [
            line
            for block in re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)
            for line in html.unescape(TAG.sub("", block)).splitlines()
            if len(line.strip()) > 10
        ]
        code.append(sum(line in text for line in lines) / len(lines) if lines else 1.0)
        body = page.split('class="body"')[-1].split('class="sphinxsidebar"')[0]
        expected = len(re.findall(r"<h[1-6][ >]", body))
        headings.append(min(len(re.findall(r"(?m)^#{1,6} \S", text)), expected) / max(expected, 1))
        navigation.append(sum(string in text for string in NAVIGATION))
    return (
        f"median {statistics.median(times) * 1e3:5.1f} ms, longest {max(times):5.2f} s; "
        f"words {statistics.mean(words):.3f} (worst {min(words):.2f}), code lines {statistics.mean(code):.3f}, "
        f"headings {statistics.mean(headings):.3f}, "
        f"navigation {statistics.mean(navigation):.2f} of {len(NAVIGATION)}"
    )


def documentation(limit: int) -> None:
    pages = [
        page
        for page in sorted(ROOT.rglob("*.html"))
        if (ROOT / "_sources" / page.relative_to(ROOT)).with_suffix(".rst.txt").exists()
    ]
    pages = random.Random(1).sample(pages, min(limit, len(pages)))
    for convert in installed(OF_DOCUMENTATION):
        print(f"{convert.__name__:12} {len(pages)} pages: {quality(convert, pages, landmarks=True)}", flush=True)
        print(f"{'':12} roles removed: {quality(convert, pages, landmarks=False)}", flush=True)


def hostile() -> None:
    for convert in installed(OF_DOCUMENTATION):
        for name, make in HOSTILE.items():
            taken = []
            for size in (2_000, 4_000, 8_000):
                started = time.process_time()
                try:
                    convert(make(size))
                    end = ""
                except Exception as error:
                    end = f" ({type(error).__name__})"
                taken.append(f"{time.process_time() - started:.2f} s{end}")
            print(f"{convert.__name__:12} {name:10} 2,000, 4,000, 8,000: {', '.join(taken)}", flush=True)


def installed(libraries: tuple[Library, ...]) -> list[Library]:
    found = []
    for convert in libraries:
        try:
            convert("<p>warm up</p>" * 3)
        except ImportError:
            print_row(convert.__name__, "not installed")
        else:
            found.append(convert)
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=("web", "titles", "documentation", "hostile"))
    arguments.add_argument("--pages", type=int, default=10_000, help="at most so many, chosen at random")
    arguments.add_argument("--corpus", type=Path, nargs="+", default=[CORPUS])
    arguments.add_argument("--folds", type=Path, help="written by extraction_model.py --folds")
    arguments.add_argument("--only", default="", help="unseen, ours, or another library's name")
    options = arguments.parse_args()
    if options.what == "hostile":
        hostile()
    elif options.what == "documentation":
        documentation(options.pages)
    elif all(corpus.is_dir() for corpus in options.corpus):
        if options.what == "titles":
            titles(options.corpus, options.pages)
        else:
            web(options.corpus, options.pages, options.folds, options.only)
    else:
        print(f"{options.corpus} is not here: nothing to measure the web by")


if __name__ == "__main__":
    main()
