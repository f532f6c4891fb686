"""Builds comity-robots; how is in src/comity_robots/_building.py."""

from runpy import run_path

run_path("src/comity_robots/_building.py")["build"]("comity_robots")
