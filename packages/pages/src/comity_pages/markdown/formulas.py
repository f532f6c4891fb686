"""Formulas as TeX: each way in which pages carry one becomes one `math` element that holds its source.

A source that nobody sees (an annotation) counts only where its words stand in the formula as it is shown, so that no
instruction hides there.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from comity_pages.html.normalization import new_element
from comity_pages.html.tree import Node, Text, Tree

_MAX_SOURCE_CHARS: Final = 4_000
_MAX_ANCESTORS: Final = 4  # elements from a drawing on outwards that may hold its source
_DELIMITED_FORMULA: Final = re.compile(r"\s*(?:\\\((.*)\\\)|\\\[(.*)\\\]|\$\$(.*)\$\$|\$(.*)\$)\s*", re.DOTALL)
_FORMULA_IN_TEXT: Final = re.compile(
    r"\\\((?P<inline>(?:[^\\]|\\(?!\())+?)\\\)|\\\[(?P<block>(?:[^\\]|\\(?!\[))+?)\\\]|(?<!\\)\$\$(?P<shown>[^$]+)\$\$"
    r"|(?<![\\$])\$(?P<dollar>(?=[^$]*[\\_^{])[^\s$](?:[^$\n]*[^\s$\\])?)\$(?![\d$])",
    re.DOTALL,
)
"""Formulas in running text, which a script draws; between single dollars only what looks like one, as no price does."""
_RENDERER: Final = re.compile(r"mathjax|katex", re.IGNORECASE)
_VERBATIM: Final = frozenset("pre code tt kbd samp textarea script style math".split())
_COMMAND: Final = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}|\\[A-Za-z]+")
_NUMBER: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.]*")
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_IMAGE: Final = frozenset(("math", "tex", "latex", "mwe-math-fallback-image-inline", "mwe-math-fallback-image-display"))
_CONTAINER_CLASSES: Final = frozenset(("katex", "mwe-math-element", "mjx-container"))
_FORMULAS: Final = frozenset(("math", "math-container", "arithmatex", "kdmath", "js-display-math", "js-inline-math"))
"""Classes of elements that hold one formula between its delimiters."""
_CLASSES: Final = ("math", "arithmatex", "katex", "mjx-container")
_SPECIAL: Final = str.maketrans({char: f"\\{char}" for char in "%#&_{}"})
_SYMBOLS: Final = {
    "−": "-", "×": r"\times ", "⋅": r"\cdot ", "·": r"\cdot ", "÷": r"\div ", "±": r"\pm ", "≤": r"\le ", "≥": r"\ge ",
    "≠": r"\ne ", "≈": r"\approx ", "∞": r"\infty ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "∂": r"\partial ",
    "√": r"\surd ", "→": r"\to ", "∈": r"\in ", "∉": r"\notin ", "⊂": r"\subset ", "∪": r"\cup ", "∩": r"\cap ",
    "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ", "ε": r"\varepsilon ", "θ": r"\theta ",
    "λ": r"\lambda ", "μ": r"\mu ", "π": r"\pi ", "ρ": r"\rho ", "σ": r"\sigma ", "τ": r"\tau ", "φ": r"\varphi ",
    "ω": r"\omega ", "Δ": r"\Delta ", "Σ": r"\Sigma ", "Ω": r"\Omega ", "\N{INVISIBLE TIMES}": "",
    "\N{FUNCTION APPLICATION}": "", "\N{INVISIBLE SEPARATOR}": "",
}  # fmt: skip


def mark_formulas(tree: Tree) -> None:
    """Have every formula of a page be a `math` element with its TeX; `display` says that it stands for itself."""
    for node in [*tree.by_name.get("script", ())]:
        kind, _, mode = node.attributes.get("type", "").partition(";")
        if kind.strip().lower() == "math/tex":
            _become(tree, node, node.text(), display="display" in mode)
            _drop_renderings(node)
    for node in (*tree.find_by_class_or_id(_CLASSES, ("span", "div", "math-renderer")), *tree.all("mjx-container")):
        classes = node.attributes.get("class", "").split()
        if node.name == "mjx-container" or not _CONTAINER_CLASSES.isdisjoint(classes):
            if inner := next(iter(node.descendants("math")), None):
                around = node.parent.attributes.get("class", "") if node.parent is not None else ""
                display = "display" in (*inner.attributes.values(), *node.attributes) or "katex-display" in around
                _become(tree, node, _source(inner, node), display=display or inner.attributes.get("display") == "block")
        elif not _FORMULAS.isdisjoint(classes):
            number = next((each for each in node.descendants("span") if each.attributes.get("class") == "eqno"), None)
            shown = node.text().replace(number.text() if number is not None else "", "", 1)
            if match := _DELIMITED_FORMULA.fullmatch(shown[: _MAX_SOURCE_CHARS + 10]):
                tex = next(filter(None, match.groups()), "")
                if number is not None and (digits := _NUMBER.search(number.text())):
                    tex = rf"{tex} \tag{{{digits[0]}}}"
                _become(tree, node, tex, display=match[2] is not None or match[3] is not None)
    for node in [*tree.by_name.get("math", ())]:
        if node.skipped:
            _become(tree, node, _source(node, node), display=node.attributes.get("display") == "block")
    for node in [*tree.by_name.get("img", ())]:
        if not _IMAGE.isdisjoint(node.attributes.get("class", "").split()) and (said := node.attributes.get("alt", "")):
            _become(tree, node, _without_style(said))
    near = (each for drawing in tree.by_name.get("svg", ()) for each in islice(drawing.ancestors(), _MAX_ANCESTORS))
    for node in dict.fromkeys(each for each in near if "data-formula" in each.attributes):
        if not node.text().strip() and not _words_in(said := node.attributes["data-formula"]):
            display = any("block" in each.attributes.get("class", "") for each in islice(node.ancestors(), 2))
            _become(tree, node, said, display=display)
    for table in tree.find_by_class_or_id(("ltx_eqn_table",), ("table",)):
        for row in table.descendants("tr"):
            _become_row(tree, row)
        for each in (table, *table.descendants("tbody", "tr", "td")):
            each.name = "div"
    if any(_RENDERER.search(node.attributes.get("src", "")) for node in tree.by_name.get("script", ())):
        _mark_text(tree)


def _become_row(tree: Tree, row: Node) -> None:
    """Have a row of a table that sets formulas (LaTeXML) be one formula with its number."""
    formulas = row.descendants("math")
    numbers = (each for each in row.descendants("span") if "ltx_tag_equation" in each.attributes.get("class", ""))
    if formulas:
        tex = " ".join(each.text().strip().removeprefix(r"\displaystyle") for each in formulas)
        if number := _NUMBER.search(next((each.text() for each in numbers), "")):
            tex = rf"{tex} \tag{{{number[0]}}}"
        _become(tree, formulas[0], tex, display=True)
        row.children = [formulas[0]]


def _mark_text(tree: Tree) -> None:
    """Have formulas that stand in the text between delimiters be elements."""
    stack = [tree.first("body") or tree.root]
    while stack:
        node = stack.pop()
        children: list[Node | Text] = []
        for child in node.children:
            if isinstance(child, Node):
                children.append(child)
                if child.name not in _VERBATIM and not child.skipped:
                    stack.append(child)
                continue
            at, text = 0, child.text
            for match in _FORMULA_IN_TEXT.finditer(text) if "$" in text or "\\" in text else ():
                formula = new_element("math", node, node)
                _become(tree, formula, match[match.lastgroup or 0], display=match.lastgroup in ("block", "shown"))
                if formula.children:
                    children += [Text(text[at : match.start()])] if at < match.start() else []
                    children.append(formula)
                    at = match.end()
            if at < len(text):
                children.append(Text(text[at:]) if at else child)
        node.children = children


def _become(tree: Tree, node: Node, tex: str, *, display: bool = False) -> None:
    tex = " ".join(tex.split())
    if not tex or len(tex) > _MAX_SOURCE_CHARS:
        return
    node.name = "math"
    node.skipped = False
    node.block_level = node.has_blocks = False
    node.attributes = {name: value for name, value in node.attributes.items() if name in ("class", "style", "hidden")}
    if display:
        node.attributes["display"] = "block"
    for each in node.descendants():  # what is no longer there says nothing
        each.attributes = {}
    node.children = [Text(tex)]


def _drop_renderings(node: Node) -> None:
    """What MathJax 2 draws before the script that holds the source."""
    if node.parent is None:
        return
    children = node.parent.children
    at = next(place for place, each in enumerate(children) if each is node)
    while at:
        at -= 1
        before = children[at]
        if isinstance(before, Node) and "MathJax" in before.attributes.get("class", ""):
            before.skipped = True
        elif not (isinstance(before, Text) and before.text.isspace()):
            return


def _source(math: Node, shown: Node) -> str:
    """The TeX of a formula: its annotation, where what it says is shown; else made of the formula's elements."""
    said = math.attributes.get("alttext", "")
    for each in math.descendants("annotation"):
        if "tex" in each.attributes.get("encoding", "").lower():
            said = each.text()
    if said and len(said) <= _MAX_SOURCE_CHARS:
        visible = "".join(_visible_texts(shown)).lower()
        if all(word.lower() in visible for word in _words_in(said)):
            return _without_style(said)
    return _tex(math)


def _words_in(tex: str) -> list[str]:
    """The words in a formula's source that are no commands."""
    return _WORD.findall(_COMMAND.sub(" ", tex))


def _without_style(tex: str) -> str:
    return tex.removeprefix("{\\displaystyle").removesuffix("}") if tex.startswith("{\\displaystyle") else tex


def _visible_texts(node: Node) -> Iterator[str]:
    for child in node.children:
        if isinstance(child, Text):
            yield child.text
        elif child.name not in ("annotation", "annotation-xml", "script"):
            yield from _visible_texts(child)


def _tex(node: Node) -> str:
    """TeX of an element of MathML's presentation."""
    parts = [_tex(child) for child in node.elements() if "annotation" not in child.name]
    match node.name, parts:
        case ("mi" | "mn" | "mo" | "ms", _):
            text = "".join(node.text().split())
            named = "".join(_SYMBOLS.get(char, char.translate(_SPECIAL)) for char in text)
            return rf"\mathrm{{{named}}}" if node.name == "mi" and len(text) > 1 and text.isalpha() else named
        case ("mtext", _):
            return rf"\text{{{node.text().strip().translate(_SPECIAL)}}}"
        case ("mfrac", [above, below]):
            return rf"\frac{{{above}}}{{{below}}}"
        case ("msqrt", _):
            return rf"\sqrt{{{''.join(parts)}}}"
        case ("mroot", [inner, root]):
            return rf"\sqrt[{root}]{{{inner}}}"
        case ("msup" | "mover", [inner, above]):
            return f"{inner}^{_group(above)}"
        case ("msub" | "munder", [inner, below]):
            return f"{inner}_{_group(below)}"
        case ("msubsup" | "munderover", [inner, below, above]):
            return f"{inner}_{_group(below)}^{_group(above)}"
        case ("mtr", _):
            return " & ".join(parts)
        case ("mtable", _):
            rows = r" \\ ".join(parts)
            return rf"\begin{{matrix}}{rows}\end{{matrix}}"
        case ("mspace", _):
            return " "
    return "".join(parts)


def _group(text: str) -> str:
    return text if len(text) == 1 else f"{{{text.strip()}}}"
