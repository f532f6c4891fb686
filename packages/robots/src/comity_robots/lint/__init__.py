"""What is wrong, useless or surprising in a robots.txt, line by line, with a suggested fix.

A finding never changes a verdict, and following it does only where it says so (`Finding.changes`). Takes time in
proportion to the file.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from comity_robots.lines import Line
from comity_robots.lint.findings import CODES as _CODES
from comity_robots.lint.findings import Finding, Severity
from comity_robots.lint.lines import OCTET, about_lines
from comity_robots.lint.removable import Rules
from comity_robots.lint.rules import about_rules
from comity_robots.octets import octets
from comity_robots.parsed import Parsed

__all__ = ["CODES", "SEVERITIES", "Finding", "Severity", "collapsed", "fixed", "lint"]

CODES: Final = dict(sorted(_CODES.items()))
"""Severity and meaning of each kind of finding; docs/lint.md shows this table."""
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")
_SHOWN: Final[dict[Severity, int]] = {"error": 5, "warning": 3, "info": 1}
"""Findings of one code that are shown one by one."""


def lint(robots: Parsed) -> tuple[Finding, ...]:
    """All findings: errors, then warnings, then info, each in the order of lines."""
    rules, lines = Rules(robots), robots.lines
    return tuple(
        sorted(
            (
                _writable(each, lines)
                for each in (*about_lines(robots, rules, lines), *about_rules(robots, rules, lines))
            ),
            key=lambda finding: (SEVERITIES.index(finding.severity), finding.line, finding.code),
        )
    )


def _writable(finding: Finding, lines: Sequence[Line]) -> Finding:
    """A finding as it is, but where its line has octets that are no text: written as text, they would be others."""
    if "\N{REPLACEMENT CHARACTER}" in (finding.replacement or "") and OCTET.search(lines[finding.line - 1].raw):
        return replace(finding, suggestion="save the file as UTF-8 first", replacement=None)
    return finding


def collapsed(findings: Iterable[Finding]) -> list[tuple[Finding, tuple[int, ...]]]:
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


def fixed(robots: Parsed, findings: Iterable[Finding], *, unsafe: bool = False) -> bytes:
    """The file with the replacements of findings in it, one for a line: the first. Comments and line ends stay.

    Args:
        findings: of this file.
        unsafe: also follow what may change a verdict (`Finding.changes`).
    """
    chosen: dict[int, str] = {}
    for finding in findings:
        if finding.replacement is not None and (unsafe or not finding.changes):
            chosen.setdefault(finding.line, finding.replacement)
    if not chosen:
        return robots.body
    parts = []
    for line in robots.lines:
        written = chosen.get(line.number)
        if written is None:
            parts.append(line.raw)
        elif written:
            bare = line.raw.rstrip("\r\n")
            content, mark, comment = bare.partition("#")
            blank = content[len(content.rstrip(" \t")) :]
            kept = f"{blank or ' '}{mark}{comment}" if mark else ""
            end = line.raw[len(bare) :]
            parts.append((end or "\n").join(written.split("\n")) + kept + end)
    return octets("".join(parts)) + robots.body[robots.extent[1] :]
