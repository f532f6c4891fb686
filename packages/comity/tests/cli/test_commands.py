"""A command is one file; what helps to type it."""

import io
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from commands import comity, process

from comity.cli import commands, terminal
from comity.cli.app import SECTIONS, app
from comity.cli.options import InSection

HELLO = '''"""`comity hello`."""

from comity.cli.exits import Exit
from comity.cli.options import argument, command, option
from comity.cli.terminal import print_out


@command("Check URLs")
@argument("name", "NAME")
@option("--times", "N", "How often.", type=int, default=1)
def hello(name: str, times: int) -> Exit:
    """Greet a robot."""
    for _ in range(times):
        print_out(f"hello {name}")
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
    if not each.hidden:
        assert f" {each.get_short_help_str(60)}\n" in CliRunner().invoke(app, ["--help"]).output
    for one in () if each.hidden else (each, *(each.commands.values() if isinstance(each, click.Group) else ())):
        short = one.get_short_help_str(1000)
        assert short == one.get_short_help_str(60), short
        assert short.endswith("."), short


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_and_installed(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    script = CliRunner().invoke(app, ["completion", shell]).stdout
    assert f"_COMITY_COMPLETE={shell}_complete" in script
    told = CliRunner().invoke(app, ["completion", shell, "--install"])
    written = Path(told.stdout.removeprefix("written to ").strip())
    assert written.is_relative_to(tmp_path)
    assert written.read_text() == script.removesuffix("\n")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("fr", {"frontier"}),
        ("crawl --sco", {"--scope"}),
        ("crawl --scope ho", {"host"}),
        ("check --dialect goo", {"google"}),
        ("check --purpose tr", {"train-ai"}),
        ("crawl --format par", {"parquet"}),
        ("frontier s", {"show", "slow", "stop"}),
    ],
)
def test_commands_options_and_values_are_completed(typed: str, offered: set[str]) -> None:
    variables = {"_COMITY_COMPLETE": "bash_complete", "COMP_WORDS": f"comity {typed}"}
    variables["COMP_CWORD"] = str(len(typed.split()))
    told = process(variables=variables).stdout
    assert {line.partition(",")[2] for line in told.splitlines()} == offered


def test_each_command_has_a_manual_page_with_its_options(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["man", "--write", str(tmp_path)])
    assert told.exit_code == 0, told.output
    pages = {page.stem: page.read_text() for page in (tmp_path / "man1").iterdir()}
    assert {"comity", *(f"comity-{each.name}" for each in EVERY if not each.hidden)} <= set(pages)
    assert "comity-frontier-slow" in pages
    assert "\\fB\\-\\-max\\-pages N\\fR" in pages["comity-crawl"]
    assert CliRunner().invoke(app, ["man", "crawl"]).stdout == pages["comity-crawl"]
    assert CliRunner().invoke(app, ["man", "crawls"]).exit_code == 2
    requests = {line[:3] for text in pages.values() for line in text.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".PP", ".TP", ".B "}


def test_a_path_is_checked_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /private\n")
    answer = comity("check", "/private/a?b", "/", "--robots", "robots.txt", cwd=tmp_path)
    assert answer.returncode == 2
    first, second = answer.stdout.splitlines()
    assert first == "disallowed   /private/a?b  line 2, 'Disallow: /private', disallows /private/a?b"
    assert second.startswith("allowed      /  ")
    assert "compared  /private" in comity("explain", "/private", "--robots", "robots.txt", cwd=tmp_path).stdout
    assert "needs a scheme" in comity("check", "/private").stderr


def test_what_is_not_a_terminal_gets_no_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comity.cli.terminal.sys.stdout", (stream := Terminal()))
    terminal.print_out("  rest", lead="allowed", colour="green")
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.print_out("  rest", lead="allowed", colour="green")
    assert stream.getvalue() == "\x1b[32mallowed\x1b[0m  rest\nallowed  rest\n"
    (tmp_path / "robots.txt").write_text("")
    assert "\x1b" not in comity("check", "/", "--robots", "robots.txt", cwd=tmp_path).stdout


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
