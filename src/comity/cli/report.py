"""`comity report`: makes the HTML report of a crawl."""

from pathlib import Path

from comity.audit.report import write
from comity.cli.exits import Exit
from comity.cli.terminal import complain, say


def report(folder: Path, target: Path) -> Exit:
    """Write the report of the crawl in a folder and say where it is."""
    if damage := write(folder, target):
        complain(f"{folder}: {damage}; comity prove says more")
    say(f"report in {target}")
    return Exit.DONE
