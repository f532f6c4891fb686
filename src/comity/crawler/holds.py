"""Until when the hosts of a crawl are left alone, and why, as its folder says: while the crawl runs and after it.

It reads what the crawl wrote down for a later run, and so knows nothing of what a run keeps to itself: visiting hours,
and limits for each host.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from comity.crawler import orders
from comity.crawler.placement import part_with
from comity.crawler.stats import UNREACHABLE, WAITS, span
from comity.domains import registrable
from comity.frontier import View


@dataclass(frozen=True, slots=True)
class Hold:
    """What keeps a host from being asked now.

    Attributes:
        until: Unix time; None where nothing but an order ends it.
        why: `interval`, `retry_after`, `back_off`, `circuit_open`, `unreachable` (its robots.txt), `stopped`.
    """

    until: float | None
    why: str

    def in_words(self, now: float) -> str:
        """For people; `now`: Unix time."""
        if self.until is None:
            return "stopped by the operator"
        why = "robots.txt unreachable" if self.why == "unreachable" else WAITS.get(self.why, self.why)
        return f"for {span(max(self.until - now, 0.0))} ({why})"


def holds(folder: Path, hosts: Iterable[str]) -> dict[str, Hold]:
    """What keeps hosts of a crawl, running or not, from being asked now; of those that nothing does, nothing.

    Raises:
        StorageError: the folder cannot be read.
    """
    now = time.time()
    stopped = {order.host: order.order == "stop" for order in orders.Orders(folder).new()}
    by_part: dict[Path, list[str]] = {}
    for host in hosts:
        by_part.setdefault(part_with(folder, host), []).append(host)
    found = {}
    for part, names in by_part.items():
        with View(part / "frontier.sqlite") as view:
            waits, reasons = view.load_state("waits") or {}, view.load_state("reasons") or {}
            by_domain = (view.load_state("policy") or {}).get("pace_by") == "domain"
            silent = {name: (view.load_state(UNREACHABLE + name) or [0, {}])[1] for name in names}
        for name in names:
            pace = registrable(name) if by_domain else name
            until, why = (waits[pace][0], "interval") if pace in waits else (now, "")
            if pace in reasons and reasons[pace][0] >= until:
                until, why = reasons[pace]
            if silent[name] and max(silent[name].values()) > until:
                until, why = max(silent[name].values()), "unreachable"
            if stopped.get(name):
                found[name] = Hold(None, "stopped")
            elif until > now:
                found[name] = Hold(until, why)
    return found
