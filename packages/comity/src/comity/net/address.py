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
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")  # RFC 4291, 2.4 and IANA: no other addresses are given out
_REFUSED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "::/128",
        "::1/128",
        "100::/64",
        "2001::/23",
        "2001:db8::/32",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
)
# IPv6 networks whose addresses carry an IPv4 address, and the octets where it may stand. The length of a local NAT64
# prefix is known inside its network only; it may be 48, 56, 64 or 96 bits (RFC 6052, 2.2: octet 8 is none of them).
_LAST = (12, 13, 14, 15)
_CARRIERS = tuple(
    (ipaddress.IPv6Network(network), readings)
    for network, readings in (
        ("::ffff:0:0/96", (_LAST,)),
        ("::/96", (_LAST,)),
        ("64:ff9b::/96", (_LAST,)),
        ("64:ff9b:1::/48", ((6, 7, 9, 10), (7, 9, 10, 11), (9, 10, 11, 12), _LAST)),
        ("::ffff:0:0:0/96", (_LAST,)),
        ("2002::/16", ((2, 3, 4, 5),)),
    )
)
_TEREDO = ipaddress.IPv6Network("2001::/32")
_ISATAP = (0x00005EFE, 0x02005EFE)  # RFC 5214, 6.1: an interface identifier that ends in an IPv4 address


class AddressGuard:
    """Refuses every address that is not public, unless the operator allowed its network.

    What carries an IPv4 address is judged by that address; where it may be one of several, by all of them. A network
    that the operator allowed says nothing about what its addresses carry, unless it is part of the carrying network.

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
        """Return why an address must not be connected to, and what allows it; None where it may be.

        Args:
            host: the name that was asked for, as `Url.host` has it.
        """
        if host and host in self._hosts:
            return None
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return f"{address[:80]!r} is not an IP address"
        allowing = [network for network in self._allowed if parsed in network]
        carrier, carried = _carried(parsed)
        if carrier is not None and any(network.subnet_of(carrier) for network in allowing):  # type: ignore[arg-type]
            return None  # the operator names what carries, and so knows where that leads
        for inner in carried:
            network = _network_of(inner)
            if network is not None and not any(inner in each for each in self._allowed):
                return f"{parsed} leads to {inner}, which {_explain_refusal(network)}"
        if allowing or (carrier is not None and carrier != _TEREDO):
            return None
        network = _network_of(parsed)
        if network is not None:
            return f"{parsed} {_explain_refusal(network)}"
        if isinstance(parsed, IPv6) and parsed not in _GLOBAL_V6:
            return f"{parsed} {_explain_refusal(parsed)}"
        return None

    def refusal_by_name(self, host: str) -> str | None:
        """Return the same for a host that somebody else, a proxy, finds the address of: what is an address, or a name
        of the proxy's own machine (RFC 6761, 6.3), is judged; of other names nothing is known."""
        name = host.strip("[]").rstrip(".")
        if name == "localhost" or name.endswith(".localhost"):
            return self.refusal("127.0.0.1", host)
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return None
        return self.refusal(name, host)


def _carried(address: IPv4 | IPv6) -> tuple[ipaddress.IPv6Network | None, list[IPv4]]:
    """Return the network that does nothing but carry IPv4, where an address is in one, and every IPv4 address that it
    may lead to: more than one where the network leaves open which, or where an interface identifier looks like
    ISATAP's.
    """
    if isinstance(address, IPv4) or int(address) < 2:
        return None, []
    packed, carrier, found = address.packed, None, []
    for network, readings in _CARRIERS:
        if address in network:
            carrier = network
            found += [IPv4(bytes(packed[octet] for octet in reading)) for reading in readings]
    if address.teredo is not None:
        carrier = _TEREDO
        found += address.teredo
    if int.from_bytes(packed[8:12], "big") in _ISATAP:
        found.append(IPv4(packed[12:]))
    return carrier, found


def _explain_refusal(network: object) -> str:
    """Return what is wrong with an address of a network, and what allows it."""
    return f"is not a public address; to allow it: --allow-address {network}, in a program Policy(allow_addresses=...)"


def _network_of(address: IPv4 | IPv6) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    networks = _REFUSED_V4 if isinstance(address, IPv4) else _REFUSED_V6
    return next((network for network in networks if address in network), None)
