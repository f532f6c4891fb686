"""The package as a stranger gets it: a wheel built from this tree, installed where there is nothing else."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import side_by_side

ROOT = Path(__file__).parents[1]
PASSED_ON = ("PATH", "HOME", "LANG", "PIP_CERT", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "SSL_CERT_FILE")


def bare(**more: str) -> dict[str, str]:
    """An environment with nothing of ours: what finds programs and packages, and `more`."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | more


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that the first of the processes that share the tests makes, and the others wait for.

    Args:
        make: fills the folder, which is there.
    """
    import fcntl  # which Windows has not

    root = factory.getbasetemp()
    if {"PYTEST_XDIST_WORKER", side_by_side.VARIABLE} & os.environ.keys():
        root = root.parent
    folder, made = root / name, root / f"{name}.made"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one that failed
            folder.mkdir()
            make(folder)
            made.touch()
    return folder


def build(folder: Path) -> Path:
    """Wheels of the tree as git has it, with uncommitted changes: comity's. Interpreted, for that takes seconds."""
    copy = folder / "tree"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
    changed = subprocess.run(["git", "diff", "--binary", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    if changed:
        subprocess.run(["git", "apply"], cwd=copy, input=changed, check=True)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            folder,
            copy / "packages" / "robots",
            copy / "packages" / "pages",
            copy,
        ],
        env=bare(COMITY_NO_EXTENSIONS="1"),
        check=True,
    )
    return next(folder.glob("comity-*.whl"))


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment that holds the wheel, and what the wheel says it needs."""

    folder: Path

    def run(self, *arguments: str, program: str = "comity", cwd: Path, **environment: str) -> "Ran":
        done = subprocess.run(
            [self.folder / "bin" / program, *arguments],
            cwd=cwd,
            env=bare(**environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def python(self, code: str, cwd: Path) -> "Ran":
        return self.run("-c", code, program="python", cwd=cwd)

    @property
    def packages(self) -> list[str]:
        listed = subprocess.run(
            [sys.executable, "-m", "pip", "--python", self.folder, "list", "--format=freeze"],
            capture_output=True,
            text=True,
            check=True,
        )
        return sorted(line.partition("==")[0] for line in listed.stdout.split())


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str


def install(wheel: Path, folder: Path) -> Installed:
    """A new environment with the wheel in it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    _install(folder, str(wheel), str(wheel.parent))
    return Installed(folder)


def install_extra(wheel: Path, base: Installed, folder: Path, extra: str) -> Installed:
    """An environment that holds what another does, in which an extra is then installed; its commands are modules."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    # Programs of other tests run in the first one and keep their bytecode there, under another name until it is whole.
    unfinished = shutil.ignore_patterns("*.pyc.[0-9]*")
    shutil.copytree(_packages(base.folder), _packages(folder), ignore=unfinished, dirs_exist_ok=True)
    _install(folder, f"{wheel}[{extra}]", str(wheel.parent))
    return Installed(folder)


def _packages(folder: Path) -> str:
    return sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)})


def _install(folder: Path, wanted: str, beside: str) -> None:
    """By pip, without compiling all that is installed: what a test imports is a small part of it.

    Args:
        beside: where the wheels of our other packages lie.
    """
    words = ["install", "--quiet", "--disable-pip-version-check", "--no-compile", "--find-links", beside, wanted]
    subprocess.run([sys.executable, "-m", "pip", "--python", folder, *words], env=bare(), check=True)
