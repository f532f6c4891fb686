"""What is wrong, useless or surprising in a robots.txt, line by line, with a suggested fix.

A finding never changes a verdict, and following it does only where it says so (`Finding.changes`). Takes time in
proportion to the file.
"""

from comity.robots.lint.findings import CODES, Finding, Severity
from comity.robots.lint.lines import about_lines
from comity.robots.lint.removable import Rules
from comity.robots.lint.rules import about_rules
from comity.robots.parsed import Parsed

__all__ = ["CODES", "Finding", "Severity", "lint"]


def lint(robots: Parsed) -> tuple[Finding, ...]:
    """All findings, in the order of lines."""
    rules = Rules(robots)
    return tuple(
        sorted(
            (*about_lines(robots, rules), *about_rules(robots, rules)), key=lambda finding: (finding.line, finding.code)
        )
    )
