"""Sinks: where a crawl writes what came. This module says what a sink is; each format has a module of its own.

A sink and the frontier agree after any crash because of one rule: `flush` makes everything added durable and returns
a marker, the frontier stores that marker in the same transaction as the URLs' new states, and `open` takes the sink
back to the marker last stored. What a sink wrote after that marker never happened.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Union, get_args, runtime_checkable

if TYPE_CHECKING:  # what reads a crawl needs no network
    from comity.net import Response
    from comity.policy import RobotsResult

Channel = Literal[
    "pages",
    "refusals",
    "traps",
    "unwanted",
    "failures",
    "redirects",
    "robots",
    "sitemaps",
    "requisites",
    "records",
    "changes",
    "links",
]
CHANNELS: tuple[Channel, ...] = get_args(Channel)
# What a record was made from, for formats that keep it as received; a Union, so that `Received | None` can be written.
Received: TypeAlias = Union["Response", "RobotsResult"]


@runtime_checkable
class Sink(Protocol):
    """What the crawler needs of a sink. Any class with these members will do, as `MODULE:NAME` or as an object.

    All of it is called in one thread, which is the crawl's own and not that of the program, one call at a time: what
    `open` makes (a connection of sqlite3, for instance) can be used until `close`. Only the object itself is made, and
    a plug-in's module imported, in the program's thread.
    Any exception stops the crawl with a StorageError; the crawl can be resumed from the last commit.
    """

    @property
    def pending(self) -> int:
        """Bytes added that are not durable yet. While they are many, no new request is started."""
        ...

    def open(self, folder: Path, committed: Any) -> None:
        """Make ready to write.

        Args:
            folder: the crawl's folder; it exists.
            committed: what `flush` returned at the last commit; None where the crawl is new. Whatever was written
                after that commit must be undone here: its pages will be fetched again.
        """
        ...

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Received | None = None) -> None:
        """Take one record: plain values that `json.dumps` accepts, and the answer it was made from if there is one."""
        ...

    def flush(self, *, final: bool) -> Any:
        """Make everything added durable and return a marker that `json.dumps` accepts.

        When it is called again, the marker returned before has been committed: only then may anything be removed
        that `open` would need to go back to that marker.

        Args:
            final: the run ends with this commit; what is written must be readable from now on.
        """
        ...

    def close(self) -> None:
        """Release files. Called once, after an error too; what was not flushed is dropped, as after a crash."""
        ...
