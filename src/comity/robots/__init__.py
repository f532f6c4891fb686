"""robots.txt text -> rules -> verdict. Pure: no I/O, no clock."""

from typing import TYPE_CHECKING

from comity._late import late
from comity.robots.dialects import DIALECTS, Dialect, dialect
from comity.robots.robots import Robots, parse
from comity.robots.values import Group, Record, Rule

if TYPE_CHECKING:
    from comity.robots.authoring import GroupText, add_rule, build, remove_rule
    from comity.robots.differences import Change, Comparison, Diff, UseChange, compare, diff
    from comity.robots.explain import Match
    from comity.robots.lines import Line

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
    "UseChange",
    "add_rule",
    "build",
    "compare",
    "dialect",
    "diff",
    "parse",
    "remove_rule",
]

__getattr__ = late(  # few programs write, compare or explain files
    __name__,
    {
        "comity.robots.differences": "Change Comparison Diff UseChange compare diff",
        "comity.robots.explain": "Match",
        "comity.robots.lines": "Line",
        "comity.robots.authoring": "GroupText add_rule build remove_rule",
    },
)
