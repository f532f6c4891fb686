"""What a pathological text does to whoever reads it: it holds the interpreter for longer than anybody waits."""

import re


def hold(*_: object) -> None:
    re.fullmatch("(?:a|a)*b", "a" * 64)


def hold_text(text: str) -> None:
    hold(text)
