"""A refresh begins, or goes on: in one transaction the frontier forgets what it met, and keeps what it visited.

Facts about the site stay (scope, traps, duplicates, waits); those about this crawl's work begin anew (counts, budgets).
"""

from pathlib import Path
from typing import Any, Final

from comity.crawler.again.revisits import Refresh
from comity.errors import StorageError
from comity.frontier import Frontier, has_begun

ENDED: Final = "ended"
"""The fact that says how the last run ended: `finished`, `stopped`, or None where it was cut off."""
FINISHED: Final = "finished"
_FACT: Final = "refresh"
_FORGOTTEN: Final = ("stats", "tally", "spent", "spent *", "unreachable *")


def refresh_of(frontier: Frontier, *, begin: bool, folder: Path, trusts_sitemaps: bool) -> Refresh | None:
    """The refresh under way in a folder; None while the first crawl is.

    Args:
        begin: whether a new one is wanted.

    Raises:
        StorageError: it cannot begin, because the crawl or the refresh before it has not ended.
    """
    now: dict[str, int] = frontier.recall(_FACT, {"number": 0, "last": 0})
    if begin:
        if frontier.recall(ENDED) != FINISHED:
            raise StorageError(f"the crawl in {folder} has not ended", hint="go on with it first, with --resume")
        if frontier.recall("stats", {}).get("pages") and not frontier.visits.any():
            raise StorageError(f"{folder} says nothing of its pages to compare with", hint="crawl into another folder")

        def facts(last: int) -> dict[str, Any]:
            now.update(number=now["number"] + 1, last=last)
            return {_FACT: now, ENDED: None}

        frontier.begin_again(forget=_FORGOTTEN, facts=facts)
    return Refresh(now["number"], now["last"], frontier.visits, trusts_sitemaps) if now["number"] else None


def check_begun(folder: Path, wanted: str) -> None:
    """Raises StorageError where there is no crawl to do with what is wanted."""
    frontier = folder / "frontier.sqlite"
    if not has_begun(frontier):
        if frontier.exists():
            raise StorageError(
                f"{folder} holds no crawl yet: it was stopped before it began", hint="give its URLs to start it"
            )
        raise StorageError(f"{folder} holds no crawl to {wanted}", hint="give the URLs to start one from")
