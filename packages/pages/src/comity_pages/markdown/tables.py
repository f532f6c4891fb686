"""Tables of a page as tables of GFM; a table that is only there for the layout, or that holds more than cells can, as
the blocks in it.
"""

import re
from itertools import chain
from typing import Any, Final

from comity_pages.html.tree import Node, Text
from comity_pages.markdown.code import LINE_NUMBERS
from comity_pages.markdown.inline import fence_of, parse_number

Writer = Any  # that of markdown.py, which calls this module

_MAX_COLUMNS: Final = 100
_MAX_SPAN_COLUMNS: Final = 20
_MAX_CELL_CHARS: Final = 2_000
_MAX_CODE_LINES: Final = 30
_NOT_IN_CELLS: Final = frozenset(("table", "h1", "h2", "h3", "hr", "article", "section", "form"))
_LINE_ENDS: Final = re.compile(r"(?:(?<![ \t])[ \t]++)?+\n\s*+")
_ROLE_TAGS: Final = dict(zip("row cell gridcell columnheader rowheader".split(), "tr td td th th".split(), strict=True))


def _part(node: Node) -> str:
    """What an element is of a table, by its role or its name."""
    role = node.attributes.get("role")
    return node.name if role is None else _ROLE_TAGS.get(role.strip().lower(), node.name)


def write(writer: Writer, table: Node, out: list[tuple[str, str]]) -> None:
    """Add a table's blocks to `out`."""
    head, groups, captions = _rows(table, writer)
    rows = [*chain.from_iterable(groups)]
    layout = _is_layout(table, head + rows)
    if layout and table.name != "table":
        captions = [table]
    for caption in captions:
        writer.container(caption, out)
    if layout:
        for cell in chain.from_iterable(head + rows if table.name == "table" else ()):
            if not LINE_NUMBERS.search(cell.attributes.get("class", "")):
                writer.container(cell, out)
        return
    lines, width = _grid(writer, [head, *groups])
    if not any(any(line) for line in lines):
        return
    if not head and rows and all(_part(cell) == "th" for cell in rows[0]):
        head = rows[:1]
    first = lines[0] if head else [""] * width
    body = lines[1:] if head else lines
    body = [line for line in body if any(line)]
    text = [_line(first, width), "|" + " --- |" * width, *(_line(line, width) for line in body)]
    out.append(("table", "\n".join(text)))


_Rows = list[list[Node]]


def _rows(table: Node, writer: Writer) -> tuple[_Rows, list[_Rows], list[Node]]:
    """The rows of the head, all others by their groups with those of the foot last, and the captions."""
    head: _Rows = []
    bodies: list[_Rows] = []
    foot: _Rows = []
    bare: _Rows | None = None
    captions: list[Node] = []
    for part in table.elements():
        if writer.is_left_out(part):
            continue
        if part.name == "caption":
            captions.append(part)
            continue
        if _part(part) != "tr" or bare is None:
            bodies.append([])
            bare = bodies[-1] if _part(part) == "tr" else None
        into = head if part.name == "thead" else foot if part.name == "tfoot" else bodies[-1]
        for row in [part] if _part(part) == "tr" else part.elements():
            if _part(row) == "tr" and not writer.is_left_out(row):
                found = (cell for cell in row.elements() if _part(cell) in ("td", "th"))
                if cells := [cell for cell in found if not writer.is_left_out(cell)]:
                    into.append(cells)
    return head, [*bodies, foot], captions


def _is_layout(table: Node, rows: list[list[Node]]) -> bool:
    """Whether it is no table of data: one column, one row without a head, or more in a cell than a cell can hold."""
    if table.attributes.get("role", "").lower() in ("presentation", "none"):
        return True
    if max(map(len, rows), default=0) < 2 or (len(rows) == 1 and not any(_part(cell) == "th" for cell in rows[0])):
        return True
    return any(map(_is_too_large, chain.from_iterable(rows)))


def _is_too_large(cell: Node) -> bool:
    inner = cell.descendants()
    texts = (each for node in (cell, *inner) for each in node.children if isinstance(each, Text) and each.kept)
    lines = sum(node.text().count("\n") for node in inner if node.name == "pre")
    is_large = sum(len(each.text) for each in texts) > _MAX_CELL_CHARS or lines > _MAX_CODE_LINES
    return (
        is_large
        or any(node.name in _NOT_IN_CELLS for node in inner)
        or bool(LINE_NUMBERS.search(cell.attributes.get("class", "")))
    )


def _grid(writer: Writer, groups: list[_Rows]) -> tuple[list[list[str]], int]:
    """The cells of all rows in their columns, and how many columns have cells of their own: what spans rows, no farther
    than its group (HTML, 4.9.12), or columns leaves the others empty.
    """
    lines: list[list[str]] = []
    width = 0
    below: dict[int, int] = {}  # column to the rows that a cell above still takes of it
    for row, left in ((row, len(rows) - number) for rows in groups for number, row in enumerate(rows)):
        line: list[str] = []
        for cell in row:
            while below.get(len(line), 0) > 0 and len(line) < _MAX_COLUMNS:
                below[len(line)] -= 1
                line.append("")
            if len(line) >= _MAX_COLUMNS:
                if text := _cell(writer, cell):
                    line[-1] = f"{line[-1]} {text}".strip()
                    width = len(line)
                continue
            wide = _span(cell, "colspan", _MAX_SPAN_COLUMNS)
            high = _span(cell, "rowspan", left)
            width = max(width, len(line) + 1)
            for number in range(wide):
                if high > 1:
                    below[len(line)] = high - 1
                line.append("" if number else _cell(writer, cell))
        while below.get(len(line), 0) > 0 and len(line) < _MAX_COLUMNS:
            below[len(line)] -= 1
            line.append("")
        lines.append(line)
    return [line[:width] for line in lines], width


def _cell(writer: Writer, cell: Node) -> str:
    """One cell on one line: code keeps its lines and indentation as code of its own, with `<br>` between them."""
    parts: list[str] = []
    for kind, text in writer.container(cell, []):
        if kind == "code":
            lines = text.split("\n")[1:-1]
            text = "<br>".join(_code(line) for line in lines)
        elif kind == "list":
            text = _LINE_ENDS.sub("<br>", text)
        else:
            text = _LINE_ENDS.sub(" ", text.replace("  \n", "<br>"))
        parts.append(text.strip())
    # One more backslash, however many stand there: a table takes one away before the cell is read (GFM, 4.10).
    return " ".join(part for part in parts if part).replace("|", "\\|")


def _code(line: str) -> str:
    if not line.strip():
        return ""
    fence = fence_of(line, 1)
    pad = " " if "`" in (line[0], line[-1]) or (line[0] == " " and line[-1] == " ") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _span(cell: Node, name: str, most: int) -> int:
    stated = parse_number(cell.attributes.get(name, ""), 10**9, 1)
    return min(stated, most) or (most if name == "rowspan" else 1)  # 0: to the end of the group


def _line(cells: list[str], width: int) -> str:
    return "|" + "".join(f" {cell} |" if cell else "  |" for cell in cells + [""] * (width - len(cells)))
