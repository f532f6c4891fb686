"""The command line: reads words, calls the library, prints. Errors become one line and an exit code, never a
traceback.
"""

import errno
import os
import sys
from pathlib import Path
from typing import Any

import click

from comity.cli.exits import Exit, code_of
from comity.cli.options import (
    AGENT,
    ALLOW_ADDRESS,
    DIALECT,
    LIMITS,
    PURPOSE,
    SERVING,
    WATCHING,
    loaded,
    option_for,
    together,
)
from comity.cli.terminal import complain, say
from comity.errors import ComityError

_config = click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path), help="Settings file.  [comity.toml, if it is there]"
)
_preset = click.option("--preset", metavar="NAME", help="A bundle of settings, such as google.  [rfc9309]")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_file = click.Path(path_type=Path, allow_dash=True)
_judging = together(
    AGENT,
    click.option(
        "--robots",
        metavar="FILE",
        type=click.Path(path_type=Path, allow_dash=True),
        help="Use this robots.txt instead of fetching the site's ('-' reads standard input).",
    ),
    _preset,
    DIALECT,
    PURPOSE,
    _config,
    ALLOW_ADDRESS,
)
_question = together(click.argument("url", metavar="URL...", nargs=-1, required=True), _judging, _json)


def _print_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        import comity
        from comity._compiled import engine

        click.echo(f"comity {comity.__version__} ({engine()}, Python {sys.version.split()[0]})")
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version, and whether compiled or interpreted modules run.",
)
def app() -> None:
    """Ask a web site's robots.txt before fetching from it: is it allowed, how fast, and by which rule?"""


@app.command()
@click.argument("url", metavar="[URL]...", nargs=-1)
@click.option(
    "--urls", metavar="FILE", type=_file, help="Judge the URLs in FILE too, one a line ('-': standard input)."
)
@_judging
@click.option("--csv", "as_csv", is_flag=True, help="Print a table as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each URL.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever the answers are, for xargs and scripts.")
def check(
    url: tuple[str, ...],
    urls: Path | None,
    robots: Path | None,
    as_csv: bool,
    as_json: bool,
    exit_zero: bool,
    **options: Any,
) -> Exit:
    """May these URLs be fetched?

    Exit code 0: all allowed, 2: one is not, 3: a robots.txt could not be reached, 64: one is no URL.
    """
    from comity.cli import check as command
    from comity.cli.given import lines_in

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    if not url and urls is None:
        raise click.UsageError("no URL given: name some, or a file of them with --urls")
    if str(urls) == str(robots) == "-":
        raise click.UsageError("--urls and --robots cannot both read standard input")
    configuration = loaded(**options)
    targets = (*url, *(lines_in(urls) if urls is not None else ()))
    form: Any = "csv" if as_csv else "json" if as_json else "text"
    return command.check(targets, configuration.policy, configuration.client, robots, form=form, exit_zero=exit_zero)


@app.command()
@_question
def explain(url: tuple[str, ...], robots: Path | None, as_json: bool, **options: Any) -> Exit:
    """Why may these URLs be fetched, or not? Names the rule that decides and the rules that it overrides."""
    from comity.cli import check as command

    configuration = loaded(**options)
    return command.explain(url, configuration.policy, configuration.client, robots, as_json=as_json)


@app.command()
@click.argument("url", metavar="URL")
@click.option(
    "--strategy",
    type=click.Choice(("prefer", "force", "disabled")),
    default="prefer",
    help="Use the URL that the site's llms.txt offers for the page: prefer (if possible), force (nothing else) or "
    "disabled (never).",
)
@click.option(
    "--content",
    type=click.Choice(("main", "all")),
    default="main",
    help="What to convert: the main content, or all visible text.",
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Where to write it.  [standard output]"
)
@AGENT
@_preset
@PURPOSE
@_config
@ALLOW_ADDRESS
@_json
def fetch(url: str, strategy: Any, content: Any, output: Path | None, as_json: bool, **options: Any) -> Exit:
    """One page as Markdown, the way an agent should fetch it; what to know about it goes to standard error.

    Exit code 0: done, 1: not available, 2: disallowed, 3: the site could not be reached.
    """
    from comity.cli import fetch as command

    configuration = loaded(**options)
    return command.fetch(
        url,
        configuration.policy,
        configuration.client,
        strategy=strategy,
        content=content,
        output=output,
        as_json=as_json,
    )


@app.command()
@click.argument("url", metavar="URL...", nargs=-1, required=True)
@AGENT
@_preset
@DIALECT
@_config
@ALLOW_ADDRESS
@_json
def inspect(url: tuple[str, ...], as_json: bool, **options: Any) -> Exit:
    """What the sites of these URLs say: robots.txt, llms.txt, sitemaps, how their content may be used.

    Exit code 3: a robots.txt could not be reached.
    """
    from comity.cli import inspect as command

    configuration = loaded(**options)
    return command.inspect(url, configuration.policy, configuration.client, as_json=as_json)


@app.command()
@_preset
@_config
@_json
def settings(preset: str | None, config: Path | None, as_json: bool) -> Exit:
    """Print every setting and where its value comes from: an environment variable, comity.toml, a preset or the
    default."""
    from comity.cli import settings as command

    return command.show(loaded(config, preset=preset), as_json=as_json)


@app.command()
@click.argument("file", metavar="FILE...", nargs=-1, required=True, type=_file)
@DIALECT
@_json
def lint(file: tuple[Path, ...], dialect: str | None, as_json: bool) -> Exit:
    """What is wrong, useless or surprising in robots.txt files ('-' reads standard input).

    Exit code 2: there are errors.
    """
    from comity.cli import lint as command

    return command.lint(file, dialect or "rfc9309", as_json=as_json)


@app.command()
@click.argument("old", metavar="OLD", type=_file)
@click.argument("new", metavar="NEW", type=_file)
@DIALECT
@_json
def diff(old: Path, new: Path, dialect: str | None, as_json: bool) -> Exit:
    """Which agents gained or lost which paths between two robots.txt files.

    Exit code 0: both mean the same, 2: they differ.
    """
    from comity.cli import lint as command

    return command.compare(old, new, dialect or "rfc9309", as_json=as_json)


@app.command()
@click.argument("url", metavar="[URL]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder for the results.  [crawl-HOST-TIME]",
)
@click.option(
    "--format",
    "form",
    metavar="F",
    type=click.Choice(("jsonl", "warc", "parquet", "sqlite", "files")),
    help="How the results are written: jsonl, warc, parquet, sqlite or files.  [jsonl]",
)
@click.option(
    "--urls", metavar="FILE", type=_file, help="Also start from the URLs in FILE, one per line ('-': standard input)."
)
@click.option("--sink", metavar="MODULE:NAME", help="A plug-in that writes the results, instead of --format.")
@click.option("--source", metavar="MODULE:NAME", help="A plug-in that supplies the start URLs.")
@click.option("--expander", metavar="MODULE:NAME", help="A plug-in that extracts records and URLs from each page.")
@LIMITS
@AGENT
@_preset
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
@WATCHING
@_config
@_json
def crawl(
    url: tuple[str, ...],
    output: Path | None,
    form: str | None,
    urls: Path | None,
    sink: str | None,
    source: str | None,
    expander: str | None,
    resume: bool,
    refresh: bool,
    report: Path | None,
    ok_if_some_failed: bool,
    demo: bool,
    workers: int,
    shards: int | None,
    quiet: bool,
    verbose: int,
    log: Path | None,
    metrics: str | None,
    as_json: bool,
    **options: Any,
) -> Exit:
    """Crawl the sites of the given URLs, robots.txt first.

    Exit code 0: done, 2: some pages failed, 3: nothing could be reached, retry later, 130: stopped by Ctrl-C.
    """
    from comity.cli import crawl as command

    if sink is not None and form is not None:
        raise click.UsageError("--format and --sink exclude each other")
    if resume and refresh:
        raise click.UsageError("--resume and --refresh exclude each other")
    configuration = loaded(**options)
    if urls is not None:
        from comity.cli.given import urls_in

        url = (*url, *urls_in(urls))
    return command.crawl(
        url,
        folder=output,
        configuration=configuration,
        resume=resume,
        refresh=refresh,
        report=report,
        demo=demo,
        as_json=as_json,
        sink=sink or form,
        source=source,
        expander=expander,
        quiet=quiet,
        verbose=verbose,
        log=log,
        metrics=metrics,
        ok_if_some_failed=ok_if_some_failed,
        workers=workers,
        shards=shards,
    )


@app.command(hidden=True)
@click.option("-v", "--verbose", count=True)
@click.option("--log", metavar="FILE", type=click.Path(path_type=Path))
def worker(verbose: int, log: Path | None) -> int:
    """One process of a crawl with several; `comity crawl --workers` starts it."""
    from comity.cli import worker as command

    return command.work(verbose=verbose, log=log)


class _FrontierGroup(click.Group):
    """`comity frontier DIR` shows a queue; `slow`, `stop` and `go` give an order about a host."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["show", *args]
        return super().parse_args(context, args)

    def format_usage(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for words in ("[OPTIONS] DIR", "slow DIR HOST SECONDS", "stop DIR HOST", "go DIR HOST"):
            formatter.write_usage(context.command_path, words)


@app.group(cls=_FrontierGroup)
def frontier() -> None:
    """Show the queue of a crawl, or have the crawl ask one of its hosts more slowly, or not at all.

    An order holds within a second while the crawl runs, and in later runs, until another one about the host.
    """


@frontier.command(name="slow")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("host", metavar="HOST")
@click.argument("seconds", metavar="SECONDS", type=float)
def slow_host(folder: Path, host: str, seconds: float) -> Exit:
    """Leave at least SECONDS between two requests to HOST, whatever its robots.txt says."""
    from comity.cli import frontier as command

    return command.order(folder, host, "slow", seconds)


@frontier.command(name="stop")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("host", metavar="HOST")
def stop_host(folder: Path, host: str) -> Exit:
    """Send nothing more to HOST; its URLs stay in the queue."""
    from comity.cli import frontier as command

    return command.order(folder, host, "stop")


@frontier.command(name="go")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("host", metavar="HOST")
def go_on_with_host(folder: Path, host: str) -> Exit:
    """Lift what was ordered about HOST."""
    from comity.cli import frontier as command

    return command.order(folder, host, "go")


@frontier.command(name="show")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--host", metavar="H", help="The queue of this host only.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    help="Maximum number of hosts, or of URLs with --host.  [10]",
)
@_json
def show_frontier(folder: Path, host: str | None, limit: int, as_json: bool) -> Exit:
    """Show the queue of a crawl: URLs by state, the hosts with the longest queues, and the next URLs.

    Reads only; the crawl may be running.
    """
    from comity.cli import frontier as command

    return command.show(folder, host=host, limit=limit, as_json=as_json)


@app.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("url", metavar="URL...", nargs=-1, required=True)
@_json
def why(folder: Path, url: tuple[str, ...], as_json: bool) -> Exit:
    """What became of URLs in a crawl: kept, refused, left out, failed, waiting, never met; and why.

    Reads only; the crawl may be running. With --json one line a URL.
    """
    from comity.cli import why as command

    return command.show(folder, url, as_json=as_json)


@app.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--bodies", is_flag=True, help="Print the bodies too.")
def pages(folder: Path, bodies: bool) -> Exit:
    """The pages of a crawl as they are after its refreshes, as lines of JSON: the latest of each URL, gone ones out."""
    from comity.cli import pages as command

    return command.show(folder, bodies=bodies)


@app.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--hash", "noted", metavar="HEX", help="The last hash of the ledger, if you stored it elsewhere.")
@_json
def prove(folder: Path, noted: str | None, as_json: bool) -> Exit:
    """Check a finished crawl against its ledger, offline, and name any record that breaks the rules.

    Exit code 0: everything holds, 1: something does not.
    """
    from comity.cli import prove as command

    return command.show(folder, noted=noted, as_json=as_json)


@app.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    help="The file to write.  [report.html]",
)
def report(folder: Path, output: Path) -> Exit:
    """Write a report of a crawl as one HTML page, for screen and print."""
    from comity.audit.report import write

    if damage := write(folder, output):
        complain(f"{folder}: {damage}; comity prove says more")
    say(f"report in {output}")
    return Exit.DONE


@app.command()
@SERVING
@AGENT
@_preset
@_config
@ALLOW_ADDRESS
def mcp(
    http: str | None,
    token_file: Path | None,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
    folder: Path | None,
    crawl_pages: int,
    crawl_seconds: float,
    **options: Any,
) -> Exit:
    """Serve tools for agents by the Model Context Protocol: on standard input and output, or over HTTP."""
    from comity.cli import mcp as command

    return command.serve(
        loaded(**options),
        http=http,
        token_file=token_file,
        allowed_hosts=allow_host,
        allowed_origins=allow_origin,
        folder=folder,
        pages=crawl_pages,
        seconds=crawl_seconds,
    )


@app.command()
@click.argument("urls", metavar="[URLS]", required=False)
@click.option("--robots", metavar="ROBOTS", help="robots.txt files: Parquet, a crawl's cache, WARC files or a folder.")
@click.option("--agents", metavar="A,B,...", help="Who asks.  [well-known AI and search agents]")
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="The Parquet file to write.")
@click.option("--column", metavar="NAME", default="url", help="The column that holds the URLs.  [url]")
@click.option("--at", metavar="TIME", help="Judge by the capture in force then, such as 2026-05-01.")
@click.option("--changes", is_flag=True, help="What each agent gained or lost between captures.")
@click.option("--report", metavar="FILE", type=click.Path(path_type=Path), help="Write a report as HTML.")
@_preset
@DIALECT
@_config
@ALLOW_ADDRESS
def audit(
    urls: str | None,
    robots: str | None,
    agents: str | None,
    output: Path | None,
    column: str,
    at: str | None,
    changes: bool,
    report: Path | None,
    **options: Any,
) -> Exit:
    """May these agents fetch the URLs in files (Parquet, CSV, JSONL, text, a folder, a glob)?

    Without URLS it counts what the files of --robots say. A run that was stopped goes on when it is repeated.
    """
    from comity.cli import audit as command

    names = [name.strip() for name in (agents or "").split(",") if name.strip()]
    return command.audit(
        urls,
        robots,
        names,
        output,
        loaded(**options),
        column=column,
        at=at,
        changes=changes,
        report=report,
    )


def main() -> None:
    """Entry point of the `comity` command."""
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()  # what cannot be written is said here, not by the interpreter on its way out
    except ComityError as error:
        complain(str(error))
        code = code_of(error)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = Exit.USAGE
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        names: list[str] = []
        while context is not None and context.parent is not None:
            names.insert(0, str(context.info_name))
            context = context.parent
        complain(f"{error.format_message()} (try: {' '.join(('comity', *names, '--help'))})")
        code = Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        code = Exit.INTERRUPTED
    except BrokenPipeError:  # `comity ... | head`
        sys.stderr.close()
        code = Exit.DONE
    except OSError as error:  # `comity ... > /dev/full`; what concerns a file of ours is a StorageError
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered cannot be written either
        complain(f"{error.filename or 'standard output'} cannot be written: {error.strerror or error}")
        code = Exit.NO_ROOM if error.errno == errno.ENOSPC else Exit.OUTPUT
    sys.exit(code or 0)
