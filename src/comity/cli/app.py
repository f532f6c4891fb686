"""The command line: reads words, calls the library, prints. Errors become one line and an exit code, never a
traceback.
"""

import errno
import gc
import os
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from comity.cli.exits import Exit, code_of
from comity.cli.options import (
    AGENT,
    AGENTS,
    ALLOW_ADDRESS,
    CONFIG,
    DIALECT,
    ENGINE,
    FILE,
    JSON,
    PATH,
    PRESET,
    PURPOSE,
    SERVING,
    loaded,
    only_one,
    together,
)
from comity.cli.terminal import STDOUT, complain, take_streams, warned
from comity.errors import ComityError
from comity.fields import docstring

if TYPE_CHECKING:
    from comity.net.client_settings import ClientSettings
    from comity.policy import Policy

_judging = together(
    AGENTS,
    click.option(
        "--robots",
        metavar="FILE",
        type=FILE,
        multiple=True,
        callback=only_one,
        help="Use this robots.txt instead of fetching the site's ('-' reads standard input).",
    ),
    PRESET,
    DIALECT,
    PURPOSE,
    CONFIG,
    ALLOW_ADDRESS,
)
_question = together(click.argument("url", metavar="URL...", nargs=-1, required=True), _judging, JSON)


def _print_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        import comity
        from comity._compiled import engine

        click.echo(f"comity {comity.__version__} ({engine()}, Python {sys.version.split()[0]})")
        context.exit()


class _PipeBroken(Exception):
    """A pipe is broken: of the error itself click would end the process with 1 and say nothing."""

    def __init__(self, error: BrokenPipeError) -> None:
        self.error = error


class _Commands(click.Group):
    """Those of crawls are imported when one of them is asked for: they have most of the options."""

    late: Final = {
        name: module
        for module, names in (
            ("comity.cli.crawls", "crawl worker"),
            ("comity.cli.identity", "identity"),
            ("comity.cli.serve", "serve"),
            ("comity.cli.folders", "frontier pages prove report seal why"),
        )
        for name in names.split()
    }

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        for each in (self, cmd, *(cmd.commands.values() if isinstance(cmd, click.Group) else ())):
            if each.help is None and each.callback is not None:  # `python -OO`
                each.help = docstring(each.callback)
        super().add_command(cmd, name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *self.late})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands:
            for name in (cmd_name,) if cmd_name in self.late else self.late:  # all, to suggest one for a misspelt name
                self.add_command(getattr(import_module(self.late[name]), name))
        return super().get_command(ctx, cmd_name)

    def make_context(self, *given: Any, **named: Any) -> click.Context:
        try:
            return super().make_context(*given, **named)
        except BrokenPipeError as error:
            raise _PipeBroken(error) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _PipeBroken(error) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
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
@click.option("--urls", metavar="FILE", type=FILE, help="Judge the URLs in FILE too, one a line ('-': standard input).")
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
    """May these URLs be fetched? With several --agent there is an answer for each.

    Exit code 0: all allowed, 2: one is not, 3: a robots.txt could not be reached, 64: one is no URL.
    """
    from comity.cli import check as command
    from comity.cli.input_files import lines_in

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    if not url and urls is None:
        raise click.UsageError("no URL given: name some, or a file of them with --urls")
    if str(urls) == str(robots) == "-":
        raise click.UsageError("--urls and --robots cannot both read standard input")
    policies, client = _asked(**options)
    targets = (*url, *(lines_in(urls) if urls is not None else ()))
    form: Any = "csv" if as_csv else "json" if as_json else "text"
    return command.check(targets, policies, client, robots, form=form, exit_zero=exit_zero)


def _asked(agent: tuple[str, ...], **options: Any) -> "tuple[list[Policy], ClientSettings]":
    """The policy of each agent that is asked about, and how robots.txt is fetched."""
    configuration = loaded(**options, agent=agent[0] if agent else None)
    policies = [configuration.policy, *(configuration.policy.with_changes(agent=each) for each in agent[1:])]
    return policies, configuration.client


@app.command()
@_question
def explain(url: tuple[str, ...], robots: Path | None, as_json: bool, **options: Any) -> Exit:
    """Why may these URLs be fetched, or not? Names the rule that decides and the rules that it overrides."""
    from comity.cli import check as command

    policies, client = _asked(**options)
    return command.explain(url, policies, client, robots, as_json=as_json)


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
    "-o",
    "--output",
    metavar="FILE",
    type=PATH,
    help="Where to write it.  [standard output]",
)
@AGENT
@PRESET
@PURPOSE
@CONFIG
@ALLOW_ADDRESS
@JSON
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
@click.argument("url", metavar="URL...|DIR...", nargs=-1)
@click.option("--self", "ourselves", is_flag=True, help="The practices for crawlers, and how your settings keep each.")
@AGENT
@PRESET
@DIALECT
@CONFIG
@ALLOW_ADDRESS
@JSON
def inspect(url: tuple[str, ...], ourselves: bool, as_json: bool, **options: Any) -> Exit:
    """What the sites of these URLs say: robots.txt, llms.txt, sitemaps, how their content may be used.

    Of the folders of a crawl: the robots.txt that it read last of each site; nothing is sent.

    Exit code 3: a robots.txt could not be reached.
    """
    from comity.cli import inspect as command
    from comity.cli.input_files import is_folder

    if bool(url) is ourselves:
        raise click.UsageError("name URLs, the folder of a crawl, or --self")
    if url and any(folders := [is_folder(each) for each in url]):
        if not all(folders):
            raise click.UsageError("name either URLs or the folders of a crawl")
        return command.learned([Path(each) for each in url], as_json=as_json)
    configuration = loaded(**options)
    if ourselves:
        from comity.cli import identity

        return identity.practise(configuration, as_json=as_json)
    return command.inspect(url, configuration.policy, configuration.client, as_json=as_json)


@app.command()
@PRESET
@CONFIG
@JSON
def settings(preset: str | None, config: Path | None, as_json: bool) -> Exit:
    """Print every setting and where its value comes from: an environment variable, comity.toml, a preset or the
    default."""
    from comity.cli import settings as command

    return command.show(loaded(config, preset=preset), as_json=as_json)


@app.command()
@click.argument("target", metavar="FILE|URL...", nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "github", "sarif", "json")),
    help="How findings are printed: text, annotations for GitHub, SARIF, or JSON.  [text]",
)
@click.option("--select", metavar="CODE", multiple=True, help="Only these findings: codes, error, warning or info.")
@click.option("--ignore", metavar="CODE", multiple=True, help="All but these findings.")
@click.option(
    "--fail-on",
    type=click.Choice(("error", "warning", "info", "never")),
    default="error",
    help="The least severity that makes the exit code 2.  [error]",
)
@click.option("--fix", is_flag=True, help="Write fixes that change no verdict into the files.")
@click.option("--unsafe-fixes", is_flag=True, help="Write all fixes, those that change verdicts too.")
@AGENT
@DIALECT
@CONFIG
@ALLOW_ADDRESS
@JSON
def lint(
    target: tuple[str, ...],
    form: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    fix: bool,
    unsafe_fixes: bool,
    as_json: bool,
    **options: Any,
) -> Exit:
    """What is wrong, useless or surprising in robots.txt files ('-' reads standard input) or those of sites.

    Exit code 2: there are errors (see --fail-on), 3: a site could not be reached.
    """
    from comity.cli import lint as command

    return command.lint(
        target,
        loaded(**options),
        form=form or ("json" if as_json else "text"),
        select=select,
        ignore=ignore,
        fail_on=fail_on,
        fix=fix,
        unsafe_fixes=unsafe_fixes,
    )


@app.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@AGENT
@DIALECT
@CONFIG
@ALLOW_ADDRESS
@JSON
def diff(old: str, new: str, as_json: bool, **options: Any) -> Exit:
    """Which agents gained or lost which paths between two robots.txt files; each is a file, '-' or a URL.

    Exit code 0: both mean the same, 2: they differ, 3: a site could not be reached.
    """
    from comity.cli import lint as command

    return command.compare(old, new, loaded(**options), as_json=as_json)


@app.command()
@click.argument("expectations", metavar="EXPECTATIONS", type=FILE)
@click.option("--robots", metavar="FILE|URL", default="robots.txt", help="The robots.txt that is tested.  [robots.txt]")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "github", "json")),
    help="How failures are printed: text, annotations for GitHub, or JSON.  [text]",
)
@AGENT
@DIALECT
@CONFIG
@ALLOW_ADDRESS
@JSON
def test(expectations: Path, robots: str, form: str | None, as_json: bool, **options: Any) -> Exit:
    """Test a robots.txt against a file of lines such as 'GPTBot not /private' and 'Googlebot yes /blog'.

    Exit code 2: some do not hold, 3: a site could not be reached.
    """
    from comity.cli import expectations as command

    return command.test(expectations, robots, loaded(**options), form=form or ("json" if as_json else "text"))


@app.command()
@SERVING
@AGENT
@PRESET
@CONFIG
@ALLOW_ADDRESS
def mcp(
    http: str | None,
    token_file: Path | None,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
    folder: Path | None,
    crawl_pages: int,
    crawl_seconds: str,
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
@click.option("-o", "--output", metavar="FILE", type=PATH, help="The file to write: .parquet, .csv or .jsonl.")
@click.option("--column", metavar="NAME", default="url", help="The column that holds the URLs.  [url]")
@click.option("--dialects", metavar="A,B,...", help="Count how many answers these dialects would change.")
@JSON
@click.option("--at", metavar="TIME", help="Judge by the capture in force then, such as 2026-05-01.")
@click.option("--changes", is_flag=True, help="What each agent gained or lost between captures.")
@click.option("--parts", is_flag=True, help="Write a folder of several files, and do not join them.")
@ENGINE
@click.option("--report", metavar="FILE", type=PATH, help="Write a report as HTML.")
@PRESET
@DIALECT
@CONFIG
@ALLOW_ADDRESS
def audit(
    urls: str | None,
    robots: str | None,
    agents: str | None,
    output: Path | None,
    column: str,
    at: str | None,
    changes: bool,
    parts: bool,
    engine: str,
    address: str | None,
    report: Path | None,
    dialects: str | None,
    as_json: bool,
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
        dialects=[name.strip() for name in (dialects or "").split(",") if name.strip()],
        as_json=as_json,
        engine=engine,
        address=address,
        keep_parts=parts,
    )


def main() -> None:
    """Entry point of the `comity` command."""
    take_streams()
    gc.set_threshold(50_000)  # what is imported stays: looking it through for garbage, again and again, takes long
    try:
        with warnings.catch_warnings():
            warnings.showwarning = warned
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
        names = []
        if context is None:  # click does not say of which command an option lacks its argument
            names = [word for word in sys.argv[1:2] if word in app.commands]
        while context is not None and context.parent is not None:
            names.insert(0, str(context.info_name))
            context = context.parent
        complain(f"{error.format_message()} (try: {' '.join(('comity', *names, '--help'))})")
        code = Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        code = Exit.INTERRUPTED
    except _PipeBroken as broken:
        code = _refused(broken.error)
    except OSError as error:  # what concerns a file of ours is a StorageError
        code = _refused(error)
    sys.exit(code or 0)


def _refused(error: OSError) -> Exit:
    """Say what the system refused."""
    full = Exit.NO_ROOM if error.errno == errno.ENOSPC else Exit.OUTPUT
    what = error.strerror or error
    if error.filename is STDOUT:  # `comity ... | head`, `comity ... > /dev/full`
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), 1
        )  # what is still buffered is wanted by nobody, or has no room either
        if isinstance(error, BrokenPipeError):
            return Exit.DONE
        complain(f"standard output cannot be written: {what}")
        return full
    if error.filename is not None:
        complain(f"{error.filename} cannot be used: {what}")
        return full
    complain(f"the system refused something: {what}")
    return Exit.FATAL
