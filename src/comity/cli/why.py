"""`comity why`: what became of one URL in a crawl."""

import json
from pathlib import Path

from comity.audit.fate import fate_of
from comity.cli.exits import Exit
from comity.cli.input_files import is_folder
from comity.cli.terminal import say
from comity.errors import InvalidSetting


def show(folder: Path, targets: tuple[str, ...], *, as_json: bool, store: str | None = None) -> Exit:
    """Print it, of each URL. `targets`: the URLs, and the folders of other machines that worked on the crawl."""
    others = [Path(target) for target in targets if is_folder(target)]
    named = [target for target in targets if not is_folder(target)]
    if not named:
        raise InvalidSetting("name a URL: comity why DIR URL")
    for number, target in enumerate(named):
        told = fate_of([folder, *others], target, store=store)
        if as_json:
            print(json.dumps(told.to_dict()))
            continue
        if number:
            say("")
        say(told.url)
        say(f"  {told.fate}: {told.why}")
        if told.found_on:
            say(f"  found on  {told.found_on}")
        if told.next_try:
            say(f"  next try  {told.next_try}")
    return Exit.DONE
