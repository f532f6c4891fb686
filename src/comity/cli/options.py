"""Options that several commands have, or that belong together. Those of settings come from their table."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from comity.errors import InvalidSetting

if TYPE_CHECKING:
    from comity.configuration import Configuration

Command = Callable[..., Any]


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order written."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class _SettingOption(click.Option):
    """An option that sets a setting. What help says of it comes from the table, which is read only then."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from comity.configuration import every_setting, words_of_setting

        field = every_setting()[str(self.name)]
        if self.metavar is None and not self.is_flag:
            self.metavar = {int: "N", float: "N"}.get(field.hint, "NAME")
            self.metavar = {"seconds": "TIME", "bytes": "SIZE"}.get(field.unit, self.metavar)
        if self.help is None:
            words = words_of_setting(field.name).partition(". ")[0].removesuffix(".")
            words = words.replace("`none`", "'none'").replace("`", "")
            default = "" if self.is_flag or not field.default else f"  [{field.written(field.default)}]"
            self.help = f"{words[0].upper()}{words[1:]}.{default}" if words else default
        return super().get_help_record(ctx)


def option_for(setting: str, *names: str, **more: Any) -> Callable[[Command], Command]:
    """The option of a command that sets a setting; its value is text, which the setting reads and checks.

    Args:
        names: of the option, where they are not the setting's with dashes.
        more: as `click.option` takes it.
    """
    if more.get("is_flag"):
        more.setdefault("default", None)
    return click.option(*(names or (f"--{setting.replace('_', '-')}",)), setting, cls=_SettingOption, **more)


def option_of(setting: str) -> str | None:
    """The option of the command under way that sets a setting, as it is typed; None where there is none."""
    parameters = click.get_current_context().command.params
    return next((max(each.opts, key=len) for each in parameters if each.name == setting), None)


def as_typed(setting: str, value: Any) -> list[str]:
    """A setting and its value as one types them; where there is no option for it, as comity.toml has it."""
    from comity.configuration import every_setting

    option, written = option_of(setting), every_setting()[setting].written
    if option is None:
        return [f"{setting} = {value}"]
    if isinstance(value, bool):
        return [option]
    return [word for each in (value if isinstance(value, tuple) else (value,)) for word in (option, written(each))]


def loaded(config: Path | None, **options: Any) -> "Configuration":
    """The settings in force. What was not named on the command line is left to environment, file and defaults.

    Raises:
        InvalidSetting: a value is not allowed; the message names the option, variable or file.
    """
    from comity.configuration import load

    said = {name: value for name, value in options.items() if value is not None and value != ()}
    given = {name: () if value == ("none",) else value for name, value in said.items()}
    try:
        return load(config, **given)
    except InvalidSetting as error:
        name, _, what = error.args[0].partition(": ")
        if name not in given or (option := option_of(name)) is None:
            raise
        named = option if option == f"--{name}" else f"{option} ({name})"
        hint = error.hint or f"try: comity {click.get_current_context().info_name} --help"
        raise InvalidSetting(f"{named}: {what}", hint=hint) from None


def parted(config: Path | None, **options: Any) -> tuple["Configuration", dict[str, Any]]:
    """The settings in force, and the command's other options, which set none of them; errors as for `loaded`."""
    from comity.configuration import every_setting

    others = {name: options.pop(name) for name in list(options) if name not in every_setting()}
    return loaded(config, **options), others


def only_one(_: click.Context, option: click.Parameter, values: tuple[Any, ...]) -> Any:
    """The value of an option that may be given once, as its callback: of two, one would be left out in silence.

    Raises:
        BadParameter: it was given more often; the option is one that takes several (`multiple=True`).
    """
    if len(values) > 1:
        raise click.BadParameter(f"it was given {len(values)} times, and only one can be taken", param=option)
    return values[0] if values else None


AGENT: Final = together(
    option_for("agent", "-A", "--agent", metavar="AGENT", multiple=True, callback=only_one),
    option_for("product_token"),
)
AGENTS: Final = together(
    option_for("agent", "-A", "--agent", metavar="AGENT", multiple=True),
    option_for("product_token"),
)
# Whether it can be read is told by whoever reads it: click would call it a wrong option.
PATH: Final = click.Path(path_type=Path, readable=False)
FILE: Final = click.Path(path_type=Path, readable=False, allow_dash=True)
CONFIG: Final = click.option(
    "--config",
    metavar="FILE",
    type=PATH,
    help="Settings file.  [comity.toml, if it is there]",
)
PRESET: Final = click.option("--preset", metavar="NAME", help="A bundle of settings, such as google.  [rfc9309]")
JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
DIALECT: Final = option_for("dialect")
ALLOW_ADDRESS: Final = option_for("allow_addresses", "--allow-address", metavar="CIDR", multiple=True)
PURPOSE: Final = together(option_for("purposes", "--purpose", multiple=True), option_for("use"))

LIMITS: Final = together(
    option_for("max_pages"),
    option_for("max_bytes"),
    option_for("max_seconds"),
    option_for("max_pages_per_host"),
    option_for("max_bytes_per_host"),
    option_for("max_seconds_per_host"),
    option_for("max_depth"),
    option_for("scope"),
    option_for("include", metavar="PATTERN", multiple=True),
    option_for("exclude", metavar="PATTERN", multiple=True),
    option_for("follow_nofollow", is_flag=True, help="Also follow links marked nofollow."),
    option_for("duplicates"),
    option_for("concurrency"),
    option_for("min_interval", "--delay"),
    option_for("link_graph", "--links", is_flag=True, help="Write the links of each page: from, to, text, rel."),
    option_for("record_headers", metavar="NAMES", multiple=True),
    option_for("only_if", metavar="PURPOSE=WORD", multiple=True),
    option_for("render", is_flag=True, help="Run the scripts of pages in a Chromium."),
)

ENGINE: Final = together(
    click.option(
        "--engine",
        type=click.Choice(("local", "ray")),
        default="local",
        help="What starts processes: this machine, or Ray.  [local]",
    ),
    click.option(
        "--address",
        metavar="[ray://]HOST:PORT",
        help="The Ray cluster that --engine ray joins.  [RAY_ADDRESS, or one started here]",
    ),
)

WATCHING: Final = together(
    click.option("-q", "--quiet", is_flag=True, help="Show no progress, only the summary."),
    click.option("-v", "--verbose", count=True, help="Log to standard error; -vv: each request too."),
    click.option(
        "--log",
        metavar="FILE",
        type=PATH,
        help="Write a log to FILE, one line per event.",
    ),
    click.option(
        "--metrics",
        metavar="[ADDRESS:]PORT",
        help="Serve metrics for Prometheus there while the crawl runs, to this machine only unless ADDRESS says "
        "otherwise.",
    ),
)

SERVING: Final = together(
    click.option(
        "--http", metavar="ADDRESS:PORT", help="Serve over HTTP at /mcp there, such as 127.0.0.1:8766.  [stdio]"
    ),
    click.option(
        "--token-file",
        metavar="FILE",
        type=PATH,
        help="A bearer token that clients must show; needed for any ADDRESS but loopback.",
    ),
    click.option("--allow-host", metavar="NAME", multiple=True, help="A name that clients may call this server by."),
    click.option("--allow-origin", metavar="ORIGIN", multiple=True, help="An origin of web pages that may ask."),
    click.option(
        "--folder",
        metavar="DIR",
        type=PATH,
        help="Where crawls are written.  [removed at the end]",
    ),
    click.option(
        "--crawl-pages",
        metavar="N",
        type=click.IntRange(min=1),
        default=100,
        help="Ask a person beyond N pages.  [100]",
    ),
    click.option(
        "--crawl-seconds",
        metavar="TIME",
        default="10m",
        help="Ask a person beyond so long a crawl.  [10m]",
    ),
)
