"""`comity test`: a robots.txt against a file of expectations, which say who may fetch what."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from comity.cli import input_files
from comity.cli.exits import Exit
from comity.cli.options import FILE, JSON, READING, argument, command, loaded, option, refuse
from comity.cli.robots_files import annotation, note_agents, read_all
from comity.cli.terminal import print_err, print_json, print_out
from comity.errors import InputError, InvalidURL
from comity_robots import Robots
from comity_robots import expectations as reader
from comity_robots.expectations import Expectation, NoExpectation


@command("Write a robots.txt")
@argument("expectations", "EXPECTATIONS", type=FILE)
@option("--robots", "FILE|URL", "The robots.txt to test.", default="robots.txt")
@option("--format form", ("text", "github", "json"), "How failures are printed.", otherwise="text")
@READING
@JSON
def test(expectations: Path, robots: str, form: str | None, as_json: bool, **options: Any) -> Exit:
    """Test a robots.txt against a file of expectations.

    Its lines look like 'GPTBot not /private' and 'Googlebot yes /blog'. Exit code 2: some do not hold, 3: a site
    could not be reached.
    """
    if form not in (None, "json"):
        refuse(f"has no effect with --format {form}", "as_json")
    input_files.check_stdin_once([expectations, Path(robots)])
    wanted = list(_read(expectations))
    if not wanted:
        raise InputError(
            f"{input_files.named(expectations)} holds no expectations",
            hint="one a line, such as: GPTBot not /private",
        )
    (source,) = read_all([robots], loaded(**options))
    if source.missing:
        print_err(f"{source.name}: {source.missing}")
    note_agents((each.agent for each in wanted), source.robots)
    failed = list(_unmet(source.robots, wanted, expectations))
    if as_json or form == "json":
        print_json([asdict(each) for each in failed])
        return Exit.PARTLY if failed else Exit.DONE
    for each in failed:
        verb = "may not fetch" if each.expected else "may fetch"
        words = f"{each.agent} {verb} {each.path}: {each.why}"
        if form == "github":
            print_out(annotation("error", str(expectations), each.line, "comity test", words))
        else:
            print_out(f": {words}", lead=f"{expectations}:{each.line}", colour="red")
    print_err(f"{len(wanted) - len(failed):,} passed, {len(failed):,} failed")
    return Exit.PARTLY if failed else Exit.DONE


@dataclass(frozen=True, slots=True)
class Unmet:
    """An expectation that does not hold; `why` names the line that decides otherwise."""

    line: int
    agent: str
    path: str
    expected: bool
    why: str


def _read(file: Path) -> Iterator[Expectation]:
    """Read the expectations of a file; InputError if a line is not one."""
    try:
        yield from reader.read(input_files.read(file).decode("utf-8-sig", "replace"))
    except NoExpectation as error:
        raise InputError(
            f"{input_files.named(file)}, line {error.line}: {error}",
            hint="write for example: GPTBot not /private",
        ) from None


def _unmet(robots: Robots, wanted: Sequence[Expectation], file: Path) -> Iterator[Unmet]:
    """Yield the expectations that fail; InputError if one has neither a path nor a URL."""
    for each in wanted:
        try:
            allowed, _, why = each.answer(robots, each.path)
        except InvalidURL as error:
            raise InputError(f"{input_files.named(file)}, line {each.line}: {error}") from None
        if allowed is not each.allowed:
            yield Unmet(each.line, each.agent, each.path, each.allowed, why)
