"""`comity settings`: what is in force, and where each value came from."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from comity.cli.exits import Exit
from comity.cli.options import CONFIG, JSON, PRESET, command, loaded
from comity.cli.terminal import error_line, print_json, safe
from comity.configuration import PREFIX, did_you_mean, every_setting
from comity.net.client_settings import concealed


@command("Set up and serve")
@PRESET
@CONFIG
@JSON
def settings(preset: str | None, config: Path | None, as_json: bool) -> Exit:
    """Show all settings and where each value comes from.

    An environment variable, comity.toml, a preset or the default.
    """
    configuration = loaded(config, preset=preset)
    every = configuration.settings.values()
    if as_json:
        found = {}
        for each in every:
            value, variable = _plain(concealed(each.name, each.value)), PREFIX + each.name.upper()
            found[each.name] = {"value": value, "origin": each.origin, "variable": variable}
        print_json(found)
        return Exit.DONE
    written = {each.name: every_setting()[each.name].written(concealed(each.name, each.value)) for each in every}
    width = min(max(map(len, written.values())), 44)
    for each in every:
        changed = each.origin != "default"
        line = safe(f"{each.name:20}  {written[each.name]:{width}}  {each.origin}")
        click.echo(click.style(line, bold=changed) if changed else line)
    for name in configuration.unknown:
        error_line(f"{name} is not a setting and is ignored{did_you_mean(name)}")
    return Exit.DONE


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if isinstance(value, Mapping):
        return dict(value)
    return value if value is None or isinstance(value, str | int | float | list | tuple) else str(value)  # a dialect
