"""Commands that read files start quickly: they load neither the HTTP stack nor a validation library."""

import asyncio
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from examples import first_of
from sites import Site

from comity import Crawler, CrawlSettings, Policy

HEAVY = {"aiohttp", "pydantic", "pydantic_settings", "ssl", "asyncio"}
NOT_FOR_A_VERDICT = {
    "comity.crawler",
    "comity_robots.explain",
    "comity_robots.lines",
    "comity.audit",
    "comity.mcp",
    "csv",
}
PROGRAM = """
import sys
from comity.cli import main
try:
    main()
finally:
    print(sorted(set(sys.modules) & set(%r)), file=sys.stderr)
"""


def loaded(*words: str, cwd: Path, of: Iterable[str] = HEAVY) -> tuple[int, list[str]]:
    """The exit code of a command, and what it said on standard error, line by line; the last names which `of` these
    modules it loaded."""
    program = [sys.executable, "-c", PROGRAM % sorted(of), *words]
    ran = subprocess.run(program, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    return ran.returncode, ran.stderr.splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a crawl in `out` and a robots.txt."""
    folder = tmp_path_factory.mktemp("startup")
    policy = Policy(agent="TestBot/1.0", min_interval=0, allow_addresses=("127.0.0.0/8",))
    with Site() as site:
        site.link("/", "/a")
        crawler = Crawler([site.url("/")], folder / "out", policy=policy, settings=CrawlSettings(sitemaps=False))
        asyncio.run(crawler.run())
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /private\n")
    (folder / "comity.toml").write_text('max_bytes = "50MB"\n')
    return folder


READ_FILES = (
    ("crawl", "--help"),
    ("check", "http://a.example/", "--robots", "robots.txt"),
    ("report", "out"),
    ("why", "out", "http://a.example/"),
    ("lint", "robots.txt"),
    ("diff", "robots.txt", "robots.txt"),
    ("explain", "http://a.example/", "--robots", "robots.txt"),
    ("settings",),
    ("prove", "out"),
    ("frontier", "out"),
    ("pages", "out"),
)


@pytest.mark.parametrize("number", first_of(*range(len(READ_FILES)), now=4))
def test_a_command_that_reads_files_loads_no_http_and_no_validation_library(folder: Path, number: int) -> None:
    code, said = loaded(*READ_FILES[number], cwd=folder)
    assert (code, said[-1]) == (66 if READ_FILES[number][0] == "why" else 0, "[]"), said  # it never met that URL


def test_a_command_that_asks_a_site_is_told_from_those(folder: Path, site: Site) -> None:
    code, said = loaded("check", site.url("/"), "--allow-address", "127.0.0.0/8", cwd=folder)
    assert code == 0
    assert "aiohttp" in said[-1]


def test_a_check_loads_nothing_of_crawls_and_nothing_that_explains(folder: Path, site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    asked = ("check", site.url("/"), "--allow-address", "127.0.0.0/8")
    (empty := folder / "empty").mkdir()
    code, said = loaded(*asked, cwd=empty, of=NOT_FOR_A_VERDICT)
    assert (code, said[-1]) == (0, "[]"), said
    code, said = loaded("explain", *asked[1:], "--purpose", "search", cwd=empty, of=NOT_FOR_A_VERDICT)
    assert (code, said[-1]) == (0, "['comity_robots.explain']"), said


def test_the_list_of_commands_is_read_without_importing_them(folder: Path) -> None:
    code, said = loaded(
        "--help", cwd=folder, of={"comity.bulk", "comity.crawler", "comity.policy", "comity_robots.robots"}
    )
    assert (code, said[-1]) == (0, "[]"), said


def test_the_help_of_a_crawl_loads_nothing_that_decides_or_reads_pages(folder: Path) -> None:
    decides = {"comity.policy.origin_policy", "comity.policy.robots_result", "comity_pages.signals.usage"}
    code, said = loaded("crawl", "--help", cwd=folder, of=decides)
    assert (code, said[-1]) == (0, "[]"), said


def test_a_setting_of_crawls_is_checked_whoever_reads_it(folder: Path) -> None:
    (other := folder / "other").mkdir()
    (other / "comity.toml").write_text("concurrency = 0\n")
    code, said = loaded("check", "http://a.example/", "--robots", str(folder / "robots.txt"), cwd=other)
    assert code == 64
    assert "concurrency" in said[0]
