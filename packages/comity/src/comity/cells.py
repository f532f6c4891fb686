"""Values as cells of CSV that people open in a spreadsheet."""

from typing import Any, Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def escape_formula(value: Any) -> Any:
    """A value that no spreadsheet takes for a formula: text that begins like one gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
