"""`comity export`: what a crawl has committed, in another format."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from comity.audit.chunks import export_chunks
from comity.cli.exits import Exit
from comity.cli.options import FOLDERS, JSON, STORE, command, option, refuse
from comity.cli.terminal import count_noun, print_out, report_missing
from comity.crawler.output.formats import EXPORTS
from comity.crawler.output.source import Source
from comity.crawler.storage.export import export as export_crawl
from comity.crawler.storage.open_crawl import open_output


@command("Read a crawl")
@FOLDERS
@STORE
@option("--to", (*EXPORTS, "chunks"), "What to write.", required=True)
@option("-o --output where", "PATH", "Where: a file, a folder, or a URL such as s3://BUCKET/NAME.", required=True)
@option("--since", "REFRESH", "Only records of this refresh and later ones.", type=click.IntRange(0), default=0)
@option("--tokens", "N", "With --to chunks: the most tokens of a chunk.", type=click.IntRange(32), default=512)
@option("--changed", None, "With --to chunks: only new, changed and gone ones since the last export to PATH.")
@JSON
def export(
    folders: tuple[Path, ...],
    store: str | None,
    to: str,
    where: str,
    since: int,
    tokens: int,
    *,
    changed: bool,
    as_json: bool,
) -> Exit:
    """Write what a crawl has committed in another format.

    Also while the crawl runs. PATH is replaced once the new export is whole; where nothing is new, nothing is written.
    Exit code 2: parts of the crawl are missing.
    """
    crawl = open_output(folders, store)
    if to == "chunks":
        refuse("has no effect with --to chunks", "since")
        manifest = export_chunks(crawl, where, tokens=tokens, changed=changed)
    else:
        refuse("goes with --to chunks", "tokens", "changed")
        with _progress() as on_source:
            manifest = export_crawl(crawl, to, where, since=since, on_source=on_source)
    if as_json:
        print(json.dumps(manifest))
    else:
        size = sum(manifest["files"].values())
        print_out(f"{count_noun(len(manifest['files']), 'file')}, {size:,} bytes, in {where}")
    return report_missing(crawl.absent)


@contextmanager
def _progress() -> Iterator[Callable[[Source], Source]]:
    """A bar on a terminal, by the records that there are."""
    from rich.console import Console
    from rich.progress import Progress  # late: it costs time

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:

        def begin(source: Source) -> Source:
            return replace(source, on_record=partial(progress.advance, progress.add_task("export", total=source.count)))

        yield begin
