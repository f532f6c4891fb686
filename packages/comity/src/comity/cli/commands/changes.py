"""`comity changes`: what refreshes of a crawl found changed."""

import json
from pathlib import Path

from comity.cli.exits import Exit
from comity.cli.options import FOLDERS, JSON, STORE, command
from comity.cli.terminal import count_noun, print_err, print_out, report_missing
from comity.crawler.storage.open_crawl import open_output
from comity.errors import InputError
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
    if not crawl.refresh:
        hint = f"comity crawl -o {crawl.name} --refresh makes one"
        raise InputError(f"{crawl.name} has no refresh, so nothing is compared", hint=hint)
    count = 0
    for each in found(crawl):
        count += 1
        if as_json:
            print(json.dumps(jsonable(each), ensure_ascii=False))
            continue
        what = "content changed" if each.content else "only the shell changed"
        print_out(f"{each.url}  {what} (refresh {each.refresh})")
        if each.difference:
            for line in each.difference.split("\n"):
                print_out(line)
    print_err(count_noun(count, "changed page"))
    return report_missing(crawl.absent)
