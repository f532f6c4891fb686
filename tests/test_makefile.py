"""`make test` runs both forms of the hot modules beside each other: both are told of, and end together."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from sites import HANGS

ROOT = Path(__file__).parents[1]
PYTEST = f"""#!{sys.executable}
import os, pathlib, sys, time
form = "interpreted" if "COMITY_NO_EXTENSIONS" in os.environ else "compiled"
print("tests of what is", form, flush=True)
folder = pathlib.Path(__file__).parent
(folder / f"{{form}}.part").write_text(str(os.getpid()))
(folder / f"{{form}}.part").rename(folder / f"{{form}}.pid")
if os.environ[form] == "waits":
    time.sleep(3600)
sys.exit(int(os.environ[form]))
"""

pytestmark = pytest.mark.skipif(
    os.name != "posix" or shutil.which("make") is None or not (ROOT / "Makefile").exists(),
    reason="nothing to make here",
)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """What make takes for an environment in which all is installed."""
    (bin_ := tmp_path / "bin").mkdir()
    (bin_ / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (bin_ / "comity").write_text("#!/bin/sh\n")
    (bin_ / "pytest").write_text(PYTEST)
    for program in bin_.iterdir():
        program.chmod(0o755)
    for name in ("installed", "tested"):
        (tmp_path / name).touch()
    return tmp_path


def make_test(venv: Path, compiled: str, interpreted: str) -> subprocess.Popen[str]:
    """`make test`, in which the tests of each form end with a code or wait; as the foreground of a terminal."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "COMITY_"))}
    return subprocess.Popen(
        ["make", "test", f"VENV={venv}"],
        cwd=ROOT,
        env={**clean, "compiled": compiled, "interpreted": interpreted},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # else as it is for us: in a background, deaf
    )


@pytest.mark.parametrize(("compiled", "interpreted"), [("0", "0"), ("0", "3"), ("3", "0"), ("3", "3")])
def test_both_forms_are_tested_whichever_fails_and_told_of_one_after_the_other(
    venv: Path, compiled: str, interpreted: str
) -> None:
    process = make_test(venv, compiled, interpreted)
    said, _ = process.communicate(timeout=HANGS)
    told = [line for line in said.splitlines() if line.startswith("tests of")]
    assert told == ["tests of what is compiled", "tests of what is interpreted"], said
    assert (process.returncode == 0) == (compiled == interpreted == "0"), said


def test_an_interrupt_ends_the_tests_of_both_forms(venv: Path) -> None:
    process = make_test(venv, "waits", "waits")
    files = [venv / "bin" / "compiled.pid", venv / "bin" / "interpreted.pid"]
    try:
        deadline = time.monotonic() + HANGS
        while not all(file.exists() for file in files):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
        process.wait(timeout=HANGS)
        assert process.returncode != 0
        for file in files:
            with pytest.raises(ProcessLookupError):
                os.kill(int(file.read_text()), 0)
    finally:
        for file in files:
            with suppress(ProcessLookupError, FileNotFoundError):
                os.kill(int(file.read_text()), signal.SIGKILL)
        process.communicate(timeout=HANGS)


def test_the_package_is_built_again_when_a_compiler_comes(venv: Path) -> None:
    for name in ("python", "uv"):
        (venv / "bin" / name).write_text(f'#!/bin/sh\necho "{name} $@" >>{venv}/called\n')
        (venv / "bin" / name).chmod(0o755)
    (venv / "installed").touch()

    def make() -> str:
        (venv / "called").unlink(missing_ok=True)
        subprocess.run(["make", f"{venv}/installed", f"VENV={venv}"], cwd=ROOT, check=True, capture_output=True)
        return (venv / "called").read_text() if (venv / "called").exists() else ""

    assert make() == "", "what is installed is as it should be"
    (venv / "compiler").write_text("none\n")
    called = make()
    assert "python setup.py --quiet build_ext --inplace" in called
    assert called.count("uv pip install") == 2, "what compiles, then comity"
    assert make() == ""
