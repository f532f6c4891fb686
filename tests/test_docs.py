"""What the documentation shows is what happens."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from commands import comity

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ROBOTS = b"""# Silence, please
User-agent: *
Crawl-delay: 2
Disallow: /vault/
Allow: /vault/open-day
Sitemap: https://example.com/sitemap.xml
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_gives_what_it_shows(page: Path) -> None:
    failures, _ = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert failures == 0


@pytest.mark.both_forms
@pytest.mark.parametrize(("name", "count"), [("robots.md", 3), ("ci.md", 2)])
def test_every_command_with_output_gives_what_it_shows(tmp_path: Path, name: str, count: int) -> None:
    (tmp_path / "robots.txt").write_bytes(ROBOTS)
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    for file, text in re.findall(r"^`([\w.]+)`:\n```text\n(.*?)```", page, re.DOTALL | re.MULTILINE):
        (tmp_path / file).write_text(text)
    shown = 0
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            words, _, output = command.partition("\n")
            program, *arguments = shlex.split(words)
            assert program == "comity"
            if ">" in arguments:
                continue
            told = comity(*arguments, cwd=tmp_path)
            assert told.stdout + told.stderr == output
            shown += 1
    assert shown == count


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
