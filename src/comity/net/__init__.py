"""Floor 6: the I/O: address guard, one HTTP stack, the clients that drive the gate."""

from typing import TYPE_CHECKING

from comity._late import late

if TYPE_CHECKING:
    from comity.net.async_client import AsyncClient
    from comity.net.client import Client
    from comity.net.driver import Clock
    from comity.net.response import Response
    from comity.net.session import Session
    from comity.net.settings import ClientSettings

__all__ = ["AsyncClient", "Client", "ClientSettings", "Clock", "Response", "Session"]

__getattr__ = late(
    __name__,
    {
        "AsyncClient": "comity.net.async_client",
        "Client": "comity.net.client",
        "ClientSettings": "comity.net.settings",
        "Clock": "comity.net.driver",
        "Response": "comity.net.response",
        "Session": "comity.net.session",
    },
)
