"""robots.txt in CI: what lint, diff and test print, what lint mends, what pre-commit and the action of GitHub run."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ALLOW, HANGS, comity
from sites import Site

from comity_robots import parse
from comity_robots.lint import fixed

ROOT = Path(__file__).parents[4]
FAULTY = "User-agent: *\nDisallow: private # ours\nDisallow: /x*\nCrawl-delay: 10s\nNoindex: /z\n"


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    (tmp_path / "robots.txt").write_text(FAULTY)
    return tmp_path


def test_lint_prints_a_line_for_each_finding_errors_first_and_counts_them(faulty: Path) -> None:
    told = comity("lint", "robots.txt", cwd=faulty)
    assert told.stdout == (
        "robots.txt:2: error: path-without-slash 'private' matches nothing; "
        "write Disallow: /private (changes what is read)\n"
        "robots.txt:4: error: crawl-delay-unreadable '10s' is not a number of seconds; "
        "write Crawl-delay: 10 (changes what is read)\n"
        "robots.txt:5: warning: noindex-in-robots Google stopped reading Noindex here in 2019; "
        'put <meta name="robots" content="noindex"> into the page\n'
        "robots.txt:3: info: trailing-wildcard '*' at the end matches nothing more; "
        "write Disallow: /x (changes what is read)\n"
    )
    assert told.stderr == ("2 errors, 1 warning, 1 info; 3 with --unsafe-fixes, which change what is read\n")
    assert told.returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("lint", "robots.txt"), "\x1b[31mrobots.txt:2: error\x1b[0m: path-without-slash 'private' matches nothing"),
        (
            ("lint", "robots.txt"),
            "\x1b[33mrobots.txt:5: warning\x1b[0m: noindex-in-robots Google stopped reading Noindex",
        ),
        (("diff", "robots.txt", "empty.txt"), "\x1b[32mallowed   \x1b[0m  * may now fetch /x*  (OLD, line 3: "),
        (("test", "expected.txt"), "\x1b[31mexpected.txt:1\x1b[0m: GPTBot may not fetch /x: "),
    ],
)
def test_on_a_terminal_what_is_wrong_has_a_colour(faulty: Path, words: tuple[str, ...], shown: str) -> None:
    (faulty / "empty.txt").touch()
    (faulty / "expected.txt").write_text("GPTBot yes /x\n")
    reader, terminal = os.openpty()
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    subprocess.run([sys.executable, "-m", "comity", *words], cwd=faulty, stdout=terminal, env=env, timeout=HANGS)
    os.close(terminal)
    told = os.read(reader, 10_000).decode()
    os.close(reader)
    assert shown in told


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_linted(faulty: Path) -> None:
    told = comity("lint", "missing.txt", "robots.txt", cwd=faulty)
    assert "robots.txt:2: error: path-without-slash" in told.stdout
    assert "missing.txt" in told.stderr
    assert told.returncode == 66


def test_a_file_without_expectations_is_not_passed(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(FAULTY)
    (tmp_path / "empty.txt").write_text("# nothing yet\n")
    told = comity("test", "empty.txt", cwd=tmp_path)
    assert (told.returncode, told.stderr.count("holds no expectations")) == (66, 1)


def test_repeats_are_folded_into_one_line(tmp_path: Path) -> None:
    rules = "".join(f"Disallow: /p{number:02}*\n" for number in range(30))
    (tmp_path / "robots.txt").write_text(f"User-agent: a\n{rules}")
    told = comity("lint", "robots.txt", cwd=tmp_path)
    assert told.stdout.endswith(
        "/p00 (changes what is read) [and 29 more lines: 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ...]\n"
    )
    assert told.stderr == "0 errors, 0 warnings, 30 info; 30 with --unsafe-fixes, which change what is read\n"
    assert told.returncode == 0


@pytest.mark.parametrize(
    ("words", "lines", "code"),
    [
        ((), [2, 4, 5, 3], 2),
        (("--select", "warning,trailing-wildcard"), [5, 3], 0),
        (("--ignore", "path-without-slash", "--ignore", "crawl-delay-unreadable"), [5, 3], 0),
        (("--select", "error", "--ignore", "path-without-slash"), [4], 2),
        (("--select", "info", "--fail-on", "info"), [3], 2),
        (("--select", "info", "--fail-on", "warning"), [3], 0),
        (("--fail-on", "never"), [2, 4, 5, 3], 0),
    ],
)
def test_findings_are_chosen_and_the_exit_code_goes_by_severity(
    faulty: Path, words: tuple[str, ...], lines: list[int], code: int
) -> None:
    told = comity("lint", "robots.txt", *words, "--json", cwd=faulty)
    assert [finding["line"] for finding in json.loads(told.stdout)] == lines
    assert told.returncode == code


def test_a_code_that_is_none_is_named_with_what_may_be_meant(faulty: Path) -> None:
    told = comity("lint", "robots.txt", "--ignore", "trailing-wildcards", cwd=faulty)
    assert told.returncode == 64
    assert "--ignore: 'trailing-wildcards'" in told.stderr
    assert "did you mean trailing-wildcard?" in told.stderr


def test_fix_writes_what_every_parser_reads_alike_and_unsafe_fixes_the_rest(faulty: Path) -> None:
    (faulty / "robots.txt").write_text(
        FAULTY.replace("Disallow: /x*\n", "Disallow: /x*\nDisallow: /y\nDisallow: /y/z\n")
    )
    told = comity("lint", "--fix", "robots.txt", cwd=faulty)
    assert (faulty / "robots.txt").read_text() == FAULTY.replace("Disallow: /x*\n", "Disallow: /x*\nDisallow: /y\n")
    assert told.stderr == ("2 errors, 1 warning, 1 info; 1 fixed; 3 with --unsafe-fixes, which change what is read\n")
    told = comity("lint", "--unsafe-fixes", "robots.txt", cwd=faulty)
    assert "Disallow: /private # ours\n" in (faulty / "robots.txt").read_text()
    assert (told.stderr, told.returncode) == ("0 errors, 1 warning, 0 info; 3 fixed\n", 0)


def test_a_fix_keeps_line_ends_comments_and_odd_octets() -> None:
    body = b"User-agent: a\r\nDisallow: /x*#why\r\nDisallow: /y*  # \xe4\rDisallow: /z Disallow: /w\r\nAllow:\xc2\xa0/v"
    robots = parse(body)
    assert fixed(robots, robots.lint(), unsafe=True) == (
        b"User-agent: a\r\nDisallow: /x #why\r\nDisallow: /y  # \xe4\rDisallow: /z\r\nDisallow: /w\r\nAllow: /v"
    )
    assert fixed(parse(b""), ()) == b""


def test_what_is_no_file_is_not_written(site: Site) -> None:
    site.set("/robots.txt", FAULTY, content_type="text/plain")
    told = comity("lint", "--fix", site.url("/"), *ALLOW)
    assert told.returncode == 64
    assert "is not a file" in told.stderr


def test_annotations_are_what_github_reads(tmp_path: Path) -> None:
    (tmp_path / "a,b:c.txt").write_text("User-agent: *\nDisallow: 100%\n")
    told = comity("lint", "--format", "github", "--select", "path-without-slash", "a,b:c.txt", cwd=tmp_path)
    assert told.stdout == (
        "::error file=a%2Cb%3Ac.txt,line=2,title=path-without-slash::'100%25' matches nothing; "
        "write Disallow: /100%25 (changes what is read)\n"
    )


def test_sarif_names_rules_levels_and_lines(faulty: Path) -> None:
    told = json.loads(comity("lint", "--format", "sarif", "robots.txt", cwd=faulty).stdout)
    (run,) = told["runs"]
    assert told["version"] == "2.1.0"
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("path-without-slash", "error"),
        ("crawl-delay-unreadable", "error"),
        ("noindex-in-robots", "warning"),
        ("trailing-wildcard", "note"),
    ]
    for each in run["results"]:
        assert run["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] == each["ruleId"]
        (place,) = each["locations"]
        assert place["physicalLocation"]["artifactLocation"] == {"uri": "robots.txt"}
        assert place["physicalLocation"]["region"]["startLine"] >= 1


def test_the_robots_txt_of_a_site_is_linted_and_compared(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: private\n", content_type="text/plain")
    told = comity("lint", site.url("/some/page"), *ALLOW)
    assert told.stdout.startswith(f"{site.url('/robots.txt')}:2: error: path-without-slash ")
    assert told.returncode == 2
    (tmp_path / "new.txt").write_text("User-agent: *\nDisallow: /private\n")
    differing = comity("diff", site.url("/"), "new.txt", *ALLOW, cwd=tmp_path)
    assert differing.stdout == "disallowed  * may no longer fetch /private  (NEW, line 2: Disallow: /private)\n"
    assert differing.returncode == 2


def test_a_site_without_a_robots_txt_has_no_findings_and_one_out_of_reach_is_no_verdict(site: Site) -> None:
    site.set("/robots.txt", "no", status=404)
    told = comity("lint", site.url("/"), *ALLOW)
    assert (told.returncode, told.stderr) == (
        0,
        f"{site.url('/robots.txt')}: no robots.txt (HTTP status 404)\nno findings\n",
    )
    site.set("/robots.txt", "no", status=503)
    assert comity("lint", site.url("/"), *ALLOW).returncode == 3


EXPECTED = """# who may fetch what
GPTBot not /private    # by its own group
Googlebot yes /blog; * no /admin
Sogou web spider yes https://example.com/
"""


def test_a_robots_txt_is_tested_against_expectations(tmp_path: Path) -> None:
    (tmp_path / "expected.txt").write_text(EXPECTED)
    (tmp_path / "robots.txt").write_text("User-agent: GPTBot\nDisallow: /private\n\nUser-agent: *\nDisallow: /admin\n")
    told = comity("test", "expected.txt", cwd=tmp_path)
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "4 passed, 0 failed\n")
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /blog\n")
    told = comity("test", "expected.txt", "--robots", "robots.txt", cwd=tmp_path)
    assert told.returncode == 2
    assert told.stdout == (
        "expected.txt:2: GPTBot may fetch /private: no rule for GPTBot matches /private, so it is allowed\n"
        "expected.txt:3: Googlebot may not fetch /blog: line 2, 'Disallow: /blog', disallows /blog\n"
        "expected.txt:3: * may fetch /admin: no rule for everybody matches /admin, so it is allowed\n"
    )
    assert told.stderr == "1 passed, 3 failed\n"
    annotated = comity("test", "expected.txt", "--format", "github", cwd=tmp_path)
    assert annotated.stdout.startswith("::error file=expected.txt,line=2,title=comity test::GPTBot may fetch /private")
    failed = json.loads(comity("test", "expected.txt", "--json", cwd=tmp_path).stdout)
    assert [(each["line"], each["agent"], each["expected"]) for each in failed] == [
        (2, "GPTBot", False),
        (3, "Googlebot", True),
        (3, "*", False),
    ]


@pytest.mark.parametrize("line", ["GPTBot /private", "GPTBot maybe /x", "yes /x", "GPTBot not private"])
def test_a_line_that_is_no_expectation_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "expected.txt").write_text(f"* yes /\n{line}\n")
    (tmp_path / "robots.txt").write_text("")
    told = comity("test", "expected.txt", cwd=tmp_path)
    assert told.returncode == 66
    assert "line 2" in told.stderr


def test_pre_commit_and_the_action_run_commands_that_are_there(faulty: Path) -> None:
    entries = re.findall(r"^  entry: (.*)$", (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"), re.MULTILINE)
    assert entries == ["comity lint", "comity lint --fix"]
    for entry in entries:
        assert comity(*shlex.split(entry)[1:], "robots.txt", cwd=faulty).returncode == 2
    action = (ROOT / "action.yml").read_text("utf-8")
    for name in re.findall(r"^  ([a-z-]+):$", action.partition("\nruns:")[0], re.MULTILINE):
        assert f"inputs.{name} " in action
    lint, test = re.findall(r"run: (comity .*)$", action, re.MULTILINE)
    (faulty / "expected.txt").write_text("* not /private\n")
    said = {"FAIL_ON": "error", "IGNORE": "noindex-in-robots", "FILES": "robots.txt", "EXPECTATIONS": "expected.txt"}
    for script in (lint, test):
        program = f'comity() {{ {shlex.quote(sys.executable)} -m comity "$@"; }}; {script}'
        told = subprocess.run(
            ["bash", "-c", program], cwd=faulty, env=os.environ | said, capture_output=True, text=True, check=False
        )
        assert (told.returncode, told.stdout[:8]) == (2, "::error "), told.stderr
