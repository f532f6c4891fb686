"""Writes the tables of docs/settings.md from the classes of settings: python docs/settings_tables.py"""

import re
from pathlib import Path
from typing import get_args

from comity.configuration import ALIASES, settings_classes, words_of_setting
from comity.fields import SettingField, settings_of

DOCUMENT = Path(__file__).with_name("settings.md")


def row(field: SettingField) -> str:
    """One line of a table: names, default, meaning with all choices."""
    names = (field.name, *(alias for alias, name in ALIASES.items() if name == field.name))
    words = re.sub(r"\b(True|False)\b", lambda word: word[0].lower(), words_of_setting(field.name)).removesuffix(".")
    if choices := [each for each in get_args(field.hint) if isinstance(each, str) and f"`{each}`" not in words]:
        words += f"; {' or '.join(f'`{each}`' for each in choices)}"
    return f"| {', or '.join(f'`{name}`' for name in names)} | `{field.written(field.default)}` | {words} |"


def tables(text: str) -> str:
    """The document with its tables as the classes have them; each stands below a heading that names its class."""
    for kind in settings_classes():
        lines = ["| setting | default | meaning |", "|---|---|---|", *map(row, settings_of(kind).values())]
        pattern = rf"(?<=\({kind.__name__}\)\n)(\|[^\n]*\n)+"
        text = re.sub(pattern, lambda _, lines=lines: "\n".join(lines) + "\n", text)
    return text


if __name__ == "__main__":
    DOCUMENT.write_text(tables(DOCUMENT.read_text("utf-8")), "utf-8")
