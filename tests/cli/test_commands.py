"""A command is one file."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from comity.cli import commands
from comity.cli.app import SECTIONS, app
from comity.cli.options import InSection

HELLO = '''"""`comity hello`."""

from comity.cli.exits import Exit
from comity.cli.options import argument, command, option
from comity.cli.terminal import say


@command("Check URLs")
@argument("name", "NAME")
@option("--times", "N", "How often.", type=int, default=1)
def hello(name: str, times: int) -> Exit:
    """Greet a robot."""
    for _ in range(times):
        say(f"hello {name}")
    return Exit.DONE
'''
EVERY = [app.get_command(click.Context(app), name) for name in app.list_commands(click.Context(app))]


def test_a_file_among_the_commands_is_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hello.py").write_text(HELLO)
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    listed = CliRunner().invoke(app, ["--help"])
    assert "  hello    Greet a robot.\n" in listed.output
    assert "How often.  [1]" in CliRunner().invoke(app, ["hello", "--help"]).output
    assert CliRunner().invoke(app, ["hello", "R2", "--times", "2"]).output == "hello R2\nhello R2\n"
    app.commands.pop("hello")


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.name)
def test_the_list_of_commands_has_a_whole_line_for_each(each: click.Command) -> None:
    assert isinstance(each, InSection)
    assert each.section in SECTIONS or each.hidden
    for one in () if each.hidden else (each, *(each.commands.values() if isinstance(each, click.Group) else ())):
        short = one.get_short_help_str(1000)
        assert short == one.get_short_help_str(60), short
        assert short.endswith("."), short
