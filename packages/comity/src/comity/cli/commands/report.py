"""`comity report`: a crawl as one HTML page, or its broken links."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from comity.audit import broken
from comity.audit import report as writing
from comity.cli.exits import Exit
from comity.cli.options import FOLDERS, PATH, STORE, command, option, refuse
from comity.cli.terminal import count_noun, error_line, print_err, print_out


@command("Read a crawl")
@FOLDERS
@STORE
@option("-o --output", "FILE", "The file to write.", type=PATH, default=Path("report.html"))
@option("--broken-links", None, "List the URLs that failed, with the pages that link to them, and write no report.")
@option("--json as_json", None, "With --broken-links: a line of JSON for each URL.")
def report(folders: tuple[Path, ...], store: str | None, output: Path, broken_links: bool, as_json: bool) -> Exit:
    """Write a report of a crawl as one HTML page.

    For a crawl in PostgreSQL, name the folders of all machines. Exit code with --broken-links: 2 if there are any.
    """
    if broken_links:
        refuse("names the report, and --broken-links writes none", "output")
        return _broken_links(folders, store, as_json=as_json)
    if as_json:
        raise click.UsageError("--json goes with --broken-links")
    for words in writing.write(folders, output, store=store):
        error_line(f"{words}; comity prove says more")
    print_out(f"report in {output}")
    return Exit.DONE


def _broken_links(folders: tuple[Path, ...], store: str | None, *, as_json: bool) -> Exit:
    found = broken.broken_links(folders, store=store)
    for link in found:
        if as_json:
            print(json.dumps(asdict(link)))
            continue
        print_out(f"{link.url}  {link.why}")
        for page in link.pages:
            print_out(f"  linked from {page}")
        if link.count > len(link.pages):
            print_out(f"  and {link.count - len(link.pages):,} more pages")
    print_err(count_noun(len(found), "broken link"))
    return Exit.PARTLY if found else Exit.DONE
