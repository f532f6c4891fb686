"""`comity why`: what became of URLs in a crawl."""

import json
from pathlib import Path

from comity.audit.url_status import explain_urls
from comity.cli.exits import Exit
from comity.cli.input_files import is_folder
from comity.cli.options import JSON, PATH, STORE, argument, command
from comity.cli.terminal import print_out
from comity.errors import InvalidSetting


@command("Read a crawl")
@argument("folder", "DIR", type=PATH)
@argument("url", "URL...")
@STORE
@JSON
def why(folder: Path, url: tuple[str, ...], store: str | None, as_json: bool) -> Exit:
    """Explain what became of URLs in a crawl.

    Fetched, disallowed, left out, failed, still in the queue, or not found; and why. The crawl may be running. With
    --json one line per URL. For a crawl in PostgreSQL, name the folders of all machines (DIR DIR URL). Exit code 66:
    the crawl never met one of them; 2: parts that may hold it are missing.
    """
    others = [Path(target) for target in url if is_folder(target)]
    named = [target for target in url if not is_folder(target)]
    if not named:
        raise InvalidSetting("name a URL: comity why DIR URL")
    ended = Exit.DONE
    for number, status in enumerate(explain_urls([folder, *others], named, store=store)):
        if not status.met:
            ended = max(ended, Exit.PARTLY if status.fate == "unknown" else Exit.INPUT)
        if as_json:
            print(json.dumps(status.to_dict()))
            continue
        if number:
            print_out("")
        print_out(status.url)
        print_out(f"  {status.fate}: {status.why}")
        if status.found_on:
            print_out(f"  found on  {status.found_on}")
        if status.next_try:
            print_out(f"  next try  {status.next_try}")
    return ended
