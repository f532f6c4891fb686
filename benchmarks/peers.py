"""The tests of other robots.txt libraries, answered by comity's replacements for them.

Nothing is fetched: a suite is run where it is installed, as CPython's is, or lies in a folder that is given, as
FOLDER/protego. Suites in Python are run by pytest, with our class in the place of theirs; of suites in other languages
the questions are read (file, agent, URL, answer) where they are written out. What differs has its reason in
docs/coming-from.md, one line a test; a difference without a reason there is a failure.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import types
import unittest.mock
import urllib.robotparser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from comity import Policy, parse
from comity.compat import protego, reppy, robotparser

DOCS = Path(__file__).parents[1] / "docs" / "coming-from.md"
UNEXPLAINED = "NOT IN docs/coming-from.md"
REASON = re.compile(r"^\| ([^|]+) \| `([^`|]+)` \| (.+) \|$", re.MULTILINE)
QUESTIONS = Path(__file__).with_suffix("") / "questions.toml"
HERE = Policy(agent="MyBot/1.0", allow_addresses=("127.0.0.0/8", "::1/128"))


@dataclass
class Result:
    """How one suite went: tests or questions, the names of tests where they differ, and what could not be asked."""

    asked: int = 0
    differing: Counter[str] = field(default_factory=Counter)
    unasked: int = 0


# Suites in Python, each in a process of its own, as other classes take the place of theirs there


class _Recorder:
    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if (report.when == "call" or report.outcome != "passed") and self.outcomes.get(report.nodeid) != "failed":
            self.outcomes[report.nodeid] = report.outcome

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.outcomes[f"{report.nodeid}::not imported"] = "failed"


def _module(name: str, **names: Any) -> types.ModuleType:
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(names)
    return module


def _as_protego(folder: Path) -> None:
    _module("protego", Protego=protego.Protego, __path__=[str(folder / "src" / "protego")])


def _as_cpython(folder: Path) -> None:
    import_module("test.support")  # the installed one, not a folder `test` that holds a newer file alone

    class Ours(robotparser.RobotFileParser):
        def __init__(self, url: str = "") -> None:
            super().__init__(url, policy=HERE)

    urllib.robotparser.RobotFileParser = Ours  # type: ignore[assignment, misc]


def _as_reppy(folder: Path) -> None:
    _module("reppy", robots=reppy, __path__=[])
    sys.modules |= {"reppy.robots": reppy, "mock": unittest.mock}
    for name in ("requests", "requests.exceptions", "requests_mock", "six"):
        sys.modules[name] = unittest.mock.MagicMock()  # for tests that fetch, which are not asked
    setattr(unittest.TestCase, "assertEquals", unittest.TestCase.assertEqual)  # noqa: B010 - gone since Python 3.12


def _as_scrapy(folder: Path) -> None:
    sys.path.insert(0, str(folder))
    _as_cpython(folder)
    _module("protego", Protego=protego.Protego)
    # Its tests of the standard library ask what that answers since it follows RFC 9309.
    vars(import_module("scrapy.utils._deps_compat"))["STDLIB_IMPROVED_ROBOTFILEPARSER"] = True


@dataclass(frozen=True)
class Suite:
    """Tests in Python: in which files (globs), what puts our classes there, and the names of those not asked."""

    files: tuple[str, ...]
    prepare: Callable[[Path], None]
    unasked: str = r"(?!)"


REPPY_FETCHES = "fetch|hook|too_big|exception|redirects|malformed_url"
PYTHON = {
    "CPython": Suite((), _as_cpython, "NetworkTestCase"),
    "Protego": Suite(("protego/tests/test_[!u]*.py",), _as_protego, "time_period"),  # the rest: its private helpers
    "reppy": Suite(("reppy/tests/test_agent.py", "reppy/tests/test_robots.py"), _as_reppy, REPPY_FETCHES),
    "Scrapy": Suite(("scrapy/tests/test_robotstxt_interface.py",), _as_scrapy),
}


def run_here(suite: Suite, files: list[str]) -> int:
    """Run tests in this process and print what became of each as JSON, on the last line."""
    suite.prepare(Path(files[0]).parents[1])
    recorder = _Recorder()
    options = ["-q", "--tb=no", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", os.devnull, "--rootdir"]
    pytest.main([*options, str(Path(files[0]).parents[1]), *files], plugins=[recorder])
    print("\n" + json.dumps(recorder.outcomes))
    return 0


def run(name: str, files: Iterable[Path]) -> Result:
    """Run a suite in Python."""
    command = [sys.executable, __file__, "--suite", name, *map(str, files)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    result = Result()
    for test, outcome in json.loads(told).items():
        test = test.split("::", 1)[-1].split("[")[0].replace("::", ".")
        unasked = outcome == "skipped" or re.search(f"not imported|{PYTHON[name].unasked}", test)
        result.unasked += bool(unasked)
        result.asked += not unasked
        result.differing[test] += outcome == "failed" and not unasked
    result.differing = +result.differing
    return result


def cpythons(folder: Path | None) -> dict[Path, list[str]]:
    """CPython's tests in each Python that is installed and those in the folder; of files that are the same one."""
    stdlib = {Path(sysconfig.get_path("stdlib")), *Path("/usr/lib").glob("python3.1[1-9]")}
    stdlib |= set((Path.home() / ".pyenv" / "versions").glob("3.1[1-9]*/lib/python3.1*"))
    stdlib |= {folder / "cpython" / "Lib"} if folder else set()
    files, versions = dict[bytes, Path](), dict[Path, list[str]]()
    for place in sorted(stdlib, key=lambda place: place.name):
        if (file := place / "test" / "test_robotparser.py").exists():
            same = files.setdefault(sha256(file.read_bytes()).digest(), file)
            versions.setdefault(same, []).append(place.name.removeprefix("python").replace("Lib", "of the folder"))
    return versions


# Suites in other languages: questions that are written out

TEXT = r"""(?:"{3}(?:[^"\\]|\\.|"(?!""))*"{3}|b?"(?:[^"\\]|\\.)*"|'(?:[^'\\\n]|\\(?!u[dD]).)*')"""
TEXTS = rf"(?:{TEXT}\s*)+"
PARTS = {"TEXTS": TEXTS, "TEXT": TEXT, "LIST": rf"\[\s*(?:{TEXT}\s*,?\s*)*\]", "VALUE": rf"(?:{TEXTS}|\w+)"}
ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[0-7]{1,3}|\n\s*|.)", re.DOTALL)


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if len(code) == 5:
        return chr(int(code[1:], 16)).encode()
    if code[:1] == b"x" or code.isdigit():
        return bytes([int(code[1:], 16) if code[:1] == b"x" else int(code, 8) & 255])
    return b"" if code.isspace() else {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(code, code)


def literals(text: str) -> list[bytes]:
    """What string literals stand for."""
    parts = (part.removeprefix("b") for part in re.findall(TEXT, text, re.DOTALL))
    bare = (part[3:-3] if part.startswith('"""') else part[1:-1] for part in parts)
    return [ESCAPE.sub(_unescape, part.encode()) for part in bare]


def ask(reader: dict[str, Any], files: Iterable[Path]) -> Result:
    """Ask the questions of a suite that benchmarks/peers/questions.toml describes."""
    result = Result()
    steps = re.sub("TEXTS?|LIST|VALUE", lambda part: PARTS[part[0]], reader["steps"])
    for path in files:
        source = re.sub(r"(?ms)^\s*//[^\n]*$|^\s*/\*(?: #\[test\])?$.*?\*/", "", path.read_text(encoding="utf-8"))
        result.unasked += len(re.findall(reader["questions"], source))
        test, names, now = path.stem, dict[str, list[bytes]](), dict[str, list[bytes]]()
        for step in re.finditer(rf"(?xsm){steps}", source):
            found = {key.rstrip("2"): text for key, text in step.groupdict().items() if text is not None}
            if "test" in found:
                test, names, now = found["test"], {}, {}
            if name := found.get("name", found.get("changed")):
                names[name] = [b"".join(literals(found["value"]))] if "value" in found else []
            for key in found.keys() & {"file", "agent", "url"}:
                text = found[key].strip()
                now[key] = names.get(text, []) if re.fullmatch(r"\w+", text) else literals(text)
                if text[:1] != "[" and now[key]:
                    now[key] = [b"".join(now[key])]
            if step.groupdict().get("url2"):
                now["agent"] = literals(found.get("agent", "'*'"))
            if "joint" in found:
                now["file"] = [literals(found["joint"])[0].join(now["file"])]
            agent = now.get("agent", [b"*"])
            if "allowed" not in found or not (now.get("file") and agent and now["url"]):
                continue
            result.unasked -= len(re.findall(reader["questions"], step.group()))
            robots = protego.Protego(parse(now["file"][0], reader.get("dialect", protego.DIALECT)))
            for url in now["url"]:
                result.asked += 1
                allowed = robots.can_fetch(url.decode(), agent[0].decode())
                result.differing[test] += allowed != (found["allowed"] in reader["yes"])
    result.differing = +result.differing
    return result


def results(folder: Path | None) -> Iterator[tuple[str, str, Result | None]]:
    """Each suite: the name that its reasons go by, its title, and how it went; None where it is not here."""
    for file, versions in cpythons(folder).items():
        yield "CPython", f"CPython {', '.join(dict.fromkeys(versions))}", run("CPython", [file])
    others = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))
    globs = {name: suite.files for name, suite in PYTHON.items() if suite.files}
    for name, patterns in {**globs, **{name: reader["files"] for name, reader in others.items()}}.items():
        files = [file for pattern in patterns for file in sorted(folder.glob(pattern))] if folder else []
        yield name, name, (run(name, files) if name in PYTHON else ask(others[name], files)) if files else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="the folder in which others' repositories lie")
    parser.add_argument("--suite", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.suite:
        return run_here(PYTHON[options.suite[0]], options.suite[1:])
    reasons = {(suite, test): why for suite, test, why in REASON.findall(DOCS.read_text(encoding="utf-8"))}
    lines = []
    print(f"{'suite':<32} {'asked':>6} {'same':>6} {'differ':>6} {'not asked':>9}")
    for name, title, result in results(options.folder and options.folder.resolve()):
        if result is None:
            print(f"{title:<32} not here")
            continue
        differing = result.differing.total()
        print(f"{title:<32} {result.asked:>6} {result.asked - differing:>6} {differing:>6} {result.unasked:>9}")
        for test, count in result.differing.items():
            lines.append(f"{name}: {test} ({count}): {reasons.get((name, test), UNEXPLAINED)}")
    print("\n" + "\n".join(dict.fromkeys(lines)))
    return any(line.endswith(UNEXPLAINED) for line in lines)


if __name__ == "__main__":
    sys.exit(main())
