"""`comity settings`: what is in force, and where each value came from."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from comity.cli.exits import Exit
from comity.cli.options import CONFIG, JSON, PRESET, command, loaded, option
from comity.cli.terminal import error_line, print_json, safe
from comity.configuration import PREFIX, did_you_mean, every_setting
from comity.net.client_settings import concealed


@command("Set up and serve")
@PRESET
@CONFIG
@option("--all every", None, "Also show the settings that have their default.")
@JSON
def settings(preset: str | None, config: Path | None, every: bool, as_json: bool) -> Exit:
    """Show the settings in force and where each value comes from.

    An environment variable, comity.toml, a preset or the default. The agent, whose default names nobody, and what
    differs from the default come first.
    """
    configuration = loaded(config, preset=preset)
    known = configuration.settings.values()
    if as_json:
        found = {}
        for each in known:
            value, variable = _plain(concealed(each.name, each.value)), PREFIX + each.name.upper()
            found[each.name] = {"value": value, "origin": each.origin, "variable": variable}
        print_json(found)
        return Exit.DONE
    written = {each.name: every_setting()[each.name].written(concealed(each.name, each.value)) for each in known}
    width = min(max(map(len, written.values())), 44)
    first = [each for each in known if each.origin != "default" or each.name == "agent"]
    rest = [each for each in known if each not in first]
    for each in [*first, *rest] if every else first:
        changed = each.origin != "default"
        line = safe(f"{each.name:20}  {written[each.name]:{width}}  {each.origin}")
        click.echo(click.style(line, bold=changed) if changed else line)
    if not every:
        click.secho(f"{len(rest)} more have their default: comity settings --all", dim=True)
    for name in configuration.unknown:
        error_line(f"{name} is not a setting and is ignored{did_you_mean(name)}")
    return Exit.DONE


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if isinstance(value, Mapping):
        return dict(value)
    return value if value is None or isinstance(value, str | int | float | list | tuple) else str(value)  # a dialect
