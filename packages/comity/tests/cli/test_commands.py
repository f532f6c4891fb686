"""A command is one file; what helps to type it."""

import io
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from commands import ALLOW, comity, process
from sites import Site

from comity.cli import commands, terminal
from comity.cli.app import SECTIONS, app
from comity.cli.options import InSection

FAST = {"COMITY_MIN_INTERVAL": "0.01"}

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
        ("check --agent Bingbot,gptb", {"Bingbot,GPTBot"}),
        ("lint --select error,group-o", {"error,group-opens"}),
        ("crawl --format par", {"parquet"}),
        ("frontier s", {"show", "slow", "stop"}),
    ],
)
def test_commands_options_and_values_are_completed(typed: str, offered: set[str]) -> None:
    variables = {"_COMITY_COMPLETE": "bash_complete", "COMP_WORDS": f"comity {typed}"}
    variables["COMP_CWORD"] = str(len(typed.split()))
    told = process(variables=variables).stdout
    assert {line.partition(",")[2] for line in told.splitlines()} == offered


def test_what_an_agent_may_not_fetch_of_a_site_s_sitemaps_is_listed(site: Site) -> None:
    site.set("/robots.txt", f"User-agent: *\nDisallow: /no\nSitemap: {site.url('/index.xml')}\n")
    locs = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in ("/a", "/no/1", "/no/2", "/b"))
    elsewhere = "<url><loc>https://other.example/</loc></url>"
    site.set("/pages.xml", f"<urlset>{locs}{elsewhere}</urlset>", content_type="application/xml")
    names = "".join(f"<sitemap><loc>{site.url(path)}</loc></sitemap>" for path in ("/pages.xml", "/lost.xml"))
    site.set("/index.xml", f"<sitemapindex>{names}</sitemapindex>", content_type="application/xml")
    listed = comity("check", "--sitemap", site.url("/"), "--agent", "GPTBot", *ALLOW, environment=FAST)
    assert listed.returncode == 2
    assert [line.split()[1] for line in listed.stdout.splitlines()] == [site.url("/no/1"), site.url("/no/2")]
    assert f"4 URLs in 3 sitemaps of {site.url('')}; passed over, of other hosts: 1" in listed.stderr
    assert "/lost.xml was not read" in listed.stderr
    assert sorted(site.paths()) == ["/index.xml", "/lost.xml", "/pages.xml", "/robots.txt"], "no page is fetched"
    assert comity("check", "--sitemap", "--urls", "x", site.url("/")).returncode == 64
    site.set("/robots.txt", f"Sitemap: {site.url('/lost.xml')}\n")
    nothing = comity("check", "--sitemap", site.url("/"), *ALLOW, environment=FAST)
    assert (nothing.returncode, "0 URLs in 1 sitemap " in nothing.stderr) == (66, True)


@pytest.mark.parametrize("command", ["lint", "explain", "check", "inspect"])
def test_a_site_is_named_by_its_address(command: str) -> None:
    variables = {"COMITY_RESOLVE": '{"www.example.co.uk": "127.0.0.1"}', **FAST}
    told = comity(command, "www.example.co.uk:9", *ALLOW, environment=variables)
    assert (told.returncode, "https://www.example.co.uk:9/robots.txt" in told.stdout + told.stderr) == (3, True), told


def test_a_file_that_is_not_there_is_no_site(tmp_path: Path) -> None:
    for name in ("robots.txt", "old.robots"):
        told = comity("lint", name, cwd=tmp_path)
        assert (told.returncode, "No such file" in told.stderr) == (66, True)
    (tmp_path / "example.com").write_text("User-agent: *\nDisallow: /\n")
    assert "example.com:" in comity("lint", "example.com", cwd=tmp_path).stdout


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


def test_a_change_of_hours_is_json_too(tmp_path: Path) -> None:
    for name, hours in (("old", "0600-0845"), ("new", "0600-0900")):
        (tmp_path / name).write_text(f"User-agent: *\nVisit-time: {hours}\n")
    told = CliRunner().invoke(app, ["diff", "--json", str(tmp_path / "old"), str(tmp_path / "new")])
    assert [each["end"] for each in json.loads(told.stdout)["hours"]["*"]] == ["08:45", "09:00"]


def test_a_manual_page_on_a_terminal_without_a_pager_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", (stream := Terminal()))
    app.main(["man", "crawl"], "comity", standalone_mode=False)
    assert stream.getvalue().startswith("Usage: comity crawl [OPTIONS] [URL]...\n")
    assert not any(line.startswith(".") for line in stream.getvalue().splitlines())


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


def test_a_line_that_is_too_long_for_a_terminal_goes_on_below_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    url, file = f"https://example.com/{'x' * 40}", f"{'folder of ours ' * 3}.txt:7: error"
    monkeypatch.setattr("comity.cli.terminal.sys.stdout", (stream := Terminal()))
    monkeypatch.setenv("COLUMNS", "40")
    terminal.print_out("  line 2, 'Disallow: /private', disallows it", lead="allowed    ", colour="green", indent=13)
    terminal.print_out(f"  {url}  why", lead="allowed    ", indent=13)
    terminal.print_out(": a-code words that say why", lead=file, indent=4)
    assert stream.getvalue().splitlines() == [
        "\x1b[32mallowed    \x1b[0m  line 2, 'Disallow:",
        "             /private', disallows it",
        f"allowed      {url}",  # no URL is torn
        "             why",
        f"{file}:",
        "    a-code words that say why",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_settings_shows_what_differs_from_the_default_and_all_of_it_when_asked() -> None:
    few = CliRunner().invoke(app, ["settings", "--preset", "google"]).stdout
    assert "\nagent " in few
    assert "preset google" in few
    assert "concurrency" not in few
    assert "more have their default: comity settings --all" in few
    assert "concurrency" in CliRunner().invoke(app, ["settings", "--all"]).stdout


def test_help_lists_the_options_of_crawl_below_headings() -> None:
    told = CliRunner().invoke(app, ["crawl", "--help"]).stdout
    heads = [line for line in told.splitlines() if line.endswith(":") and line[:1].isupper()]
    assert heads == ["Options:", "What is crawled:", "Several processes and machines:", "Watching:"]
    assert told.index("Watching:") < told.index("--dashboard")
    assert "Commands:" in CliRunner().invoke(app, ["frontier", "--help"]).stdout
