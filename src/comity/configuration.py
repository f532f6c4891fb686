"""Settings from where people keep them: arguments, then COMITY_* variables, then comity.toml, then a preset, then the
defaults. This is the one place that reads environment and files; what a setting means is written where it is defined.
"""

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, cast, get_args, get_origin, get_type_hints

from comity.crawl.settings import CrawlSettings
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
    for name, value in arguments.items():
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
    known = {PREFIX + name.upper() for name in DEFAULTS}
    return Configuration(
        cast(Policy, made[0]),
        cast(ClientSettings, made[1]),
        cast(CrawlSettings, made[2]),
        settings,
        tuple(sorted(name for name in variables if name.upper() not in known)),
    )


# What a setting is called by people, by an option of the command, or by other programs.
_OTHERWISE_CALLED = {
    "delay": "min_interval",
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
    from pydantic_settings import EnvSettingsSource

    values = EnvSettingsSource(_model())()
    return {
        name: _typed(name, value, PREFIX + name.upper())
        for name, value in ((key.removeprefix(PREFIX).lower(), value) for key, value in values.items())
        if name in DEFAULTS
    }


def _from_file(path: Path) -> dict[str, Setting]:
    from pydantic_settings import TomlConfigSettingsSource

    try:
        with path.open("rb"):
            values = TomlConfigSettingsSource(_model(), path).toml_data
    except OSError as error:
        raise InvalidSetting(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:  # tomllib's, with the line
        raise InvalidSetting(f"{path} is not TOML: {error}") from None
    for name in values:
        if name not in DEFAULTS:
            raise InvalidSetting(f"{path}: {name!r} is no setting{meant(name)}", hint="comity settings lists them")
    return {name: _typed(name, value, str(path)) for name, value in values.items()}


def _typed(name: str, value: Any, origin: str) -> Setting:
    """A value from outside in the type that the setting has."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return Setting(name, TypeAdapter(_types()[name]).validate_python(value), origin)
    except ValidationError as error:
        first = error.errors()[0]
        reason = first["msg"].lower()
        if name in TABLES:  # of which the key is named, and no value: it may be a password
            key = f"{first['loc'][0]!r}: " if first["loc"] else ""
            example = TABLES[name].replace(" = ", ": ") if origin.startswith(PREFIX) else f"{name} = {TABLES[name]}"
            where = _named(Setting(name, None, origin))
            raise InvalidSetting(f"{where}: {key}{reason}", hint=f"write for example {example}") from None
        raise InvalidSetting(f"{_named(Setting(name, value, origin))}: {value!r}: {reason}") from None


def _types() -> dict[str, Any]:
    """The type of every setting, for text too: lists may be written with commas, nothing as `none`."""
    from pydantic import BeforeValidator
    from pydantic_settings import NoDecode

    types: dict[str, Any] = {"preset": str}
    for kind in KINDS:
        types |= get_type_hints(kind)
    for name, annotation in types.items():
        if get_origin(annotation) is tuple:
            types[name] = Annotated[annotation, NoDecode, BeforeValidator(_split)]
        elif get_origin(annotation) is Mapping:
            types[name] = Annotated[annotation, NoDecode, BeforeValidator(_mapping)]
        elif type(None) in get_args(annotation):
            types[name] = Annotated[annotation, BeforeValidator(_none)]
    return types


def _split(value: object) -> object:
    if not isinstance(value, str):
        return value
    return [] if value == "none" else [part.strip() for part in value.split(",") if part.strip()]


def _mapping(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value in ("none", ""):
        return {}
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError('this is not JSON such as {"name": "value"}') from None


def _none(value: object) -> object:
    return None if value in ("none", "") else value


def _model() -> Any:
    """All settings as one class that pydantic-settings can fill."""
    from pydantic import Field, create_model
    from pydantic_settings import BaseSettings, SettingsConfigDict

    class Base(BaseSettings):
        model_config = SettingsConfigDict(case_sensitive=True, extra="allow")

    fields: dict[str, Any] = {
        name: (annotation, Field(None, validation_alias=PREFIX + name.upper())) for name, annotation in _types().items()
    }
    return create_model("Settings", __base__=Base, **fields)


def _named(setting: Setting) -> str:
    return setting.name if setting.origin == "argument" else f"{setting.origin}: {setting.name}"
