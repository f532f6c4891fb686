"""The commands about crawls: one makes a crawl or goes on with it, the others read what it left in its folder."""

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
    PRESET,
    PURPOSE,
    WATCHING,
    option_for,
    parted,
)
from comity.cli.terminal import complain, say

FOLDERS = click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
STORE = click.option(
    "--store", metavar="URL", help="Where the queue of a crawl in PostgreSQL is, if not where DIR says.  [as DIR says]"
)


@click.command()
@click.argument("url", metavar="[URL]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder for the results.  [crawl-HOST-TIME]",
)
@click.option(
    "--format",
    "form",
    metavar="F",
    type=click.Choice(("jsonl", "jsonl.gz", "jsonl.zst", "warc", "parquet", "sqlite", "files")),
    help="How the results are written: jsonl, jsonl.gz, jsonl.zst, warc, parquet, sqlite or files.  [jsonl]",
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
@ALLOW_ADDRESS
@click.option("--report", metavar="FILE", type=click.Path(path_type=Path), help="Write a report as HTML at the end.")
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
    help="With --store: after so long, a process that is not heard of has lost its part of a new crawl.  [15s]",
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
        raise click.UsageError("--join excludes --resume and --refresh: who works on a crawl already is joined")
    configuration, others = parted(**options)
    if urls is not None:
        from comity.cli.given import urls_in

        url = (*url, *urls_in(urls))
    return command.crawl(url, configuration=configuration, resume=resume, refresh=refresh, sink=sink or form, **others)


@click.command(hidden=True)
@click.option("-v", "--verbose", count=True)
@click.option("--log", metavar="FILE", type=click.Path(path_type=Path))
def worker(verbose: int, log: Path | None) -> int:
    """One process of a crawl with several; `comity crawl --workers` starts it."""
    from comity.cli import worker as command

    return command.work(verbose=verbose, log=log)


class _FrontierGroup(click.Group):
    """`comity frontier DIR` shows a queue; `slow`, `stop` and `go` give an order about a host. `--store URL` may stand
    in the place of DIR."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        args = [word for each in args for word in (each.split("=", 1) if each.startswith("--store=") else [each])]
        if "--store" in args[:-1]:
            at = args.index("--store")
            url = args[at + 1]
            del args[at : at + 2]
            args.insert(1 if args and args[0] in self.commands else 0, url)
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["show", *args]
        return super().parse_args(context, args)

    def format_usage(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for words in ("[OPTIONS] DIR", "slow DIR HOST TIME", "stop DIR HOST", "go DIR HOST", "--store URL ..."):
            formatter.write_usage(context.command_path, words)


@click.group(cls=_FrontierGroup)
def frontier() -> None:
    """Show the queue of a crawl, or have the crawl ask one of its hosts more slowly, or not at all.

    An order holds within a second while the crawl runs, and in later runs, until another one about the host. Of a crawl
    in PostgreSQL write --store URL in the place of DIR.
    """


@frontier.command(name="slow")
@click.argument("folder", metavar="DIR")
@click.argument("host", metavar="HOST")
@click.argument("interval", metavar="TIME")
def slow_host(folder: str, host: str, interval: str) -> Exit:
    """Leave at least TIME (seconds, or such as 2m) between two requests to HOST, whatever its robots.txt says."""
    from comity.cli import frontier as command

    return command.order(folder, host, "slow", interval)


@frontier.command(name="stop")
@click.argument("folder", metavar="DIR")
@click.argument("host", metavar="HOST")
def stop_host(folder: str, host: str) -> Exit:
    """Send nothing more to HOST; its URLs stay in the queue."""
    from comity.cli import frontier as command

    return command.order(folder, host, "stop")


@frontier.command(name="go")
@click.argument("folder", metavar="DIR")
@click.argument("host", metavar="HOST")
def go_on_with_host(folder: str, host: str) -> Exit:
    """Lift what was ordered about HOST."""
    from comity.cli import frontier as command

    return command.order(folder, host, "go")


@frontier.command(name="show")
@click.argument("folder", metavar="DIR")
@click.option("--host", metavar="H", help="The queue of this host only.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    help="Maximum number of hosts, or of URLs with --host.  [10]",
)
@JSON
def show_frontier(folder: str, host: str | None, limit: int, as_json: bool) -> Exit:
    """Show the queue of a crawl: URLs by state, the hosts with the longest queues, and the next URLs.

    Reads only; the crawl may be running.
    """
    from comity.cli import frontier as command

    return command.show(folder, host=host, limit=limit, as_json=as_json)


@click.command()
@click.argument("folder", metavar="DIR...", type=click.Path(path_type=Path))
@click.argument("url", metavar="URL...", nargs=-1, required=True)
@STORE
@JSON
def why(folder: Path, url: tuple[str, ...], store: str | None, as_json: bool) -> Exit:
    """What became of URLs in a crawl: kept, refused, left out, failed, waiting, never met; and why.

    Reads only; the crawl may be running. With --json one line a URL. Of a crawl in PostgreSQL name the folders of all
    machines: a page that lies in another folder is not found.
    """
    from comity.cli import why as command

    return command.show(folder, url, as_json=as_json, store=store)


@click.command()
@FOLDERS
@STORE
@click.option("--bodies", is_flag=True, help="Print the bodies too.")
def pages(folders: tuple[Path, ...], store: str | None, bodies: bool) -> Exit:
    """The pages of a crawl as they are after its refreshes, as lines of JSON: the latest of each URL, gone ones out.

    Of a crawl in PostgreSQL name the folders of all machines. Exit code 2: some of its parts are not in them.
    """
    from comity.cli import pages as command

    return command.show(folders, bodies=bodies, store=store)


@click.command()
@FOLDERS
@STORE
@click.option("--hash", "noted", metavar="HEX", help="The last hash of the ledger, if you stored it elsewhere.")
@JSON
def prove(folders: tuple[Path, ...], store: str | None, noted: str | None, as_json: bool) -> Exit:
    """Check a finished crawl against its ledger, offline, and name any record that breaks the rules.

    Of a crawl in PostgreSQL name the folders of all machines; of it the store is asked how far it was committed.
    Exit code 0: everything holds, 1: something does not, or is missing.
    """
    from comity.cli import prove as command

    return command.show(folders, noted=noted, as_json=as_json, store=store)


@click.command()
@FOLDERS
@STORE
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    help="The file to write.  [report.html]",
)
def report(folders: tuple[Path, ...], store: str | None, output: Path) -> Exit:
    """Write a report of a crawl as one HTML page, for screen and print.

    Of a crawl in PostgreSQL name the folders of all machines.
    """
    from comity.audit.report import write

    for words in write(folders, output, store=store):
        complain(f"{words}; comity prove says more")
    say(f"report in {output}")
    return Exit.DONE
