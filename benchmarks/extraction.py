"""HTML to Markdown over Python's documentation, ours beside other libraries: time, and what is kept and what is not.

The pages' own sources (reStructuredText) are the measure: which of their words arrive, which lines of code arrive
unchanged, how many headings, and how many of ten strings of navigation come along. With `--hostile`, time on pages made
to exhaust a parser. Install the libraries to compare: trafilatura markdownify html2text readability-lxml.
"""

import argparse
import html
import random
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

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


def ours(page: str) -> str:
    from comity.retrieve.extraction import read

    return read(page, "https://docs.example/page").markdown


def trafilatura(page: str) -> str:
    from trafilatura import extract

    options = {"include_links": True, "include_tables": True, "include_formatting": True, "include_comments": False}
    return extract(page, output_format="markdown", **options) or ""


def markdownify(page: str) -> str:
    from markdownify import markdownify as convert

    return convert(page, heading_style="ATX", strip=["script", "style"])


def html2text(page: str) -> str:
    from html2text import HTML2Text

    return HTML2Text(bodywidth=0).handle(page)


def readability(page: str) -> str:
    from markdownify import markdownify as convert
    from readability import Document

    return convert(Document(page).summary(html_partial=True), heading_style="ATX")


LIBRARIES: tuple[Callable[[str], str], ...] = (ours, trafilatura, markdownify, html2text, readability)


def quality(convert: Callable[[str], str], pages: list[Path], *, landmarks: bool) -> str:
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


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pages", type=int, default=100)
    arguments.add_argument("--hostile", action="store_true")
    options = arguments.parse_args()
    for convert in LIBRARIES:
        try:
            convert("<p>warm up</p>" * 3)
        except ImportError:
            print(f"{convert.__name__:12} is not installed")
            continue
        if options.hostile:
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
            continue
        pages = sorted(ROOT.rglob("*.html"))
        pages = [
            page for page in pages if (ROOT / "_sources" / page.relative_to(ROOT)).with_suffix(".rst.txt").exists()
        ]
        pages = random.Random(1).sample(pages, min(options.pages, len(pages)))
        print(f"{convert.__name__:12} {len(pages)} pages: {quality(convert, pages, landmarks=True)}", flush=True)
        print(f"{'':12} roles removed: {quality(convert, pages, landmarks=False)}", flush=True)


if __name__ == "__main__":
    main()
