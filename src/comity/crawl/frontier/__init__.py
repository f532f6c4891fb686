"""The frontier: every URL the crawl knows, and what became of it. Durable, whatever happens to the process."""

from comity.crawl.frontier.aside import Judged
from comity.crawl.frontier.queue import Frontier
from comity.crawl.frontier.values import Batch, Entry, Found, Kind, State, Visit
from comity.crawl.frontier.view import HostCounts, View, has_begun
from comity.crawl.frontier.visits import Visits

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
