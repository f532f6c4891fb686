"""The clients that programs use: AsyncClient, and Client for those without an event loop."""

from typing import TYPE_CHECKING

from comity_robots._lazy import lazy_exports

if TYPE_CHECKING:
    from comity.client.async_client import AsyncClient
    from comity.client.blocking_client import Client, check, fetch

__all__ = ["AsyncClient", "Client", "check", "fetch"]

__getattr__ = lazy_exports(
    __name__,
    {
        "comity.client.async_client": "AsyncClient",
        "comity.client.blocking_client": "Client check fetch",
    },
)
