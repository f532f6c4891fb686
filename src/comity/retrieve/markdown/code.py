"""Code of a page: its language, and what highlighters write around it that is none of it, such as numbers of lines and
buttons that copy.
"""

from __future__ import annotations

import re
from typing import Final

from comity.retrieve.page.tree import Node, Text, Tree, is_block

NUMBERS: Final = re.compile(
    r"\b(?:linenos?|line-?numbers?|line-number|gutter|blob-num|lineno|lnt?|crayon-nums?|rouge-gutter|hljs-ln-numbers)\b"
)
"""Classes of elements that hold numbers of lines."""
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9+#]{1,20}")
_STATED: Final = re.compile(
    r"(?:language|lang|highlight-source|highlight-text|highlight|mw-highlight-lang|brush:)-?([A-Za-z0-9+#]{1,20})(?:-basic)?;?"
)
_BEFORE: Final = frozenset(("hljs", "brush:", "sourceCode", "prettyprint", "prism", "chroma"))
_NO_LANGUAGE: Final = frozenset(
    "default none notranslate plaintext plain text hljs lang-auto auto linenums nohighlight".split()
)
_COPY: Final = re.compile(
    r"(?:copy|copied|copier|copiar|kopieren|copia|kopiëren|kopiera|kopiuj|копировать|复制|複製|コピー|복사)"
    r"(?: (?:code|to clipboard|snippet|le code|código|codice))?!?",
    re.IGNORECASE,
)
_NAMED: Final = frozenset(
    "bash c c++ c# css dart diff dockerfile elixir go graphql haskell html ini java javascript js json jsx julia kotlin"
    " lua makefile markdown matlab objective-c perl php powershell python r ruby rust scala scss sh shell sql swift"
    " toml ts tsx typescript vue xml yaml zsh text plaintext plain console".split()
)
_MOST_BESIDE: Final = 12
_MOST_PARTS: Final = 20
_LONGEST_LABEL: Final = 40
_TOOLS: Final = frozenset("div span button header label small".split())
_AROUND: Final = ("body", "main", "article", "section", "td", "li", "blockquote")


def marked(tree: Tree) -> None:
    """Have each piece of code be one `pre`, without what is there to copy it or to tell its language."""
    tables = [table for table in tree.named.get("table", ()) if _take_table(table) is not None]
    for pre in (*tables, *tree.named.get("pre", ())):
        _drop_tools(pre)
    for code in tree.named.get("code", ()):
        if any(child.name == "br" for child in code.elements()):
            _take_lines(code)


def _take_table(table: Node) -> Node | None:
    """A table of numbers of lines and lines is one piece of code."""
    rows: list[Node] = []
    for part in table.elements():
        if part.name != "colgroup":
            rows += [part] if part.name == "tr" else part.elements() if part.name == "tbody" else [part]
    cells = [[cell for cell in row.elements() if cell.name == "td"] for row in rows if row.name == "tr"]
    if not cells or len(cells) < len(rows) or any(len(row) != 2 or not _is_number(row[0]) for row in cells):
        return None
    for row, (_, cell) in zip(rows, cells, strict=True):
        row.children = [cell]
        if len(rows) > 1 and not cell.text().strip():
            cell.children = [Text("\n")]
    table.children = [part for part in table.elements() if part.name != "colgroup"]
    for part in table.elements():
        part.children = [*part.elements()]
    table.name = "pre"
    for inner in cells[0][1].elements():
        if inner.name == "pre" and (said := language(inner)):
            table.attributes["data-lang"] = said
    return table


def _is_number(cell: Node) -> bool:
    said = cell.attributes.get("class", "")
    return NUMBERS.search(said) is not None or said == "lntd"


def _drop_tools(pre: Node) -> None:
    """Skip the buttons that copy code, and the labels of its language, around it and at its ends."""
    for each in pre.elements()[:2] + pre.elements()[-1:]:
        each.skipped |= each.name in _TOOLS and each.name != "span" and _label(each) == ""
    child, around = pre, pre.parent
    for _ in range(3):
        if around is None or around.name in _AROUND:
            return
        if len(around.children) > _MOST_BESIDE:
            return
        for each in around.elements():
            if each is child or not (each.name in _TOOLS or "-" in each.name):
                continue
            label = _label(each)
            if label is None:
                continue
            known = language(pre)
            if not label or label in _NAMED or label == known:
                each.skipped = True
                if label and not known and label not in _NO_LANGUAGE:
                    pre.attributes["data-lang"] = label
        child, around = around, around.parent


def _label(node: Node) -> str | None:
    """What a short element says but that it copies, in lower case; None of others."""
    parts: list[str] = []
    stack: list[Node | Text] = [node]
    for _ in range(_MOST_PARTS):
        if not stack:
            words = " ".join(" ".join(parts).split())
            return _COPY.sub("", words).strip().lower() if 0 < len(words) < _LONGEST_LABEL else None
        each = stack.pop()
        if isinstance(each, Text):
            parts.append(each.text[:_LONGEST_LABEL])
        elif each.name in ("pre", "code", "img", "input"):
            return None
        elif not each.skipped:
            stack += reversed(each.children[:_MOST_PARTS])
    return None


def _take_lines(code: Node) -> None:
    """Code that is all of its paragraph and has lines is a block."""
    child, around = code, code.parent
    while around is not None:
        if around.name == "pre" or not all(each is child or _is_blank(each) for each in around.children):
            return
        if is_block(around):
            break
        child, around = around, around.parent
    if around is None or around.name not in (
        "p",
        "div",
        "td",
        "li",
        "dd",
        "section",
        "article",
        "blockquote",
        "figure",
    ):
        return
    code.name = "pre"
    code.apart = True
    for each in code.children:
        if isinstance(each, Text) and each.text.lstrip(" \t").startswith(("\n", "\r")):
            each.text = each.text.lstrip(" \t\r\n")
    for each in code.around()[1:]:
        each.blocky = True


def _is_blank(each: Node | Text) -> bool:
    return isinstance(each, Text) and not each.text.strip()


def language(pre: Node) -> str:
    """The language that a `pre`, the `code` in it or what stands around them name: `language-python`, `hljs python`,
    `brush: python`, `data-lang`.
    """
    inner = next((child for child in pre.elements() if child.name == "code"), None)
    around = pre.parent
    for node in filter(None, (pre, inner, around, around.parent if around is not None else None)):
        own = node is pre or node is inner
        for name in ("data-lang", "data-language", "data-code-lang", "data-enlighter-language"):
            if _LANGUAGE.fullmatch(stated := node.attributes.get(name, "")):
                return stated
        classes = node.attributes.get("class", "").split()
        for number, name in enumerate(classes):
            if (match := _STATED.fullmatch(name)) is not None:
                language = match[1]
            elif own and name in _BEFORE and number + 1 < len(classes):
                language = classes[number + 1].rstrip(";")
            else:
                continue
            if _LANGUAGE.fullmatch(language) and not _STATED.fullmatch(language):
                return "" if language in _NO_LANGUAGE else language
    return ""
