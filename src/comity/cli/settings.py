"""`comity settings`: what is in force, and where each value came from."""

import json
import math
from collections.abc import Mapping
from typing import Any

import click

from comity.cli.exits import Exit
from comity.cli.terminal import complain, safe
from comity.configuration import PREFIX, Configuration, Setting, every_setting, meant
from comity.net.client_settings import concealed
from comity.robots import Dialect


def show(configuration: Configuration, *, as_json: bool) -> Exit:
    """Print every setting with its origin."""
    settings = configuration.settings.values()
    if as_json:
        print(
            json.dumps(
                {
                    each.name: {
                        "value": _plain(_concealed(each)),
                        "origin": each.origin,
                        "variable": PREFIX + each.name.upper(),
                    }
                    for each in settings
                },
                indent=2,
            )
        )
    else:
        written = {each.name: every_setting()[each.name].written(_concealed(each)) for each in settings}
        width = min(max(map(len, written.values())), 44)
        for each in settings:
            changed = each.origin != "default"
            line = safe(f"{each.name:20}  {written[each.name]:{width}}  {each.origin}")
            click.echo(click.style(line, bold=changed) if changed else line)
    for name in configuration.unknown:
        complain(f"{name} is not a setting and is ignored{meant(name)}")
    return Exit.DONE


def _concealed(setting: Setting) -> Any:
    """The value as it may be seen by others."""
    return concealed(setting.name, setting.value)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Dialect):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
