"""The frontier: every URL the crawl knows, and what became of it. Durable, whatever happens to the process."""

from typing import TYPE_CHECKING

from comity._late import late

if TYPE_CHECKING:
    from comity.frontier.refilter import Judged
    from comity.frontier.sqlite.database import has_begun
    from comity.frontier.sqlite.store import Frontier
    from comity.frontier.sqlite.view import View
    from comity.frontier.values import (
        Batch,
        Entry,
        EntryKind,
        Found,
        HostCounts,
        Message,
        QueuedURL,
        Run,
        State,
        Superseded,
        Visit,
    )
    from comity.frontier.visits import Visits

__all__ = [
    "Batch",
    "Entry",
    "EntryKind",
    "Found",
    "Frontier",
    "HostCounts",
    "Judged",
    "Message",
    "QueuedURL",
    "Run",
    "State",
    "Superseded",
    "View",
    "Visit",
    "Visits",
    "has_begun",
]

__getattr__ = late(  # what reads a finished crawl has no use for most of it
    __name__,
    {
        "comity.frontier.values": "Batch Entry EntryKind Found HostCounts Message QueuedURL Run State Superseded Visit",
        "comity.frontier.sqlite.store": "Frontier",
        "comity.frontier.sqlite.view": "View",
        "comity.frontier.sqlite.database": "has_begun",
        "comity.frontier.refilter": "Judged",
        "comity.frontier.visits": "Visits",
    },
)
