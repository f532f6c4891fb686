"""The frontier: every URL the crawl knows, and what became of it. Durable, whatever happens to the process."""

from typing import TYPE_CHECKING

from comity._late import late

if TYPE_CHECKING:
    from comity.frontier.database import has_begun
    from comity.frontier.queue import Frontier
    from comity.frontier.refilter import Judged
    from comity.frontier.tables import View
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
        "comity.frontier.queue": "Frontier",
        "comity.frontier.database": "has_begun",
        "comity.frontier.tables": "View",
        "comity.frontier.refilter": "Judged",
        "comity.frontier.visits": "Visits",
    },
)
