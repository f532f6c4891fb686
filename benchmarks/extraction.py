"""HTML to Markdown, ours beside other libraries: time, what is kept and what is not.

    python benchmarks/extraction.py web [--corpus FOLDER] [--pages N]    real pages of all kinds, with their content
    python benchmarks/extraction.py documentation [--pages N]            Python's documentation, with its sources
    python benchmarks/extraction.py hostile                              pages made to exhaust a parser

Of the web, the measure is the F1 of words (`\\w+`, lower case, as multisets; Markdown without its markup) by type of
page, beside the score's rank correlation with it, metadata, and pages taken for none. Of the documentation it is which
words, lines of code and headings of the sources arrive, and how many of ten strings of navigation come along. Install
the libraries to compare: trafilatura rs-trafilatura resiliparse markdownify html2text readability-lxml.
"""

import argparse
import gzip
import html
import json
import random
import re
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

PLACE = "https://docs.example/page"
CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "pages"
TYPES = ("article", "forum", "product", "collection", "listing", "documentation", "service")
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
    "attributes": lambda n: "<p " + " ".join(f"a{i}=1" for i in range(n)) + ">text",
}


def ours(page: str, url: str = PLACE) -> str:
    from comity.retrieve.extraction import read

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


Library = Callable[..., str]
OF_DOCUMENTATION: tuple[Library, ...] = (ours, trafilatura, markdownify, html2text, readability)
OF_THE_WEB: tuple[Library, ...] = (ours, trafilatura, rs_trafilatura, resiliparse)
# Markdown's markup: images go, of links the label stays, and what escapes is no word.
IMAGE = re.compile(r"!\[(?:[^\[\]\\]|\\.)*\]\([^()]*\)")
LINK = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]\([^()]*\)")
ANY_WORD = re.compile(r"\w+")


def words(markdown: str) -> Counter[str]:
    text = LINK.sub(r"\1", IMAGE.sub(" ", markdown)).replace("\\", "").replace("<br>", " ")
    return Counter(ANY_WORD.findall(text.lower()))


def agreement(found: Counter[str], wanted: Counter[str]) -> float:
    total = sum(found.values()) + sum(wanted.values())
    return 2 * sum((found & wanted).values()) / total if total else 1.0


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


def web(corpus: Path, limit: int) -> None:
    lines = gzip.decompress((corpus / "truth.jsonl.gz").read_bytes()).decode().split("\n")
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines if line]
    if limit < len(rows):
        rows = random.Random(1).sample(rows, limit)
    print(f"{len(rows)} pages; F1 of words; ms of processor time a page")
    print(f"{'':15} all    {'  '.join(f'{name:>7.7}' for name in TYPES)}   median   mean  longest")
    for convert in installed(OF_THE_WEB):
        found: dict[str, list[float]] = defaultdict(list)
        times: list[float] = []
        for row in rows:
            page = gzip.decompress((corpus / "html" / f"{row['id']}.html.gz").read_bytes()).decode("utf-8", "replace")
            started = time.process_time()
            try:
                text = convert(page, row["url"] or PLACE)
            except Exception as error:
                print(f"{convert.__name__}: {row['id']}: {error}")
                text = ""
            times.append(time.process_time() - started)
            found[row["type"]].append(agreement(words(text), words(row["content"])))
        every = [value for values in found.values() for value in values]
        print(
            f"{convert.__name__:15} {statistics.mean(every):.3f}  "
            + "  ".join(f"{statistics.mean(found[name]) if found[name] else 0:7.3f}" for name in TYPES)
            + f"  {statistics.median(times) * 1e3:7.1f} {statistics.mean(times) * 1e3:6.1f} {max(times) * 1e3:8.0f}",
            flush=True,
        )
    judged(corpus, rows)


def judged(corpus: Path, rows: list[dict[str, Any]]) -> None:
    """What comity says of the pages beside their content: how sure it is, metadata, what is no page."""
    from comity.retrieve.extraction import read
    from comity.retrieve.quality import assess, signs_of

    real: list[float] = []
    scores: list[float] = []
    right: Counter[str] = Counter()
    stated: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for row in rows:
        html = gzip.decompress((corpus / "html" / f"{row['id']}.html.gz").read_bytes())
        page = read(html.decode("utf-8", "replace"), row["url"] or "https://example.com/")
        kind = page.judgement.kind
        if kind != "page":
            kinds["with content" if len(ANY_WORD.findall(row["content"])) >= 50 else "without content"] += 1
        metadata = page.metadata
        signs = signs_of(
            page.markdown,
            source=len(html),
            title=metadata.title is not None,
            truncated=page.truncated,
            javascript_shell=page.javascript_shell,
            agreement=page.agreement,
            page=kind in ("page", "javascript_shell"),
        )
        scores.append(assess(signs).score)
        real.append(agreement(words(page.markdown), words(row["content"])))
        for name in ("title", "author", "date"):
            if row[name]:
                field = getattr(metadata, name)
                said, wanted = words(field.value if field else ""), words(row[name])
                stated[name] += 1
                right[name] += said == wanted
                right[f"{name}, nearly"] += agreement(said, wanted) >= 0.8
    correlation = statistics.correlation(ranks(scores), ranks(real))
    print(f"the score's rank correlation with F1: {correlation:.3f}")
    for name, count in stated.items():
        print(f"{name}: {right[name] / count:.3f} right of {count} ({right[f'{name}, nearly'] / count:.3f} nearly)")
    print(f"taken for no page: {kinds['with content']} with content, {kinds['without content']} without")


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
            print(f"{convert.__name__:12} is not installed")
        else:
            found.append(convert)
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=("web", "documentation", "hostile"))
    arguments.add_argument("--pages", type=int, default=10_000, help="at most so many, chosen at random")
    arguments.add_argument("--corpus", type=Path, default=CORPUS)
    options = arguments.parse_args()
    if options.what == "hostile":
        hostile()
    elif options.what == "documentation":
        documentation(options.pages)
    elif options.corpus.is_dir():
        web(options.corpus, options.pages)
    else:
        print(f"{options.corpus} is not here: nothing to measure the web by")


if __name__ == "__main__":
    main()
