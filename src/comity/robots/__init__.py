"""Floor 1: robots.txt text -> rules -> verdict. Pure: no I/O, no clock."""

from comity.robots.dialects import DIALECTS, Dialect, dialect
from comity.robots.parsed import Robots, parse
from comity.robots.values import Group, Line, Match, Record, Rule

# Loaded on first use: few programs write or compare files.
_LATE = {
    "Change": "diff",
    "Comparison": "compare",
    "Diff": "diff",
    "GroupText": "build",
    "add_rule": "edit",
    "build": "build",
    "compare": "compare",
    "diff": "diff",
    "remove_rule": "edit",
}

__all__ = ["DIALECTS", "Dialect", "Group", "Line", "Match", "Record", "Robots", "Rule", "dialect", "parse"]
