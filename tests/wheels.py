"""The package as a stranger gets it: a wheel built from this tree, installed where there is nothing else."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PASSED_ON = ("PATH", "HOME", "LANG", "PIP_CERT", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "SSL_CERT_FILE")


def bare(**more: str) -> dict[str, str]:
    """An environment with nothing of ours: what finds programs and packages, and `more`."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | more


def build(folder: Path) -> Path:
    """A wheel of the tree as git has it, with uncommitted changes; interpreted, for that takes seconds."""
    copy = folder / "tree"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
    changed = subprocess.run(["git", "diff", "--binary", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    if changed:
        subprocess.run(["git", "apply"], cwd=copy, input=changed, check=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, copy],
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


def install(wheel: Path, folder: Path, extra: str = "") -> Installed:
    """A new environment with the wheel in it, and the extra if one is named."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", folder, "install", "--quiet", wanted], env=bare(), check=True
    )
    return Installed(folder)
