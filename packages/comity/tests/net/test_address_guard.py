"""Attacks on the address guard over real sockets: each tries to make a client connect to loopback or a private
network, and each is tried on pages, redirects and robots.txt.

The table of what was tried is printed (`pytest -s`), and docs/addresses.md holds the same one.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sites import HANGS, Site

import comity
from comity import AsyncClient, ClientSettings, Policy
from comity.net.address import AddressGuard

DOCUMENT = Path(__file__).parents[4] / "docs" / "addresses.md"
IGNORING = Policy(mode="ignore", min_interval=0.0)
QUICK = ClientSettings(timeout=60.0, max_retries=0)


@contextmanager
def nameserver(answers: dict[str, list[str]]) -> Iterator[str]:
    """A DNS server on loopback. Each question takes the next answer of its name, addresses joined by `+`; the last one
    stays."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    server.settimeout(0.05)
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            try:
                question, client = server.recvfrom(512)
            except TimeoutError:
                continue
            server.sendto(_answer(question, answers), client)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
    finally:
        stop.set()
        thread.join(HANGS)
        server.close()


def _answer(question: bytes, answers: dict[str, list[str]]) -> bytes:
    labels, position = [], 12
    while size := question[position]:
        labels.append(question[position + 1 : position + 1 + size].decode())
        position += size + 1
    kind = struct.unpack(">H", question[position + 1 : position + 3])[0]
    asked = question[12 : position + 5]
    family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
    known = answers.get(".".join(labels).lower(), [])
    found = [each for each in known if family == (socket.AF_INET6 if ":" in each else socket.AF_INET)]  # of one family
    if not found or family is None:
        return question[:2] + struct.pack(">HHHHH", 0x8180, 1, 0, 0, 0) + asked
    answer = found[0]
    if len(known) > 1:
        known.remove(answer)
    packed = [socket.inet_pton(family, each) for each in answer.split("+")]
    records = b"".join(struct.pack(">HHHIH", 0xC00C, kind, 1, 0, len(each)) + each for each in packed)
    return question[:2] + struct.pack(">HHHHH", 0x8180, 1, len(packed), 0, 0) + asked + records


LITERALS = [
    ("127.0.0.1", "loopback"),
    ("127.1", "loopback, short form"),
    ("2130706433", "loopback, one number"),
    ("0x7f.1", "loopback, hexadecimal"),
    ("0177.0.0.1", "loopback, octal"),
    ("127.0.0.1.", "loopback, dot at the end"),
    ("%31%32%37.0.0.1", "loopback, percent-encoded"),
    ("１２７.０.０.１", "loopback, full-width digits"),
    ("public.example@127.0.0.1", "loopback after user information"),
    ("localhost", "a name of this machine"),
    ("0.0.0.0", "unspecified"),
    ("10.0.0.1", "private"),
    ("172.16.0.1", "private"),
    ("192.168.0.1", "private"),
    ("169.254.169.254", "link-local: a cloud's metadata"),
    ("100.64.0.1", "carrier-grade NAT"),
    ("192.0.0.1", "IETF protocol assignments"),
    ("198.18.0.1", "benchmarks"),
    ("203.0.113.1", "documentation"),
    ("224.0.0.1", "multicast"),
    ("255.255.255.255", "broadcast"),
    ("[::1]", "loopback, IPv6"),
    ("[::]", "unspecified, IPv6"),
    ("[::ffff:127.0.0.1]", "IPv4-mapped"),
    ("[::127.0.0.1]", "IPv4-compatible"),
    ("[64:ff9b::7f00:1]", "NAT64"),
    ("[64:ff9b:1::7f00:1]", "NAT64, local use"),
    ("[2002:7f00:1::]", "6to4"),
    ("[2001::1]", "Teredo"),
    ("[fe80::1]", "link-local, IPv6"),
    ("[fc00::1]", "unique local"),
    ("[fec0::1]", "site-local"),
    ("[ff02::1]", "multicast, IPv6"),
    ("[2001:db8::1]", "documentation, IPv6"),
    ("[100::1]", "discard"),
    ("[3fff::1]", "documentation, IPv6, new"),
    ("[5f00::1]", "segment routing"),
    ("[4000::1]", "not assigned"),
]


def outcome(url: str, policy: Policy = IGNORING, settings: ClientSettings = QUICK) -> str:
    async def tried() -> str:
        async with AsyncClient(policy, settings) as client:
            try:
                return f"answered {(await client.get(url)).status}"
            except comity.AddressBlocked as error:
                return "AddressBlocked" if error.url and "allow_addresses" in str(error) else f"unclear: {error}"
            except comity.RobotsUnreachable:
                return "RobotsUnreachable"

    return asyncio.run(tried())


# covers: W5, W15
def test_every_attack_is_refused_and_never_reaches_a_server(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nAllow: /\n")
    site.set("/", "secret")
    rows = [(f"`{host}`", what, outcome(f"http://{host}:{site.port}/")) for host, what in LITERALS]
    assert site.seen == []
    reachable = Policy(mode="ignore", min_interval=0.0, allow_addresses=("127.0.0.2/32",))
    with Site("127.0.0.2") as public:
        for host, what in (("127.0.0.1", "redirect to loopback"), ("0x7f.1", "redirect to a disguise of it")):
            public.set("/to", status=302, headers={"Location": f"http://{host}:{site.port}/"})
            rows.append((f"`Location: http://{host}/`", what, outcome(public.url("/to"), reachable)))
        public.set("/robots.txt", status=301, headers={"Location": site.url("/robots.txt")})
        respecting = reachable.with_changes(mode="respect")
        rows.append(("`/robots.txt`", "redirect of robots.txt to loopback", outcome(public.url("/"), respecting)))
        assert public.paths() == ["/to", "/to", "/robots.txt"]
        names = {
            "plain.example": ["127.0.0.1"],
            "six.example": ["::1"],
            "mapped.example": ["::ffff:127.0.0.1"],
            "rebound.example": ["127.0.0.2", "127.0.0.1"],
            "robots.example": ["127.0.0.1"],
        }
        with nameserver(names) as server:
            resolving = ClientSettings(timeout=60.0, max_retries=0, nameservers=(server,))
            for name, what in (
                ("plain.example", "a name that resolves to loopback"),
                ("six.example", "a name that resolves to ::1"),
                ("mapped.example", "a name that resolves to a mapped address"),
            ):
                rows.append((f"`{name}`", what, outcome(f"http://{name}:{site.port}/", reachable, resolving)))
            robots = outcome(f"http://robots.example:{site.port}/", respecting, resolving)
            rows.append(("`robots.example`", "the same, and robots.txt is fetched first", robots))
            first = outcome(f"http://rebound.example:{public.port}/", reachable, resolving)
            assert first == "answered 404", "the first answer of the name server is an address that is allowed"
            second = outcome(f"http://rebound.example:{site.port}/", reachable, resolving)
            rows.append(("`rebound.example`", "a name that resolves differently the second time", second))
    assert site.seen == [], "no attack reached the server"
    table = ["| " + " | ".join(row) + " |" for row in (("address", "what it is", "outcome"), ("---",) * 3, *rows)]
    print("\n" + "\n".join(table))
    assert {row[2] for row in rows} == {"AddressBlocked", "RobotsUnreachable"}
    documented = [line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert documented == table


# covers: W15
@pytest.mark.parametrize("pace_by", ["host", "address"])
@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.2", "127.0.0.1"],  # another one for the connection than for what was looked up before it
        ["127.0.0.2+127.0.0.1"],  # and one to fall back to, when nobody answers at the first
        ["127.0.0.2", "127.0.0.2", "127.0.0.1"],
        ["127.0.0.2", "127.0.0.1", "127.0.0.2", "127.0.0.1"],
    ],
)
def test_a_name_whose_answers_change_between_look_up_and_connection_leads_nowhere_else(
    site: Site, answers: list[str], pace_by: str
) -> None:
    """The address that is connected to is judged, whatever was looked up, for a page and for what rules it."""
    pytest.importorskip("aiodns")
    policy = Policy(
        agent="MyBot/1.0",
        min_interval=0.0,
        backoff=0.0,
        allow_addresses=("127.0.0.2/32",),
        pace_by=pace_by,
        failure_life=0,
    )
    site.set("/secret", "internal")
    with nameserver({"rebound.example": answers}) as server:
        settings = ClientSettings(timeout=60.0, max_retries=2, nameservers=(server,))

        async def run() -> None:
            async with AsyncClient(policy, settings) as client:
                for _ in range(4):
                    with pytest.raises(comity.ComityError):
                        await client.get(f"http://rebound.example:{site.port}/secret")
                    with pytest.raises(comity.ComityError):
                        async with client.stream(f"http://rebound.example:{site.port}/secret"):
                            pass

        asyncio.run(run())
    assert site.seen == []


def test_only_what_the_operator_names_may_be_reached(site: Site) -> None:
    site.set("/", "ours")
    own = ClientSettings(resolve={"intranet.example": "127.0.0.1", "other.example": "127.0.0.1"})
    named = Policy(mode="ignore", min_interval=0.0, allow_hosts=("Intranet.Example",))
    assert outcome(f"http://intranet.example:{site.port}/", named, own) == "answered 200"
    assert outcome(f"http://other.example:{site.port}/", named, own) == "AddressBlocked"
    assert outcome(site.url("/"), named, own) == "AddressBlocked"
    network = Policy(mode="ignore", min_interval=0.0, allow_addresses=("127.0.0.0/30",))
    assert outcome(f"http://other.example:{site.port}/", network, own) == "answered 200"


# covers: W15
def test_no_private_address_is_asked_of_a_proxy() -> None:
    """The proxy finds the addresses of names; an address that stands in the URL is judged here."""
    with Site("127.0.0.2") as proxy:
        proxied = ClientSettings(timeout=60.0, max_retries=0, proxy=proxy.url("/"))
        for host, _ in LITERALS:
            assert outcome(f"http://{host}/", IGNORING, proxied) == "AddressBlocked", host
        assert outcome("http://a.localhost/", IGNORING, proxied) == "AddressBlocked"
        assert outcome("http://10.0.0.1/", IGNORING.with_changes(mode="respect"), proxied) == "RobotsUnreachable"
        assert proxy.seen == []
        wider = IGNORING.with_changes(allow_addresses=("127.0.0.0/8",), allow_hosts=("10.0.0.1",))
        for host in ("public.example", "localhost", "10.0.0.1"):
            assert outcome(f"http://{host}/", wider, proxied) == "answered 404"
        assert [seen.headers["Host"] for seen in proxy.seen] == ["public.example", "localhost", "10.0.0.1"]


def test_a_proxy_may_have_a_private_address_that_no_site_may_have(site: Site) -> None:
    site.set("/", "ours")
    named = ClientSettings(max_retries=0, proxy=f"http://proxy.corp:{site.port}", resolve={"proxy.corp": "127.0.0.1"})
    for settings in (ClientSettings(max_retries=0, proxy=site.url("/")), named):
        assert outcome("http://public.example/", IGNORING, settings) == "answered 200"
        assert outcome("http://public.example/", Policy(min_interval=0.0), settings) == "answered 200"
        assert outcome(site.url("/"), IGNORING, settings) == "AddressBlocked"
        site.set("/to", status=302, headers={"Location": site.url("/")})
        assert outcome("http://public.example/to", IGNORING, settings) == "AddressBlocked"
    assert {seen.headers["Host"] for seen in site.seen} == {"public.example"}
    plain = ClientSettings(max_retries=0, resolve={"proxy.corp": "127.0.0.1"})
    assert outcome(f"http://proxy.corp:{site.port}/", IGNORING, plain) == "AddressBlocked"


def test_the_guard_knows_the_edges_of_every_network() -> None:
    guard = AddressGuard()
    for address in (
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "2606:4700::1111",
        "2000::1",
        "3ffe:ffff::1",
        "3fff:1000::1",
        "64:ff9b::808:808",
        "::ffff:8.8.8.8",
    ):
        assert guard.refusal(address) is None, address
    nat64 = ("64:ff9b:1:a9fe:a9:fe00:808:808", "64:ff9b:1:7f00:0:100:808:808", "64:ff9b:1:808:8:8:7f00:1")
    tunnels = ("::ffff:0:127.0.0.1", "2001:4860::5efe:7f00:1", "2001:4860::200:5efe:a00:1")
    outside = ("3fff:fff::1", "4000::", "1fff:ffff::1", "5f00::1", "6000::1", "e000::1", "64:ff9c::1", "200::1", "1::")
    for address in (*nat64, *tunnels, *outside):
        assert guard.refusal(address) is not None, address
    for address in ("10.255.255.255", "172.31.255.255", "100.127.255.255", "fdff::1", "2002:a00:1::", "64:ff9b::a00:1"):
        assert guard.refusal(address) is not None, address


def test_an_address_that_may_lead_to_several_is_allowed_only_where_all_of_them_are() -> None:
    private = AddressGuard(("10.0.0.0/8",))
    for address in (
        "64:ff9b:1:a00:0:100:a9fe:a9fe",  # 10.0.0.1 behind 48 bits, a cloud's metadata behind 96
        "64:ff9b:1:a:0:1:7f00:1",  # 56 bits
        "64:ff9b:1::a:0:100:1",  # 64 bits
        "2002:7f00:1::5efe:a00:1",  # 6to4 of loopback, ISATAP of 10.0.0.1
        "2002:a00:1::5efe:7f00:1",
        "2001:0:a00:1::5efe:a00:1",  # Teredo
        "fd00:1:2:3:0:5efe:a00:1",
        "fe80::5efe:a00:1",
        "4000::5efe:a00:1",
        "::ffff:127.0.0.1",
    ):
        assert private.refusal(address) is not None, address
    for address in ("::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1", "2002:a00:1::5efe:a00:1", "::10.0.0.1"):
        assert private.refusal(address) is None, address


def test_an_ipv6_network_that_is_allowed_opens_no_ipv4_address_that_it_carries() -> None:
    everything = AddressGuard(("::/0",))
    assert everything.refusal("fd00::1") is None
    for address in ("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::1", "fd00::5efe:7f00:1"):
        assert everything.refusal(address) is not None, address
    named = AddressGuard(("64:ff9b:1::/48", "::ffff:127.0.0.0/104", "2001::/32"))
    for address in ("64:ff9b:1::a00:1", "::ffff:127.0.0.1", "2001:0:7f00:1::1"):
        assert named.refusal(address) is None, address
    assert named.refusal("::ffff:10.0.0.1") is not None


@pytest.mark.parametrize("scheme", ["file", "ftp", "gopher", "data", "javascript"])
def test_a_redirect_to_another_scheme_is_not_followed(site: Site, scheme: str) -> None:
    site.set("/", status=302, headers={"Location": f"{scheme}://127.0.0.1/etc/passwd"})
    with (
        comity.Client(Policy(mode="ignore", allow_addresses=("127.0.0.1/32",))) as client,
        pytest.raises(comity.TooManyRedirects),
    ):
        client.get(site.url("/"))
