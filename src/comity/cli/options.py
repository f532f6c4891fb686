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

LIMITS: Final = together(
    click.option("--max-pages", metavar="N", type=int, help="Keep at most N pages."),
    click.option("--max-bytes", metavar="N", type=int, help="Start nothing after N bytes of pages."),
    click.option("--max-seconds", metavar="S", type=float, help="Start nothing after S seconds."),
    click.option("--max-pages-per-host", metavar="N", type=int, help="Keep at most N pages of each host."),
    click.option("--max-bytes-per-host", metavar="N", type=int, help="As --max-bytes, for each host by itself."),
    click.option("--max-seconds-per-host", metavar="S", type=float, help="As --max-seconds, for each host by itself."),
    click.option("--max-depth", metavar="N", type=int, help="Follow at most N links from where the crawl starts."),
    click.option(
        "--scope", metavar="NAME", help="How far to go around the URLs: host, domain, prefix (folder) or any.  [host]"
    ),
    click.option(
        "--include", metavar="PATTERN", multiple=True, help="Crawl only what matches, such as '/blog/*.html$'."
    ),
    click.option("--exclude", metavar="PATTERN", multiple=True, help="Leave out what matches, such as '*?print='."),
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
