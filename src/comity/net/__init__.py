"""Floor 4: the I/O: address guard, one HTTP stack, the clients that drive the gate."""

from comity.net.async_client import AsyncClient
from comity.net.client import Client
from comity.net.clock import Clock
from comity.net.response import Response
from comity.net.settings import ClientSettings

__all__ = ["AsyncClient", "Client", "ClientSettings", "Clock", "Response"]
