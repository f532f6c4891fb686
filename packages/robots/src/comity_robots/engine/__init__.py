"""The engine: from the octets of a robots.txt to a verdict, in two forms with the same answers.

`reference` says what is right, in plain Python; `records`, `paths` and `matcher` are the same, written for a compiler,
and run where they were built.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from comity_robots.engine import reference
from comity_robots.engine.reference import (
    Matcher,
    Matchers,
    applying,
    matcher,
    matcher_of,
    matches,
    normalised,
    path_of,
    scan,
)

COMPILED = False
if not TYPE_CHECKING:
    with suppress(ModuleNotFoundError):
        from comity_robots.engine.matcher import Matcher, Matchers, matcher, matcher_of
        from comity_robots.engine.paths import matches, normalised, path_of
        from comity_robots.engine.records import applying, scan

        COMPILED = True


def covers(pattern: bytes, path: bytes, wildcards: bool) -> bool:
    """Whether a pattern matches a path, in a dialect with or without wildcards."""
    return matches(pattern, path) if wildcards else path.startswith(pattern)


__all__ = ["COMPILED", "Matcher", "Matchers", "applying", "covers", "matcher", "matcher_of", "matches"]
__all__ += ["normalised", "path_of", "reference", "scan"]
