"""The frontier: every URL the crawl knows, and what became of it. Durable, whatever happens to the process."""

from comity.frontier.aside import Judged
from comity.frontier.queue import Frontier
from comity.frontier.values import Batch, Entry, Found, Kind, State, Visit
from comity.frontier.view import HostCounts, View, has_begun
from comity.frontier.visits import Visits

__all__ = [
    "Batch",
    "Entry",
    "Found",
    "Frontier",
    "HostCounts",
    "Judged",
    "Kind",
    "State",
    "View",
    "Visit",
    "Visits",
    "has_begun",
]
