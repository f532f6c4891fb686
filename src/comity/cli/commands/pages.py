"""`comity pages`: the pages of a crawl as they are now."""

import base64
import json
from pathlib import Path

from comity.cli.exits import Exit
from comity.cli.options import FOLDERS, STORE, command, option
from comity.cli.terminal import complain


@command("Read a crawl")
@FOLDERS
@STORE
@option("--bodies", None, "Print the bodies too.")
def pages(folders: tuple[Path, ...], store: str | None, bodies: bool) -> Exit:
    """Print a crawl's pages as JSON lines.

    After refreshes: the latest version of each page, without pages that are gone. Of a crawl in PostgreSQL name the
    folders of all machines. Exit code 2: parts of the crawl are missing.
    """
    from comity.audit.latest import pages as latest
    from comity.crawler.written_crawl import written_crawl

    crawl = written_crawl(folders, store)
    for record in latest(crawl, bodies=bodies):
        if isinstance(data := record.pop("body_bytes", None), bytes):
            record["body_base64"] = base64.b64encode(data).decode("ascii")
        print(json.dumps(record))
    for words in crawl.absent:
        complain(words)
    return Exit.PARTLY if crawl.absent else Exit.DONE
