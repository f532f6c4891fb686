"""More nodes of a Ray cluster, each as good as a machine: a raylet and its workers, on this one."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sites import HANGS

PROGRAM = (sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats")


class Node:
    """A node that runs, as a process with children of which one is the raylet."""

    def __init__(self, ray: Any, processors: int) -> None:
        """Start one. Ray gives a node a time to begin in that may not do here (see comity._ray): then another."""
        command = [*PROGRAM, "--num-cpus", str(processors), "--address", ray.get_runtime_context().gcs_address]
        deadline = time.monotonic() + HANGS
        while True:
            before = nodes_of(ray)
            self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while self._process.poll() is None and time.monotonic() < deadline:
                if nodes_of(ray) - before:
                    return
                time.sleep(0.1)
            self.end()
            if time.monotonic() > deadline:
                raise RuntimeError("no node of Ray can be started; see the logs in /tmp/ray/session_latest/logs")

    @property
    def raylet(self) -> int:
        """The process of its raylet."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return next(int(pid) for pid in children if Path(f"/proc/{pid}/comm").read_text().strip() == "raylet")

    def end(self) -> None:
        """End it and all of its processes."""
        self._process.terminate()
        self._process.wait()


@contextmanager
def head_alone(processors: int, folder: Path) -> Iterator[tuple[str, str, list[int]]]:
    """A cluster of a head alone: its address, the one for clients of Ray, and its processes. Asks for no token."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        port, clients = one.getsockname()[1], other.getsockname()[1]
    command = [*PROGRAM, "--head", "--num-cpus", str(processors), "--include-dashboard=false", "--port", str(port)]
    command += ["--ray-client-server-port", str(clients), "--temp-dir", str(folder)]
    with (folder / "head.log").open("wb") as log:
        head = subprocess.Popen(
            command, stdout=log, stderr=log, env=os.environ | {"RAY_AUTH_MODE": "disabled"}, start_new_session=True
        )
    try:
        deadline = time.monotonic() + HANGS
        while "Ray runtime started" not in (folder / "head.log").read_text():
            if head.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("no head of Ray can be started: " + (folder / "head.log").read_text()[-2000:])
            time.sleep(0.1)
        children = Path(f"/proc/{head.pid}/task/{head.pid}/children").read_text().split()
        yield f"127.0.0.1:{port}", f"ray://127.0.0.1:{clients}", [head.pid, *map(int, children)]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(head.pid, signal.SIGKILL)
        head.wait()


def nodes_of(ray: Any) -> set[str]:
    """The nodes of a cluster that are there."""
    return {node["NodeID"] for node in ray.nodes() if node["Alive"]}


@contextmanager
def another_node(ray: Any, processors: int = 1) -> Iterator[Node]:
    """One more node of the cluster that is joined."""
    node = Node(ray, processors)
    try:
        yield node
    finally:
        with suppress(ProcessLookupError):
            node.end()
