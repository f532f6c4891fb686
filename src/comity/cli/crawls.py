"""The command that makes a crawl or goes on with it, and the one of its processes."""

from pathlib import Path
from typing import Any

import click

from comity.cli.exits import Exit
from comity.cli.options import (
    AGENT,
    ALLOW_ADDRESS,
    CONFIG,
    DIALECT,
    ENGINE,
    FILE,
    JSON,
    LIMITS,
    PATH,
    PRESET,
    PURPOSE,
    WATCHING,
    option_for,
    parted,
)


@click.command()
@click.argument("url", metavar="[URL]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=PATH,
    help="Folder for the results.  [crawl-HOST-TIME]",
)
@click.option(
    "--format",
    "form",
    metavar="F",
    type=click.Choice(("jsonl", "jsonl.gz", "jsonl.zst", "warc", "wacz", "parquet", "sqlite", "files")),
    help="How the results are written: jsonl, jsonl.gz, jsonl.zst, warc, wacz, parquet, sqlite or files.  [jsonl]",
)
@click.option(
    "--compress",
    type=click.Choice(("gzip", "zstd")),
    help="Write JSON Lines packed by gzip (.jsonl.gz) or Zstandard (.jsonl.zst).",
)
@click.option(
    "--urls", metavar="FILE", type=FILE, help="Also start from the URLs in FILE, one per line ('-': standard input)."
)
@click.option("--sink", metavar="MODULE:NAME", help="A plug-in that writes the results, instead of --format.")
@click.option("--source", metavar="MODULE:NAME", help="A plug-in that supplies the start URLs.")
@click.option("--expander", metavar="MODULE:NAME", help="A plug-in that extracts records and URLs from each page.")
@LIMITS
@AGENT
@PRESET
@DIALECT
@PURPOSE
@click.option("--resume", is_flag=True, help="Continue the crawl in DIR.")
@click.option(
    "--refresh", is_flag=True, help="Crawl DIR again and report which pages are new, changed, gone or unchanged."
)
@option_for(
    "trust_lastmod",
    "--no-lastmod",
    is_flag=True,
    flag_value=False,
    help="In a refresh, also request pages that their sitemap lists as unchanged.",
)
@option_for("mode", "--no-robots", is_flag=True, flag_value="ignore", help="Do not check robots.txt at all.")
@option_for("identity", metavar="DIR", help="Sign requests in the name of the identity in DIR (comity identity new).")
@option_for("raw", is_flag=True, help="Write bodies to WARC and WACZ as they came over the wire.")
@ALLOW_ADDRESS
@click.option(
    "--report",
    metavar="FILE",
    type=PATH,
    help="Write a report as HTML at the end.",
)
@click.option("--ok-if-some-failed", is_flag=True, help="Exit with 0 though some pages failed.")
@click.option("--demo", is_flag=True, help="Crawl the bundled demo web site on loopback.")
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(1, 256),
    default=1,
    help="Processes that share the crawl, each with hosts of its own.  [1]",
)
@click.option(
    "--shards",
    metavar="N",
    type=click.IntRange(1, 256),
    help="Parts that a new crawl is cut into for good, at least as many as workers.  [2 for each worker]",
)
@click.option(
    "--store",
    metavar="URL",
    help="Keep the queue in PostgreSQL, for several machines: postgresql://USER@HOST/DATABASE, with ?crawl=NAME where "
    "it holds several.",
)
@click.option("--join", is_flag=True, help="Take part in the crawl in --store that others work on.")
@click.option(
    "--lease",
    metavar="TIME",
    help="With --store: time without contact after which a process loses its shards (new crawls only).  [15s]",
)
@ENGINE
@WATCHING
@CONFIG
@JSON
def crawl(
    url: tuple[str, ...],
    form: str | None,
    compress: str | None,
    urls: Path | None,
    sink: str | None,
    resume: bool,
    refresh: bool,
    **options: Any,
) -> Exit:
    """Crawl the sites of the given URLs, robots.txt first. A SIZE is bytes or such as 50MB, a TIME seconds or such as
    10m.

    Exit code 0: done, 2: some pages failed, 3: nothing could be reached, retry later, 130: stopped by Ctrl-C.
    """
    from comity.cli import crawl as command

    if sink is not None and form is not None:
        raise click.UsageError("--format and --sink exclude each other")
    if compress is not None:
        if sink is not None or form not in (None, "jsonl"):
            raise click.UsageError("--compress packs JSON Lines: leave out --sink, and any other --format than jsonl")
        form = {"gzip": "jsonl.gz", "zstd": "jsonl.zst"}[compress]  # as --format may say it too
    if resume and refresh:
        raise click.UsageError("--resume and --refresh exclude each other")
    if options["store"] is None and (options["join"] or options["lease"] is not None):
        raise click.UsageError("--join and --lease are about a crawl in PostgreSQL: add --store URL")
    if options["store"] is not None and options["source"] is not None:
        raise click.UsageError("--source is not possible with --store")
    if options["join"] and (resume or refresh):
        raise click.UsageError("--join excludes --resume and --refresh: it takes part in what one of them begins")
    configuration, others = parted(**options)
    if urls is not None:
        from comity.cli.input_files import urls_in

        url = (*url, *urls_in(urls))
    return command.crawl(url, configuration=configuration, resume=resume, refresh=refresh, sink=sink or form, **others)


@click.command(hidden=True)
@click.option("-v", "--verbose", count=True)
@click.option("--log", metavar="FILE", type=PATH)
def worker(verbose: int, log: Path | None) -> int:
    """One process of a crawl with several; `comity crawl --workers` starts it."""
    from comity.cli import worker as command

    return command.work(verbose=verbose, log=log)
