"""Settings from where people keep them: arguments, then COMITY_* variables, then comity.toml, then a preset, then the
defaults. This is the one place that reads settings from environment and files; what a setting means is written
where it is defined.
"""

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from comity.crawler.crawl_settings import CrawlSettings
from comity.errors import InvalidSetting
from comity.fields import SettingField, settings_of, words_of
from comity.net.client_settings import ClientSettings
from comity.policy import Policy
from comity.policy.presets import PRESETS

FILE: Final = "comity.toml"
PREFIX: Final = "COMITY_"
KINDS: Final = (Policy, ClientSettings, CrawlSettings)
SWITCHES: Final = frozenset(
    ("COMITY_NO_EXTENSIONS", "COMITY_REQUIRE_EXTENSIONS", "COMITY_REQUIRE_ALL", "COMITY_MODEL_EXAMPLES")
)

ALIASES: Final = {"delay": "min_interval"}
"""Other names under which people look for a setting."""

SETTINGS: Final[Mapping[str, SettingField]] = {
    "preset": SettingField(name="preset", hint=str, default="rfc9309"),
    **{name: each for kind in KINDS for name, each in settings_of(kind).items()},
}
"""Every setting."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting in force.

    Attributes:
        origin: where the value came from: `argument`, the name of a variable, the path of a file, `preset NAME` or
            `default`.
    """

    name: str
    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Configuration:
    """All settings, and where each came from.

    Attributes:
        settings: every setting by name.
        unknown: COMITY_* variables that are no setting: misspelt, perhaps.
    """

    policy: Policy
    client: ClientSettings
    crawl: CrawlSettings
    settings: Mapping[str, Setting]
    unknown: tuple[str, ...]


def load(file: Path | None = None, **arguments: Any) -> Configuration:
    """The settings in force.

    Args:
        file: a TOML file; None for comity.toml in the current folder, if there is one.
        arguments: settings by name, which win over all else; `preset` names a bundle that beats only the defaults.

    Raises:
        InvalidSetting: a value is not allowed, a name is no setting, or the file cannot be read; the message names
            the variable or the file.
    """
    variables = {name for name in os.environ if name.startswith(PREFIX)} - SWITCHES
    path = file if file is not None else Path(FILE)
    found: dict[str, Setting] = {}
    if file is not None or path.exists():
        found |= _from_file(path)
    if variables:
        found |= _from_environment()
    for name, value in _by_own_names(arguments, "arguments").items():
        if name not in SETTINGS:
            raise InvalidSetting(f"{name}: there is no such setting{meant(name)}", hint="comity settings lists them")
        number = isinstance(value, str) and SETTINGS[name].hint in (int, float)
        found[name] = Setting(name, SETTINGS[name].read(value) if number else value, "argument")
    settings = {name: Setting(name, each.default, "default") for name, each in SETTINGS.items()}
    preset = found.get("preset", settings["preset"])
    if not isinstance(preset.value, str) or preset.value not in PRESETS:
        where = "" if preset.origin == "argument" else f"{preset.origin}: "
        raise InvalidSetting(f"{where}preset: {preset.value!r} is not one of {', '.join(PRESETS)}")
    bundle = {name: Setting(name, value, f"preset {preset.value}") for name, value in PRESETS[preset.value].items()}
    settings |= bundle | found
    made = [_made(kind, settings) for kind in KINDS]
    in_force = {name: getattr(each, name) for kind, each in zip(KINDS, made, strict=True) for name in settings_of(kind)}
    settings = {
        name: dataclasses.replace(each, value=in_force.get(name, each.value)) for name, each in settings.items()
    }
    known = {PREFIX + name.upper() for name in (*SETTINGS, *ALIASES)}
    return Configuration(
        cast(Policy, made[0]),
        cast(ClientSettings, made[1]),
        cast(CrawlSettings, made[2]),
        settings,
        tuple(sorted(name for name in variables if name.upper() not in known)),
    )


def words_of_setting(name: str) -> str:
    """What a setting means, in a sentence or two; empty where docstrings are left out (`python -OO`)."""
    words = {"preset": "a bundle of settings, such as `google`; anything may still be set otherwise."}
    for kind in KINDS:
        words |= words_of(kind)
    return re.sub(r"\bNone\b", "`none`", words.get(name, "")).replace("`math.inf`", "`inf`")


# What a setting is called by people, by an option of the command, or by other programs.
_OTHERWISE_CALLED = {
    "download_delay": "min_interval",
    "crawl_delay": "min_interval",
    "allow_address": "allow_addresses",
    "allow_host": "allow_hosts",
    "purpose": "purposes",
    "user_agent": "agent",
    "no_robots": 'mode = "ignore"',
    "respect_robots_txt": "mode",
    "max_redirect": "max_redirects",
}


def meant(name: str) -> str:
    """What a name that is no setting probably stands for, as the end of a sentence; empty where nothing is near."""
    from difflib import get_close_matches

    plain = name.removeprefix(PREFIX).lower().replace("-", "_")
    near = _OTHERWISE_CALLED.get(plain) or next(iter(get_close_matches(plain, SETTINGS, 1, 0.75)), None)
    return "" if near is None else f"; it is called {near}"


def _made(kind: type, settings: Mapping[str, Setting]) -> Any:
    """Policy, ClientSettings or CrawlSettings; each checks its own fields."""
    mine = {name: settings[name] for name in settings_of(kind)}
    try:
        return kind(**{name: setting.value for name, setting in mine.items()})
    except InvalidSetting as error:
        setting = mine.get(error.args[0].partition(":")[0])
        if setting is None or setting.origin in ("argument", "default"):
            raise
        hint = error.hint
        if (example := SETTINGS[setting.name].example) and not setting.origin.startswith(PREFIX):  # as TOML has it
            hint = hint.replace(example, f"{setting.name} = {example.replace(': ', ' = ')}")
        raise InvalidSetting(f"{setting.origin}: {error.args[0]}", hint=hint) from None


def _from_environment() -> dict[str, Setting]:
    given = {name: PREFIX + name.upper() for name in (*SETTINGS, *ALIASES) if PREFIX + name.upper() in os.environ}
    return {
        name: Setting(name, SETTINGS[name].read(os.environ[variable]), variable)
        for name, variable in _by_own_names(given, "variables").items()
    }


def _from_file(path: Path) -> dict[str, Setting]:
    """TOML knows no null, so `none` is written instead; numbers may have units, a list of one no brackets."""
    import tomllib  # late: where there is no file it is not needed

    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidSetting(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:  # tomllib's, with the line; or of text that is not UTF-8
        raise InvalidSetting(f"{path} is not TOML: {error}") from None
    found = {}
    for name, value in _by_own_names(values, str(path)).items():
        if name not in SETTINGS:
            raise InvalidSetting(f"{path}: {name!r} is not a setting{meant(name)}", hint="comity settings lists them")
        found[name] = Setting(name, SETTINGS[name].read(value) if isinstance(value, str) else value, str(path))
    return found


def _by_own_names(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Values by the names that settings have here.

    Raises:
        InvalidSetting: one is given under both of its names.
    """
    for alias, name in ALIASES.items():
        if alias in values and name in values:
            raise InvalidSetting(f"{where}: {alias} and {name} are two names of one setting", hint="leave one out")
    return {ALIASES.get(name, name): value for name, value in values.items()}
