"""Code of a page: its language, and what highlighters write around it that is none of it, such as numbers of lines and
buttons that copy.
"""

import re
from itertools import pairwise
from typing import Final

from comity_pages.html.tree import Node, Text, Tree, is_block

LINE_NUMBERS: Final = re.compile(
    r"\b(?:linenos?|line-?numbers?|blob-num|crayon-nums?|rouge-gutter|hljs-ln-numbers|ltx_tag_listingline)\b"
    r"|(?<![\w-])(?:lnt?|gutter)(?![\w-])"
)  # classes of elements that hold numbers of lines
LINE_CLASS: Final = re.compile(r"(?:^|[\s-])line(?=\s|$)")  # classes of elements that hold a line each
_LISTING_LINES: Final = {"fragment": "line", "cm-content": "cm-line", "CodeMirror-code": "CodeMirror-line"}
"""Classes of the elements in which Doxygen and CodeMirror write code, and of each line in them."""
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9+#]{1,20}")
_LANG_CLASS: Final = re.compile(
    r"(?:(?:language|lang|highlight-source|highlight-text|highlight|mw-highlight-lang)-|ltx_lst_language_|brush:)"
    r"([A-Za-z0-9+#]{1,20})(?:-basic)?;?"
)
_MARKERS: Final = frozenset(("hljs", "brush:", "sourceCode", "prettyprint", "prism", "chroma"))
_UI_WORDS: Final = _MARKERS | frozenset("highlight prettyprinted switcher selector picker toggle toolbar menu".split())
"""Words that stand where a language does and are none."""
_NO_LANGUAGE: Final = frozenset(
    "default none notranslate plaintext plain text hljs lang-auto auto linenums nohighlight".split()
)
_COPY_LABEL: Final = re.compile(
    r"(?:copy|copied|copier|copiar|kopieren|copia|kopiëren|kopiera|kopiuj|копировать|复制|複製|コピー|복사)"
    r"(?: (?:code|to clipboard|snippet|le code|código|codice))?!?",
    re.IGNORECASE,
)
_LANGUAGE_NAMES: Final = frozenset(
    "bash c c++ c# css dart diff dockerfile elixir go graphql haskell html ini java javascript js json jsx julia kotlin"
    " lua makefile markdown matlab objective-c perl php powershell python r ruby rust scala scss sh shell sql swift"
    " toml ts tsx typescript vue xml yaml zsh text plaintext plain console".split()
)
_MAX_SIBLINGS: Final = 12
_MAX_TOOLS: Final = 3  # on one side of a piece of code
_MAX_PARTS: Final = 20
_MAX_LABEL_CHARS: Final = 40
_TOOL_ELEMENTS: Final = frozenset("div span button header label small".split())
_PARAGRAPHS: Final = frozenset("p div td li dd section article blockquote figure".split())
_SHARED_CONTAINERS: Final = ("body", "main", "article", "section", "td", "li", "blockquote")


def mark_code(tree: Tree) -> None:
    """Have each piece of code be one `pre`, without what is there to copy it or to tell its language."""
    for listing in tree.find_by_class_or_id(("ltx_listing",), ("div",)):
        if "ltx_lstlisting" in listing.attributes.get("class", "").split():
            listing.name = "pre"
            listing.children = [
                each for each in listing.elements() if "ltx_listingline" in each.attributes.get("class", "")
            ]
            tree.by_name.setdefault("pre", []).append(listing)
    for listing in tree.find_by_class_or_id(tuple(map(str.lower, _LISTING_LINES)), ("div",)):
        classes = listing.attributes.get("class", "").split()
        wanted = next((_LISTING_LINES[each] for each in classes if each in _LISTING_LINES), None)
        if wanted and (lines := _lines_of(listing, wanted)):
            listing.name, listing.children = "pre", [*lines]
            for line in lines:
                line.parent = listing
            tree.by_name.setdefault("pre", []).append(listing)
    tables = [table for table in tree.by_name.get("table", ()) if _join_table(table) is not None]
    places: _Places = {}
    for pre in (*tables, *tree.by_name.get("pre", ())):
        _drop_tools(pre, places)
    for code in tree.by_name.get("code", ()):
        if any(child.name == "br" for child in code.elements()):
            _make_block(code)


def _lines_of(listing: Node, wanted: str) -> list[Node]:
    """The lines of a listing, within what folds them, and without their numbers and Doxygen's tooltips; none where
    anything else stands in it."""
    lines: list[Node] = []
    stack = listing.elements()[::-1]
    while stack:
        each = stack.pop()
        classes = each.attributes.get("class", "")
        if wanted in classes.split():
            lines.append(each)
        elif LINE_NUMBERS.search(classes) is None and "ttc" not in classes.split():
            if not (inner := each.elements()) and each.text().strip():
                return []
            stack += inner[::-1]
    return lines


def _join_table(table: Node) -> Node | None:
    """Have a table of numbers (a difference has two columns of them) and lines be one piece of code."""
    rows: list[Node] = []
    for part in table.elements():
        if part.name != "colgroup":
            rows += [part] if part.name == "tr" else part.elements() if part.name == "tbody" else [part]
    cells = [[cell for cell in row.elements() if cell.name == "td"] for row in rows if row.name == "tr"]
    if not cells or len(cells) < len(rows) or not all(_is_line(row) for row in cells):
        return None
    for row, (*_, cell) in zip(rows, cells, strict=True):
        row.children = [cell]
        marked = (each.attributes.get("data-code-marker") for each in (cell, *cell.elements()))
        if mark := next(filter(None, marked), ""):
            cell.children.insert(0, Text(mark))
        if len(rows) > 1 and not cell.text().strip():
            cell.children = [Text("\n")]
    table.children = [part for part in table.elements() if part.name != "colgroup"]
    for part in table.elements():
        part.children = [*part.elements()]
    table.name = "pre"
    for inner in cells[0][-1].elements():
        if inner.name == "pre" and (said := language(inner)):
            table.attributes["data-lang"] = said
    return table


def _is_line(row: list[Node]) -> bool:
    """Whether cells are a line of code behind one number or two."""
    said = [cell.attributes.get("class", "") for cell in row]
    return 2 <= len(row) <= 3 and all(LINE_NUMBERS.search(each) or each == "lntd" for each in said[:-1])


def is_number(node: Node) -> bool:
    """Whether an element within code holds the number of a line: by its class, or as what cannot be copied."""
    if node.name not in ("td", "span", "div"):
        return False
    if LINE_NUMBERS.search(node.attributes.get("class", "")):
        return True
    style = node.attributes.get("style", "").lower()
    return "user-select" in style and "none" in style and node.text().strip().isdigit()


def _drop_tools(pre: Node, places: "_Places") -> None:
    """Skip the buttons that copy code, the labels of its language and the numbers of its lines beside and in it."""
    for each in pre.elements()[:2] + pre.elements()[-1:]:
        each.skipped |= each.name in _TOOL_ELEMENTS and each.name != "span" and _label(each) == ("", True)
    codes = pre.descendants("code") if pre.descendants("button") and not pre.descendants("pre") else []
    if len(codes) == 1 and len(pre.text()) - len(codes[0].text()) <= 2 * _MAX_LABEL_CHARS:
        pre.children, codes[0].parent = [codes[0]], pre  # a bar of tools stands in the piece itself
    child, around = pre, pre.parent
    for _ in range(3):
        if around is None:
            return
        is_shared = around.name in _SHARED_CONTAINERS or len(around.children) > _MAX_SIBLINGS
        for each in _neighbours(child, around, places):
            label, copies = _label(each) or (None, False)
            if LINE_NUMBERS.search(each.attributes.get("class", "")) and all(map(str.isdigit, each.text().split())):
                each.skipped = True
            if label is None or (is_shared and not copies):
                continue
            known = language(pre)
            if not label or label in _LANGUAGE_NAMES or label == known:
                each.skipped = True
                if label and not known and label not in _NO_LANGUAGE:
                    pre.attributes["data-lang"] = label
            elif copies:
                for button in each.descendants("button"):
                    button.skipped |= _label(button) == ("", True)
        if is_shared:
            return
        child, around = around, around.parent


_Places = dict[Node, tuple[list[Node], dict[Node, int]]]
"""The elements in one, and where each stands; filled as it is asked for, for code may stand there a thousand times."""


def _neighbours(child: Node, around: Node, places: _Places) -> list[Node]:
    """The elements that may be tools and stand right before and behind one."""
    if around not in places:
        elements = around.elements()
        places[around] = elements, {each: place for place, each in enumerate(elements)}
    elements, numbers = places[around]
    at = numbers[child]
    near = (*elements[max(0, at - _MAX_TOOLS) : at], *elements[at + 1 : at + 1 + _MAX_TOOLS])
    return [each for each in near if each.name in _TOOL_ELEMENTS or "-" in each.name]


def _label(node: Node) -> tuple[str, bool] | None:
    """What a short element says but that it copies, in lower case, and whether it says that; None of others."""
    parts: list[str] = []
    stack: list[Node | Text] = [node]
    for _ in range(_MAX_PARTS):
        if not stack:
            words = " ".join(" ".join(parts).split())
            label, count = _COPY_LABEL.subn("", words)
            return (label.strip().lower(), count > 0) if 0 < len(words) < _MAX_LABEL_CHARS else None
        each = stack.pop()
        if isinstance(each, Text):
            parts.append(each.text[:_MAX_LABEL_CHARS])
        elif each.name in ("pre", "code", "img", "input"):
            return None
        elif not each.skipped:
            stack += reversed(each.children[:_MAX_PARTS])
    return None


def _make_block(code: Node) -> None:
    """Code that is all of its paragraph and has lines is a block."""
    for child, around in pairwise(code.ancestors()):
        others = (each for each in around.children if each is not child)
        if around.name == "pre" or any(isinstance(each, Node) or each.text.strip() for each in others):
            return
        if is_block(around):
            break
    else:
        return
    if around.name not in _PARAGRAPHS:
        return
    code.name = "pre"
    code.block_level = True
    for each in code.children:
        if isinstance(each, Text) and each.text.lstrip(" \t").startswith(("\n", "\r")):
            each.text = each.text.lstrip(" \t\r\n")
    for each in code.ancestors()[1:]:
        each.has_blocks = True


def language(pre: Node) -> str:
    """The language that a `pre`, the `code` in it or what is around them names: `hljs python`, `brush: python`."""
    inner = next((child for child in pre.elements() if child.name in ("code", "pre")), None)
    if inner is not None and inner.name == "pre":  # a book's example that can be run stands in two
        inner = next((child for child in inner.elements() if child.name == "code"), inner)
    around = pre.parent
    for node in filter(None, (pre, inner, around, around.parent if around is not None else None)):
        own = node is pre or node is inner
        for name in ("data-lang", "data-language", "data-code-lang", "data-enlighter-language"):
            if _LANGUAGE.fullmatch(stated := node.attributes.get(name, "")):
                return stated
        if own and node.attributes.get("lang") in _LANGUAGE_NAMES - _NO_LANGUAGE:  # as GitHub's own Markdown has it
            return node.attributes["lang"]
        classes = node.attributes.get("class", "").split()
        for number, name in enumerate(classes):
            if (match := _LANG_CLASS.fullmatch(name)) is not None:
                language = match[1]
            elif own and name in _MARKERS and number + 1 < len(classes):
                language = classes[number + 1].rstrip(";")
            else:
                continue
            if _LANGUAGE.fullmatch(language) and language not in _UI_WORDS and not _LANG_CLASS.fullmatch(language):
                return "" if language in _NO_LANGUAGE else language
    bare = pre.attributes.get("class", "").split()[:1]
    return bare[0] if bare and len(bare[0]) > 1 and bare[0] in _LANGUAGE_NAMES - _NO_LANGUAGE else ""
