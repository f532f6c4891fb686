"""Builds comity; how is in comity-robots, whose compiled modules those of comity call."""

from runpy import run_path

run_path("packages/robots/src/comity_robots/_building.py")["build"](
    "comity", "packages/comity/src", quickly=("frontier.",)
)
