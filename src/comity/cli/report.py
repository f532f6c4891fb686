"""`comity report`: makes the HTML report of a crawl."""

import sys
from pathlib import Path

from comity.audit.report import write
from comity.cli.exits import Exit


def report(folder: Path, target: Path) -> Exit:
    """Write the report of the crawl in a folder and say where it is."""
    if damage := write(folder, target):
        print(f"comity: {folder}: {damage}; comity prove says more", file=sys.stderr)
    print(f"report in {target}")
    return Exit.DONE
