"""Makes the reference of comity's public names, as Markdown, from their signatures and docstrings."""

import dataclasses
import enum
import inspect
import re
from collections.abc import Callable
from typing import Any

import comity
from comity_robots.fields import field_docs

ORDER = (
    ("robots.txt", ("parse", "Robots", "Match", "Dialect")),
    ("Policy and decision", ("Policy", "Decision")),
    ("Client", ("Client", "AsyncClient", "ClientSettings", "Response")),
    ("Crawling", ("crawl", "crawl_page", "crawl_pages", "crawl_index_page", "CrawledPage", "Crawler", "CrawlSettings")),
)
SECTIONS = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):\n", re.MULTILINE)


def signature(thing: Callable[..., Any]) -> str:
    """What a callable takes and gives, with types, one argument a line where they are many."""
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "(...)"
    text = re.sub(r"\b(?:comity(?:\.\w+)+|collections\.abc|typing|pathlib|datetime)\.(?=\w)", "", text)
    text = re.sub(r"(?<=[:>] )'([^']*)'", r"\1", text)  # annotations that are strings; defaults keep their quotes
    text = re.sub(r"<(?:factory|object object at \w+)>", "...", text)
    if len(text) > 90:
        inner, _, gives = text[1:].rpartition(")")
        pieces, depth = [""], 0
        for char in inner:
            depth += (char in "([{") - (char in ")]}")
            if char == "," and depth == 0:
                pieces.append("")
            else:
                pieces[-1] += char
        text = "(\n" + "".join(f"    {piece.strip()},\n" for piece in pieces) + f"){gives}"
    return text


def words(docstring: str | None) -> str:
    """A docstring as Markdown: its sections are lists."""
    text = inspect.cleandoc(docstring or "")
    parts = SECTIONS.split(text)
    out = [parts[0].strip()]
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        out.append(f"**{name}**")
        entries = re.split(r"\n {4}(?! )", "\n" + body.rstrip().partition("\n\n")[0])[1:]
        for entry in entries:
            term, colon, said = entry.partition(": ")
            shown = " ".join((said if colon else "").split())
            out.append(f"- `{' '.join(term.split())}`" + (f": {shown}" if shown else "") if colon else f"- {term}")
        rest = body.partition("\n\n")[2]
        if rest.strip():
            out.append(inspect.cleandoc(rest))
    text = "\n\n".join(part for part in out if part)
    text = re.sub(r"\n\n(?=- )", "\n", text)
    return re.sub(r"(?m)(?<=\*\*)\n(?=- )", "\n\n", text)


def members(kind: type) -> list[str]:
    """The public attributes and methods of a class, each with its type."""
    out: list[str] = []
    described = field_docs(kind)
    if dataclasses.is_dataclass(kind):
        rows = [
            f"| `{field.name}` | `{shown(field.type)}` | {described.get(field.name, '').replace('|', chr(92) + '|')} |"
            for field in dataclasses.fields(kind)
            if not field.name.startswith("_")
        ]
        if rows:
            out += ["| attribute | type | meaning |\n|---|---|---|\n" + "\n".join(rows)]
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    for name in sorted(dir(kind)):
        if name.startswith("_") or name in names:
            continue
        if issubclass(kind, BaseException) and hasattr(Exception, name):
            continue
        member = inspect.getattr_static(kind, name)
        if isinstance(member, property):
            hint = member.fget.__annotations__.get("return", "") if member.fget else ""
            out.append(f"#### `{kind.__name__}.{name}`{{ #{kind.__name__}.{name} }}\n\n`{shown(hint)}`")
            out.append(words(member.__doc__))
        elif callable(getattr(kind, name)):
            out.append(f"#### `{kind.__name__}.{name}`{{ #{kind.__name__}.{name} }}")
            out.append(f"```python\n{name}{signature(getattr(kind, name))}\n```")
            out.append(words(getattr(kind, name).__doc__))
    return [each for each in out if each]


def shown(hint: Any) -> str:
    text = (
        hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint)) if isinstance(hint, type) else str(hint)
    )
    return re.sub(r"\b(?:comity(?:\.\w+)+|collections\.abc|typing)\.(?=\w)", "", text).replace("|", "\\|")


def entry(name: str) -> str:
    thing = getattr(comity, name)
    out = [f"### {name} {{ #{name} }}"]
    if isinstance(thing, type):
        bases = [base.__name__ for base in thing.__bases__ if base is not object]
        if not issubclass(thing, BaseException | enum.Enum):
            out.append(f"```python\nclass {name}{signature(thing)}\n```")
        elif bases:
            out.append(f"Subclass of {', '.join(f'`{base}`' for base in bases)}.")
        body = thing.__doc__ or ""
        if dataclasses.is_dataclass(thing) and field_docs(thing):  # its attributes have a table of their own
            body = re.sub(r"(?s)\n\s*Attributes:\n.*?(?=\n\s*\n|\Z)", "", body)
        out += [words(body), *members(thing)]
    else:
        prefix = "async " if inspect.iscoroutinefunction(thing) else ""
        out += [f"```python\n{prefix}def {name}{signature(thing)}\n```", words(thing.__doc__)]
    return "\n\n".join(part for part in out if part)


def reference() -> str:
    """The page."""
    placed = {name for _, names in ORDER for name in names}
    rest = [name for name in comity.__all__ if name not in placed]
    errors = [
        name
        for name in rest
        if isinstance(getattr(comity, name), type) and issubclass(getattr(comity, name), Exception)
    ]
    others = [name for name in rest if name not in errors]
    out = [
        "# Reference",
        "The public names of `import comity`, with types, from their docstrings. Times are seconds and sizes bytes.",
    ]
    for heading, names in (*ORDER, ("More of crawling and settings", others), ("Errors", errors)):
        out += [f"## {heading}", *map(entry, names)]
    return "\n\n".join(out) + "\n"
