"""The frontier: every URL the crawl knows, and what became of it. Durable, whatever happens to the process."""

from comity.frontier.database import HostCounts, Standing, View, has_begun
from comity.frontier.later import Judged, Visits
from comity.frontier.queue import Frontier
from comity.frontier.values import Batch, Entry, EntryKind, Found, Message, State, Visit

__all__ = [
    "Batch",
    "Entry",
    "EntryKind",
    "Found",
    "Frontier",
    "HostCounts",
    "Judged",
    "Message",
    "Standing",
    "State",
    "View",
    "Visit",
    "Visits",
    "has_begun",
]
