"""What is wrong, useless or surprising in a robots.txt, line by line, with a suggested fix.

A finding never changes a verdict, and following it does only where it says so (`Finding.changes`). Takes time in
proportion to the file.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from comity.robots.lint.findings import CODES, Finding, Severity
from comity.robots.lint.fixes import fixed
from comity.robots.lint.lines import about_lines
from comity.robots.lint.removable import Rules
from comity.robots.lint.rules import about_rules
from comity.robots.parsed import Parsed

__all__ = ["CODES", "SEVERITIES", "Finding", "Severity", "fixed", "folded", "lint"]

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")
_SHOWN: Final[dict[Severity, int]] = {"error": 5, "warning": 3, "info": 1}
"""Findings of one code that are shown one by one."""


def lint(robots: Parsed) -> tuple[Finding, ...]:
    """All findings: errors, then warnings, then info, each in the order of lines."""
    rules, lines = Rules(robots), robots.lines
    return tuple(
        sorted(
            (*about_lines(robots, rules, lines), *about_rules(robots, rules, lines)),
            key=lambda finding: (SEVERITIES.index(finding.severity), finding.line, finding.code),
        )
    )


def folded(findings: Iterable[Finding]) -> list[tuple[Finding, tuple[int, ...]]]:
    """What a person reads of the findings of one file: of each code the first few, the last of which stands for the
    rest, with their lines."""
    seen: Counter[str] = Counter()
    kept: list[Finding] = []
    rest: dict[str, list[int]] = {}
    for finding in findings:
        seen[finding.code] += 1
        if seen[finding.code] <= _SHOWN[finding.severity]:
            kept.append(finding)
        else:
            rest.setdefault(finding.code, []).append(finding.line)
    last = {finding.code: place for place, finding in enumerate(kept)}
    return [
        (finding, tuple(rest.get(finding.code, ())) if last[finding.code] == place else ())
        for place, finding in enumerate(kept)
    ]
