"""robots.txt text -> rules -> verdict. Pure: no I/O, no clock."""

from typing import TYPE_CHECKING

from comity._late import late
from comity.robots.dialects import DIALECTS, Dialect, dialect
from comity.robots.robots import Robots, parse
from comity.robots.values import Group, Line, Match, Record, Rule

if TYPE_CHECKING:
    from comity.robots.building import GroupText, build
    from comity.robots.comparing import Comparison, compare
    from comity.robots.differences import Change, Diff, diff
    from comity.robots.editing import add_rule, remove_rule

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

__getattr__ = late(  # few programs write or compare files
    __name__,
    {
        "comity.robots.differences": "Change Diff diff",
        "comity.robots.comparing": "Comparison compare",
        "comity.robots.building": "GroupText build",
        "comity.robots.editing": "add_rule remove_rule",
    },
)
