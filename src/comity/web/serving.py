"""The web page on an address of this machine: until it is told to end, or while something else runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket
from typing import Any, Final

from comity._extras import need
from comity._listening import listen
from comity.net import ClientSettings
from comity.policy import Policy
from comity.web.app import build

LOOPBACK: Final = "127.0.0.1"
PATIENCE: Final = 1
"""Seconds that open connections get when the server ends."""


def server_of(policy: Policy, settings: ClientSettings, *, token: str | None = None, place: str | None = None) -> Any:
    """The server of the page, as `build` makes it; `run(sockets=[...])` serves until a signal, or until `should_exit`
    is true.

    Raises:
        MissingExtra: `uvicorn` is not installed.
    """
    uvicorn = need("uvicorn", "web", "the web page")
    app = build(policy, settings, token=token, place=place, ending=lambda: server.should_exit)
    server = uvicorn.Server(
        uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, lifespan="off",
            timeout_graceful_shutdown=PATIENCE,
        )
    )  # fmt: skip
    return server


@contextmanager
def dashboard(place: str, port: int, policy: Policy, settings: ClientSettings) -> Iterator[str]:
    """Serve the dashboard of a crawl to this machine meanwhile; gives its URL. Port 0: any free one.

    Raises:
        MissingExtra: what serves it is not installed.
        StorageError: the port is in use.
    """
    server = server_of(policy, settings, place=place)
    with listen(LOOPBACK, port) as listening:
        thread = threading.Thread(target=_run, args=(server, listening), name="comity-dashboard", daemon=True)
        thread.start()
        try:
            yield f"http://{LOOPBACK}:{listening.getsockname()[1]}/dashboard.html"
        finally:
            server.should_exit = True
            thread.join()


def _run(server: Any, listening: socket) -> None:
    server.run(sockets=[listening])
