"""Decorators for commands, and the options that several commands share. Options of settings come from the table of
settings."""

import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args, get_origin

import click
from click.core import ParameterSource

from comity.cli.terminal import error_line
from comity.errors import InvalidSetting
from comity_robots.fields import docstring

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from comity.configuration import Configuration

Command = Callable[..., Any]


def combine(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine several options into one decorator, in the order written."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def grouped(heading: str, *options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine several options, which help lists below a heading."""

    def decorate(command: Command) -> Command:
        before = len(getattr(command, "__click_params__", ()))
        made = combine(*options)(command)
        for each in made.__click_params__[before:]:  # type: ignore[attr-defined]
            each.heading = heading
        return made

    return decorate


MAX_CHOICE_COLUMNS: Final = 30  # columns


class InSection(click.Command):
    """A command that appears under a heading of `comity --help`; hidden without one."""

    section = ""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List options below the headings of `grouped`; those without one first."""
        rows: dict[str, list[tuple[str, str]]] = {"Options": []}
        for each in self.get_params(ctx):
            if (row := each.get_help_record(ctx)) is not None:
                rows.setdefault(getattr(each, "heading", "Options"), []).append(row)
        for heading, own in rows.items():
            if own:
                with formatter.section(heading):
                    formatter.write_dl(own)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


class Group(InSection, click.Group):
    """A command with subcommands."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        if cmd.help is None and cmd.callback is not None:  # `python -OO`
            cmd.help = docstring(cmd.callback)
        super().add_command(cmd, name)


Made = TypeVar("Made", bound=InSection)


def command(section: str, kind: type[Made] = InSection) -> Callable[[Command], Made]:  # type: ignore[assignment]
    """Turn a function into a command under a heading of `comity --help`; its docstring is the help. `kind`: `Group`
    for one with subcommands."""

    def decorate(function: Command) -> Made:
        made = click.command(cls=kind, hidden=not section, help=docstring(function))(function)
        made.section = section
        return made

    return decorate


def argument(name: str, metavar: str, **more: Any) -> Callable[[Command], Command]:
    """A positional argument: `name` is the parameter, `metavar` its name in usage, with ... for several values."""
    several = "..." in metavar
    required = "[" not in metavar
    if metavar.strip("[]") == "DIR":
        more.setdefault("callback", lambda context, param, value: _named(value, param, context))
    return click.argument(name, metavar=metavar, nargs=-1 if several else 1, required=required, **more)


def option(
    names: str, shown: str | Sequence[str] | None, words: str, *, default: Any = None, otherwise: str = "", **more: Any
) -> Callable[[Command], Command]:
    """An option; `words` is its help. `names`: as for `click.option`, separated by spaces. `shown`: placeholder of its
    value, or the choices; None for a flag. `otherwise`: shown in help instead of the default."""
    if shown is None:
        more |= {} if "count" in more else {"is_flag": True}
    elif isinstance(shown, str):
        more["metavar"] = shown
    else:
        more["type"] = click.Choice(shown)
        if len("|".join(shown)) > MAX_CHOICE_COLUMNS:
            more["metavar"], words = "NAME", f"{words.removesuffix('.')}: {', '.join(shown)}."
    default_shown = otherwise or ("" if default is None else str(default))
    if default is not None:
        more["default"] = default
    return click.option(*names.split(), help=f"{words}  [{default_shown}]" if default_shown else words, **more)


class _SettingOption(click.Option):
    """An option that sets a setting. Its help comes from the table of settings, which is read only for help."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from comity.configuration import every_setting, words_of_setting

        field, shown = every_setting()[str(self.name)], copy(self)
        if self.metavar is None and not self.is_flag:
            kind = {int: "N", float: "N"}.get(field.hint, "NAME")
            shown.metavar = {"seconds": "TIME", "bytes": "SIZE"}.get(field.unit, kind)
        if self.help is None:
            words = words_of_setting(field.name).partition(". ")[0].removesuffix(".")
            words = words.replace("`none`", "'none'").replace("`", "")
            default = "" if self.is_flag or not field.default else f"  [{field.written(field.default)}]"
            shown.help = f"{words[0].upper()}{words[1:]}.{default}" if words else default
        return click.Option.get_help_record(shown, ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete the values of a setting in a shell."""
        from comity.configuration import every_setting
        from comity_robots.dialects import DIALECTS

        if self.name == "agent":
            from comity_robots.agent_table import known_agents

            return completed([each.name for each in known_agents()], incomplete)
        hint = every_setting()[str(self.name)].hint
        inner = get_args(hint)[0] if get_origin(hint) is tuple else hint
        values = DIALECTS if self.name == "dialect" else [each for each in get_args(inner) if isinstance(each, str)]
        return completed(values, incomplete)


def completed(values: Iterable[str], incomplete: str) -> "list[CompletionItem]":
    """Return the values that begin with what was typed after the last comma, in whatever case."""
    from click.shell_completion import CompletionItem

    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(f"{before}{comma}{each}") for each in values if each.lower().startswith(last.lower())]


def option_for(setting: str, *names: str, **more: Any) -> Callable[[Command], Command]:
    """The option that sets a setting, which parses and checks the value. `names`: its names, if not the setting's with
    dashes."""
    if more.get("is_flag"):
        more.setdefault("default", None)
    return click.option(*(names or (f"--{setting.replace('_', '-')}",)), setting, cls=_SettingOption, **more)


def option_of(setting: str) -> str | None:
    """Return the current command's option for a setting; None if it has none."""
    parameters = click.get_current_context().command.params
    opts = next((each.opts for each in parameters if each.name == setting), [])
    return next((opt for opt in opts if opt.startswith("--")), None)


def as_typed(setting: str, value: Any) -> list[str]:
    """Format a setting as an option, or as a line of comity.toml if there is no option for it."""
    return as_option(setting, value) or [f"{setting} = {value}"]


def as_option(setting: str, value: Any) -> list[str] | None:
    """Format a setting as an option of the current command; None if no option sets that value."""
    from comity.configuration import every_setting

    parameters = click.get_current_context().command.params
    parameter = next((each for each in parameters if each.name == setting), None)
    if not isinstance(parameter, click.Option):
        return None
    option, written = max(parameter.opts, key=len), every_setting()[setting].written
    if parameter.is_flag:
        return [option] if value == parameter.flag_value or value is True else None
    return [word for each in (value if isinstance(value, tuple) else (value,)) for word in (option, written(each))]


def loaded(config: Path | None, *, unnamed: bool = True, **options: Any) -> "Configuration":
    """Load the settings: options, then environment, file and defaults. What an unnamed comity.toml sets is printed;
    with `unnamed=False` none is read. InvalidSetting names the option, variable or file at fault."""
    from comity.configuration import FILE, every_setting, load

    typed = {name: value for name, value in options.items() if value is not None and value != ()}
    given = {name: () if value == ("none",) else value for name, value in typed.items()}
    try:
        configuration = load(config, unnamed=unnamed, **given)
    except InvalidSetting as error:
        name, _, what = error.args[0].partition(": ")
        if name not in given or (option := option_of(name)) is None:
            raise
        named = option if option == f"--{name}" else f"{option} ({name})"
        hint = error.hint or f"try: comity {click.get_current_context().info_name} --help"
        raise InvalidSetting(f"{named}: {what}", hint=hint) from None
    if configuration.unnamed:
        values = ((name, configuration.settings[name].value) for name in configuration.unnamed)
        error_line(
            f"{FILE} sets {', '.join(f'{name} = {every_setting()[name].written(value)}' for name, value in values)}"
        )
    return configuration


def refuse(why: str, *names: str) -> None:
    """Refuse options of the current command that were typed and would have no effect; `why` follows the name."""
    for each in click.get_current_context().command.params:
        if each.name in names and is_typed(each.name):
            raise click.UsageError(f"{max(each.opts, key=len)} {why}")


def is_typed(name: str) -> bool:
    """Return whether an option of the current command was typed."""
    context = click.get_current_context()  # 8.2.0 says so of arguments without a value, too
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE and context.params.get(name) != ()


def single_value(_: click.Context, option: click.Parameter, values: tuple[Any, ...]) -> Any:
    """Callback: return the single value of an option declared with `multiple=True`; refuse several, since one would be
    ignored silently."""
    if len(values) > 1:
        raise click.BadParameter(f"it was given {len(values)} times, and only one can be taken", param=option)
    return values[0] if values else None


def split_agents(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Callback: return the agents in several values, parted by commas, which a User-Agent has in comments alone
    (RFC 9110, 10.1.5)."""
    found = (re.findall(r"(?:[^,(]|\([^)]*\)?)+", value) or [value] for value in values)
    return tuple(name.strip() for names in found for name in names)


_agents: Final = partial(option_for, "agent", metavar="AGENT", multiple=True)
AGENT: Final = combine(_agents("-A", "--agent", callback=single_value), option_for("product_token"))
AGENTS: Final = combine(_agents("-A", "--agent", "--agents", callback=split_agents), option_for("product_token"))


def _named(value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
    """Refuse an empty text, such as an unset shell variable: Path("") would be the current folder."""
    if value == "":
        raise click.BadParameter("an empty text names no file or folder", context, param)
    return value


class _Path(click.Path):
    """A file or folder. Whoever reads it reports that it cannot be read; click would call the option wrong."""

    def __init__(self, *, allow_dash: bool = False) -> None:
        super().__init__(path_type=Path, readable=False, allow_dash=allow_dash)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not self.allow_dash and isinstance(value, str) and "://" in value:  # who reads a file says how to get one
            raise click.BadParameter(f"{value} is a URL, and a file or folder is wanted", ctx, param)
        return super().convert(_named(value, param, ctx), param, ctx)


PATH: Final = _Path()
FILE: Final = _Path(allow_dash=True)
_config: Final = partial(option, "-c --config", "FILE", "Settings file.", type=PATH)
CONFIG: Final = _config(otherwise="COMITY_CONFIG; else what comity.toml makes stricter")
CONFIG_ALONE: Final = _config(otherwise="COMITY_CONFIG")
PRESET: Final = option("--preset", "NAME", "A bundle of settings, such as google.", otherwise="rfc9309")
JSON: Final = option("--json as_json", None, "Print JSON.")
DIALECT: Final = option_for("dialect")
ALLOW_ADDRESS: Final = option_for("allow_addresses", "--allow-address", metavar="CIDR", multiple=True)
PURPOSE: Final = combine(option_for("purposes", "--purpose", multiple=True), option_for("use"))
ROBOTS: Final = option(
    "--robots", "FILE", "Read this robots.txt ('-': standard input) instead of the site's.",
    type=FILE, multiple=True, callback=single_value,
)  # fmt: skip
# Folders that a crawl was written to, and where its queue is.
FOLDERS: Final = argument("folders", "DIR...", type=PATH)
STORE: Final = option("--store", "URL", "Where the queue of a crawl in PostgreSQL is.")
ASKING: Final = combine(AGENT, CONFIG, ALLOW_ADDRESS)
READING: Final = combine(AGENT, DIALECT, CONFIG, ALLOW_ADDRESS)
JUDGING: Final = combine(AGENTS, ROBOTS, PRESET, DIALECT, PURPOSE, CONFIG, ALLOW_ADDRESS)
TOKEN_FILE: Final = option("--token-file", "FILE", "File with the token that clients must send.", type=FILE)

ENGINE: Final = combine(
    option("--engine", ("local", "ray"), "What starts processes: this machine, or Ray.", default="local"),
    option("--address", "[ray://]HOST:PORT", "The Ray cluster to join.", otherwise="RAY_ADDRESS, or one started here"),
)
