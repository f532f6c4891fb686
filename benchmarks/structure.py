"""Structure beside other converters from HTML to Markdown: how many of the cases of
packages/pages/tests/test_structure.py each of them keeps, and how many of a specification's examples. Prints the table
of docs/figures.md.

    python benchmarks/structure.py [--spec spec.txt] [--node FOLDER] [--failures NAME]

FOLDER is where `npm install turndown turndown-plugin-gfm` ran. What is not installed is left out. Markdown is rendered
by markdown-it and compared as a tree; formulas and notes, for which there are several syntaxes, are looked for.
"""

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from common import row, table

from comity_pages.extraction import read

URL = "https://example.com/dir/page"
TESTS = Path(__file__).parents[1] / "packages" / "pages" / "tests" / "test_structure.py"
TURNDOWN = """const Turndown = require('turndown'), {gfm} = require('turndown-plugin-gfm');
const pages = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const service = new Turndown({codeBlockStyle: 'fenced', headingStyle: 'atx'}); service.use(gfm);
console.log(JSON.stringify(pages.map(page => { try { return service.turndown(page) } catch (error) { return '' } })))"""


@dataclass(frozen=True, slots=True)
class Case:
    kind: str
    html: str
    kept: Callable[[str], bool]


def of_tests(tests: Any, name: str) -> list[Any]:
    """The values that a test is run with."""
    values: list[Any] = getattr(tests, name).pytestmark[0].args[1]
    return values


def cases(tests: Any, spec: Path | None) -> Iterator[Case]:
    def same(html: str) -> Callable[[str], bool]:
        wanted = tests.tree_of(html)
        return lambda markdown: tests.tree_of(tests.RENDERER.render(markdown)) == wanted

    def formula(markdown: str) -> bool:
        found = re.search(r"Let\s+(?:\$`?|\\\(|\\\\\()(.+?)(?:`?\$|\\?\\\))\s+hold", markdown, re.DOTALL)
        return found is not None and re.sub(r"[\s{}]", "", found[1]) == re.sub(r"[\s{}]", "", tests.TEX)

    def language(markdown: str) -> bool:
        return (
            re.search(r"^(?:```|~~~) ?(?:js|\{\.js\}|\{[^}]*\.js\b[^}]*\}) *\n\s*x\s*\n(?:```|~~~)", markdown, re.M)
            is not None
        )

    def note(markdown: str) -> bool:
        mark = re.search(r"The oil ?\[\^([^\]]+)\] burns", markdown)
        return (
            mark is not None
            and re.search(rf"^\[\^{re.escape(mark[1])}\]: *Oil of whales\.", markdown, re.M) is not None
        )

    for html in of_tests(tests, "test_a_formula_is_written_as_tex_whatever_the_page_writes_it_with"):
        yield Case("formulas, each written in another way", f"<p>Let {html} hold.</p>", formula)
    for html in of_tests(tests, "test_the_language_of_code_is_told_in_ten_markups"):
        yield Case("the language of code, each stated in another way", html, language)
    for mark, text in of_tests(tests, "test_a_note_goes_with_the_text_that_refers_to_it"):
        html = f"<main><h1>Lamps</h1>{tests.BODY}<p>{tests.SENTENCE}The oil{mark} burns.</p>{text}</main>"
        yield Case("footnotes, each laid out in another way", html, note)
    for html, _, rendered in of_tests(tests, "test_what_markup_means_is_written_and_rendered_again"):
        yield Case("markup whose meaning is not its tag's", html, same(rendered))
    for each in of_tests(tests, "test_what_sites_and_generators_write_is_rendered_again_as_it_is_meant"):
        html, rendered = each.values
        yield Case("markup of sites and generators", html, same(rendered))
    for html in of_tests(tests, "test_a_construct_of_markdown_comes_back_as_the_same_tree"):
        yield Case("constructs of Markdown", html, same(html))
    if spec is not None:
        examples = re.findall(r"^`{32} example[^\n]*\n(.*?)^\.\n(.*?)^`{32}$", spec.read_text("utf-8"), re.M | re.S)
        for _, html in examples:
            if tests.tree_of(html) and not tests.NOT_COMPARED.search(html):
                html = f"<p>Some words of a page</p>{html}<p>and others.</p>"
                yield Case("examples of GitHub's specification", html, same(html))


def comity(pages: list[str]) -> list[str]:
    return [read(f"<!doctype html><title>T</title><body>{html}", URL).markdown for html in pages]


def tools(node: Path | None) -> Iterator[tuple[str, Callable[[list[str]], list[str]]]]:
    yield "comity", comity
    if shutil.which("pandoc"):
        command = ["pandoc", "-f", "html", "-t", "gfm-raw_html+tex_math_dollars+footnotes", "--wrap=none"]
        yield (
            "pandoc",
            lambda pages: [
                subprocess.run(command, input=html, capture_output=True, text=True, timeout=60).stdout for html in pages
            ],
        )
    if importlib.util.find_spec("html2text"):
        import html2text

        def wide(html: str) -> str:
            converter = html2text.HTML2Text()
            converter.body_width = 0
            text: str = converter.handle(html)
            return text

        yield "html2text", lambda pages: [wide(html) for html in pages]
    if importlib.util.find_spec("markdownify"):
        import markdownify

        yield "markdownify", lambda pages: [markdownify.markdownify(html) for html in pages]
    if node is not None and shutil.which("node"):
        yield (
            "turndown",
            lambda pages: json.loads(
                subprocess.run(
                    ["node", "-e", TURNDOWN],
                    cwd=node,
                    input=json.dumps(pages),
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            ),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", type=Path, help="spec.txt of cmark-gfm or CommonMark")
    parser.add_argument("--node", type=Path, help="where turndown is installed")
    parser.add_argument("--failures", help="print what this converter does not keep")
    given = parser.parse_args()
    spec = importlib.util.spec_from_file_location("test_structure", TESTS)
    assert spec is not None
    assert spec.loader is not None
    tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tests)
    asked = list(cases(tests, given.spec))
    kinds = list(dict.fromkeys(each.kind for each in asked))
    kept: dict[str, dict[str, int]] = {}
    for name, convert in tools(given.node):
        answers = convert([each.html for each in asked])
        kept[name] = dict.fromkeys(kinds, 0)
        for case, markdown in zip(asked, answers, strict=True):
            right = case.kept(markdown)
            kept[name][case.kind] += right
            if name == given.failures and not right:
                print(f"{case.kind}\n  {case.html[-300:]!r}\n  {unescape(markdown)[-300:]!r}", file=sys.stderr)
    table("kept", "cases", *kept)
    for kind in kinds:
        count = sum(each.kind == kind for each in asked)
        row(kind, str(count), *(str(each[kind]) for each in kept.values()))


if __name__ == "__main__":
    main()
