"""Writes the tables of docs/settings.md, from the classes of settings, and that of the tools' arguments in
docs/agents.md, from their schemas: python docs/settings_tables.py
"""

import re
from pathlib import Path
from typing import get_args

from comity.configuration import ALIASES, CrawlJob, settings_classes, words_of_setting
from comity_robots.fields import SettingField, settings_of

DOCUMENT = Path(__file__).with_name("settings.md")
AGENTS = Path(__file__).with_name("agents.md")


def row(field: SettingField) -> str:
    """One line of a table: names, default, meaning with all choices."""
    names = (field.name, *(alias for alias, name in ALIASES.items() if name == field.name))
    words = re.sub(r"\b(True|False)\b", lambda word: word[0].lower(), words_of_setting(field.name)).removesuffix(".")
    if choices := [each for each in get_args(field.hint) if isinstance(each, str) and f"`{each}`" not in words]:
        words += f"; {' or '.join(f'`{each}`' for each in choices)}"
    return f"| {', or '.join(f'`{name}`' for name in names)} | `{field.written(field.default)}` | {words} |"


def tables(text: str) -> str:
    """The document with its tables as the classes have them; each stands below a heading that names its class."""
    for kind in (*settings_classes(), CrawlJob):
        lines = ["| setting | default | meaning |", "|---|---|---|", *map(row, settings_of(kind).values())]
        pattern = rf"(?<=\({kind.__name__}\)\n)(\|[^\n]*\n)+"
        text = re.sub(pattern, lambda _, lines=lines: "\n".join(lines) + "\n", text)
    return text


def arguments(text: str) -> str:
    """The document with the arguments of every tool of `comity mcp`, below its heading."""
    from comity.mcp.tools import tools

    lines = ["| tool | argument | |", "|---|---|---|"]
    for tool in sorted(tools(), key=lambda tool: text.find(f"| `{tool.name}` |")):
        schema = tool.parameters
        for name, each in schema["properties"].items():
            choices = each.get("enum") or each.get("items", {}).get("enum") or []
            bounds = [str(each[bound]) for bound in ("minimum", "maximum") if bound in each]
            parts = [each.get("description", "").rstrip("."), ", ".join(f"`{choice}`" for choice in choices)]
            parts += [" to ".join(bounds), f"default {each['default']}" if "default" in each else ""]
            parts.append("required" if name in schema.get("required", ()) else "")
            lines.append(f"| `{tool.name}` | `{name}` | {'; '.join(part for part in parts if part)} |")
    return re.sub(r"(?<=### Arguments\n)(\|[^\n]*\n)*", lambda _: "\n".join(lines) + "\n", text)


if __name__ == "__main__":
    AGENTS.write_text(arguments(AGENTS.read_text("utf-8")), "utf-8")
    DOCUMENT.write_text(tables(DOCUMENT.read_text("utf-8")), "utf-8")
