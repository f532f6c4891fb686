"""How much memory bodies may take at a time, in one crawl on one event loop.

A body of moderate size always has room in memory. A larger one is read on while there is room, or where it is the
oldest of them: so none is too large to pass, and beyond the limit there are never more than the moderate ones, the
first parts of others and a single large one. Where sites begin large bodies and hold back their ends, large bodies wait
for one another; pages of moderate size pass them by, and none holds its place longer than its request may last.
"""

import asyncio
from collections.abc import Callable
from typing import Final

MODERATE_BODY_BYTES: Final = 256 * 1024  # bytes


class Memory:
    """The bytes of bodies that one crawl holds, on one event loop: at most `limit`, half of which is for the bodies of
    moderate size of all `requests` that may be under way at once.

    Attributes:
        held: bytes of bodies held.
        kept: those of them that wait to be written.
        most_held: the most that there ever were.

    Args:
        wake: called when a body finds no room: what waits to be written should be.
    """

    def __init__(self, limit: int, requests: int, wake: Callable[[], None]) -> None:
        self.limit = limit
        self.held = self.kept = self.most_held = 0
        self._moderate = min(MODERATE_BODY_BYTES, limit // (2 * requests))
        self._wake = wake
        self._large: dict[BodyOctets, None] = {}  # bodies of more than moderate size, in the order that they became so
        self._waiting: dict[BodyOctets, asyncio.Future[None]] = {}

    @property
    def is_short(self) -> bool:
        """Whether a body waits for room."""
        return bool(self._waiting)

    def claim(self) -> "BodyOctets":
        """The octets of a body that is still to come."""
        return BodyOctets(self)

    def keep(self, octets: int) -> None:
        """So many octets wait to be written."""
        self.kept += octets
        self._add(octets)

    def written(self, octets: int) -> None:
        """So many octets wait no more."""
        self.kept -= octets
        self._give_back(octets)

    def _add(self, octets: int) -> None:
        self.held += octets
        if self.held > self.most_held:
            self.most_held = self.held

    def _give_back(self, octets: int) -> None:
        self.held -= octets
        self._go_on()

    def _go_on(self) -> None:
        """Have the next of those that wait read on, if it may. One at a time: each may take what room there is."""
        for claim in self._large if self._waiting else ():
            future = self._waiting.get(claim)
            if future is not None and not future.done():  # done: it was given up
                if self._has_room(claim):
                    del self._waiting[claim]
                    future.set_result(None)
                return

    def _has_room(self, claim: "BodyOctets") -> bool:
        if self.held < self.limit:
            return True
        # What waits to be written is gone soon. Bodies that wait for each other are not.
        return next(iter(self._large)) is claim and self.kept < self.limit // 2


class BodyOctets:
    """The octets of one body that arrives, as the client counts them (see net.transport.BodyBudget)."""

    __slots__ = ("_memory", "octets")

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.octets = 0

    def consume(self, octets: int) -> bool:
        """So many more octets have come; whether more may be read at once."""
        self.octets += octets
        memory = self._memory
        memory._add(octets)
        if self.octets <= memory._moderate:
            return True
        memory._large[self] = None
        memory._go_on()
        return memory._has_room(self)

    async def wait(self) -> None:
        """Come back when more may be read."""
        waiting = self._memory._waiting
        future = waiting[self] = asyncio.get_running_loop().create_future()
        self._memory._wake()
        try:
            await future
        finally:
            waiting.pop(self, None)

    def release(self) -> None:
        """The body is held no more, or is counted among those that wait to be written."""
        self._memory._large.pop(self, None)
        octets, self.octets = self.octets, 0
        self._memory._give_back(octets)
