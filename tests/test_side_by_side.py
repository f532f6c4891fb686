"""`pytest --processes` runs every test once, in processes that share the files, and tells of each what came of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sites import HANGS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
FILES = {
    "conftest.py": f"""
        import sys
        sys.path.append({str(Path(__file__).parent)!r})
        pytest_plugins = ["side_by_side"]
    """,
    "below/conftest.py": """
        import os, pathlib, pytest
        @pytest.fixture(scope="session")
        def server():
            yield
            pathlib.Path(f"closed-{os.getpid()}").touch()
    """,
    "below/test_one.py": """
        import pytest
        @pytest.mark.parametrize("number", range(5))
        def test_numbers(number, server, tmp_path):
            assert number != 3, tmp_path
        def test_left_out():
            pytest.skip("not here")
    """,
    "test_two.py": """
        import os
        def test_dies():
            os._exit(0)
    """,
    "test_three.py": "import not_there",
    "below/deeper/test_four.py": """
        def test_says(capfd, server):
            print("said")
            assert capfd.readouterr().out == "said\\n"
    """,
}


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    for name, text in FILES.items():
        lines = text.strip("\n").splitlines()
        margin = len(lines[0]) - len(lines[0].lstrip())
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text("\n".join(line[margin:] for line in lines), "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-ra", "--processes", "2", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=HANGS, check=False)


def test_each_test_is_run_once_and_told_of_whatever_becomes_of_its_process(tmp_path: Path) -> None:
    told = run(tmp_path)
    assert told.returncode == 1, told
    assert " 2 failed, 5 passed, 1 skipped, 1 error in " in told.stdout, told.stdout
    for said in (
        "FAILED below/test_one.py::test_numbers[3] - ",
        "FAILED test_two.py::test_dies - the process that ran it ended (0)",
        "ERROR test_three.py - ",
        ": not here",
    ):
        assert said in told.stdout, told.stdout
    assert list(tmp_path.glob("closed-*")), "what a process opened for its tests it closes"


@pytest.mark.long
def test_a_test_that_hangs_keeps_nobody_who_ends_all(tmp_path: Path) -> None:
    hangs = "import signal as s, time\ndef test_hangs():\n    s.signal(s.SIGTERM, s.SIG_IGN)\n    time.sleep(3600)"
    fails = "import time\ndef test_fails():\n    time.sleep(0.5)\n    assert False"
    (tmp_path / "test_hangs.py").write_text(hangs)
    (tmp_path / "test_fails.py").write_text(fails)
    told = run(tmp_path, "-x", "test_hangs.py", "test_fails.py")
    assert (told.returncode, " 1 failed in " in told.stdout) == (1, True), told


@pytest.mark.long
def test_what_is_named_is_run_and_nothing_else_and_the_first_failure_may_end_all(tmp_path: Path) -> None:
    one = run(tmp_path, "below/test_one.py::test_numbers[0]", "below/test_one.py::test_left_out", "below/deeper")
    assert (one.returncode, " 2 passed, 1 skipped in " in one.stdout) == (0, True), one.stdout
    assert " 1 failed, 3 passed in " in run(tmp_path, "-x", "below/test_one.py").stdout
    missing = run(tmp_path, "nowhere")
    assert (missing.returncode, "nowhere" in missing.stderr) == (4, True), missing
