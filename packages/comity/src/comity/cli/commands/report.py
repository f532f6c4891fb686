"""`comity report`: a crawl as one HTML page, its broken links, or what it asked one host and when."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from comity.audit import broken
from comity.audit import report as writing
from comity.audit.asked import Account, Selection, asked
from comity.cli.exits import Exit
from comity.cli.options import FOLDERS, PATH, STORE, command, is_typed, option, refuse
from comity.cli.terminal import count_noun, error_line, print_err, print_out


@command("Read a crawl")
@FOLDERS
@STORE
@option("-o --output", "FILE", "The file to write.", type=PATH, default=Path("report.html"))
@option("--broken-links", None, "List the URLs that failed, with the pages that link to them, and write no report.")
@option("--host", "HOST", "List each request to this host, with its time, interval and rule, and each refusal.")
@option("--from since", "TIME", "List requests from this time on: 2026-11-24, 2026-11-24T14:30, in UTC or with +01:00.")
@option("--to until", "TIME", "List requests before this time; a date includes its day.")
@option("--json as_json", None, "With --broken-links, --host, --from or --to: a line of JSON for each URL.")
def report(
    folders: tuple[Path, ...],
    store: str | None,
    output: Path,
    broken_links: bool,
    host: str | None,
    since: str | None,
    until: str | None,
    as_json: bool,
) -> Exit:
    """Write a report of a crawl as one HTML page.

    With --host, --from or --to the requests are listed, and -o writes a report of these alone. For a crawl in
    PostgreSQL, name the folders of all machines. Exit code with --broken-links: 2 if there are any.
    """
    chosen = Selection.of(host, since, until)
    if broken_links:
        refuse("names the report, and --broken-links writes none", "output")
        refuse("lists requests: leave out --broken-links", "host", "since", "until")
        return _broken_links(folders, store, as_json=as_json)
    if chosen is not None:
        _list(folders, chosen, store, as_json=as_json)
        if not is_typed("output"):
            return Exit.DONE
    elif as_json:
        raise click.UsageError("--json goes with --broken-links, --host, --from or --to")
    for words in writing.write(folders, output, store=store, chosen=chosen):
        error_line(f"{words}; comity prove says more")
    (error_line if as_json else print_out)(f"report in {output}")
    return Exit.DONE


def _list(folders: tuple[Path, ...], chosen: Selection, store: str | None, *, as_json: bool) -> None:
    account = Account()
    for row in asked(folders, chosen, store=store):
        account.add(row)
        if as_json:
            print(json.dumps(asdict(row)))
        else:
            print_out(str(row))
    print_err(str(account))


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
