"""Options that belong together: the limits of a crawl, and how it is watched."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

Command = Callable[..., Any]


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order written."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


OTHERWISE_NAMED: Final = {"allow_addresses": "allow_address", "purposes": "purpose", "mode": "no_robots"}
"""Settings of which the parameter of a command has another name."""


def option_of(setting: str) -> str | None:
    """The option of the command under way that sets a setting, as it is typed; None where there is none."""
    wanted = OTHERWISE_NAMED.get(setting, setting)
    parameters = click.get_current_context().command.params
    return next((max(each.opts, key=len) for each in parameters if each.name == wanted), None)


AGENT: Final = together(
    click.option("-A", "--agent", metavar="AGENT", help="Who we are, for example 'MyBot/1.0 (+URL)'."),
    click.option(
        "--product-token", metavar="NAME", help="Our name in AGENT, where it is not at its beginning.  [from AGENT]"
    ),
)


def as_typed(setting: str, value: Any) -> list[str]:
    """A setting and its value as one types them; where there is no option for it, as comity.toml has it."""
    option = option_of(setting)
    if option is None:
        return [f"{setting} = {value}"]
    if isinstance(value, bool):
        return [option]
    return [word for each in (value if isinstance(value, tuple) else (value,)) for word in (option, str(each))]


class Nothing:
    """What `none` stands for on the command line: a limit that is lifted."""


NONE: Final = Nothing()


class _Limit(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions of click
    """A number, or `none`."""

    def __init__(self, number: Any) -> None:
        self._number = number
        self.name = f"{number.name} or none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return NONE if value == "none" else self._number.convert(value, param, ctx)


_COUNT: Final = _Limit(click.INT)
_SECONDS: Final = _Limit(click.FLOAT)

LIMITS: Final = together(
    click.option(
        "--max-pages", metavar="N", type=_COUNT, help="Keep at most N pages ('none', here and below: no limit)."
    ),
    click.option("--max-bytes", metavar="N", type=_COUNT, help="Start nothing after N bytes of pages."),
    click.option("--max-seconds", metavar="S", type=_SECONDS, help="Start nothing after S seconds."),
    click.option("--max-pages-per-host", metavar="N", type=_COUNT, help="Keep at most N pages of each host."),
    click.option("--max-bytes-per-host", metavar="N", type=_COUNT, help="As --max-bytes, for each host by itself."),
    click.option(
        "--max-seconds-per-host", metavar="S", type=_SECONDS, help="As --max-seconds, for each host by itself."
    ),
    click.option("--max-depth", metavar="N", type=_COUNT, help="Follow at most N links from where the crawl starts."),
    click.option(
        "--scope", metavar="NAME", help="How far to go around the URLs: host, domain, prefix (folder) or any.  [host]"
    ),
    click.option(
        "--include", metavar="PATTERN", multiple=True, help="Crawl only what matches, such as '/blog/*.html$'."
    ),
    click.option(
        "--exclude",
        metavar="PATTERN",
        multiple=True,
        help="Leave out what matches, such as '*?print='; with --resume, that too ('none': nothing any more).",
    ),
    click.option("--follow-nofollow", is_flag=True, default=None, help="Follow links marked nofollow too."),
    click.option(
        "--duplicates", metavar="NAME", help="Mark pages that repeat others: exact, near (text too) or off.  [exact]"
    ),
)

WATCHING: Final = together(
    click.option("-q", "--quiet", is_flag=True, help="Show no progress, only the summary."),
    click.option("-v", "--verbose", count=True, help="Log to standard error what happens; -vv: each request too."),
    click.option(
        "--log", metavar="FILE", type=click.Path(path_type=Path), help="Log to FILE what happens, a line each."
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
        type=click.Path(path_type=Path),
        help="A bearer token that clients must show; needed for any ADDRESS but loopback.",
    ),
    click.option("--allow-host", metavar="NAME", multiple=True, help="A name that clients may call this server by."),
    click.option("--allow-origin", metavar="ORIGIN", multiple=True, help="An origin of web pages that may ask."),
    click.option(
        "--folder",
        metavar="DIR",
        type=click.Path(path_type=Path),
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
        metavar="S",
        type=click.FloatRange(min=1),
        default=600.0,
        help="Ask a person beyond S seconds of a crawl.  [600]",
    ),
)
