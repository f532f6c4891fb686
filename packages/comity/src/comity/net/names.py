"""Addresses of host names: the operator's own answers, then what was found lately, then DNS.

A name is looked up once however many wait for it. A lookup waits for none but those before it in a long queue, and the
time in the queue counts for no request's time-out: what holds it up are other names.
"""

import asyncio
import errno
import ipaddress
import os
import socket
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from aiohttp.abc import AbstractResolver, ResolveResult

from comity.errors import SHORTAGES
from comity.net.deadlines import deadlines_paused
from comity_pages._extras import need

if TYPE_CHECKING:
    from aiodns import DNSResolver

MAX_LOOKUPS: Final = 128  # at once: a name server that does not answer holds each for 10 s and more
SLOW_LOOKUP_SECONDS: Final = 0.5
"""Seconds after which a question that takes no thread no longer keeps others from being asked."""
FOUND_LIFE_SECONDS: Final = 300.0  # seconds that addresses are kept where their TTL is not known
MAX_LIFE_SECONDS: Final = 86_400.0  # seconds that addresses are kept at most, whatever their TTL
MISSING_LIFE_SECONDS: Final = 30.0  # seconds that a name is known not to exist
FAILED_LIFE_SECONDS: Final = 0.5  # any other failure: who tries again after the least back-off asks anew
MAX_NAMES: Final = 1 << 15  # names: more than a crawl takes in turn, or each would be forgotten when it is needed again
_MISSING: Final = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
_ARES_MISSING: Final = (1, 4, 8)  # of c-ares: no data, not found, no host name
_ARES_DAMAGED: Final = 10

FoundAddresses = tuple[tuple[str, ...], float]  # addresses, and the seconds that they may be kept


class _Damaged(socket.gaierror):
    """An answer could not be read, of this name or of another: c-ares gives up all that it asked over the socket."""


class _Lookup:
    """One question under way, and who waits for it: until it has left the queue, and then until it is answered."""

    def __init__(self, work: Callable[["_Lookup"], Coroutine[Any, Any, tuple[str, ...]]]) -> None:
        self.begun = False
        self._waiting: list[asyncio.Future[None]] = []
        self.task = asyncio.get_running_loop().create_task(work(self))
        self.task.add_done_callback(self._answered)

    def begin(self) -> None:
        """It leaves the queue."""
        self.begun = True
        self._wake()

    async def news(self) -> None:
        """Until it leaves the queue or is answered. Who is cancelled here takes nothing from the others."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def _answered(self, task: asyncio.Task[tuple[str, ...]]) -> None:
        if not task.cancelled():
            task.exception()  # retrieved, though perhaps no caller waits any more: asyncio would complain
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


class Names(AbstractResolver):
    """The names of one client. Make it inside the event loop that uses it.

    Args:
        own: addresses of names that DNS is not asked for, as ClientSettings.resolve has them.
        nameservers: DNS servers to ask instead of the system's.

    Raises:
        MissingExtra: `nameservers` needs a library that is not installed.
    """

    def __init__(self, own: Mapping[str, str], nameservers: tuple[str, ...]) -> None:
        self._own = own
        self._dns = _from_nameservers(nameservers) if nameservers else None
        self._known: dict[str, tuple[tuple[str, ...] | OSError, float]] = {}
        self._asked: dict[str, _Lookup] = {}
        self._free = asyncio.Semaphore(MAX_LOOKUPS)
        self._alone = asyncio.Semaphore()

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Return the addresses of a host, the best first. Raises OSError: it has none, or that cannot be found out."""
        own = self._own.get(host.lower().rstrip(".")) if self._own else None
        if own is not None:
            return (own,)
        if host[-1:].isdigit() or ":" in host:  # no other can be an address
            with suppress(ValueError):
                return (str(ipaddress.ip_address(host)),)
        known = self._known.get(host)
        if known is not None and known[1] > asyncio.get_running_loop().time():
            if isinstance(known[0], OSError):
                raise _again(known[0])
            return known[0]
        lookup = self._asked.get(host)
        if lookup is None:
            lookup = self._asked[host] = _Lookup(lambda lookup: self._looked_up(host, lookup))
        if not lookup.begun:
            with deadlines_paused():
                await lookup.news()
        while not lookup.task.done():
            await lookup.news()
        try:
            return lookup.task.result()
        except OSError as error:
            raise _again(error) from None

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = []
        for address in await self.addresses(host):
            version = socket.AF_INET6 if ":" in address else socket.AF_INET
            if family in (socket.AF_UNSPEC, version):
                flags = socket.AI_NUMERICHOST
                found.append(
                    ResolveResult(hostname=host, host=address, port=port, family=version, proto=0, flags=flags)
                )
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "no address of the requested family")
        return found

    async def close(self) -> None:
        for lookup in list(self._asked.values()):
            lookup.task.cancel()
            lookup.begin()
        if self._dns is not None:
            self._dns.cancel()

    async def _looked_up(self, host: str, lookup: _Lookup) -> tuple[str, ...]:
        kept: tuple[str, ...] | OSError
        loop = asyncio.get_running_loop()
        try:
            if self._dns is None:
                async with self._free:
                    lookup.begin()
                    kept, life = await in_thread(host), FOUND_LIFE_SECONDS
            else:
                try:
                    kept, life = await self._asked_of(self._dns, host, lookup, self._free)
                except _Damaged:
                    kept, life = await self._asked_of(self._dns, host, lookup, self._alone)
        except OSError as error:
            kept, life = (
                error,
                MISSING_LIFE_SECONDS
                if _is_missing(error)
                else 0.0
                if error.errno in SHORTAGES
                else FAILED_LIFE_SECONDS,
            )
        finally:
            if not lookup.begun:
                lookup.begin()
            del self._asked[host]
        self._known.pop(host, None)
        self._known[host] = kept, loop.time() + life
        if len(self._known) > MAX_NAMES:
            del self._known[next(iter(self._known))]
        if isinstance(kept, OSError):
            raise kept
        return kept

    async def _asked_of(
        self, dns: "DNSResolver", host: str, lookup: _Lookup, places: asyncio.Semaphore
    ) -> FoundAddresses:
        """Ask a name server. It takes no thread, so what is not answered soon holds its place no longer."""
        await places.acquire()
        held = True

        def give_place_up() -> None:
            nonlocal held
            if held:
                held = False
                places.release()

        timer = asyncio.get_running_loop().call_later(SLOW_LOOKUP_SECONDS, give_place_up)
        try:
            lookup.begin()
            return await _by_server(dns, host)
        finally:
            timer.cancel()
            give_place_up()


async def in_thread(host: str) -> tuple[str, ...]:
    """Return the addresses of a host by the system's resolver, which blocks a thread: a new one each time, for the
    event loop has few, and a daemon, for which the end of the program does not wait.

    Raises:
        OSError: it has none, or that cannot be found out.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[str, ...]] = loop.create_future()

    def tell(found: tuple[str, ...] | OSError) -> None:
        if answer.done():  # given up
            return
        if isinstance(found, OSError):
            answer.set_exception(found)
        else:
            answer.set_result(found)

    def work() -> None:
        found: tuple[str, ...] | OSError
        try:
            found = system_addresses(host)
        except OSError as error:
            found = error
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(tell, found)

    try:
        threading.Thread(target=work, name="comity-lookup", daemon=True).start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, f"no thread to look {host} up in: {error}") from None
    return await answer


def system_addresses(host: str) -> tuple[str, ...]:
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None
    except socket.gaierror as error:
        raise _lacking(error) from None
    addresses = []
    for _, _, _, _, address in found:
        text = str(address[0])
        if len(address) == 4 and address[3]:  # of a link: the address counts with its interface
            text = socket.getnameinfo(address, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)[0]
        if text not in addresses:
            addresses.append(text)
    return tuple(addresses)


def _lacking(error: socket.gaierror) -> OSError:
    """Return what is wrong where the system's resolver fails: for a name that it has no file or memory to look up it
    gives an error as of any other name."""
    if error.errno == socket.EAI_MEMORY:
        return OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as lack:
        return OSError(lack.errno, lack.strerror)
    return error


async def _by_server(dns: "DNSResolver", host: str) -> FoundAddresses:
    """By the name servers given, which also say how long an answer holds: the least of its records' times to live."""
    from aiodns.error import DNSError

    try:
        found = await dns.getaddrinfo(host, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None
    except DNSError as error:
        code, words = error.args[0], str(error.args[-1])
        if code == _ARES_DAMAGED:
            raise _Damaged(socket.EAI_AGAIN, words) from None
        raise socket.gaierror(socket.EAI_NONAME if code in _ARES_MISSING else socket.EAI_AGAIN, words) from None
    addresses = dict.fromkeys(_spelt(node.addr) for node in found.nodes)
    if not addresses:
        raise socket.gaierror(socket.EAI_NONAME, "no address")
    life = min([node.ttl for node in found.nodes] + [name.ttl for name in found.cnames])
    return tuple(addresses), float(min(max(life, 0), MAX_LIFE_SECONDS))


def _spelt(address: tuple[Any, ...]) -> str:
    text = address[0].decode("ascii") if isinstance(address[0], bytes) else str(address[0])
    return f"{text}%{address[3]}" if len(address) == 4 and address[3] else text  # of a link, with its interface


def dns_library() -> Any:
    """Return what asks the servers that `nameservers` names. Raises MissingExtra: it is not installed."""
    return need("aiodns", "dns", "the setting nameservers")


def _from_nameservers(nameservers: tuple[str, ...]) -> "DNSResolver":
    resolver: DNSResolver = dns_library().DNSResolver(nameservers=list(nameservers), tries=2, timeout=3.0)
    return resolver


def _is_missing(error: OSError) -> bool:
    return isinstance(error, socket.gaierror) and error.errno in _MISSING


def _again(error: OSError) -> OSError:
    """Return the error for one more caller: each adds to what it is given where it was."""
    return type(error)(*error.args)
