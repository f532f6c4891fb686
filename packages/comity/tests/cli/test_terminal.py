"""Words of sites, files and URLs may not steer the terminal that shows them; nor may they be lost from JSON."""

import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import ALLOW, comity
from hypothesis import given
from hypothesis import strategies as st
from sites import Site

from comity.cli import terminal
from comity.cli.app import app
from comity.cli.terminal import error_line, safe
from comity.errors import ComityError

SOURCES = Path(terminal.__file__).parent
CLEARS = "\x1b[2J\x1b]0;mine\x07"
TURNS = "\u202e"
STEERS = CLEARS + TURNS + "\x9b2J\u2028"


@given(st.text())
def test_what_is_shown_steers_nothing(text: str) -> None:
    shown = safe(text)
    assert len(shown) == len(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in shown)
    assert not set(shown) & set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert safe(shown) == shown
    assert safe(text, lines=True).count("\n") == text.count("\n")


@pytest.mark.parametrize("text", ["plain", "käse 日本語 \u0627\u0644", "a\xa0b\u3000c", "\u200c\u200d", "e\u0301"])
def test_words_of_any_script_stay_as_they_are(text: str) -> None:
    assert safe(text) == text


@pytest.mark.parametrize("words", [("--help",), ("crawl", "--help"), ("lint", "-")])
def test_who_stops_reading_the_output_makes_no_command_fail(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "comity", *words],
            input=b"Disalow: /x\n",
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=300,
        )
    finally:
        os.close(writing)
    assert ended.returncode == 0
    assert b"ipe" not in ended.stderr, "neither BrokenPipeError nor EPIPE"
    assert b"rror:" not in ended.stderr


def bare(source: Path) -> Iterator[str]:
    """Calls that print past `terminal`, but for JSON."""
    text = source.read_text(encoding="utf-8")
    for call in re.finditer(r"(?<![\w.])(?:print|click\.echo)\(.*\n.*", text):
        if "json.dumps" not in call[0]:
            yield call[0].splitlines()[0]


def test_no_command_prints_by_itself() -> None:
    found = {source.name: list(bare(source)) for source in SOURCES.rglob("*.py") if source.name != "terminal.py"}
    assert {name: calls for name, calls in found.items() if calls} == {
        "app.py": [
            'click.echo(f"comity {comity.__version__} ({engine()}, Python {sys.version.split()[0]})")',
            "click.echo(error.format_message())",
        ],
        "completion.py": ["print(script)"],
        "crawling.py": ["click.echo(units(Path(configuration.job_file)))"],
        "man.py": ["print(page)"],
        "fetch.py": ["click.echo(text, nl=False)"],
        "settings.py": ["click.echo(click.style(line, bold=changed) if changed else line)"],
    }


def steers(text: str) -> bool:
    return any(char in text for char in "\x1b\x07\x9b\u202e\u2028")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """All that a command prints; run in this process, which is quicker."""
    try:
        app(list(words), standalone_mode=False)
    except ComityError as error:
        error_line(str(error))
    answer = capsys.readouterr()
    return answer.out + answer.err


def test_the_words_of_a_file_are_shown_without_what_steers_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = tmp_path / "robots.txt"
    hostile.write_text(
        f"User-agent: *\nUser-agent: x{STEERS}\nDisallow: /a{STEERS}\nDisallow: /a\nAllow: /a{STEERS}b\n"
        f"Crawl-delay: {STEERS}\nContent-Usage: {STEERS}=n\nContent-Signal: train{STEERS}\n{STEERS} x\n"
        f"Sitemap: {STEERS}\nVisit-time: {STEERS}\nLicense: https://h/{STEERS}\n"
    )
    plain = tmp_path / "plain.txt"
    plain.write_text("User-agent: *\nDisallow:\n")
    url = "https://example.com/a"
    for words in (
        ("lint", str(hostile)),
        ("diff", str(plain), str(hostile)),
        ("diff", str(hostile), str(plain)),
        ("check", url, f"{url}x", "https://example.com/", "--robots", str(hostile), "--purpose", "train-ai"),
        ("explain", url, "--robots", str(hostile), "--purpose", "train-ai"),
        ("explain", url, f"{url}{STEERS}", f"x{STEERS}", "--robots", str(hostile)),
    ):
        shown = said(capsys, *words)
        assert shown, words
        assert not steers(shown), words
    (decision,) = json.loads(said(capsys, "explain", url, "--robots", str(hostile), "--json"))
    assert decision["url"] == url


def test_the_words_of_a_site_are_shown_without_what_steers_a_terminal(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site.set("/robots.txt", f"User-agent: *\nDisallow: /no{STEERS}\nDisallow: /no\nRequest-rate: 1/{CLEARS}\n")
    url = site.url("/no")
    for words in (
        ("check", url),
        ("explain", url),
        ("inspect", url),
        ("fetch", url),
    ):
        assert not steers(said(capsys, *words, *ALLOW)), words
    crawled = comity("crawl", url, "-o", str(tmp_path / "out"), *ALLOW)
    assert "Disallow: /no" in crawled.stderr
    assert not steers(crawled.stdout + crawled.stderr)
    for name in ("frontier", "prove"):
        assert not steers(said(capsys, name, str(tmp_path / "out")))


def test_a_sentence_of_an_error_cannot_steer_either(capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "check", f"https://exa{STEERS}mple.com/", "--robots", "/dev/null")
    assert "has no valid host" in shown
    assert not steers(shown)
