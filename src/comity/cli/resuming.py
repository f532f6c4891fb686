"""What a crawl that goes on keeps of its beginning, and what the command line changes of that."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from comity.cli.options import as_typed
from comity.configuration import Configuration
from comity.crawler import CrawlSettings
from comity.crawler.progress.stats import shown
from comity.crawler.run import checkpoint
from comity.policy import Policy


def as_begun(begun: Policy | None, configuration: Configuration) -> tuple[Policy, str]:
    """The policy that a crawl was begun with, with what the command line changes; and the line that tells of it."""
    now = configuration.policy
    if begun is None:
        return now, ""
    typed = {name for name, setting in configuration.settings.items() if setting.origin == "argument"}
    fields = {field.name for field in dataclasses.fields(Policy)}
    begun = begun.with_changes(**{name: getattr(now, name) for name in typed & fields})
    if all(getattr(begun, name) == getattr(now, name) for name in ("agent", "product", "min_interval", "mode")):
        return begun, ""
    pace = f"{begun.min_interval:g} s between requests to a host, mode {begun.mode}"
    return begun, f"resuming with the earlier settings: {shown(begun.agent)}, {pace}"


def told_anew(before: Mapping[str, Any], configuration: Configuration) -> tuple[dict[str, Any], str]:
    """The settings of a crawl that the command line gives now, and those that hold for one run only; and in words
    which others it goes on with."""
    now = configuration.crawl
    typed = {name for name, setting in configuration.settings.items() if setting.origin == "argument"}
    given = {field.name: getattr(now, field.name) for field in dataclasses.fields(now)}
    begun = checkpoint.stated_settings(CrawlSettings(**before))
    kept = {name: value for name, value in begun.items() if name not in typed or (name == "exclude" and now.exclude)}
    words = " ".join(word for name, value in kept.items() for word in as_typed(name, value))
    anew = {name: value for name, value in given.items() if name in typed | checkpoint.OF_THE_RUN}
    return anew, f"keeping the earlier options: {shown(words)}" if kept else ""


def settled_before(configuration: Configuration, lease: str | None) -> list[str]:
    """The options given that who joins a crawl cannot change, since they were settled when it began."""
    typed = {name: setting.value for name, setting in configuration.settings.items() if setting.origin == "argument"}
    fields = {field.name for kind in (Policy, CrawlSettings) for field in dataclasses.fields(kind)}
    settled = fields - checkpoint.OF_THE_RUN
    options = [as_typed(name, value)[0] for name, value in typed.items() if name in settled]
    return options + ["--lease"] * (lease is not None)
