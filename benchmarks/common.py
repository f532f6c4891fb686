"""What benchmarks have in common that peers are measured in too: nginx, numbers on the command line, and the table
that a benchmark prints its figures as.

Nothing of comity is imported here, so that no peer's process has it in memory.
"""

import argparse
import shutil
import socket
import subprocess
import time
from pathlib import Path


def at_least_one(text: str) -> int:
    """A whole number from the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def above_zero(text: str) -> float:
    """A number from the command line."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def table(*heads: str) -> None:
    """Begin a table of figures in Markdown, which benchmarks/figures.py takes over as it is."""
    row(*heads)
    row(*["---"] * len(heads))


def row(*cells: str) -> None:
    """One figure: what was measured, comity's, and that of the others."""
    print(f"| {' | '.join(cells)} |", flush=True)


def start_nginx(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    """nginx as `nginx.conf` in a folder has it, once it listens on a port of 127.0.0.1; the caller ends it.

    Raises:
        SystemExit: it is not installed, or does not start; what it says itself stands before that.
    """
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        raise SystemExit("this benchmark needs nginx, which is not in PATH (apt-get install nginx-light)")
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise SystemExit(f"port {port} is in use: does this benchmark run elsewhere on this machine?")
    process = subprocess.Popen([program, "-c", str(folder / "nginx.conf"), "-p", str(folder)])
    while process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    raise SystemExit(f"nginx ended with code {process.returncode} before it listened on port {port}")
