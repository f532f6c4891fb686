"""Serves the web page, until told to end or while something else runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket
from typing import Any, Final

from comity import _serving
from comity.net import ClientSettings
from comity.policy import Policy
from comity.web.app import build

LOOPBACK: Final = "127.0.0.1"
SHUTDOWN_SECONDS: Final = 10
"""Seconds that open pages get to be told when the server ends."""


def server_of(policy: Policy, settings: ClientSettings, *, token: str | None = None, place: str | None = None) -> Any:
    """Return the server of the page."""
    app = build(policy, settings, token=token, place=place, ending=lambda: server.should_exit)
    server = _serving.server_of(app, "web", lifespan="off", timeout_graceful_shutdown=SHUTDOWN_SECONDS)
    return server


@contextmanager
def dashboard(place: str, port: int, policy: Policy, settings: ClientSettings) -> Iterator[str]:
    """Serve the dashboard of a crawl to this machine meanwhile; gives its URL. Port 0: any free one.

    Raises:
        MissingExtra: what serves it is not installed.
        InvalidSetting: the port is in use.
    """
    server = server_of(policy, settings, place=place)
    with _serving.listen(LOOPBACK, port) as listening:
        thread = threading.Thread(target=_run, args=(server, listening), name="comity-dashboard", daemon=True)
        thread.start()
        try:
            yield f"http://{LOOPBACK}:{listening.getsockname()[1]}/dashboard.html"
        finally:
            server.should_exit = True
            thread.join()


def _run(server: Any, listening: socket) -> None:
    server.run(sockets=[listening])
