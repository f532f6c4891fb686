"""What a worker is to do, and what it and the process that started it say to each other."""

import asyncio
import os
import pickle
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.storage.manifest import CrawlManifest
from comity.net import ClientSettings
from comity.policy import Policy

WorkerMessage = tuple[Any, ...]
"""What a worker and the process that started it say to each other: a name, and what belongs to it.

To a worker: `snapshot` hosts, rules; `stop`; of a crawl in a folder `answer` HeartbeatReply, and `news` where a round
is worth while. From it: `begun`, `snapshots` {shard: Snapshot}, `shard ended` ShardEnd, `ended`, `failed` error,
`notice` text; of a crawl in a folder `round` Heartbeat and `let go` shard, token, state, ShardStatus.
"""
Send = Callable[..., None]
Listen = Callable[[Callable[[WorkerMessage], None]], None]
_LENGTH: Final = struct.Struct("!I")  # before each message in a pipe: how many octets it has


def pack(message: Any) -> bytes:
    """A message as it goes through a pipe between two processes of one crawl."""
    data = pickle.dumps(message)
    return _LENGTH.pack(len(data)) + data


def read_message(file: BinaryIO) -> Any:
    """The next message of a pipe; an EOFError says that the other side is gone."""
    try:
        return pickle.loads(file.read(*_LENGTH.unpack(file.read(_LENGTH.size))))
    except (struct.error, pickle.UnpicklingError) as error:
        raise EOFError from error


async def read_messages(stream: asyncio.StreamReader) -> AsyncIterator[WorkerMessage]:
    """Yield the messages of a pipe until its other side is closed."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            yield pickle.loads(await stream.readexactly(*_LENGTH.unpack(await stream.readexactly(_LENGTH.size))))


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is to do.

    Attributes:
        folder: of its machine.
        name: of the worker; no other has it.
        manifest: with the crawl and the run that it belongs to.
        store: the address of the store where the crawl lies, as typed; None for one in a folder.
        lease: of a shard in that store, seconds.
        orders: how many there were when this command began: bytes of their file, or the number of the last one.
    """

    folder: Path
    name: str
    manifest: CrawlManifest
    policy: Policy
    settings: CrawlSettings
    client_settings: ClientSettings
    store: str | None = None
    lease: float = 0.0
    orders: int = 0


class Watched(Protocol):
    """A worker as where its shards lie sees it."""

    def works(self) -> bool:
        """Whether the loop that all work is done on goes round: from any thread."""

    def wake(self) -> None:
        """A round is worth while."""


def name_of_process(number: int | str) -> str:
    """A name for a process that this one starts, or for itself: the machine, and what no other process has."""
    return f"{socket.gethostname()}:{os.getpid()}:{number}:{time.time_ns()}"


def on_machine(name: str, machine: str) -> str:
    """The name of a process that runs on another machine than the one that starts it."""
    return f"{machine}:{name.partition(':')[2]}"
