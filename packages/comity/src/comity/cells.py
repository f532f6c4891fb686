"""Values as cells of CSV that people open in a spreadsheet."""

from typing import Any, Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def escape_formula(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula: an apostrophe stands before text that begins like one."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
