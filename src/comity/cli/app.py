"""The command line: reads words, calls the library, prints. Errors become one line and an exit code, never a
traceback.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from comity.cli.exits import Exit, code_of
from comity.errors import ComityError

Command = Callable[..., Any]


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order written."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_agent = click.option("-A", "--agent", metavar="AGENT", help="Who we are, for example 'MyBot/1.0 (+URL)'.")
_allow_address = click.option(
    "--allow-address", metavar="CIDR", multiple=True, help="A network that may be reached although it is not public."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_dialect = click.option("--dialect", metavar="NAME", default="rfc9309", help="How robots.txt is read.  [rfc9309]")
_question = _together(
    click.argument("url", metavar="URL...", nargs=-1, required=True),
    _agent,
    click.option(
        "--robots",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Judge by this robots.txt instead of asking the site.",
    ),
    _dialect,
    _allow_address,
    _json,
)


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
    """What a program asks before it touches a web site: may I fetch this, how fast, and who said so?"""


@app.command()
@_question
def check(
    url: tuple[str, ...],
    agent: str | None,
    robots: Path | None,
    dialect: str,
    allow_address: tuple[str, ...],
    as_json: bool,
) -> Exit:
    """May these URLs be fetched?

    Exit code 0: all allowed, 2: one is not, 3: a robots.txt could not be reached.
    """
    from comity.cli import check as command

    return command.check(url, command.policy(agent, dialect, allow_address), robots, as_json=as_json)


@app.command()
@_question
def explain(
    url: tuple[str, ...],
    agent: str | None,
    robots: Path | None,
    dialect: str,
    allow_address: tuple[str, ...],
    as_json: bool,
) -> Exit:
    """Why may these URLs be fetched, or not? Names the line that decides and the rules it beat."""
    from comity.cli import check as command

    return command.explain(url, command.policy(agent, dialect, allow_address), robots, as_json=as_json)


_file = click.Path(path_type=Path, allow_dash=True)


@app.command()
@click.argument("file", metavar="FILE...", nargs=-1, required=True, type=_file)
@_dialect
@_json
def lint(file: tuple[Path, ...], dialect: str, as_json: bool) -> Exit:
    """What is wrong, useless or surprising in robots.txt files ('-' reads standard input).

    Exit code 2: there are errors.
    """
    from comity.cli import lint as command

    return command.lint(file, dialect, as_json=as_json)


@app.command()
@click.argument("old", metavar="OLD", type=_file)
@click.argument("new", metavar="NEW", type=_file)
@_dialect
@_json
def diff(old: Path, new: Path, dialect: str, as_json: bool) -> Exit:
    """Which agents gained or lost which paths between two robots.txt files.

    Exit code 0: both mean the same, 2: they differ.
    """
    from comity.cli import lint as command

    return command.compare(old, new, dialect, as_json=as_json)


@app.command()
@click.argument("url", metavar="URL...", nargs=-1)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder for the results.  [crawl-HOST-TIME]",
)
@click.option("--max-pages", metavar="N", type=int, help="Keep at most N pages.")
@click.option("--max-depth", metavar="N", type=int, help="Follow at most N links from where the crawl starts.")
@click.option(
    "--concurrency", metavar="N", type=int, default=16, help="Requests under way at once, over all hosts.  [16]"
)
@click.option(
    "--delay", metavar="S", type=float, help="Seconds between requests to one host; a larger Crawl-delay wins.  [1]"
)
@_agent
@click.option("--resume", is_flag=True, help="Go on with the crawl in DIR.")
@click.option("--no-robots", is_flag=True, help="Do not ask robots.txt at all.")
@_allow_address
@click.option("--report", metavar="FILE", type=click.Path(path_type=Path), help="Write a report as HTML at the end.")
@click.option("--demo", is_flag=True, help="Crawl the bundled demo web site on loopback.")
@_json
def crawl(
    url: tuple[str, ...],
    output: Path | None,
    max_pages: int | None,
    max_depth: int | None,
    concurrency: int,
    delay: float | None,
    agent: str | None,
    resume: bool,
    no_robots: bool,
    allow_address: tuple[str, ...],
    report: Path | None,
    demo: bool,
    as_json: bool,
) -> Exit:
    """Crawl the hosts of the given URLs, robots.txt first.

    Exit code 0: done, 2: some pages failed, 3: nothing could be reached.
    """
    from comity.cli import crawl as command
    from comity.crawl import CrawlSettings

    return command.crawl(
        url,
        folder=output,
        settings=CrawlSettings(max_pages=max_pages, max_depth=max_depth, concurrency=concurrency),
        agent=agent,
        delay=delay,
        no_robots=no_robots,
        allow_addresses=allow_address,
        resume=resume,
        report=report,
        demo=demo,
        as_json=as_json,
    )


@app.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--hash", "noted", metavar="HEX", help="The last hash as you noted it elsewhere.")
@_json
def prove(folder: Path, noted: str | None, as_json: bool) -> Exit:
    """Did a finished crawl keep to the rules? Checks its ledger offline and names the record where it did not.

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
    """Make one HTML page that shows how a crawl went: for people, on screen and on paper."""
    from comity.cli import report as command

    return command.report(folder, output)


def main() -> None:
    """Entry point of the `comity` command."""
    try:
        code = app(standalone_mode=False)
    except ComityError as error:
        complain(str(error))
        code = code_of(error)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = Exit.USAGE
    except click.ClickException as error:
        complain(f"{error.format_message()} (try: comity --help)")
        code = Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        code = Exit.INTERRUPTED
    except BrokenPipeError:  # `comity ... | head`
        sys.stderr.close()
        code = Exit.DONE
    sys.exit(code or 0)


def complain(message: str) -> None:
    """One line on standard error."""
    click.echo(f"comity: {' '.join(message.split())}", err=True)
