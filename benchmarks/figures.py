"""docs/figures.md: what comity costs beside other libraries, in parts that each are one benchmark.

    python benchmarks/figures.py [PART ...]

Without parts all of them are measured. A benchmark prints its figures as a table of Markdown, and these lines are taken
as they are. The parts that are not measured keep their tables and say which run these are of. What takes an hour is
written by hand, at the end of the page. Rows that another page cites, and the picture of docs/index.md, are renewed.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import sysconfig
import textwrap
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "figures.md"
PICTURE = ROOT / "docs" / "speed.svg"
CITING = (ROOT / "packages" / "robots" / "README.md", ROOT / "packages" / "pages" / "README.md")
PICTURED = "one verdict, 30 rules"
SECTIONS = re.compile(r"(?s)<!-- parts -->\n.*<!-- end of parts -->\n")
SECTION = re.compile(r"(?ms)^<!-- (\w+): ([^;\n]*); ([^\n]*) -->\n(.*?)(?=^<!-- )")


@dataclass(frozen=True)
class Part:
    heading: str
    command: str  # a benchmark and its arguments
    about: str
    interpreted: bool = False


PARTS = {
    "engine": Part("Verdicts and parsing", "engine.py", "Real robots.txt files are read as sites serve them."),
    "interpreted": Part("Without a compiler", "engine.py", "The same with `COMITY_NO_EXTENSIONS=1`.", True),
    "columns": Part(
        "Verdicts over columns",
        "bulk.py 500000",
        "The URLs are made of patterns of real robots.txt files. Protego parses each file once. "
        "[Several engines](#columns-in-several-engines) and [100 million URLs](#up-to-100-million-urls) follow.",
    ),
    "engines": Part(
        "Columns in several engines",
        "bulk_engines.py 200000 pandas polars duckdb",
        "200,000 URLs over 3,000 origins, and everything counted: the frame's own conversions, reading the robots.txt "
        "table. Protego is called in a Python function of the same engine. [Others](#dask-daft-ray-and-spark) follow.",
    ),
    "client": Part("Asking and fetching", "client.py", "Pages of 2 KB by nginx on the same machine."),
    "names": Part("Finding addresses", "names.py --names 6000", "A name server of the benchmark's own answers."),
    "signatures": Part("Signing requests", "signatures.py", "Signatures are Ed25519."),
    "urls": Part("URLs", "urls.py 100000", "References are random, from a fixed seed."),
    "links": Part("Links of a page", "links.py", "comity reads metas, canonical and languages too; others only `a`."),
    "sitemaps": Part("Sitemaps", "sitemaps.py", "Entries are read with their dates; the others give text."),
    "pages": Part(
        "A page as Markdown",
        "extraction.py web --pages 150",
        "The trees that comity ships are fitted to these pages too, which flatters its F1; the figure for pages of "
        "domains that it has not seen is [below](#what-takes-an-hour).",
    ),
    "titles": Part("Titles", "extraction.py titles --pages 150", "A title is right if it has the same words."),
    "structure": Part(
        "Structure of a page",
        "structure.py",
        "HTML is converted, rendered again and compared as a tree. The cases are those of comity's own tests, which it "
        "was written to pass: they say what the others do not do, not how often a page needs it. Others' cases, and "
        "pandoc and turndown, are [below](#structure-by-others-cases).",
    ),
    "crawl": Part(
        "Crawling one site",
        "crawl.py --pages 3000 --rounds 1 --without Crawlee spider Colly",
        "robots.txt is respected, links are followed, the output is JSON Lines; comity keeps a ledger besides.",
    ),
    "broad": Part(
        "Crawling many hosts over TLS",
        "broad.py --hosts 200 --copies 1 --scrapy-pages 500",
        "Real pages, from a list; the crawler shares two cores with nginx. Scrapy gets the first 500.",
    ),
    "floor": Part(
        "How far from the floor",
        "floor.py",
        "The bare program downloads, unpacks, reads and writes the same pages, and does nothing else: no rules, no "
        "frontier, no ledger.",
    ),
    "politeness": Part(
        "Politeness",
        "politeness.py --hosts 500 --interval 1 --seconds 30",
        "By the server's own clock. No other crawler is measured here.",
    ),
    "frontier": Part(
        "The frontier",
        "frontier.py 500000",
        "All URLs found stay in the queue. Beside it stands one table as one writes it at first.",
    ),
}


def run_of() -> str:
    """When, of which commit and on what this run measures."""

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True).stdout.strip()

    commit = git("rev-parse", "--short=8", "HEAD") or "unknown"
    if git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs", ":!*.md"):
        commit += " with changes"
    cpuinfo = Path("/proc/cpuinfo")
    named = re.search(r"(?m)^model name\s*: (.*)", cpuinfo.read_text()) if cpuinfo.exists() else None
    processor = re.sub(r"\s+", " ", named[1]).strip() if named else platform.machine()
    built = "" if "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "") else " (unoptimised)"
    day = datetime.now(UTC)
    return (
        f"{day.day} {day:%B %Y}, commit {commit}, Python {platform.python_version()}{built}, {platform.system()}, "
        f"{os.cpu_count()} x {processor}, load {os.getloadavg()[0]:.1f} before it"
    )


def rows_in(text: str) -> list[str]:
    """The tables in what a benchmark printed, or in a section, with an empty line between them."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    found: list[str] = []
    for number, line in enumerate(lines, 1):
        if found and "".join(lines[number : number + 1]).startswith("| ---"):
            found.append("")
        found.append(line)
    return found


@dataclass(frozen=True)
class Measured:
    took: str
    run: str
    rows: list[str]
    whole: bool = True


NOT_YET = Measured("not measured yet", "", ["| what |", "| --- |", "| not measured yet |"])


def measured(part: Part, run: str) -> Measured:
    """A part, measured now; what its benchmark prints is printed as it comes."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    environment.pop("COMITY_NO_EXTENSIONS", None)
    if part.interpreted:
        environment["COMITY_NO_EXTENSIONS"] = "1"
    program, *arguments = part.command.split()
    command = [sys.executable, str(ROOT / "benchmarks" / program), *arguments]
    started = time.monotonic()
    lines = []
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            lines.append(line)
            print(line, end="", flush=True)
    rows = rows_in("".join(lines))
    if not (whole := running.returncode == 0 and bool(rows)):
        said = next((line.strip() for line in reversed(lines) if line.strip()), "nothing was printed")
        rows = [*(rows or ["| what | why |", "| --- | --- |"]), f"| not measured | {said.replace('|', ' ')} |"]
    return Measured(f"{time.monotonic() - started:.0f} s", run, rows, whole)


def parts_of(page: str) -> dict[str, Measured]:
    """What a page says of each part."""
    found = {name: Measured(took, run, rows_in(text)) for name, took, run, text in SECTION.findall(page)}
    return {name: found.get(name, NOT_YET) for name in PARTS}


def wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def written(page: str, parts: dict[str, Measured]) -> str:
    """The page with the tables of these parts instead of those it has."""
    runs = {each.run for each in parts.values()}
    text = "Not all parts are of one run: each says its own. Compare within a part only.\n\n"
    if len(runs) == 1:
        text = wrapped(f"Measured on {next(iter(runs))}.") + "\n\n"
    for name, part in PARTS.items():
        it = parts[name]
        of = f" {it.run}." if len(runs) > 1 and it.run else ""
        text += (
            f"<!-- {name}: {it.took}; {it.run} -->\n## {part.heading}\n{wrapped(part.about)}\n\n"
            + wrapped(f"`make figures PARTS={name}` (`benchmarks/{part.command}`): {it.took}.{of}")
            + "\n\n"
            + "\n".join(it.rows)
            + "\n\n"
        )
    return SECTIONS.sub(lambda _: f"<!-- parts -->\n{text}<!-- end of parts -->\n", page)


def name_of(line: str) -> str:
    """What a row of a table begins with; nothing, of other lines and of heads that begin with nothing."""
    return line.split(" | ")[0].removeprefix("| ").strip("|- ") if line.startswith("| ") else ""


def rows_by_name(page: str) -> dict[str, str]:
    """The first row that begins with each name: that of what is compiled comes before that of what is not."""
    return {name: line for line in reversed(page.splitlines()) if (name := name_of(line))}


def cited(text: str, rows: dict[str, str]) -> str:
    """A page that cites rows, with these as they are now."""
    return "\n".join(rows.get(name_of(line), line) for line in text.split("\n"))


def drawn(picture: str, row: str) -> str:
    """The bars of docs/index.md with the microseconds of a row."""
    _, ours, others = row.strip("| ").split(" | ")
    times = dict(re.findall(r"([^,]+?) ([\d.]+) us(?:, )?", f"comity {ours}, {others}"))
    most = max(map(float, times.values()))
    for name, took in times.items():
        width = max(round(250 * float(took) / most), 4)
        bar = rf'(>{re.escape(name)}</text><rect [^>]* width=")\d+("[^>]*/><text class="ink" x=")\d+("[^>]*>)[\d.]+'
        picture = re.sub(bar, rf"\g<1>{width}\g<2>{258 + width}\g<3>{took}", picture)
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    asked = parser.parse_args().parts or list(PARTS)
    if unknown := set(asked) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    run = run_of()
    print(run)
    failed = []
    for name in asked:
        print(f"\n{name}: benchmarks/{PARTS[name].command}", flush=True)
        it = measured(PARTS[name], run)
        failed += [] if it.whole else [name]
        page = PAGE.read_text("utf-8")
        PAGE.write_text(page := written(page, parts_of(page) | {name: it}), "utf-8")
    if failed:
        sys.exit(f"not measured whole: {', '.join(failed)}; pages that cite figures stay as they are")
    rows = rows_by_name(page)
    for path in CITING:
        path.write_text(cited(path.read_text("utf-8"), rows), "utf-8")
    if PICTURED in rows:
        PICTURE.write_text(drawn(PICTURE.read_text("utf-8"), rows[PICTURED]), "utf-8")


if __name__ == "__main__":
    main()
