"""`comity changes`: what refreshes of a crawl found changed."""

import json
from pathlib import Path

from comity.cli.exits import Exit
from comity.cli.options import FOLDERS, JSON, STORE, command
from comity.cli.terminal import print_out, report_missing
from comity.crawler.storage.open_crawl import open_output
from comity_robots.as_json import jsonable


@command("Read a crawl")
@FOLDERS
@STORE
@JSON
def changes(folders: tuple[Path, ...], store: str | None, as_json: bool) -> Exit:
    """Show how pages changed between refreshes.

    For each changed page: whether its content changed or only the shell around it, and the difference in Markdown.
    """
    from comity.audit.changes import changes as found

    crawl = open_output(folders, store)
    for each in found(crawl):
        if as_json:
            print(json.dumps(jsonable(each), ensure_ascii=False))
            continue
        what = "content changed" if each.content else "only the shell changed"
        print_out(f"{each.url}  {what} (refresh {each.refresh})")
        if each.difference:
            for line in each.difference.split("\n"):
                print_out(line)
    return report_missing(crawl.absent)
