"""Floor 1: robots.txt text -> rules -> verdict. Pure: no I/O, no clock."""

from typing import TYPE_CHECKING, Any

from comity.robots.dialects import DIALECTS, Dialect, dialect
from comity.robots.robots import Robots, parse
from comity.robots.values import Group, Line, Match, Record, Rule

if TYPE_CHECKING:
    from comity.robots.building import GroupText, build
    from comity.robots.comparing import Comparison, compare
    from comity.robots.differences import Change, Diff, diff
    from comity.robots.editing import add_rule, remove_rule

# Loaded on first use: few programs write or compare files.
_LATE = {
    "Change": "differences",
    "Comparison": "comparing",
    "Diff": "differences",
    "GroupText": "building",
    "add_rule": "editing",
    "build": "building",
    "compare": "comparing",
    "diff": "differences",
    "remove_rule": "editing",
}

__all__ = [
    "DIALECTS",
    "Change",
    "Comparison",
    "Dialect",
    "Diff",
    "Group",
    "GroupText",
    "Line",
    "Match",
    "Record",
    "Robots",
    "Rule",
    "add_rule",
    "build",
    "compare",
    "dialect",
    "diff",
    "parse",
    "remove_rule",
]


def __getattr__(name: str) -> Any:
    module = _LATE.get(name)
    if module is None:
        raise AttributeError(f"module 'comity.robots' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"comity.robots.{module}"), name)
