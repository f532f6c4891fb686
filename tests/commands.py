"""The command, run as a person runs it. In this process where that tells as much: a process of its own costs half a
second, most of it for imports.
"""

import gc
import io
import os
import re
import runpy
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from sites import HANGS

ALLOW = ("--allow-address", "127.0.0.0/8")
PROGRESS = re.compile(r"(?:\d s|\d\d s|\d+m\d\ds)  (?:stopping, .*)?[\d,]+ pages .*\n")


def comity(
    *words: str, cwd: Path | None = None, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What `python -m comity` answers, run in this process; nothing it sets stays behind.

    Args:
        cwd: where it is run.
        environment: its whole environment; this process's own without it.
    """
    out, error = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        _kept(),
        _inside(cwd),
        mock.patch.dict(os.environ, _plain() if environment is None else environment, clear=True),
        mock.patch.object(sys, "argv", ["comity", *words]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(), encoding="utf-8")),
        mock.patch.object(sys, "stdout", out),
        mock.patch.object(sys, "stderr", error),
    ):
        try:
            runpy.run_module("comity", run_name="__main__", alter_sys=True)
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        except Exception:
            traceback.print_exc()
            code = 1
    return subprocess.CompletedProcess(["comity", *words], code, _said(out), _said(error))


def process(
    *words: str, cwd: Path | None = None, said: str | None = None, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own.

    Args:
        said: its standard input.
        variables: of its environment, beside those that are always there.
    """
    return subprocess.run(
        [sys.executable, "-m", "comity", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
        env=_plain() | (variables or {}),
        cwd=cwd,
        input=said,
    )


@contextmanager
def no_room_beyond(size: int) -> Iterator[None]:
    """No file of this process may be larger than so many bytes: that stands for a full disk, without root, for a write
    fails in the same place."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))  # Python ignores SIGXFSZ, so writes give an error
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def stderr(answer: subprocess.CompletedProcess[str]) -> str:
    """Standard error without the lines that say how a crawl goes: the machine may be busy."""
    return PROGRESS.sub("", answer.stderr)


def complaint(answer: subprocess.CompletedProcess[str]) -> str:
    """The one line on standard error, how the crawl went left out."""
    assert "Traceback" not in answer.stderr
    (line,) = stderr(answer).strip().splitlines()
    assert line.startswith("comity: ")
    return line


def _said(stream: io.TextIOWrapper) -> str:
    """What was written, with line ends as a process's output is read."""
    stream.seek(0)
    return stream.read()


def _plain() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key != "COLUMNS"}


@contextmanager
def _kept() -> Iterator[None]:
    """What a crawl sets for its process, put back."""
    interval, threshold, path, modules = sys.getswitchinterval(), gc.get_threshold(), sys.path.copy(), set(sys.modules)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
        gc.unfreeze()
        added = {Path(each) for each in sys.path} - {Path(each) for each in path}  # where plug-ins were looked for
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).parent in added:
                del sys.modules[name]
        if "comity.crawler.output.plugins" in sys.modules:
            sys.modules["comity.crawler.output.plugins"]._FOLDERS.clear()


@contextmanager
def _inside(folder: Path | None) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)
