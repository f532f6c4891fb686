"""The one tree of errors. Every error says what happened, to which URL, and what to do about it."""

import errno
from dataclasses import dataclass
from typing import Any, Final

from comity_pages.errors import ExtractionFailed as ExtractionFailed
from comity_pages.errors import MissingExtra as MissingExtra
from comity_robots.errors import ComityError as ComityError
from comity_robots.errors import InvalidSetting as InvalidSetting
from comity_robots.errors import InvalidURL as InvalidURL
from comity_robots.errors import without_userinfo as without_userinfo


class InvalidRecord(ComityError, ValueError):
    """One of comity's own records is damaged; the message names the field."""


class RobotsDisallowed(ComityError):
    """Refused by policy or robots.txt; no request was sent.

    Attributes:
        decision: the `comity.Decision`, with the rule that decided and the evidence.
    """

    def __init__(self, message: str, *, url: str, decision: Any, hint: str = "") -> None:
        super().__init__(message, url=url, hint=hint)
        self.decision = decision


class RobotsUnreachable(RobotsDisallowed):
    """robots.txt could not be reached, so nothing may be fetched for now (RFC 9309, 2.3.1.4)."""


class FetchError(ComityError):
    """The request was made, or tried, and no usable response came back."""


class StaleConnection(FetchError):
    """A connection that was kept from an earlier request had ended when this one was sent over it, and no octet of an
    answer came: most likely the server's idle time-out was over at that moment (RFC 9112, 9.3.1 and 9.5)."""


class Timeout(FetchError):
    """No response within the configured time."""


class BadStatus(FetchError):
    """The response has an HTTP error status; see `Response.raise_for_status`.

    Attributes:
        status: the HTTP status.
    """

    def __init__(self, message: str, *, url: str, status: int, hint: str = "") -> None:
        super().__init__(message, url=url, hint=hint)
        self.status = status


@dataclass(frozen=True, slots=True)
class PaymentOffer:
    """One way to pay that an x402 answer accepts, each part as the site wrote it; None where it wrote none.

    Attributes:
        scheme: how it would be paid, such as `exact`.
        price: a whole number in the asset's smallest unit, of which x402 does not say how many make one.
        currency: what the asset is called, or its address.
        network: the blockchain: `eip155:8453` (version 2), `base` (version 1).
        payee: the address that would be paid.
    """

    scheme: str | None = None
    price: str | None = None
    currency: str | None = None
    network: str | None = None
    payee: str | None = None


def costs_in_words(price: str | None, currency: str | None, offers: tuple[PaymentOffer, ...]) -> str:
    """Say what one request costs: as `crawler-price` states it, and by the offers; empty where there is neither."""
    said = [] if price is None else [f"{price} {currency or ''}".rstrip()]
    for first in offers[:1]:
        where = f" on {first.network}" if first.network else ""
        said.append(f"{first.price} of the smallest unit of {first.currency or 'an asset'}{where} (x402)")
    if more := len(offers[1:]):
        said.append(f"{more} more offer{'s' * (more > 1)}")
    return ", or ".join(said)


class PaymentRequired(BadStatus):
    """The site asks for payment (402), or for a licence (401 with `WWW-Authenticate: License`). Nothing is ever paid.

    Attributes:
        price: of one request, as a decimal number (`crawler-price`); without that, as the first offer has it. None
            where it is not stated.
        currency: its code, such as `USD`.
        licence: URL of the terms.
        offers: the ways to pay that an x402 answer accepts.
        scheme, network, payee: those of the first offer, where the price is that one's; else None.
        costs: what is asked for, in words; empty where that is not stated.
    """

    def __init__(
        self,
        message: str,
        *,
        url: str,
        status: int = 402,
        price: str | None = None,
        currency: str | None = None,
        licence: str | None = None,
        offers: tuple[PaymentOffer, ...] = (),
        hint: str = "",
    ) -> None:
        super().__init__(message, url=url, status=status, hint=hint)
        first = offers[0] if offers and price is None else PaymentOffer()
        self.price = price or first.price
        self.currency = currency if price else first.currency
        self.licence = licence
        self.offers = offers
        self.scheme, self.network, self.payee = first.scheme, first.network, first.payee
        self.costs = costs_in_words(price, currency, offers)


class InvalidJSON(ComityError, ValueError):
    """The body of a response is not JSON; see `Response.json`."""


class UnsupportedContent(ComityError):
    """The response is neither HTML nor Markdown nor plain text."""


class NoCandidate(ComityError):
    """Of all URLs that could have been retrieved none was allowed and answered.

    Attributes:
        considered: what became of each, as `comity.retrieve.Considered`.
    """

    def __init__(self, message: str, *, url: str, considered: tuple[Any, ...] = (), hint: str = "") -> None:
        super().__init__(message, url=url, hint=hint)
        self.considered = considered


class PartFailed(ComityError):
    """A fetcher, extractor or chooser of the caller raised an error or returned something that cannot be used."""


class TooLarge(FetchError):
    """The response is over a configured limit and was cut off."""


class TooManyRedirects(FetchError):
    """More redirect hops than the policy allows, or a redirect loop."""


class UnwantedType(FetchError):
    """The response is of a content type that the settings do not accept, or in a content coding that was not asked for;
    its body was not read.

    Attributes:
        status: the HTTP status; None for a robots.txt.
        content_type: the media type in lower case, without parameters; empty where none was stated.
    """

    def __init__(
        self, message: str, *, url: str, status: int | None = None, content_type: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, url=url, hint=hint)
        self.status = status
        self.content_type = content_type


class Postponed(ComityError):
    """No request was sent: the wait for the host would exceed max_wait.

    Attributes:
        seconds: how long from now.
    """

    def __init__(self, message: str, *, url: str, seconds: float, hint: str = "") -> None:
        super().__init__(message, url=url, hint=hint)
        self.seconds = seconds


class OutOfHours(Postponed):
    """The site accepts no visits now (Visit-time)."""


class CircuitOpen(Postponed):
    """The host failed too often in a row; for a while, no requests are sent to it."""


class AddressBlocked(ComityError):
    """The address really connected to is not public and the operator has not allowed it (`allow_addresses`)."""


class PluginError(ComityError):
    """A plug-in failed at its work: a source, an expander or, as SinkFailed, a sink."""


class RenderingFailed(ComityError):
    """The browser that is to render pages cannot be started."""


class EngineFailed(ComityError):
    """An engine that is to do the work, such as Ray, cannot be started or joined, or gave up."""


class SystemFailed(ComityError):
    """This process cannot go on, through no fault of any site or page: the system refuses it files, threads or memory,
    a disk gives no answer, or a module of its own cannot be imported any more."""


class StorageError(ComityError):
    """One of comity's own files or databases cannot be read or written."""


class SinkFailed(PluginError, StorageError):
    """A sink raised an error at its work, for another reason than its files."""


class StorageFull(StorageError):
    """There is no room left for one of comity's own files or databases."""


class InputError(StorageError):
    """An input file does not exist or cannot be read."""


SHORTAGES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN)
"""Numbers of the system's errors that say what this process, or its machine, lacks just now."""


def is_of_the_system(error: BaseException) -> bool:
    """Return whether an error says what the system refuses this process, whatever that was wanted for."""
    if isinstance(error, OSError):
        return error.errno in (*SHORTAGES, errno.EIO)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "start new thread" in str(error))


def sqlite_code(error: BaseException) -> int:
    """Return the primary result code of an error that SQLite reports; 0 of one that is Python's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def system_failed(error: BaseException) -> SystemFailed | None:
    """Return the error in words that ends a program, where it is one of the system's or a module cannot be imported."""
    if not (is_of_the_system(error) or isinstance(error, ImportError)) or isinstance(error, ComityError):
        return None
    what = str(error) or "no memory is left"
    return SystemFailed(
        f"this process cannot go on: {type(error).__name__}: {what}",
        hint="no site is at fault, and what was written is safe: mend that (limits of ulimit, memory, the installed "
        "package), then run again; a crawl goes on with --resume",
    )


_EXAMPLES: Final = {
    "Policy": "agent='MyBot/1.0 (+URL)'",
    "ClientSettings": "timeout=20",
    "CrawlSettings": "max_pages=100",
}


def check_type(name: str, value: object, kind: type) -> None:
    """Raises TypeError, which names the expected type, for a value that is neither None nor of that kind."""
    if value is not None and not isinstance(value, kind):
        example = f"comity.{kind.__name__}({_EXAMPLES[kind.__name__]})"
        raise TypeError(f"{name}: expected {kind.__name__}, not {type(value).__name__} (for example: {example})")


def place_of(name: str, **places: type[Any]) -> str:
    """Return what takes a setting: the argument, of which class; or that none of these classes does."""
    for where, kind in places.items():
        if name in kind.__dataclass_fields__:
            return f"write {where}=comity.{kind.__name__}({name}=...)"
    return f"nor is it one of {' or '.join(kind.__name__ for kind in places.values())}"
