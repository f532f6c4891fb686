"""The package works where nothing is installed but what it needs."""

import subprocess
import sys
from pathlib import Path

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


def test_it_needs_nothing_that_fetches() -> None:
    path = ":".join((*(str(Path(package.__file__).parents[1]) for package in (comity_pages, comity_robots)), *sys.path))
    ran = subprocess.run(
        [sys.executable, "-c", USE], env={"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
