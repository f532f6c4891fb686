"""`comity test`: a robots.txt against a file that says who may fetch what.

One expectation a line: an agent, `yes` or `not`, a path or URL. `#` begins a comment; `*` is everybody that the
robots.txt does not name.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from comity.cli import input_files
from comity.cli.exits import Exit
from comity.cli.lint import annotation
from comity.cli.robots_files import read_all
from comity.cli.terminal import say, tell
from comity.errors import InputError, InvalidURL
from comity.robots import Robots

if TYPE_CHECKING:
    from comity.configuration import Configuration

_LINE: Final = re.compile(r"(?P<agent>\S.*?)\s+(?P<answer>yes|no|not)\s+(?P<path>\S+)", re.IGNORECASE)
_COMMENT: Final = re.compile(r"(?:^|\s)#.*")
_NOBODY: Final = "\x01nobody"


@dataclass(frozen=True, slots=True)
class Expectation:
    """Whether an agent may fetch a path, as somebody wants it.

    Attributes:
        line: of the file, from 1.
    """

    line: int
    agent: str
    path: str
    allowed: bool


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
    name = input_files.named(file)
    for number, text in enumerate(input_files.read(file).decode("utf-8-sig", "replace").split("\n"), 1):
        for part in re.split(r";(?:\s|\Z)", _COMMENT.sub("", text)):
            if not part.strip():
                continue
            found = _LINE.fullmatch(part.strip())
            if found is None:
                raise InputError(
                    f"{name}, line {number}: {part.strip()!r} is not an expectation",
                    hint="write for example: GPTBot not /private",
                )
            yield Expectation(number, found["agent"], found["path"], found["answer"].lower() == "yes")


def unmet(robots: Robots, expectations: Sequence[Expectation], file: Path) -> Iterator[Unmet]:
    """Those that do not hold.

    Raises:
        InputError: one has neither a path nor a URL.
    """
    for each in expectations:
        agent = _NOBODY if each.agent == "*" else each.agent
        try:
            allowed, _, why = robots.brief(each.path, agent)
        except InvalidURL as error:
            raise InputError(f"{input_files.named(file)}, line {each.line}: {error}") from None
        if allowed is not each.allowed:
            said = why.replace(_NOBODY, "everybody")
            yield Unmet(each.line, each.agent, each.path, each.allowed, said)


def test(file: Path, robots: str, configuration: "Configuration", *, form: str) -> Exit:
    """Print the expectations that do not hold; exit code 2 where there are any.

    Args:
        robots: path or URL.
        form: `text`, `github` or `json`.
    """
    expectations = list(read(file))
    (source,) = read_all([robots], configuration)
    if source.missing:
        tell(f"{source.name}: {source.missing}")
    failed = list(unmet(source.robots, expectations, file))
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
    tell(f"{len(expectations) - len(failed):,} passed, {len(failed):,} failed")
    return Exit.PARTLY if failed else Exit.DONE
