"""Settings from where people keep them: arguments, then COMITY_* variables, then comity.toml, then a preset, then the
defaults. This is the one place that reads environment and files; what a setting means is written where it is defined.
"""

import dataclasses
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args, get_origin, get_type_hints

from comity.crawler.settings import CrawlSettings
from comity.errors import InvalidSetting
from comity.net.settings import ClientSettings
from comity.policy import Policy
from comity.policy.presets import PRESETS

FILE: Final = "comity.toml"
PREFIX: Final = "COMITY_"
KINDS: Final = (Policy, ClientSettings, CrawlSettings)
SWITCHES: Final = frozenset(
    ("COMITY_NO_EXTENSIONS", "COMITY_REQUIRE_EXTENSIONS", "COMITY_REQUIRE_ALL", "COMITY_MODEL_EXAMPLES")
)

TABLES: Final = {
    "headers": '{"From" = "me@example.org"}',
    "params": '{"key" = "value"}',
    "auth": '{"https://example.com" = ["name", "password"]}',
    "resolve": '{"example.test" = "127.0.0.1"}',
}
"""Settings that are mappings, each with an example as TOML has it."""

ALIASES: Final = {"delay": "min_interval"}
"""Other names under which people look for a setting."""

SWITCHED: Final = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)
KINDS_IN_WORDS: Final = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    type(None): "none",
}


def _fields() -> dict[str, Any]:
    """Every setting with its default."""
    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for kind in KINDS
        for field in dataclasses.fields(kind)
    }


DEFAULTS: Final = {"preset": "rfc9309", **_fields()}


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
        if name not in DEFAULTS:
            raise InvalidSetting(f"{name}: there is no such setting{meant(name)}", hint="comity settings lists them")
        found[name] = Setting(name, value, "argument")
    preset = found.get("preset", Setting("preset", DEFAULTS["preset"], "default"))
    if not isinstance(preset.value, str) or preset.value not in PRESETS:
        raise InvalidSetting(f"{_named(preset)}: {preset.value!r} is not one of {', '.join(PRESETS)}")
    bundle = {name: Setting(name, value, f"preset {preset.value}") for name, value in PRESETS[preset.value].items()}
    defaults = {name: Setting(name, value, "default") for name, value in DEFAULTS.items()}
    settings = {**defaults, **bundle, **found}
    made = [_made(kind, settings) for kind in KINDS]
    in_force = {field.name: getattr(each, field.name) for each in made for field in dataclasses.fields(each)}
    settings = {
        name: dataclasses.replace(each, value=in_force.get(name, each.value)) for name, each in settings.items()
    }
    known = {PREFIX + name.upper() for name in (*DEFAULTS, *ALIASES)}
    return Configuration(
        cast(Policy, made[0]),
        cast(ClientSettings, made[1]),
        cast(CrawlSettings, made[2]),
        settings,
        tuple(sorted(name for name in variables if name.upper() not in known)),
    )


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
    near = _OTHERWISE_CALLED.get(plain) or next(iter(get_close_matches(plain, DEFAULTS, 1, 0.75)), None)
    return "" if near is None else f"; it is called {near}"


def _made(kind: type, settings: Mapping[str, Setting]) -> Any:
    """Policy, ClientSettings or CrawlSettings; each checks its own fields."""
    mine = {field.name: settings[field.name] for field in dataclasses.fields(kind)}
    try:
        return kind(**{name: setting.value for name, setting in mine.items()})
    except InvalidSetting as error:
        setting = mine.get(error.args[0].partition(":")[0])
        if setting is None or setting.origin in ("argument", "default"):
            raise
        raise InvalidSetting(f"{setting.origin}: {error}") from None
    except (TypeError, AttributeError, ValueError) as error:
        wrong = next((each for each in mine.values() if each.origin == "argument"), None)
        where = "" if wrong is None else f"one of {', '.join(n for n, s in mine.items() if s.origin == 'argument')}: "
        raise InvalidSetting(f"{where}{error}") from None


def _from_environment() -> dict[str, Setting]:
    found = {}
    hints = _hints()
    given = {name: PREFIX + name.upper() for name in (*hints, *ALIASES) if PREFIX + name.upper() in os.environ}
    for name, variable in _by_own_names(given, "variables").items():
        hint = hints[name]
        found[name] = _checked(Setting(name, _from_text(os.environ[variable], hint), variable), hint)
    return found


def _from_file(path: Path) -> dict[str, Setting]:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidSetting(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:  # tomllib's, with the line; or of text that is not UTF-8
        raise InvalidSetting(f"{path} is not TOML: {error}") from None
    hints = _hints()
    values = _by_own_names(values, str(path))
    for name in values:
        if name not in hints:
            raise InvalidSetting(f"{path}: {name!r} is no setting{meant(name)}", hint="comity settings lists them")
    return {
        name: _checked(Setting(name, _from_toml(value, hints[name]), str(path)), hints[name])
        for name, value in values.items()
    }


def _by_own_names(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Values by the names that settings have here.

    Raises:
        InvalidSetting: one is given under both of its names.
    """
    for alias, name in ALIASES.items():
        if alias in values and name in values:
            raise InvalidSetting(f"{where}: {alias} and {name} are two names of one setting", hint="leave one out")
    return {ALIASES.get(name, name): value for name, value in values.items()}


def _hints() -> dict[str, Any]:
    """The type of every setting."""
    hints = {"preset": str} | {name: hint for kind in KINDS for name, hint in get_type_hints(kind).items()}
    return hints | {"dialect": Any}  # a text or a table: Policy looks at it


def _from_toml(value: Any, hint: Any) -> Any:
    """TOML knows no null, so `none` is written instead; a list of one may be written without brackets."""
    if isinstance(value, str) and (value == "none" or get_origin(hint) is tuple):
        return _from_text(value, hint)
    return value


def _from_text(text: str, hint: Any) -> Any:
    """What a variable's text stands for: lists with commas, tables as JSON, `none` for nothing.

    Text that stands for nothing of the setting's type is returned as it is; `_checked` says so.
    """
    shape, kinds = get_origin(hint), get_args(hint) or (hint,)
    if shape is tuple:
        return () if text == "none" else tuple(part.strip() for part in text.split(",") if part.strip())
    if text in ("none", "") and (shape is Mapping or type(None) in kinds):
        return {} if shape is Mapping else None
    if shape is Mapping or int in kinds or float in kinds:
        for read in (json.loads, float):  # JSON has no word for infinity
            try:
                return read(text)
            except ValueError:
                continue
    return SWITCHED.get(text.lower(), text) if bool in kinds else text


def _checked(setting: Setting, hint: Any) -> Setting:
    """The setting, if its value is of the right type; what range it may have is for the settings themselves."""
    wrong = _misfit(setting.value, hint)
    if wrong is None:
        return setting
    if (example := TABLES.get(setting.name)) is None:
        raise InvalidSetting(f"{_named(setting)}: {setting.value!r} {wrong}")
    example = example.replace(" = ", ": ") if setting.origin.startswith(PREFIX) else f"{setting.name} = {example}"
    raise InvalidSetting(f"{_named(setting)}: {wrong}", hint=f"write for example {example}")  # no value: a password


def _misfit(value: Any, hint: Any) -> str | None:
    """Why a value is not of a type that settings have, in words that follow it (of a table: a clause); else None."""
    shape, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return None
    if shape is Mapping:
        if not isinstance(value, Mapping):
            return "this is not a table"
        wrong = ((key, _misfit(each, parts[1])) for key, each in value.items())
        return next((f"{key!r}: this {why}" for key, why in wrong if why), None)
    if shape is tuple:
        kinds = parts[:1] if parts[-1] is ... else parts
        if not isinstance(value, list | tuple) or (len(kinds) > 1 and len(value) != len(kinds)):
            return "is not a list" if len(kinds) == 1 else f"is not a list of {len(kinds)}"
        reasons = (_misfit(each, kinds[min(i, len(kinds) - 1)]) for i, each in enumerate(value))
        return next((f"holds {each!r}, which {why}" for each, why in zip(value, reasons, strict=True) if why), None)
    if shape is Literal:
        return None if value in parts else f"is not one of {', '.join(parts)}"
    if parts:  # a union
        first, *others = (_misfit(value, part) for part in parts)
        return first if None not in others else None
    if isinstance(value, bool) or hint is bool:
        return None if isinstance(value, bool) and hint is bool else f"is not {KINDS_IN_WORDS[hint]}"
    good = isinstance(value, int | float if hint is float else hint)
    return None if good else f"is not {KINDS_IN_WORDS[hint]}"


def _named(setting: Setting) -> str:
    return setting.name if setting.origin == "argument" else f"{setting.origin}: {setting.name}"
