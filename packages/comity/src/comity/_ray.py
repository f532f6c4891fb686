"""Ray, where it is asked for: joined at an address, or started on this machine and ended with its use."""

import logging
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, Final

from comity.errors import EngineFailed
from comity_pages._extras import need

MAX_MESSAGE_CHARACTERS: Final = 300  # characters shown of what Ray says
MAX_CONNECT_SECONDS: Final = 20.0  # seconds until an address must have answered
MAX_SILENCE_SECONDS: Final = 20.0
"""Seconds without its head after which a cluster is gone; after 60 Ray ends this very process."""
LOOK_SECONDS: Final = 2.0  # seconds between two looks at the head, and the longest that one takes
MAX_ATTEMPTS: Final = 3
"""Ray gives a process of its own, which imports much, 15 seconds to begin (raylet: `WaitForDashboardAgentPorts`), and
no setting changes that. On a busy machine the first attempt may fail, and the next finds all in the system's memory."""


class Head:
    """The process of a cluster that all others need: where it is, and whether it is gone.

    Args:
        ray: the module, connected.
    """

    def __init__(self, ray: Any) -> None:
        client = ray.util.client.ray
        where = client.get_context().client_worker._conn_str if client.is_connected() else None
        self._address: str = where or ray.get_runtime_context().gcs_address
        self._looked = self._seen = time.monotonic()
        self._gone = False

    def is_gone(self) -> bool:
        """Return whether it has not been there for some time; looks itself, now and then, which may take seconds."""
        now = time.monotonic()
        if not self._gone and now - self._looked >= LOOK_SECONDS:
            self._looked = now
            host, _, port = self._address.rpartition(":")
            try:
                socket.create_connection((host.strip("[]"), int(port)), timeout=LOOK_SECONDS).close()
                self._seen = now
            except OSError:
                self._gone = now - self._seen > MAX_SILENCE_SECONDS
        return self._gone

    def lost(self) -> EngineFailed:
        """Return the error that says that it is gone; Ray is not to be asked for anything after that."""
        self._gone = True
        return EngineFailed(
            f"the head of the Ray cluster at {self._address} is gone",
            hint="what was written is safe: start the cluster again, and continue, or repeat the command",
        )


@contextmanager
def joined(use: str, address: str | None = None, *, processors: int | None = None, logs: bool = False) -> Iterator[Any]:
    """Yield the module `ray`, connected. A Ray that this process has joined already is used, and left as it is.

    What is printed meanwhile goes to standard error.

    Args:
        use: what needs it, as the beginning of a sentence.
        address: `HOST:PORT`, `ray://HOST:PORT`, or `auto` for the one that runs on this machine; None: RAY_ADDRESS, or
            where that is not set, one that is started here for this use.
        processors: that one started here is to count with, at least.
        logs: show here what its workers print.

    Raises:
        MissingExtra: Ray is not installed.
        EngineFailed: it cannot be joined or started.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
    ray = need("ray", "ray", use)
    if ray.is_initialized():
        yield ray
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    options: dict[str, Any] = {"address": address, "log_to_driver": logs, "logging_level": logging.ERROR}
    if not address.startswith("ray://"):
        options["job_config"] = _apart(ray)
    if address == "local":
        options |= {"include_dashboard": False, "num_cpus": max(os.cpu_count() or 1, processors or 1)}
    else:
        _look_for(address)
    with redirect_stdout(sys.stderr):  # Ray tells there of nodes and processes that died, whatever it is asked
        try:
            _join(ray, options)
            yield ray
        finally:
            ray.shutdown()


def _apart(ray: Any) -> Any:
    """Return a job whose workers look for no module in the current folder: Ray would put that before all else on their
    path, and have run there what lies in it.
    """

    class Apart(ray.job_config.JobConfig):  # type: ignore[misc]
        def _runtime_env_has_working_dir(self) -> bool:
            return True

    return Apart()


def _look_for(address: str) -> None:
    """Ray waits minutes for an address where nothing is. Raises EngineFailed: nothing listens there."""
    host, colon, port = address.removeprefix("ray://").rstrip("/").rpartition(":")
    if not colon or not port.isdecimal():
        return  # such as `auto`: Ray knows
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=MAX_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise EngineFailed(f"Ray cannot be joined at {address}: {why}", hint="is it running there?") from error


def _join(ray: Any, options: dict[str, Any]) -> None:
    """Join a cluster. Raises EngineFailed where there is none."""
    address = options["address"]
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            ray.init(**options)
            return
        except Exception as error:  # of many kinds, and plain ones among them
            ray.shutdown()
            if address == "local" and attempt < MAX_ATTEMPTS:
                continue
            why = " ".join(str(error).split())[:MAX_MESSAGE_CHARACTERS] or type(error).__name__
            where = "started on this machine" if address == "local" else f"joined at {address}"
            hint = "is it running there? does it want RAY_AUTH_MODE=token?"
            hint = "see the logs in /tmp/ray/session_latest/logs" if address == "local" else hint
            raise EngineFailed(f"Ray cannot be {where}: {why}", hint=hint) from error
