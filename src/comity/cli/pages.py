"""`comity pages`: the pages of a crawl as they are now."""

import base64
import json
from pathlib import Path

from comity.audit.latest import pages
from comity.cli.exits import Exit


def show(folder: Path, *, bodies: bool) -> Exit:
    """Print a line of JSON for each."""
    for record in pages(folder, bodies=bodies):
        if isinstance(data := record.pop("body_bytes", None), bytes):
            record["body_base64"] = base64.b64encode(data).decode("ascii")
        print(json.dumps(record))
    return Exit.DONE
