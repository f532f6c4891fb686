"""What the documentation shows is what happens."""

import doctest
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from commands import comity

import comity as comity_package
from comity.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted(ROOT.glob("packages/*/README.md")),
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINKED = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "SECURITY.md", ROOT / "examples" / "README.md"]
SOURCES = tuple(ROOT.glob("packages/*/src"))
MADE = {"reference.md", "decisions/index.md"}
"""Pages that are made when the site is built."""
ROBOTS = b"""# Silence, please
User-agent: *
Crawl-delay: 2
Disallow: /vault/
Allow: /vault/open-day
Sitemap: https://example.com/sitemap.xml
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_gives_what_it_shows(page: Path) -> None:
    failures, _ = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert failures == 0


@pytest.mark.both_forms
@pytest.mark.parametrize(("name", "count"), [("index.md", 4), ("robots.md", 3), ("ci.md", 2)])
def test_every_command_with_output_gives_what_it_shows(tmp_path: Path, name: str, count: int) -> None:
    (tmp_path / "robots.txt").write_bytes(ROBOTS)
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    for file, text in re.findall(r"^`([\w.]+)`:\n```text\n(.*?)```", page, re.DOTALL | re.MULTILINE):
        (tmp_path / file).write_text(text)
    shown = 0
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            words, _, output = command.partition("\n")
            program, *arguments = shlex.split(words)
            if ">" in arguments or not output:
                continue
            assert program == "comity"
            told = comity(*arguments, cwd=tmp_path)
            wanted = ".*".join(map(re.escape, output.split("...\n")))  # there stands what differs from run to run
            assert re.fullmatch(wanted, told.stdout + told.stderr, re.DOTALL), told.stdout + told.stderr
            shown += 1
    assert shown == count


def anchors(page: Path) -> set[str]:
    """What headings of a page can be linked by, as GitHub and the site have it."""
    own = set(re.findall(r'<a id="([^"]+)"', page.read_text(encoding="utf-8")))  # of a heading that was renamed
    headings = re.findall(r"^#+ (.+)$", re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8")), re.MULTILINE)
    return own | {
        re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", each)).strip().lower().replace(" ", "-") for each in headings
    }


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    for target, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#]*)(?:#([^)]+))?\)", text):
        if target in MADE:
            continue
        there = page.parent / target if target else page
        assert there.exists(), target
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{target}#{anchor}"


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_every_row_stands_in_a_table_and_has_as_many_cells_as_its_head(page: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```", "```", page.read_text(encoding="utf-8"))
    assert re.findall(r"(?m)^(?![|#]).+\n\|.*", text) == [], "the site shows no table right below a line"
    for table in re.findall(r"(?m)(?:^\|.*\n)+", text):
        head, rule, *rows = table.splitlines() + [""] * 2
        assert re.fullmatch(r"\|(?:[ :-]+\|)+", rule), f"no head: {head}"
        cells = {row: len(re.findall(r"(?<!\\)\|", row)) for row in (head, rule, *filter(None, rows))}
        assert [row for row, count in cells.items() if count != cells[head]] == []


def test_every_option_that_a_page_gives_to_a_command_is_one_of_its_options() -> None:
    context = click.Context(app)
    wrong = []
    for page in PAGES:
        for words in re.findall(r"(?m)^\$ (?:\w+=\S+ )*comity ([^|>#\n]*)", page.read_text(encoding="utf-8")):
            command, given = app, words.split()
            while isinstance(command, click.Group) and given and (named := command.get_command(context, given[0])):
                command, given = named, given[1:]
            known = {name for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)}
            wrong += [(page.name, words, each) for each in given if re.match(r"--?[a-z]", each) and each not in known]
    assert wrong == []


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_place_in_the_sources_that_a_page_names_is_there(name: str) -> None:
    places = re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", (ROOT / name).read_text(encoding="utf-8"))
    roots = [
        ROOT,
        ROOT / "packages" / "comity",
        *(each for source in SOURCES for each in (source, *source.glob("comity*"))),
    ]
    assert len(places) > 20
    assert [place for place in places if not any((root / place).exists() for root in roots)] == []


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_every_extra_is_listed_where_people_install(page: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (table,) = re.findall(r"(?m)^\| extra \|.*\n\|[-|]+\n((?:\|.*\n)+)", (ROOT / page).read_text("utf-8"))
    listed = {name for row in table.splitlines() for name in re.findall(r"`([\w-]+)`", row.split("|")[1])}
    assert listed == project["optional-dependencies"].keys() - {"retrieve"}, "retrieve brings nothing"
    whole = set(re.findall(r"[\w-]+", " ".join(project["optional-dependencies"]["all"]))) - {"comity"}
    assert whole == listed - {"all"}


def test_the_architecture_has_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in (ROOT / "packages/comity/src/comity").glob("*/*.py")}
    assert {room for room in rooms if f"`{room}/`" not in page} == set()


def test_the_reference_has_every_public_name_with_its_types() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "from reference import reference; print(reference())"],
        cwd=ROOT / "docs", capture_output=True, text=True, encoding="utf-8", check=True,
    )  # fmt: skip
    entries = dict(re.findall(r"(?ms)^### (\w+) \{.*?\}\n(.*?)(?=^### |^## |\Z)", ran.stdout))
    assert set(entries) == set(comity_package.__all__)
    assert all(entry.strip() for entry in entries.values())
    for name in ("parse", "crawl_page"):
        assert "->" in entries[name], entries[name]
    described = [name for name, entry in entries.items() if not re.search(r"(?m)^[A-Z`|]", entry)]
    assert described == [], "these have no words of their own"


@pytest.mark.long
def test_the_site_is_whole() -> None:
    """Each page is built, and each link and anchor in the site leads somewhere; the build says which does not."""
    pytest.importorskip("zensical", reason="make docs installs it: the group docs")
    ran = subprocess.run(
        [sys.executable, "docs/site.py"], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr
    assert " 0 broken" in ran.stdout
