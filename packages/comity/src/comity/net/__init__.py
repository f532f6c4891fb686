"""The I/O: address guard, one HTTP stack, and what drives the gate."""

from typing import TYPE_CHECKING

from comity_robots._lazy import lazy_exports

if TYPE_CHECKING:
    from comity.net.client_settings import ClientSettings
    from comity.net.clock import Clock
    from comity.net.response import Response
    from comity.net.session import Session

__all__ = ["ClientSettings", "Clock", "Response", "Session"]

__getattr__ = lazy_exports(
    __name__,
    {
        "comity.net.client_settings": "ClientSettings",
        "comity.net.response": "Response",
        "comity.net.session": "Session",
        "comity.net.clock": "Clock",
    },
)
