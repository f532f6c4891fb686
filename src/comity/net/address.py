"""The address guard: which addresses a site may make us connect to.

It judges the address really connected to, at the moment of connecting, so a name that changes its answer, a redirect
or a disguised literal gains nothing. A name counts only where the operator vouched for that very name.
"""

import ipaddress
from collections.abc import Iterable

IPv4 = ipaddress.IPv4Address
IPv6 = ipaddress.IPv6Address

_REFUSED_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_REFUSED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "::/128",
        "::1/128",
        "100::/64",
        "2001::/23",
        "2001:db8::/32",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
)
# An IPv6 network that carries an IPv4 address, and how far right that address stands in bits.
_CARRIERS = (
    (ipaddress.IPv6Network("::ffff:0:0/96"), 0),
    (ipaddress.IPv6Network("::/96"), 0),
    (ipaddress.IPv6Network("64:ff9b::/96"), 0),
    (ipaddress.IPv6Network("64:ff9b:1::/48"), 0),
    (ipaddress.IPv6Network("2002::/16"), 80),
)


class AddressGuard:
    """Refuses every address that is not public, unless the operator allowed its network.

    Args:
        allowed: networks in CIDR form (Policy.allow_addresses).
        hosts: names that may have any address (Policy.allow_hosts).
    """

    def __init__(self, allowed: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        self._hosts = frozenset(hosts)
        self._allowed = tuple(ipaddress.ip_network(network, strict=False) for network in allowed)

    @property
    def has_names(self) -> bool:
        """Whether the host of a request matters at all."""
        return bool(self._hosts)

    def refusal(self, address: str, host: str = "") -> str | None:
        """Why an address must not be connected to, as half a sentence; None where it may be.

        Args:
            host: the name that was asked for, in normal form.
        """
        if host and host in self._hosts:
            return None
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return "it is not an IP address"
        if any(parsed in network for network in self._allowed if network.version == parsed.version):
            return None
        inner = _carried(parsed)
        if inner is not None:
            if any(inner in network for network in self._allowed if network.version == 4):
                return None
            network = _network_of(inner)
            return None if network is None else f"it carries {inner}, which is in {network} and not public"
        network = _network_of(parsed)
        return None if network is None else f"it is in {network}, which is not public"


def _carried(address: IPv4 | IPv6) -> IPv4 | None:
    if isinstance(address, IPv4) or int(address) < 2:
        return None
    for network, shift in _CARRIERS:
        if address in network:
            return IPv4((int(address) >> shift) & 0xFFFFFFFF)
    return None


def _network_of(address: IPv4 | IPv6) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    networks = _REFUSED_V4 if isinstance(address, IPv4) else _REFUSED_V6
    return next((network for network in networks if address in network), None)
