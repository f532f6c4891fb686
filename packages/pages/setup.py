"""Builds comity-pages; how is in comity-robots, whose compiled modules those of comity-pages call."""

from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

building = Path("../robots/src/comity_robots/_building.py")
if not building.exists() and (robots := find_spec("comity_robots")) is not None and robots.origin is not None:
    building = Path(robots.origin).with_name("_building.py")
run_path(str(building))["build"]("comity_pages", quickly=("content.", "markdown.", "html."))
