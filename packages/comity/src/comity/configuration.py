"""Settings from where people keep them: arguments, then COMITY_* variables, then comity.toml, then a preset, then the
defaults. This is the one place that reads settings from environment and files; what a setting means is written
where it is defined.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from comity.errors import InvalidSetting
from comity.files import open_regular
from comity.net.client_settings import ClientSettings
from comity.policy import Policy
from comity.policy.presets import bundle
from comity_robots.fields import SettingField, check, field_docs, setting, settings_of

if TYPE_CHECKING:
    from comity.crawler.crawl_settings import CrawlSettings

FILE: Final = "comity.toml"
PREFIX: Final = "COMITY_"
NAMING: Final = f"{PREFIX}CONFIG"  # the variable that names a file of settings
SWITCHES: Final = frozenset(
    (*(PREFIX + name for name in "NO_EXTENSIONS REQUIRE_EXTENSIONS REQUIRE_ALL MODEL_EXAMPLES AGENTS".split()), NAMING)
)
MAX_FILE_BYTES: Final = 1024 * 1024  # of a file that nobody named

ALIASES: Final = {"delay": "min_interval"}  # other names under which people look for a setting

_OF_REQUESTS: Final[Mapping[str, SettingField]] = {
    "preset": SettingField(name="preset", hint=str, default="rfc9309"),
    **settings_of(Policy),
    **settings_of(ClientSettings),
}


@cache
def settings_classes() -> tuple[type, ...]:
    """Return the classes of settings."""
    from comity.crawler.crawl_settings import CrawlSettings  # late: who only asks sites needs nothing of crawls

    return Policy, ClientSettings, CrawlSettings


@cache
def every_setting() -> Mapping[str, SettingField]:
    """Return every setting by name."""
    return {**_OF_REQUESTS, **{name: each for kind in settings_classes() for name, each in settings_of(kind).items()}}


def field_of(name: str) -> SettingField | None:
    """Return what is asked of a setting; None where there is none of that name."""
    return _OF_REQUESTS.get(name) or every_setting().get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlJob:
    """What a settings file that was named says of a crawl beside its settings; `comity crawl` alone uses it.

    Attributes:
        seeds: URLs to start from.
        urls: a file of such URLs.
        output: the folder for the results; then the command begins, resumes or refreshes the crawl, whichever is due.
        format: how the results are written.
        log: a file for the log.
        metrics: where metrics are served: `[ADDRESS:]PORT`.
        report: a file for the report as HTML, written at the end.
        workers: processes that share the crawl.
        ok_if_some_failed: whether the exit code is 0 even if some pages failed.
    """

    seeds: tuple[str, ...] = ()
    urls: str | None = setting(None, path=True)
    output: str | None = setting(None, path=True)
    format: str | None = None
    log: str | None = setting(None, path=True)
    metrics: str | None = None
    report: str | None = setting(None, path=True)
    workers: int = setting(1, least=1)
    ok_if_some_failed: bool = False

    def __post_init__(self) -> None:
        check(self)


class Setting(NamedTuple):
    """One setting in force.

    Attributes:
        origin: where the value came from: `argument`, the name of a variable, the path of a file, `preset NAME` or
            `default`.
    """

    name: str
    value: Any
    origin: str


@dataclass(frozen=True)
class Configuration:
    """All settings, and where each came from.

    Attributes:
        chosen: the settings that do not come from the defaults, by name, as they were given.
        unknown: COMITY_* variables that are no setting: misspelt, perhaps.
        unnamed: the settings in force that come from a comity.toml of the current folder that nobody named.
        job: what a file that was named says of a crawl, where it says something; `job_file`: its name.
    """

    policy: Policy
    client: ClientSettings
    chosen: Mapping[str, Setting]
    unknown: tuple[str, ...]
    unnamed: tuple[str, ...] = ()
    job: CrawlJob | None = None
    job_file: str = ""

    @cached_property
    def crawl(self) -> "CrawlSettings":
        """The settings of crawls; those that were given have been checked."""
        made: CrawlSettings = _made(settings_classes()[2], self.chosen)
        return made

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        """Every setting by name, in the form in which it is kept."""
        values = {name: each.default for name, each in every_setting().items()}
        values |= {name: each.value for name, each in self.chosen.items()}
        for kind, made in zip(settings_classes(), (self.policy, self.client, self.crawl), strict=True):
            values |= {name: getattr(made, name) for name in settings_of(kind)}
        return {
            name: Setting(name, value, self.chosen[name].origin if name in self.chosen else "default")
            for name, value in values.items()
        }

    @property
    def stated(self) -> frozenset[str]:
        """The names of the settings that the operator gave: as an argument, a variable, or in a file or by a preset
        that was named."""
        return frozenset(self.chosen) - frozenset(self.unnamed)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What was given as arguments, or by the file that names the crawl's folder, by name, in the form in which it
        is kept."""
        typed = ("argument", self.job_file if self.job is not None and self.job.output is not None else "argument")
        return {name: each.value for name, each in self.settings.items() if each.origin in typed}


def load(file: Path | None = None, *, unnamed: bool = True, **arguments: Any) -> Configuration:
    """Return the settings in force.

    Args:
        file: a TOML file; None for the one that COMITY_CONFIG names, else for comity.toml in the current folder, if
            there is one: nobody named that, it may be anybody's, and so it may only make settings stricter.
        unnamed: whether such a comity.toml is read.
        arguments: settings by name, which win over all else; `preset` names a bundle that beats only the defaults.

    Raises:
        InvalidSetting: a value is not allowed, a name is no setting, or the file cannot be read; the message names
            the variable or the file. Or a comity.toml that nobody named allows more than holds without it.
    """
    variables = {name for name in os.environ if name.startswith(PREFIX)} - SWITCHES
    if file is None and os.environ.get(NAMING):
        file = Path(os.environ[NAMING])
    found: dict[str, Setting] = {}
    said: dict[str, Any] = {}
    if file is not None:
        found |= _from_file(file, said)
    elif unnamed and os.path.lexists(FILE):
        found |= _from_file(Path(FILE))
    lying = dict(found) if file is None else {}
    if variables:
        found |= _from_environment()
    for name, value in _resolve_aliases(arguments, "arguments").items():
        if (field := field_of(name)) is None:
            raise InvalidSetting(f"{name}: not a setting{did_you_mean(name)}", hint="comity settings lists them")
        number = isinstance(value, str) and field.hint in (int, float)
        found[name] = Setting(name, field.read(value) if number else value, "argument")
    preset = found.get("preset") or Setting("preset", _OF_REQUESTS["preset"].default, "default")
    try:
        of_preset = bundle(preset.value, {name: each.value for name, each in found.items()})
    except InvalidSetting as error:
        raise error if preset.origin == "argument" else InvalidSetting(f"{preset.origin}: {error.args[0]}") from None
    bundled = {name: Setting(name, value, f"preset {preset.value}") for name, value in of_preset.items()}
    lying = {name: each for name, each in lying.items() if found[name] is each}
    _check_stricter(lying, bundled)
    chosen = bundled | found
    unknown: tuple[str, ...] = ()
    if variables:
        known = {PREFIX + name.upper() for name in (*every_setting(), *ALIASES)}
        unknown = tuple(sorted(name for name in variables if name.upper() not in known))
    made = Configuration(
        _made(Policy, chosen), _made(ClientSettings, chosen), chosen, unknown, tuple(lying), _job(said, file), str(file)
    )
    if not chosen.keys() <= _OF_REQUESTS.keys():
        _ = made.crawl  # says now what is not allowed
    return made


def _check_stricter(given: Mapping[str, Setting], bundle: Mapping[str, Setting]) -> None:
    """See that settings allow nothing that is not allowed without them; else an InvalidSetting."""
    more = []
    for name, (_, value, _) in given.items():
        field = every_setting()[name]
        try:
            kept = field.checked(value) if field.stricter else value  # what may not be there is not even looked at
        except InvalidSetting:
            continue  # which is said when it is made
        if field.grants(kept, bundle[name].value if name in bundle else field.default):
            more.append(name)
    if more:
        raise InvalidSetting(
            f"{FILE} in this folder, which nobody named, sets {', '.join(more)}: it may only make settings stricter",
            hint=f"if the file is yours, name it: --config {FILE}, or {NAMING}={FILE}",
        )


def words_of_setting(name: str) -> str:
    """Return what a setting means, in a sentence or two; empty where docstrings are left out (`python -OO`)."""
    words = {"preset": "a bundle of settings, such as `google`; anything may still be set otherwise."}
    for kind in (*settings_classes(), CrawlJob):
        words |= field_docs(kind)
    return re.sub(r"\bNone\b", "`none`", words.get(name, "")).replace("`math.inf`", "`inf`")


# What a setting is called by people, by an option of the command, or by other programs.
SYNONYMS = {
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


def did_you_mean(name: str) -> str:
    """Return what a name that is no setting probably stands for, as the end of a sentence; empty where none is near."""
    from difflib import get_close_matches

    plain = name.removeprefix(PREFIX).lower().replace("-", "_")
    if plain in ("sink", "source", "expander"):
        return f"; what is code is named on the command line: --{plain} MODULE:NAME"
    if (called := SYNONYMS.get(plain, plain)) in every_setting() or plain in SYNONYMS:
        return f"; it is called {called}"
    near = get_close_matches(plain, every_setting(), 1, 0.75)
    return f"; did you mean {near[0]}?" if near else ""


def _made(kind: type, chosen: Mapping[str, Setting]) -> Any:
    """Policy, ClientSettings or CrawlSettings; each checks its own fields."""
    mine = {name: chosen[name] for name in settings_of(kind) if name in chosen}
    try:
        return kind(**{name: setting.value for name, setting in mine.items()})
    except InvalidSetting as error:
        setting = mine.get(error.args[0].partition(":")[0])
        if setting is None or setting.origin == "argument":
            raise
        hint = error.hint
        if (example := settings_of(kind)[setting.name].example) and not setting.origin.startswith(
            PREFIX
        ):  # as TOML has it
            hint = hint.replace(example, f"{setting.name} = {example.replace(': ', ' = ')}")
        raise InvalidSetting(f"{setting.origin}: {error.args[0]}", hint=hint) from None


def _from_environment() -> dict[str, Setting]:
    given = {
        name: PREFIX + name.upper() for name in (*every_setting(), *ALIASES) if PREFIX + name.upper() in os.environ
    }
    return {
        name: Setting(name, every_setting()[name].read(os.environ[variable]), variable)
        for name, variable in _resolve_aliases(given, "variables").items()
    }


def _job(said: Mapping[str, Any], file: Path | None) -> CrawlJob | None:
    try:
        return CrawlJob(**said) if said else None
    except InvalidSetting as error:
        raise InvalidSetting(f"{file}: {error.args[0]}", hint=error.hint) from None


def _from_file(path: Path, job: dict[str, Any] | None = None) -> dict[str, Setting]:
    """TOML knows no null, so `none` is written instead; numbers may have units, a list of one no brackets. `job`: takes
    what is said of a crawl, for which the file has to be named."""
    import tomllib  # late: where there is no file it is not needed

    named = job is not None

    try:
        with path.open("rb") if named else open_regular(path) as file:
            text = file.read() if named else file.read(MAX_FILE_BYTES + 1)
        if not named and len(text) > MAX_FILE_BYTES:
            raise InvalidSetting(f"{path} has more than {MAX_FILE_BYTES:,} bytes")
        values = tomllib.loads(text.decode("utf-8"))
    except InvalidSetting:
        raise
    except OSError as error:
        raise InvalidSetting(f"{path} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise InvalidSetting(f"{path} is not TOML that can be read: it is nested too deeply") from None
    except ValueError as error:  # tomllib's, with the line; or of text that is not UTF-8
        raise InvalidSetting(f"{path} is not TOML: {error}") from None
    found = {}
    of_job = settings_of(CrawlJob)
    for name, value in _resolve_aliases(values, str(path)).items():
        if name in of_job:
            if job is None:
                raise InvalidSetting(
                    f"{path} in this folder, which nobody named, sets {name}: only a file that is named may",
                    hint=f"if the file is yours, name it: --config {path}, or {NAMING}={path}",
                )
            job[name] = of_job[name].read(value) if isinstance(value, str) else value
            continue
        if (field := field_of(name)) is None:
            raise InvalidSetting(
                f"{path}: {name!r} is not a setting{did_you_mean(name)}", hint="comity settings lists them"
            )
        found[name] = Setting(name, field.read(value) if isinstance(value, str) else value, str(path))
    return found


def _resolve_aliases(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Values by the names that settings have here. Raises InvalidSetting: one is given under both of its names."""
    for alias, name in ALIASES.items():
        if alias in values and name in values:
            raise InvalidSetting(f"{where}: {alias} and {name} are two names of one setting", hint="leave one out")
    return {ALIASES.get(name, name): value for name, value in values.items()}
