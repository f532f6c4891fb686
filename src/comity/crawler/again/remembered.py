"""The settings that a crawl was begun with: a later run of it keeps to them, but for those that it is given anew.

What a machine can bear (requests at once, the browser) is no part of that: each run says it for itself.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from comity.crawler.settings import CrawlSettings
from comity.errors import InvalidSetting
from comity.fields import settings_of
from comity.frontier import View

FACT: Final = "settings"
COVERING: Final = ("scope", "include", "exclude", "max_depth")
"""Settings that say which URLs belong to the crawl: when one changes, what waits is judged again."""
OF_THE_RUN: Final = frozenset(("concurrency", "per_host", "render_browser", "render_pages"))
_DEFAULTS: Final = {field.name: field.default for field in dataclasses.fields(CrawlSettings)}


def to_dict(settings: CrawlSettings) -> dict[str, Any]:
    """What is remembered, as JSON can hold it."""
    return {name: value for name, value in dataclasses.asdict(settings).items() if name not in OF_THE_RUN}


def begun_with(folder: Path) -> dict[str, Any]:
    """What the crawl in a folder was begun with, as far as it says; empty where there is none.

    Raises:
        StorageError: the folder's frontier cannot be read.
    """
    path = folder / "frontier.sqlite"
    if not path.exists():
        return {}
    with View(path) as view:
        kept = view.recall(FACT)
        if kept is None and (scope := view.recall("scope")):  # of a version that remembered no more
            kept = {"scope": scope["by"], "include": scope["include"], "exclude": scope["exclude"]}
    known = {name: tuple(value) if isinstance(value, list) else value for name, value in (kept or {}).items()}
    return {name: value for name, value in known.items() if name in _DEFAULTS and name not in OF_THE_RUN}


def stated(settings: CrawlSettings | None) -> dict[str, Any]:
    """What settings say that is not the default anyway."""
    values = {} if settings is None else dataclasses.asdict(settings)
    return {name: value for name, value in values.items() if value != _DEFAULTS[name]}


def in_force(
    given: CrawlSettings | Mapping[str, Any] | None, begun: Mapping[str, Any], *, refresh: bool = False
) -> CrawlSettings:
    """The settings of a run, field by field: what is given, else what the crawl was begun with, else the default.

    Patterns that exclude add to those of the beginning, so that nothing is let in by keeping more out; an empty
    `exclude` that is given lifts them.

    Args:
        given: a mapping of the settings that are given; of a CrawlSettings, those that differ from the default.
        refresh: whether this run begins a refresh, which says for itself whether it trusts `lastmod`.

    Raises:
        InvalidSetting: a setting is not allowed, or there is none of that name.
    """
    now = dict(given) if isinstance(given, Mapping) else stated(given)
    for name in now:
        if name not in _DEFAULTS:
            raise InvalidSetting(f"{name}: there is no such setting of a crawl", hint="see CrawlSettings")
    before = dict(begun)
    if refresh:
        before.pop("trust_lastmod", None)
    if more := settings_of(CrawlSettings)["exclude"].checked(now.get("exclude", ())):
        now["exclude"] = tuple(dict.fromkeys((*before.get("exclude", ()), *more)))
    return CrawlSettings(**{**before, **now})


def changed(settings: CrawlSettings) -> dict[str, Any]:
    """What is remembered and is not the default: what a person should know of a crawl that goes on."""
    return {name: value for name, value in stated(settings).items() if name not in OF_THE_RUN}
