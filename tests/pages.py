"""The pages of `comity serve`, on a free port."""

import asyncio
import socket
import threading

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
