"""The package works where nothing is installed but what it needs."""

import subprocess
import sys
from pathlib import Path

import pytest

import comity_pages
import comity_robots

USE = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("comity", "aiohttp", "yarl", "click", "rich", "publicsuffixlist", "minijinja"):
            raise ModuleNotFoundError(f"{name} is not for a package that reads pages", name=name)

sys.meta_path.insert(0, Nothing())
import comity_pages
page = comity_pages.extract("<h1>Lamps</h1><p>Each <b>lamp</b> has a <a href=oil>tank</a>.", "https://example.com/a/")
assert page.markdown == "# Lamps\\n\\nEach **lamp** has a [tank](https://example.com/a/oil).\\n", page.markdown
(link,) = comity_pages.read_page(b"<a href=/x>x</a>", "https://example.com/a/").links
assert link.url == "https://example.com/x"
"""


@pytest.mark.parametrize("encoding", ["utf-8", "shift_jis", "windows-1251"])
def test_pages_are_read_as_text_and_as_bytes(encoding: str) -> None:
    words = "灯台" if encoding == "shift_jis" else "маяк"
    html = f"<!doctype html><meta charset={encoding}><title>{words}</title><a href='/x?{words}'>{words}</a>"
    url, stated = "https://example.com/", f"text/html; charset={encoding}"
    assert comity_pages.extract(html.encode(encoding), url) == comity_pages.extract(html, url)
    assert words in comity_pages.extract(html, url, content="all").markdown
    assert comity_pages.read_page(html.encode(encoding), url) == comity_pages.read_page(html, url, stated)


def test_it_needs_nothing_that_fetches() -> None:
    path = ":".join((*(str(Path(package.__file__).parents[1]) for package in (comity_pages, comity_robots)), *sys.path))
    ran = subprocess.run(
        [sys.executable, "-c", USE], env={"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
