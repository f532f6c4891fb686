"""A robots.txt with the advice of its findings followed."""

from collections.abc import Iterable

from comity_robots.lint.findings import Finding
from comity_robots.octets import octets
from comity_robots.parsed import Parsed


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
