"""The command line: it parses arguments, calls the library and prints. Errors become one line and an exit code, never
a traceback."""

import errno
import gc
import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Final

import click

from comity.cli import commands
from comity.cli.exits import Exit, code_of
from comity.cli.terminal import STDOUT, error_line, prepare_streams, show_warning
from comity.errors import ComityError, InvalidURL, system_failed
from comity_robots._forms import engine, imported

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_HEAD: Final = re.compile(r'^@command\("(?P<section>[^"]*)".*?^    """(?P<help>[^\n"]+)', re.MULTILINE | re.DOTALL)
SECTIONS: Final = ("Check URLs", "Fetch and crawl", "Read a crawl", "Write a robots.txt", "Set up and serve")


def _print_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        import comity

        click.echo(f"comity {comity.__version__} ({engine()}, Python {sys.version.split()[0]})")
        context.exit()


class _PipeBroken(Exception):
    """Carries a BrokenPipeError past click, which would exit with 1 and print nothing."""

    def __init__(self, error: BrokenPipeError) -> None:
        self.error = error


class _Commands(click.Group):
    """The files in `commands`, each imported when its command is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(each.name for each in iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in self.list_commands(ctx):
            self.add_command(getattr(imported(f"{commands.__name__}.{cmd_name}"), cmd_name), cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name, names = args[0], self.list_commands(ctx)
        if name not in names and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches  # as click does, which knows only commands that were imported

            near = "".join(f" Did you mean {each!r}?" for each in get_close_matches(name, names, 1))
            raise click.UsageError(f"No such command {name!r}.{near}", ctx)
        return super().resolve_command(ctx, args)

    def listed(self) -> Iterator[tuple[str, str, str]]:
        """Yield the name, section and first line of help of each command, read from its file; importing them all would
        be slow."""
        for each in iter_modules(commands.__path__):
            file = Path(getattr(each.module_finder, "path", ""), f"{each.name}.py")
            head = _HEAD.search(file.read_text("utf-8")) if file.exists() else None
            if head is None:
                made = self.get_command(click.Context(self), each.name)
                yield each.name, getattr(made, "section", ""), made.get_short_help_str(60) if made is not None else ""
            else:
                yield each.name, head["section"], head["help"]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        known = sorted(self.listed())
        for section in SECTIONS:
            with formatter.section(section):
                formatter.write_dl([(name, words) for name, own, words in known if own == section])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        own = [CompletionItem(name, help=words) for name, section, words in sorted(self.listed()) if section]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [each for each in own if each.value.startswith(incomplete)] + options

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


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Check robots.txt, fetch and crawl politely, and keep the evidence.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version, and whether compiled modules run.",
)
def app() -> None:
    if "COMITY_AGENTS" in os.environ:
        from comity.cli.agent_tables import use_named  # late: few have a table of their own

        use_named()


def main() -> None:
    """Entry point of the `comity` command."""
    prepare_streams()
    gc.set_threshold(50_000)  # what is imported stays: looking it through for garbage, again and again, takes long
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning
            code = app(
                standalone_mode=False,
                complete_var="_COMITY_COMPLETE",
                color=False if os.environ.get("NO_COLOR") else None,
            )
        sys.stdout.flush()  # what cannot be written is said here, not by the interpreter on its way out
    except ComityError as error:
        error_line(_no_url(error) if isinstance(error, InvalidURL) else str(error))
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
        error_line(f"{error.format_message()} (try: {' '.join(('comity', *names, '--help'))})")
        code = Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        code = Exit.INTERRUPTED
    except _PipeBroken as broken:
        code = _refused(broken.error)
    except OSError as error:  # what concerns a file of ours is a StorageError
        code = _refused(error)
    except (ImportError, MemoryError, RuntimeError) as error:
        if (failed := system_failed(error)) is None:
            raise
        error_line(str(failed))
        code = code_of(failed)
    sys.exit(code or 0)


def _no_url(error: InvalidURL) -> str:
    """What is wrong with a URL, in words; a file's name may have been typed in its place."""
    from comity.cli.input_files import is_file  # late, as whatever few calls need

    return f"{error.url} is a file, and a URL is wanted" if error.url and is_file(error.url) else str(error)


def _refused(error: OSError) -> Exit:
    """Print what the system refused; return the exit code."""
    full = Exit.NO_ROOM if error.errno == errno.ENOSPC else Exit.OUTPUT
    what = error.strerror or error
    if error.filename is STDOUT:  # `comity ... | head`, `comity ... > /dev/full`
        # What is still buffered is wanted by nobody, or has no room either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return Exit.DONE
        error_line(f"standard output cannot be written: {what}")
        return full
    if error.filename is not None:
        error_line(f"{error.filename} cannot be used: {what}")
        return full
    error_line(f"the system refused something: {what}")
    return Exit.FATAL
