"""How requests are made: limits, time-outs, headers. Frozen; checked when made. What may be asked is Policy's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from comity.errors import InvalidSetting

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Limits and habits of the HTTP client.

    Attributes:
        timeout: seconds for one request from connecting to the last byte.
        robots_timeout: the same for robots.txt; None: as `timeout`.
        max_body: bytes of a decoded body; more raises TooLarge.
        max_robots_body: bytes of robots.txt that are read; the rest is left (RFC 9309, 2.5: at least 500 KiB).
        max_redirects: hops that `get` follows.
        connections: connections open at the same time.
        verify_tls: False accepts any certificate, for robots.txt too.
        headers: sent with every request, after `User-Agent`.
        resolve: addresses for host names that DNS is not asked for (as curl's `--resolve`).
    """

    timeout: float = 30.0
    robots_timeout: float | None = None
    max_body: int = 20 * MIB
    max_robots_body: int = MIB
    max_redirects: int = 10
    connections: int = 100
    verify_tls: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    resolve: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("timeout", "robots_timeout"):
            value = getattr(self, name)
            if value is None and name == "robots_timeout":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise InvalidSetting(f"{name}: {value!r} is not a number of seconds above zero")
        for name, least in (("max_body", 1), ("max_robots_body", 500 * 1024), ("max_redirects", 0), ("connections", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidSetting(f"{name}: {value!r} is not a whole number of at least {least}")
        for name, value in self.headers.items():
            if not name or any(ord(char) < 32 or char in ":\x7f" for char in name) or "\n" in value or "\r" in value:
                raise InvalidSetting(f"headers: {name!r} is not a header that can be sent")
