"""`comity report`: a crawl as one HTML page."""

from pathlib import Path

from comity.cli.exits import Exit
from comity.cli.options import FOLDERS, PATH, STORE, command, option
from comity.cli.terminal import complain, say


@command("Read a crawl")
@FOLDERS
@STORE
@option("-o --output", "FILE", "The file to write.", type=PATH, default=Path("report.html"))
def report(folders: tuple[Path, ...], store: str | None, output: Path) -> Exit:
    """Write a report of a crawl as one HTML page.

    Of a crawl in PostgreSQL name the folders of all machines.
    """
    from comity.audit.report import write

    for words in write(folders, output, store=store):
        complain(f"{words}; comity prove says more")
    say(f"report in {output}")
    return Exit.DONE
