"""`comity why`: what became of one URL in a crawl."""

import json
from pathlib import Path

from comity.audit.fate import fate_of
from comity.cli.exits import Exit
from comity.cli.terminal import say


def show(folder: Path, targets: tuple[str, ...], *, as_json: bool) -> Exit:
    """Print it, of each URL."""
    for number, target in enumerate(targets):
        told = fate_of(folder, target)
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
