"""docs/figures.md is written by one command from the tables that benchmarks print."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "figures.py"
TABLE = "| crawler | pages a second |\n| --- | --- |\n| comity | 673 |\n"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="benchmarks/figures.py is not part of this copy")


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["figures"] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def page(figures: ModuleType) -> str:
    text: str = figures.PAGE.read_text("utf-8")
    return text


def test_the_page_has_rows_of_each_part_and_says_of_which_run_they_are(figures: ModuleType, page: str) -> None:
    parts = figures.parts_of(page)
    assert list(parts) == list(figures.PARTS) == [found[0] for found in figures.SECTION.findall(page)]
    for name, part in figures.PARTS.items():
        rows = [line for line in parts[name].rows if line and not line.startswith("| ---")]
        assert len(rows) >= 2, f"{name} has no row below its head"
        assert f"\n## {part.heading}\n" in page
        assert f"`make figures PARTS={name}`" in page
        assert parts[name].run or parts[name] == figures.NOT_YET


def test_writing_a_page_again_changes_nothing(figures: ModuleType, page: str) -> None:
    assert figures.written(page, figures.parts_of(page)) == page


def test_each_part_is_a_benchmark_that_prints_a_table(figures: ModuleType) -> None:
    for name, part in figures.PARTS.items():
        source = (ROOT / "benchmarks" / part.command.split()[0]).read_text("utf-8")
        assert re.search(r"\btable\(", source), name
        assert re.search(r"\b(print_)?row\(", source), name


def test_rows_are_the_tables_of_what_is_printed_and_nothing_else(figures: ModuleType) -> None:
    other = "| kept | cases |\n| --- | --- |\n| notes | 21 |\n"
    printed = f"engine compiled\n{TABLE}a warning | with a bar\n{other}"
    assert figures.rows_in(printed) == [*TABLE.splitlines(), "", *other.splitlines()]
    assert figures.rows_in(TABLE) == TABLE.splitlines()


def test_a_part_measured_alone_leaves_the_others_as_they_were(figures: ModuleType, page: str) -> None:
    before = figures.parts_of(page)
    new = figures.Measured("3 s", "1 January 2027, commit 0", TABLE.splitlines())
    after = figures.written(page, before | {"crawl": new})
    assert figures.parts_of(after) == before | {"crawl": new}
    assert "Not all parts are of one run" in after
    assert after[after.index("<!-- end of parts -->") :] == page[page.index("<!-- end of parts -->") :]


def test_a_page_of_one_run_says_that_run_on_top_alone(figures: ModuleType, page: str) -> None:
    run = "1 January 2027, commit 0123abcd, Python 3.11.7, Linux, 2 x Test, load 0.1 before it"
    whole = figures.written(page, {name: figures.Measured("3 s", run, TABLE.splitlines()) for name in figures.PARTS})
    shown = re.sub(r"<!-- .*? -->", "", whole)
    assert shown.count("1 January 2027") == 1
    assert shown.index("1 January 2027") < shown.index("## Verdicts and parsing")


def test_a_benchmark_that_cannot_run_says_why_in_its_row(
    figures: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "peer.py").write_text("import a_peer_that_nobody_has\n")
    (tmp_path / "benchmarks" / "half.py").write_text(f"print({TABLE!r}, end='')\nraise SystemExit('no nginx here')\n")
    found = figures.measured(figures.Part("Peer", "peer.py", ""), "now")
    assert not found.whole
    assert found.rows[-1] == "| not measured | ModuleNotFoundError: No module named 'a_peer_that_nobody_has' |"
    assert figures.measured(figures.Part("Half", "half.py", ""), "now").rows == [
        *TABLE.splitlines(),
        "| not measured | no nginx here |",
    ]


def test_an_unknown_part_is_refused_before_anything_is_measured() -> None:
    ran = subprocess.run([sys.executable, SCRIPT, "engine", "motor"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "no such part: motor" in ran.stderr


def test_pages_that_cite_figures_have_them_as_the_page_does(figures: ModuleType, page: str) -> None:
    rows = figures.rows_by_name(page)
    for path in figures.CITING:
        text = path.read_text("utf-8")
        assert figures.cited(text, rows) == text
        assert sum(figures.name_of(line) in rows for line in text.splitlines() if figures.name_of(line)) >= 2


def test_the_picture_has_the_figures_of_the_page(figures: ModuleType, page: str) -> None:
    row = figures.rows_by_name(page)[figures.PICTURED]
    picture = figures.PICTURE.read_text("utf-8")
    assert figures.drawn(picture, row) == picture
    changed = figures.drawn(picture, "| one verdict | 0.50 us | Protego 10.0 us, robotspy 25.0 us |")
    drawn = [each.text for each in ElementTree.fromstring(changed).iter("{http://www.w3.org/2000/svg}text")]
    assert drawn[drawn.index("comity") + 1] == "0.50"
    assert drawn[drawn.index("Protego") + 1] == "10.0"
    assert 'y="128" width="100"' in changed
