"""The pages of `comity serve`, on a free port."""

import asyncio
import socket
import threading
from typing import Any

from sites import HANGS

from comity import ClientSettings, Policy
from comity._serving import listen


class Page:
    """The page, served in a thread of this process."""

    def __init__(self, **build: object) -> None:
        from comity.web.serving import server_of

        self.socket: socket.socket = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        policy = Policy(agent="comity-web/1.0", allow_addresses=("127.0.0.0/8",))
        self.server = server_of(policy, ClientSettings(), **build)  # type: ignore[arg-type]
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        asyncio.run(self.server.serve(sockets=[self.socket]))

    def __enter__(self) -> "Page":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self._thread.join(HANGS)


def check_for_all(tab: Any) -> None:
    """What axe-core finds of an open page: contrast, names, roles, order; and whether it fits a window at 200 % and a
    telephone."""
    from axe_playwright_python.sync_playwright import Axe

    for colours in ("light", "dark"):
        for width in (1280, 640, 390):
            tab.emulate_media(color_scheme=colours)
            tab.set_viewport_size({"width": width, "height": 900})
            found = Axe().run(tab)
            assert not found.violations_count, f"{tab.url} {colours} {width}: {found.response['violations']}"
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
