"""`comity test`: a robots.txt against a file of expectations, which say who may fetch what."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from comity.cli import input_files
from comity.cli.exits import Exit
from comity.cli.lint import annotation
from comity.cli.robots_files import read_all
from comity.cli.terminal import say, tell
from comity.errors import InputError, InvalidURL
from comity.robots import Robots, expectations
from comity.robots.expectations import Expectation, NoExpectation

if TYPE_CHECKING:
    from comity.configuration import Configuration


@dataclass(frozen=True, slots=True)
class Unmet:
    """An expectation that does not hold.

    Attributes:
        why: one sentence: the line that decides otherwise.
    """

    line: int
    agent: str
    path: str
    expected: bool
    why: str


def read(file: Path) -> Iterator[Expectation]:
    """The expectations of a file.

    Raises:
        InputError: it cannot be read, or a line is none.
    """
    try:
        yield from expectations.read(input_files.read(file).decode("utf-8-sig", "replace"))
    except NoExpectation as error:
        raise InputError(
            f"{input_files.named(file)}, line {error.line}: {error}", hint="write for example: GPTBot not /private"
        ) from None


def unmet(robots: Robots, wanted: Sequence[Expectation], file: Path) -> Iterator[Unmet]:
    """Those that do not hold.

    Raises:
        InputError: one has neither a path nor a URL.
    """
    for each in wanted:
        try:
            allowed, _, why = each.answer(robots, each.path)
        except InvalidURL as error:
            raise InputError(f"{input_files.named(file)}, line {each.line}: {error}") from None
        if allowed is not each.allowed:
            yield Unmet(each.line, each.agent, each.path, each.allowed, why)


def test(file: Path, robots: str, configuration: "Configuration", *, form: str) -> Exit:
    """Print the expectations that do not hold; exit code 2 where there are any.

    Args:
        robots: path or URL.
        form: `text`, `github` or `json`.
    """
    wanted = list(read(file))
    (source,) = read_all([robots], configuration)
    if source.missing:
        tell(f"{source.name}: {source.missing}")
    failed = list(unmet(source.robots, wanted, file))
    if form == "json":
        print(json.dumps([asdict(each) for each in failed], indent=2))
        return Exit.PARTLY if failed else Exit.DONE
    for each in failed:
        verb = "may not fetch" if each.expected else "may fetch"
        said = f"{each.agent} {verb} {each.path}: {each.why}"
        if form == "github":
            say(annotation("error", str(file), each.line, "comity test", said))
        else:
            say(f"{file}:{each.line}: {said}")
    tell(f"{len(wanted) - len(failed):,} passed, {len(failed):,} failed")
    return Exit.PARTLY if failed else Exit.DONE
