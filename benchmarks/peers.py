"""The tests of other robots.txt libraries, answered by comity's replacements for them.

Nothing is fetched: a suite is run where it is installed, as CPython's is, or lies in a folder that is given, as
FOLDER/protego. Suites in Python are run by pytest, with our class in the place of theirs; of suites in other languages
the questions are read (file, agent, URL, answer) where they are written out. What differs has its reason in
docs/coming-from.md, one line a test; a difference without a reason there is a failure.
"""

import argparse
import json
import re
import subprocess
import sys
import sysconfig
import types
import urllib.robotparser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from comity import Policy, parse
from comity.compat import protego, robotparser

DOCS = Path(__file__).parents[1] / "docs" / "coming-from.md"
REASON = re.compile(r"^\| ([^|]+) \| `([^`|]+)` \| (.+) \|$", re.MULTILINE)
HERE = Policy(agent="MyBot/1.0", allow_addresses=("127.0.0.0/8", "::1/128"))


@dataclass
class Result:
    """How one suite went.

    Attributes:
        asked: tests or questions.
        differing: the names of tests that went otherwise, with the number of questions.
        unasked: tests or questions that could not be asked.
    """

    asked: int = 0
    differing: Counter[str] = field(default_factory=Counter)
    unasked: int = 0


# Suites in Python, each in a process of its own, as other classes take the place of theirs there


class _Recorder:
    """A plug-in of pytest: which tests passed, failed or were skipped."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        told = report.when == "call" or report.outcome != "passed"
        if told and self.outcomes.get(report.nodeid) != "failed":
            self.outcomes[report.nodeid] = report.outcome

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.outcomes[f"{report.nodeid}::not imported"] = "failed"


def _module(name: str, **names: Any) -> types.ModuleType:
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(names)
    return module


def _as_protego(folder: Path) -> None:
    # Tests of its private helpers take them from where they are; all else is ours.
    _module("protego", Protego=protego.Protego, __path__=[str(folder / "src" / "protego")])


def _as_cpython(folder: Path) -> None:
    class Ours(robotparser.RobotFileParser):
        def __init__(self, url: str = "") -> None:
            super().__init__(url, policy=HERE)

    urllib.robotparser.RobotFileParser = Ours  # type: ignore[assignment, misc]


@dataclass(frozen=True)
class Suite:
    """Tests in Python.

    Attributes:
        folder: where the files are.
        files: which, as globs.
        prepare: puts our classes in the place of theirs, given the folder.
        unasked: an expression for the names of tests that cannot be asked.
    """

    folder: str
    files: tuple[str, ...]
    prepare: Callable[[Path], None]
    unasked: str = r"(?!)"


PYTHON = {
    "Protego": Suite(
        "protego",
        ("tests/test_protego.py", "tests/test_on_google_spec.py", "tests/test_on_fetched_robotstxt.py"),
        _as_protego,
        "time_period",  # its private reader of times
    ),
    "CPython": Suite("cpython", (), _as_cpython, "NetworkTestCase"),
}


def run_here(suite: Suite, files: list[str]) -> None:
    """Run tests in this process and print what became of each as JSON, on the last line."""
    import pytest

    suite.prepare(Path(files[0]).parents[1])
    recorder = _Recorder()
    options = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", "/dev/null"]
    pytest.main([*options, "--rootdir", str(Path(files[0]).parents[1]), *files], plugins=[recorder])
    print("\n" + json.dumps(recorder.outcomes))


def run(name: str, files: Iterable[Path]) -> Result:
    """Run a suite in Python."""
    command = [sys.executable, __file__, "--suite", name, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = Result()
    for test, outcome in json.loads(done.stdout.splitlines()[-1]).items():
        test = test.split("::", 1)[-1].split("[")[0].replace("::", ".")
        if outcome == "skipped" or re.search(PYTHON[name].unasked, test):
            result.unasked += 1
            continue
        result.asked += 1
        if outcome == "failed":
            result.differing[test] += 1
    return result


def cpythons(folder: Path | None) -> dict[Path, list[str]]:
    """CPython's tests in each Python that is installed and those in the folder; of files that are the same one."""
    stdlib = {Path(sysconfig.get_path("stdlib")), *Path("/usr/lib").glob("python3.1[1-9]")}
    stdlib |= set((Path.home() / ".pyenv" / "versions").glob("3.1[1-9]*/lib/python3.1*"))
    stdlib |= {folder / "cpython" / "Lib"} if folder else set()
    files: dict[bytes, Path] = {}
    versions: dict[Path, list[str]] = {}
    for place in sorted(stdlib, key=lambda place: place.name):
        if (file := place / "test" / "test_robotparser.py").exists():
            same = files.setdefault(sha256(file.read_bytes()).digest(), file)
            versions.setdefault(same, []).append(place.name.removeprefix("python"))
    return versions


# Suites in other languages: questions that are written out

TEXT = r'(?:"""(?:[^"\\]|\\.|"(?!""))*"""|b?"(?:[^"\\]|\\.)*")'
VALUE = rf"(?:(?:{TEXT}\s*)+|\w+)"
ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|\n\s*|.)", re.DOTALL)
LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code[:1] == b"x":
        return bytes([int(code[1:], 16)])
    if code.isdigit():
        return bytes([int(code, 8) & 255])
    return b"" if code.isspace() else LETTERS.get(code, code)


def literal(text: str) -> bytes:
    """What string literals, one after the other, stand for."""
    parts = (part.removeprefix("b") for part in re.findall(TEXT, text, re.DOTALL))
    bare = (part[3:-3] if part.startswith('"""') else part[1:-1] for part in parts)
    return b"".join(ESCAPE.sub(_unescape, part.encode()) for part in bare)


@dataclass(frozen=True)
class Reader:
    """How questions stand in source files.

    Attributes:
        folder: where the files are.
        files: which, as globs.
        steps: an expression whose named groups are what a step through the file does: `test` begins a test; `name` and
            `value` keep a text; `changed` forgets it; `file` and `agent` are asked from here on; `url` asks, and
            `allowed` is what they expect.
        questions: an expression for whatever is asked, to count what was not read.
        allowed: what is written for an expected True.
        dialect: how files are read.
    """

    folder: str
    files: tuple[str, ...]
    steps: str
    questions: str
    allowed: tuple[str, ...]
    dialect: str = "google"


OTHERS = {
    "Google, robots_test.cc": Reader(
        "googlebot",
        ("robots_test.cc",),
        rf"""TEST\(\w+,\s*(?P<test>\w+)\)|string(?:_view)?\s+(?P<name>\w+)\s*=\s*(?P<value>(?:{TEXT}\s*)+);
        |StrAppend\(&(?P<changed>\w+)
        |EXPECT_(?P<allowed>TRUE|FALSE)\(\s*IsUserAgentAllowed\(
            \s*(?P<file>{VALUE}),\s*(?P<agent>{VALUE}),\s*(?P<url>{VALUE})\)\)""",
        r"EXPECT_\w+\(",
        ("TRUE",),
    ),
    "Google, robotstxt-spec-test": Reader(
        "robotstxt-spec-test",
        ("src/main/resources/CTC/*/*.textproto",),
        rf"""robotstxt:\s*(?P<file>{VALUE})|testurl:\s*(?P<later>{VALUE})|useragent:\s*(?P<agent>{VALUE})
        |expected_outcome:\s*(?P<allowed>\w+)""",
        r"expected_outcome:",
        ("ALLOWED",),
    ),
}


def ask(reader: Reader, files: Iterable[Path]) -> Result:
    """Ask the questions of a suite."""
    result = Result()
    for path in files:
        source = re.sub(r"(?m)^\s*//.*$", "", path.read_text(encoding="utf-8"))
        names: dict[str, bytes] = {}
        now: dict[str, bytes | None] = {}
        test, read = path.stem, 0
        for step in re.finditer(reader.steps, source, re.VERBOSE | re.DOTALL):
            found = {key: text for key, text in step.groupdict().items() if text is not None}
            test = found.get("test", test)
            if "name" in found:
                names[found["name"]] = literal(found["value"])
            names.pop(found.get("changed", ""), None)
            for key in found.keys() & {"file", "agent", "url", "later"}:
                text = found[key].strip()
                now["url" if key == "later" else key] = literal(text) if '"' in text else names.get(text)
            if "allowed" not in found:
                continue
            file, agent, url = (now.get(key) for key in ("file", "agent", "url"))
            if file is None or agent is None or url is None:
                continue
            read += 1
            ours = protego.Protego(parse(file, reader.dialect)).can_fetch(url.decode(), agent.decode())
            if ours != (found["allowed"] in reader.allowed):
                result.differing[test] += 1
        result.asked += read
        result.unasked += len(re.findall(reader.questions, source)) - read
    return result


def results(folder: Path | None) -> Iterator[tuple[str, str, Result | None]]:
    """Each suite: the name that its reasons go by, its title, and how it went; None where it is not here."""
    for file, versions in cpythons(folder).items():
        yield "CPython", f"CPython {', '.join(dict.fromkeys(versions))}", run("CPython", [file])
    suites: dict[str, Suite | Reader] = {**PYTHON, **OTHERS}
    for name, known in suites.items():
        if name == "CPython":
            continue
        files = [file for glob in known.files for file in sorted((folder / known.folder).glob(glob))] if folder else []
        if not files:
            yield name, name, None
        elif isinstance(known, Suite):
            yield name, name, run(name, files)
        else:
            yield name, name, ask(known, files)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="the folder in which others' repositories lie")
    parser.add_argument("--suite", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.suite:
        run_here(PYTHON[options.suite[0]], options.suite[1:])
        return 0
    reasons = {(suite, test): why for suite, test, why in REASON.findall(DOCS.read_text(encoding="utf-8"))}
    unexplained = 0
    lines = []
    print(f"{'suite':<32} {'asked':>6} {'same':>6} {'differ':>6} {'not asked':>9}")
    for name, title, result in results(options.folder and options.folder.resolve()):
        if result is None:
            print(f"{title:<32} not here")
            continue
        differing = result.differing.total()
        print(f"{title:<32} {result.asked:>6} {result.asked - differing:>6} {differing:>6} {result.unasked:>9}")
        for test, count in result.differing.items():
            why = reasons.get((name, test))
            unexplained += why is None
            lines.append(f"{name}: {test} ({count}): {why or 'NOT IN docs/coming-from.md'}")
    print("\n" + "\n".join(dict.fromkeys(lines)))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
