"""Dialects as data: the table of them, and how one is named or written.

What the settings of a dialect mean stands with the rules, in `engine/reference.py`. The engine has no branch for any
dialect by name; adding a dialect is adding a value to the table.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from comity_robots.engine.reference import Dialect
from comity_robots.errors import InvalidSetting
from comity_robots.fields import settings_of

__all__ = ["DIALECTS", "Dialect", "dialect"]

_SETTINGS: Final = settings_of(Dialect)
_TABLE = (
    Dialect(name="rfc9309"),
    Dialect(
        name="google",
        agent_match="letters",
        path_form="google",
        typos=True,
        index_html=True,
        semicolon_path=True,
        nul_ends_line=True,
        longest_line=2083 * 8 - 1,
        robots_txt_allowed=False,
    ),
    Dialect(name="bing", group_choice="most_specific", default_delay=True),
    Dialect(name="apple", applebot_as_googlebot=True),
    Dialect(name="yandex", agent_match="substring", group_choice="most_specific"),
    Dialect(
        name="draft1996", agent_match="substring", group_choice="first_matching", precedence="first", wildcards=False
    ),
    Dialect(name="ladon", agent_match="substring", group_choice="first_matching", precedence="first", wildcards=False),
    Dialect(name="webcanon"),
    Dialect(
        name="robotstxt",
        agent_match="glob",
        group_choice="first_matching",
        precedence="first",
        path_form="gem",
        robots_txt_allowed=False,
    ),
    Dialect(name="f9", agent_match="exact"),
    Dialect(
        name="yoink",
        agent_match="bidirectional_substring",
        group_choice="first_matching",
        tie="first_in_file",
        path_form="none",
        robots_txt_allowed=False,
    ),
)
DIALECTS: dict[str, Dialect] = {value.name: value for value in _TABLE}


def dialect(value: str | Dialect | Mapping[str, Any]) -> Dialect:
    """A dialect by name, or by name with what it differs in, as text (`rfc9309 precedence=allow_first`) or by fields.

    A Dialect is given back as it is.

    Raises:
        InvalidSetting: no dialect has this name, or no setting of one this value.
    """
    if isinstance(value, Dialect):
        return value
    if isinstance(value, str):
        return DIALECTS.get(value) or _of_text(value)
    if not isinstance(value, Mapping):
        raise TypeError(f"dialect: expected a name or a Dialect, not {type(value).__name__}")
    return _changed(Dialect(name=value.get("name", "own")), {**value})


@lru_cache(64)
def _of_text(text: str) -> Dialect:
    name, *words = text.replace(",", " ").split() or [""]
    if name not in DIALECTS:
        raise InvalidSetting(f"dialect: {name!r} is not one of {', '.join(DIALECTS)}")
    changes: dict[str, Any] = {}
    for word in words:
        field, _, value = word.partition("=")
        changes[field] = _SETTINGS[field].read(value) if field in _SETTINGS else value
    return _changed(DIALECTS[name], {**changes, "name": " ".join([name, *words])})


def _changed(base: Dialect, changes: dict[str, Any]) -> Dialect:
    if unknown := next((name for name in changes if name not in _SETTINGS), None):
        raise InvalidSetting(f"dialect: {unknown!r} is not one of {', '.join(_SETTINGS)}")
    return replace(base, **changes)
