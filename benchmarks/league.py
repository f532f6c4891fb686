"""robots.txt parsers of several languages on one set of questions: writes docs/engines.md between its marks.

    python benchmarks/league.py [--every 4] [--python PYTHON]... [--urllib NAME FOLDER]... [--modules FOLDER]
                                [--rust PROGRAM]

The questions are those of tests/cases/rfc9309.json and, where ../shared/corpus is, those about real files and about odd
syntax, with the answers of Google's own parser. Each parser is asked in a process of its own, is given the product
token (RFC 9309, 2.2.1), and reads a file once where it lets one ask twice. What is not installed is left out.
"""

import argparse
import base64
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
PEERS = Path(__file__).parent / "peers"
DOCUMENT = ROOT / "docs" / "engines.md"
LIMIT = 900  # seconds for all that one parser is asked


@dataclass(frozen=True, slots=True)
class File:
    """A robots.txt and what is asked of it: agent, URL, the answer that is expected."""

    body: bytes
    cases: list[tuple[str, str, int]]
    about: str = ""


@dataclass(slots=True)
class Result:
    asked: int
    differ: list[int]
    failed: int
    seconds: float


def token(agent: str) -> str:
    return agent.split("/")[0].split(" ")[0]


def absolute(url: str) -> str:
    return url if "://" in url else f"https://example.com{url}"


def from_rfc() -> Iterator[File]:
    for case in json.loads((ROOT / "tests" / "cases" / "rfc9309.json").read_text("utf-8"))["cases"]:
        answers = [(token(case["agent"]), absolute(url), int(allowed)) for url, allowed, *_ in case["answers"]]
        yield File(
            "\n".join(case["robots"]).encode(), answers, f"{case['source'].removeprefix('RFC 9309, ')}: {case['name']}"
        )


def from_corpus(name: str, every: int) -> Iterator[File]:
    path = CORPUS / f"google-{name}.jsonl.gz"
    if not path.exists():
        return
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number % every == 0:
                row = json.loads(line)
                body = (
                    base64.b64decode(row["robots_b64"])
                    if "robots_b64" in row
                    else (CORPUS / "robots" / row["file"]).read_bytes()
                )
                cases = [(token(agent), url, int(bool(allowed))) for agent, url, allowed, *_ in row["cases"]]
                yield File(body, cases)


def peers(options: argparse.Namespace) -> Iterator[tuple[str, str, list[str]]]:
    """Name, language and command of each parser that is here."""
    script = str(PEERS / "robots_peer.py")
    own = sys.executable
    yield "comity", "Cython", [own, script, "comity"]
    yield 'comity, `dialect="google"`', "Cython", [own, script, "comity_google"]
    yield "Google's robotstxt, by fast-robotstxt", "C++", [own, script, "google"]
    yield "Protego", "Python", [own, script, "protego"]
    yield "robotspy", "Python", [own, script, "robotspy"]
    for python in options.python:
        told = subprocess.run(
            [python, "-c", "import sys; print(sys.version.split()[0])"], capture_output=True, text=True
        )
        if told.returncode == 0:
            yield f"urllib.robotparser of {told.stdout.strip()}", "Python", [python, script, "stdlib"]
    for name, folder in options.urllib:
        python = (options.python or [own])[-1]
        yield f"urllib.robotparser of {name}", "Python", ["env", f"PYTHONPATH={folder}", python, script, "stdlib"]
    yield "reppy", "C++", [options.reppy, script, "reppy"]
    yield "robots-parser", "JavaScript", ["node", str(PEERS / "robots-parser" / "peer.mjs")]
    yield "texting_robots", "Rust", [options.rust or "texting_robots"]


def asked(command: list[str], files: list[File], modules: str | None) -> Result | str:
    """What a parser answers, or why it cannot be asked."""
    words = "".join(
        json.dumps(
            {"body": base64.b64encode(file.body).decode(), "cases": [[agent, url] for agent, url, _ in file.cases]}
        )
        + "\n"
        for file in files
    )
    if modules and command[0] == "node":  # modules are looked for beside the file that imports them
        copy = Path(modules).parent / "peer.mjs"
        copy.write_text(Path(command[1]).read_text("utf-8"), "utf-8")
        command = ["node", str(copy)]
    try:
        done = subprocess.run(
            command, input=words, capture_output=True, text=True, timeout=LIMIT, check=False, env={**os.environ}
        )
    except FileNotFoundError:
        return "not here"
    except subprocess.TimeoutExpired:
        return f"not done after {LIMIT} s"
    said: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    if len(said) != len(files):
        return (done.stderr.strip().splitlines() or ["ended early"])[-1]
    differ, failed, number = [], 0, 0
    for file, row in zip(files, said, strict=True):
        for (*_, expected), answer in zip(file.cases, row["answers"], strict=True):
            failed += answer == -1
            if answer not in (-1, expected):
                differ.append(number)
            number += 1
    return Result(number, differ, failed, sum(row["seconds"] for row in said))


def share(result: Result | str) -> str:
    if isinstance(result, str):
        return "not measured"
    text = f"{len(result.differ)} of {result.asked:,}"
    return text + (f", {result.failed} not answered" if result.failed else "")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="of the corpus, one file in so many")
    parser.add_argument("--python", action="append", default=[], help="another Python, whose robotparser is asked")
    parser.add_argument(
        "--urllib", nargs=2, action="append", default=[], metavar=("NAME", "FOLDER"),
        help="the package urllib of a version that is not here, for the last --python",
    )  # fmt: skip
    parser.add_argument("--reppy", default=sys.executable, help="the Python that has reppy")
    parser.add_argument("--modules", help="the folder node_modules that has robots-parser")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--rust", help="the program built in benchmarks/peers/texting_robots")
    options = parser.parse_args()
    sets = [list(from_rfc()), list(from_corpus("verdicts", options.every)), list(from_corpus("grammar", options.every))]
    rows, wrong, absent = [], {}, []
    for name, language, command in peers(options):
        results = [asked(command, files, options.modules) if files else "no corpus" for files in sets]
        for _ in range(options.rounds - 1):  # another process may be in the way: the best time counts
            again = asked(command, sets[1], options.modules) if sets[1] else ""
            if isinstance(again, Result) and isinstance(results[1], Result):
                results[1].seconds = min(results[1].seconds, again.seconds)
        rfc, real, _ = results
        if isinstance(rfc, str):
            absent.append(f"{name}: {rfc}")
            print(absent[-1], file=sys.stderr)
            continue
        speed = "" if isinstance(real, str) else f"{real.seconds / real.asked * 1e6:,.1f}"
        rows.append(f"| {name} | {language} | {' | '.join(map(share, results))} | {speed} |")
        print(rows[-1], file=sys.stderr)
        for number in rfc.differ:
            wrong.setdefault(number, []).append(name)
    questions = [(file, case) for file in sets[0] for case in file.cases]
    lines = [
        "| parser | language | RFC's cases | real files | odd syntax | us a question |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
        "## Where they differ from the RFC",
        "",
        "| section and case | robots.txt | agent and URL | RFC 9309 | who answers otherwise |",
        "|---|---|---|---|---|",
    ]
    for number, names in sorted(wrong.items()):
        file, (agent, url, expected) = questions[number]
        body = file.body.decode().replace("|", "\\|")
        shown = "<br>".join(f"`{line}`" for line in body.split("\n") if line) or "empty"
        answer = "allowed" if expected else "disallowed"
        lines.append(f"| {file.about} | {shown} | `{agent}` `{url}` | {answer} | {'; '.join(names)} |")
    if absent:
        lines += ["", "Could not be asked here: " + "; ".join(absent) + "."]
    text = DOCUMENT.read_text("utf-8")
    begin, end = "<!-- made by benchmarks/league.py -->\n", "<!-- end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    DOCUMENT.write_text(before + begin + "\n" + "\n".join(lines) + "\n\n" + end + after, "utf-8")


if __name__ == "__main__":
    main()
