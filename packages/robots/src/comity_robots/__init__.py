"""robots.txt text -> rules -> verdict. Pure: no I/O, no clock."""

from comity_robots import _forms as _forms  # first: it says which form of the others is imported
from comity_robots._lazy import lazy_exports

TYPE_CHECKING = False  # typing's own would take as long to import as all the rest
if TYPE_CHECKING:
    from comity_robots.agent_table import KnownAgent, known_agents, names_for
    from comity_robots.authoring import GroupText, add_rule, build, remove_rule
    from comity_robots.dialects import DIALECTS, Dialect, dialect
    from comity_robots.differences import Change, Comparison, Diff, UseChange, compare, diff
    from comity_robots.explain import Match
    from comity_robots.lines import Line
    from comity_robots.robots import Robots, parse
    from comity_robots.switches import Wishes, access, block, block_path, let_in, state, written
    from comity_robots.values import Group, Record, Rule

__all__ = [
    "DIALECTS",
    "Change",
    "Comparison",
    "Dialect",
    "Diff",
    "Group",
    "GroupText",
    "KnownAgent",
    "Line",
    "Match",
    "Record",
    "Robots",
    "Rule",
    "UseChange",
    "Wishes",
    "access",
    "add_rule",
    "block",
    "block_path",
    "build",
    "compare",
    "dialect",
    "diff",
    "known_agents",
    "let_in",
    "names_for",
    "parse",
    "remove_rule",
    "state",
    "written",
]

__getattr__ = lazy_exports(  # a program that asks for one file imports what that needs
    __name__,
    {
        "comity_robots.dialects": "DIALECTS Dialect dialect",
        "comity_robots.robots": "Robots parse",
        "comity_robots.values": "Group Record Rule",
        "comity_robots.differences": "Change Comparison Diff UseChange compare diff",
        "comity_robots.explain": "Match",
        "comity_robots.agent_table": "KnownAgent known_agents names_for",
        "comity_robots.lines": "Line",
        "comity_robots.switches": "Wishes access block block_path let_in state written",
        "comity_robots.authoring": "GroupText add_rule build remove_rule",
    },
)
