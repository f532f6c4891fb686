"""The package works where nothing else is installed."""

import subprocess
import sys
from pathlib import Path

import comity_robots

SOURCES = Path(comity_robots.__file__).parents[1]
USE = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("comity_robots", "http_sf", "typing_extensions"):
            raise ModuleNotFoundError(f"{name} is not for a package that stands alone", name=name)

sys.meta_path.insert(0, Nothing())
import comity_robots
robots = comity_robots.parse("User-agent: *\\nDisallow: /a*b$\\nContent-Usage: train-ai=n\\nLicense: https://h/l\\n")
assert not robots.allowed("https://example.com/axb", "MyBot")
assert "line 2" in robots.explain("https://example.com/axb", "MyBot").why
assert robots.usage("https://example.com/", "MyBot").preference("train-ai") == "disallowed"
robots.lint()
assert comity_robots.diff(comity_robots.parse(""), robots)
assert not comity_robots.build([comity_robots.GroupText(agents=("*",), rules=((False, "/"),))]).allowed("/", "MyBot")
from comity_robots.compat import protego, reppy, robotparser, robotstxt
assert not protego.Protego.parse(str(robots)).can_fetch("/axb", "MyBot")
assert "comity" not in sys.modules
"""


def test_it_needs_http_sf_and_nothing_else() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", USE], env={"PYTHONPATH": str(SOURCES)}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
