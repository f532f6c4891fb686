"""What the shards of a crawl have to tell each other, each message taken up exactly once whatever crashes.

The messages of one commit to one shard are a parcel: a row in the sender's own database, written in the transaction of
what they were found on, with a number that only grows. The receiver reads it there, and saves in the transaction of
what it makes of a parcel that it has taken it: of each sender the last number is enough. What it has taken, the sender
may forget. Nobody else is needed in between, and nobody writes into the database of another.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from itertools import chain
from typing import Any, Final, Protocol, TypeVar

from comity.frontier.values import EntryKind, Message

TAKEN: Final = "taken"  # the fact that says, by sender, which parcel was taken last
SENT: Final = "sent"  # the fact that says, by receiver, which parcel was made last
TAKEN_CHAIN: Final = "taken_chain"
"""The fact that has, by sender, one hash of all parcels that were taken; and `SENT_CHAIN` by receiver of all made."""
SENT_CHAIN: Final = "sent_chain"
AT_ONCE: Final = 16  # parcels read of one shard before another has its turn


@dataclass(frozen=True, slots=True)
class Parcel:
    """Messages of one commit for `shard`, as they were sent; `number` grows with each of the same sender."""

    number: int
    shard: int
    text: str

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(map(_message, json.loads(self.text)))


def chained(before: str | None, text: str) -> str:
    """One hash of all parcels from one shard to another: that of those before, and of the next one's text.

    Who has taken other parcels than were sent, because a shard is an older copy of itself, has another one.
    """
    return hashlib.blake2b(f"{before or ''}{text}".encode("ascii"), digest_size=8).hexdigest()


def parcels_of(messages: Iterable[tuple[int, Message]], new: Iterable[tuple[int, Message]]) -> dict[int, str]:
    """By receiver, a parcel's text: of messages that settle a URL (`Message.settles`) the new ones, of others all."""
    by_shard: dict[int, list[Message]] = {}
    for shard, message in chain((each for each in messages if not each[1].settles), new):
        by_shard.setdefault(shard, []).append(message)
    return {shard: json.dumps([astuple(message) for message in together]) for shard, together in by_shard.items()}


def chains(before: Mapping[int, str], texts: Mapping[int, str]) -> dict[int, str]:
    """The hashes of all parcels by receiver, with those that are sent now."""
    return {**before, **{shard: chained(before.get(shard), text) for shard, text in texts.items()}}


class MailboxReader(Protocol):
    """Where it is read what was sent to shards. A StorageError says that it cannot be, Unreachable that it may be
    later."""

    async def parcels(self, receiver: int, after: Mapping[int, int]) -> list[tuple[int, Parcel]]:
        """What some shards have sent to one, by sender, the oldest first, a few at a time; `after`: by sender, the
        parcel taken up last."""


Value = TypeVar("Value")


def numbers(kept: Mapping[str, Value] | None) -> dict[int, Value]:
    """Numbers, or hashes, by shard, as they were saved."""
    return {int(shard): number for shard, number in (kept or {}).items()}


@dataclass(frozen=True, slots=True)
class Mail:
    """What a shard says of the parcels that it has sent and taken, as it was committed last: numbers and hashes by the
    other shard, and those that it keeps because they may not have been taken, the oldest first."""

    sent: Mapping[int, tuple[int, str]]
    taken: Mapping[int, tuple[int, str]]
    waiting: Collection[Parcel]

    @classmethod
    def of(cls, facts: Mapping[str, Any], waiting: Collection[Parcel]) -> "Mail":
        """As a frontier remembers it, by the names of its facts. Nobody vouches for these: a TypeError, ValueError or
        AttributeError says that they are something else."""
        for parcel in waiting:
            if (type(parcel.number), type(parcel.shard), type(parcel.text)) != (int, int, str):
                raise TypeError
        sent, taken = (
            {shard: (int(number), str(chains.get(shard, ""))) for shard, number in numbers(facts.get(name)).items()}
            for name, chains in ((SENT, numbers(facts.get(SENT_CHAIN))), (TAKEN, numbers(facts.get(TAKEN_CHAIN))))
        )
        return cls(sent, taken, waiting)


def missing_parcels(mail: Mapping[int, Mail]) -> Iterator[tuple[int, int]]:
    """Senders and receivers between which a parcel is lost or was replaced: what was taken, and after it what waits
    to be, is not what was sent.
    """
    for sender, its in mail.items():
        for receiver in mail:
            taken, chain = mail[receiver].taken.get(sender, (0, ""))
            number = taken
            for parcel in its.waiting:
                if parcel.shard == receiver and parcel.number > taken:
                    number, chain = parcel.number, chained(chain, parcel.text)
            if (number, chain) != its.sent.get(receiver, (0, "")):
                yield sender, receiver


def _message(row: list[Any]) -> Message:
    url, depth, kind, *rest = row
    message = Message(url, depth, EntryKind(kind), *rest)
    return replace(message, named_by=tuple(message.named_by))  # JSON knows lists only
