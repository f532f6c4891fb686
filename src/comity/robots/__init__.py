"""Floor 1: robots.txt text -> rules -> verdict. Pure: no I/O, no clock."""

from comity.robots.dialects import DIALECTS, Dialect, dialect
from comity.robots.parsed import Robots, parse
from comity.robots.values import Group, Line, Match, Record, Rule

__all__ = ["DIALECTS", "Dialect", "Group", "Line", "Match", "Record", "Robots", "Rule", "dialect", "parse"]
