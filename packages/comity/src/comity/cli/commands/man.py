"""`comity man`: the help of commands as manual pages."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from comity.cli.exits import Exit
from comity.cli.options import PATH, argument, command, option
from comity.cli.terminal import print_out
from comity.files import write_anew
from comity.frontier.durable import writing_to


@command("Set up and serve")
@argument("name", "[COMMAND]...")
@option("--write", "DIR", "Write the pages of all commands into DIR/man1.", type=PATH)
def man(name: tuple[str, ...], write: Path | None) -> Exit:
    """Show a manual page, or write those of all commands.

    On a terminal it is text; piped it is for man: comity man crawl | man -l -
    """
    root = click.get_current_context().find_root()
    if write is None:
        for names, each in _commands(root):
            if names == ("comity", *name):
                if sys.stdout.isatty():
                    click.echo_via_pager(f"{each.get_help()}\n")
                else:
                    page = "\n".join(_page(each, names))
                    print(page)
                return Exit.DONE
        raise click.UsageError(f"no such command: {' '.join(name)}")
    folder = write / "man1"
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for names, each in _commands(root):
            page = "\n".join((*_page(each, names), ""))
            write_anew(folder / f"{'-'.join(names)}.1", page.encode("utf-8"))
    print_out(f"written to {folder}; read one with: man -M {write} comity-crawl")
    return Exit.DONE


def _commands(
    context: click.Context, names: tuple[str, ...] = ("comity",)
) -> Iterator[tuple[tuple[str, ...], click.Context]]:
    """A command, then its commands."""
    yield names, context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            each = context.command.get_command(context, name)
            if each is not None and not each.hidden:
                yield from _commands(click.Context(each, info_name=name, parent=context), (*names, name))


def _page(context: click.Context, names: tuple[str, ...]) -> Iterator[str]:
    import comity

    command, title = context.command, "-".join(names)
    yield f'.TH "{title.upper()}" 1 "" "comity {comity.__version__}" "comity"'
    yield from (".SH NAME", f"{title} \\- {_roff(command.get_short_help_str(200).rstrip('.'))}")
    yield from (".SH SYNOPSIS", f".B {' '.join(names)}", _roff(" ".join(command.collect_usage_pieces(context))))
    yield ".SH DESCRIPTION"
    for paragraph in (command.help or "").split("\n\n"):
        yield from (".PP", _roff(" ".join(paragraph.split())))
    yield ".SH OPTIONS"
    for each in command.get_params(context):
        if isinstance(each, click.Option) and (record := each.get_help_record(context)) is not None:
            yield from (".TP", f"\\fB{_roff(record[0])}\\fR", _roff(record[1]))
    if isinstance(command, click.Group):
        yield ".SH COMMANDS"
        for name in command.list_commands(context):
            own = command.get_command(context, name)
            if own is not None and not own.hidden:
                yield from (".TP", f"\\fB{_roff(name)}\\fR", _roff(own.get_short_help_str(200)))


def _roff(text: str) -> str:
    """A text as a line of roff: no request, no escape of its own."""
    text = re.sub(r"-", r"\\-", text.replace("\\", "\\e"))
    return f"\\&{text}" if text[:1] in (".", "'") else text
