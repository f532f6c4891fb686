"""`comity pages`: the pages of a crawl as they are now."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path

from comity.audit.latest import pages
from comity.cli.exits import Exit
from comity.cli.terminal import complain
from comity.crawler.written_crawl import written_crawl


def show(folders: Sequence[Path], *, bodies: bool, store: str | None = None) -> Exit:
    """Print a line of JSON for each; then say which parts of the crawl are missing."""
    crawl = written_crawl(folders, store)
    for record in pages(crawl, bodies=bodies):
        if isinstance(data := record.pop("body_bytes", None), bytes):
            record["body_base64"] = base64.b64encode(data).decode("ascii")
        print(json.dumps(record))
    for words in crawl.absent:
        complain(words)
    return Exit.PARTLY if crawl.absent else Exit.DONE
