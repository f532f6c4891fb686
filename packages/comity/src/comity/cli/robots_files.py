"""Reads the robots.txt files named on the command line: a path, `-` for standard input, or the URL of a site."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from comity import client
from comity.cli import input_files
from comity.cli.terminal import error_line
from comity.errors import RobotsUnreachable
from comity.policy import Policy
from comity_pages import urls
from comity_robots import Robots, parse

if TYPE_CHECKING:
    from comity.configuration import Configuration

_URL: Final = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A robots.txt and where it came from: its name as it is shown, and the file that it was read from; None for
    standard input and for a URL. `missing`: why the site has none, in a few words; empty where it has one."""

    name: str
    robots: Robots
    path: Path | None = None
    missing: str = ""


def read_all(targets: Sequence[str], configuration: "Configuration") -> list[Source]:
    """Read each target, in order; only URLs cause requests. Raises RobotsUnreachable if a site does not answer."""
    input_files.check_stdin_once([Path(target) for target in targets])
    return [_of(target, configuration) for target in targets]


def _of(target: str, configuration: "Configuration") -> Source:
    if _URL.match(target):
        return _of_site(target, configuration)
    if (site := input_files.site_url(target)) is not None:
        error_line(f"{target} is no file: taken for {site}")
        return _of_site(site, configuration)
    robots = parse(input_files.read(Path(target)), configuration.policy.dialect)
    if not robots.parsable:
        error_line(f"{target} is not a robots.txt: it has no known line")
    return Source(target, robots, None if target == "-" else Path(target))


def _of_site(target: str, configuration: "Configuration") -> Source:
    policy = configuration.policy.with_changes(mode="respect")
    url = f"{urls.origin(target)}/"
    with client.Client(policy, configuration.client) as asking:
        decision = asking.check(url)
        result = asking.inspect()[urls.origin(url)]
    if result.kind == "unreachable":
        raise RobotsUnreachable(decision.why, url=url, decision=decision)
    missing = result.missing if result.kind == "unavailable" else ""
    return Source(result.url, result.robots, None, missing)


def note_agents(agents: Iterable[str], *files: Robots) -> None:
    """Say which agents are nobody's name, neither in the files nor known, and whom they may be meant for."""
    if typed := [agent for agent in agents if agent != Policy().agent]:
        from comity_robots.explain import mistaken_names  # late: few name an agent

        for words in mistaken_names(typed, *files).values():
            error_line(words)


def annotation(level: str, file: str, line: int, title: str, message: str) -> str:
    """Format a workflow command of GitHub."""
    of_text = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
    of_value = of_text | str.maketrans({":": "%3A", ",": "%2C"})
    where = f"file={file.translate(of_value)},line={line},title={title.translate(of_value)}"
    return f"::{level} {where}::{message.translate(of_text)}"
