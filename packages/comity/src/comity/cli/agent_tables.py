"""The table of well-known agents that the operator names in the environment."""

import os
from pathlib import Path
from typing import Final

from comity.cli.input_files import named, read
from comity.configuration import PREFIX
from comity.errors import InputError, InvalidSetting
from comity_robots.agent_table import KnownAgent, read_table, use_agents

VARIABLE: Final = f"{PREFIX}AGENTS"
"""The environment variable with the path of a table to use in place of the one that comes with comity."""


def use_named() -> None:
    """Use the table that COMITY_AGENTS names, if it does. Raises InputError where that cannot be read."""
    path = os.environ.get(VARIABLE)
    use_agents(read_agents(Path(path)) if path else None)


def read_agents(file: Path) -> tuple[KnownAgent, ...]:
    """Read a table of agents. Raises InputError where the file cannot be read or is none."""
    try:
        return read_table(read(file).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"{named(file)}: not UTF-8") from None
    except InvalidSetting as error:
        raise InputError(f"{named(file)}: {error.args[0]}", hint=error.hint) from None
