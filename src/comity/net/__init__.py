"""The I/O: address guard, one HTTP stack, the clients that drive the gate."""

from typing import TYPE_CHECKING

from comity._late import late

if TYPE_CHECKING:
    from comity.net.async_client import AsyncClient
    from comity.net.client import Client
    from comity.net.client_settings import ClientSettings
    from comity.net.response import Response
    from comity.net.session import Session
    from comity.net.turns import Clock

__all__ = ["AsyncClient", "Client", "ClientSettings", "Clock", "Response", "Session"]

__getattr__ = late(
    __name__,
    {
        "comity.net.async_client": "AsyncClient",
        "comity.net.client": "Client",
        "comity.net.client_settings": "ClientSettings",
        "comity.net.response": "Response",
        "comity.net.session": "Session",
        "comity.net.turns": "Clock",
    },
)
