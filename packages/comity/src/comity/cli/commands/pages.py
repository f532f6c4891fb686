"""`comity pages`: the pages of a crawl as they are now."""

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from comity.audit.current_pages import pages as latest
from comity.cli.exits import Exit
from comity.cli.options import FOLDERS, PATH, STORE, command, option
from comity.cli.terminal import error_line, report_missing
from comity.crawler.output.files import name_of
from comity.crawler.storage.open_crawl import open_output
from comity.files import check_within, write_anew
from comity_robots.as_json import jsonable


@command("Read a crawl")
@FOLDERS
@STORE
@option("--bodies", None, "Print the bodies too.")
@option("--markdown", None, "Print each page as Markdown, with title, date, licences and usage.")
@option(
    "--chunks",
    "TOKENS",
    "Print chunks of at most this many tokens, each with a URL that leads to it.",
    type=click.IntRange(32),
)
@option("-o --output", "DIR", "With --markdown: write one file per page, with front matter, here.", type=PATH)
def pages(
    folders: tuple[Path, ...],
    store: str | None,
    bodies: bool,
    markdown: bool,
    chunks: int | None,
    output: Path | None,
) -> Exit:
    """Print a crawl's pages as JSON lines.

    After refreshes: the latest version of each page, without pages that are gone. For a crawl in PostgreSQL, name the
    folders of all machines. Exit code 2: parts of the crawl are missing.
    """
    if (bodies and (markdown or chunks)) or (output is not None and not markdown) or (markdown and chunks):
        raise click.UsageError("give one of --bodies, --markdown, --chunks; --output goes with --markdown")
    crawl = open_output(folders, store)
    for record in latest(crawl, bodies=bodies or markdown or bool(chunks)):
        if markdown or chunks:
            for values in _converted(record, chunks, output):
                print(json.dumps(values, ensure_ascii=False))
            continue
        if isinstance(data := record.pop("body_bytes", None), bytes):
            record["body_base64"] = base64.b64encode(data).decode("ascii")
        print(json.dumps(record))
    return report_missing(crawl.absent)


def _converted(record: dict[str, Any], tokens: int | None, folder: Path | None) -> Iterator[Mapping[str, Any]]:
    """Yield a page's record, or its chunks; nothing if it is not text."""
    from comity.audit.chunks import read_of
    from comity.crawler.output.markdown import FRONT, as_file, preferences

    read = read_of(record)
    if read is None:
        if problem := record.get("problem"):
            error_line(problem)
        return
    head = {name: record.get(name) for name in FRONT} | {"usage": preferences(record)}
    if tokens is not None:
        for chunk in read.chunks(tokens):
            yield {**head, "page": record["url"], **jsonable(chunk)}
        return
    if folder is None:
        yield {**head, "markdown": read.markdown}
        return
    file = name_of(record["url"], "text/markdown")
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    check_within((folder / file).parent, folder)
    write_anew(folder / file, as_file(record))
    yield {**head, "file": str(Path(file))}
