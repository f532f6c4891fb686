"""Named bundles of settings, as data: what each differs in from the defaults, which are RFC 9309's. What is no
policy's (a time-out) counts where settings are loaded.

A preset for each system that comity replaces keeps that system's behaviour; the dialect of the same name says how it
reads a robots.txt (comity_robots.dialects). Code asks for settings and never for a preset's name.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

from comity_robots import fields
from comity_robots.errors import InvalidSetting

HOUR: Final = 3600.0
DAY: Final = float(fields.DAY)

PRESETS: Final[dict[str, dict[str, Any]]] = {
    "rfc9309": {},
    # What Google documents: the last good copy for 30 days, then as if there were no file; no Crawl-delay.
    "google": {"dialect": "google", "unreachable_life": 30 * DAY, "honour": ()},
    "bing": {"dialect": "bing", "honour": ("crawl-delay",)},
    "apple": {"dialect": "apple", "honour": ()},
    "yandex": {"dialect": "yandex", "honour": ("crawl-delay",)},
    "draft1996": {"dialect": "draft1996", "honour": ()},
    # An HTTP client: robots.txt is opt-in (`mode="respect"`), read once in a client's life, and fails open.
    "ladon": {
        "dialect": "ladon",
        "mode": "ignore",
        "on_unreachable": "allow",
        "cache_life": math.inf,
        "failure_life": math.inf,
        "robots_fetch_counts": False,
        "min_interval": 0.0,
        "honour": ("crawl-delay",),
    },
    "webcanon": {"dialect": "webcanon"},
    # The Ruby gem: 401 and 403 forbid everything, any other failure nothing; bodies in their own character set.
    "robotstxt": {
        "dialect": "robotstxt",
        "on_unreachable": "allow",
        "on_unavailable": "disallow_401_403",
        "robots_charset": "declared",
        "stale_life": 0.0,
        "min_interval": 0.0,
        "honour": (),
    },
    # An async checker: everything but a readable file allows, for an hour as everything else.
    "f9": {
        "dialect": "f9",
        "on_unreachable": "allow",
        "cache_life": HOUR,
        "failure_life": HOUR,
        "stale_life": 0.0,
        "honour": ("crawl-delay",),
        "robots_timeout": 10.0,
    },
    "yoink": {"dialect": "yoink", "cache_life": HOUR, "failure_life": HOUR, "honour": ("crawl-delay",)},
}


def bundle(name: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a preset beside those that are given. A preset that remembers failures for a time of its own, as
    its system does, has one time for them and for files.

    Raises:
        InvalidSetting: no preset has this name.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise InvalidSetting(f"preset: {name!r} is not one of {', '.join(PRESETS)}")
    found = dict(PRESETS[name])
    if "failure_life" in found and given.get("cache_life") is not None:
        found["failure_life"] = given["cache_life"]
    return found
