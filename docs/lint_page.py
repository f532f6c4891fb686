"""Writes what docs/lint.md says of each finding as the page that the workbench's findings lead to, which is served
without a network: python docs/lint_page.py
"""

import re
from pathlib import Path

from markdown_it import MarkdownIt

DOCUMENT = Path(__file__).with_name("lint.md")
PAGE = DOCUMENT.parents[1] / "packages/comity/src/comity/web/static/lint.html"
HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>comity: findings</title>
<link rel="icon" href="icon.svg" type="image/svg+xml"><link rel="stylesheet" href="style.css"></head>
<body><header class="bar"><h1>comity <span>findings</span></h1>
<nav aria-label="Pages"><a href="./">Workbench</a></nav></header>
<main class="plain docs">
"""  # as api.html begins


def page(text: str) -> str:
    """The page for the text of docs/lint.md; the code of a finding is its anchor."""
    html = MarkdownIt().enable("table").render(text[text.index("## Findings\n") :])
    html = re.sub(r"<h3>(.*?)</h3>", r'<h3 id="\1">\1</h3>', html).replace("<pre>", '<pre tabindex="0">')
    html = re.sub(r"\n(?=</?t[abhdr])", "", html)
    return f"{HEAD}{html}</main></body></html>\n"


if __name__ == "__main__":
    PAGE.write_text(page(DOCUMENT.read_text("utf-8")), "utf-8")
