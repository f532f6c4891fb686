"""Until when the hosts of a crawl are left alone, and why, as its frontier says: while the crawl runs and after it.
What a run keeps to itself is not known here: visiting hours, and limits for each host."""

from collections.abc import Iterable
from dataclasses import dataclass

from comity.crawler.observe.stats import UNREACHABLE, WAITS
from comity.crawler.storage.orders import Order
from comity.domains import registrable
from comity.frontier.committed import FrontierView
from comity.times import format_duration


@dataclass(frozen=True, slots=True)
class Delay:
    """What keeps a host from being asked now: `until` when (Unix time; None where nothing but an order ends it), and
    why: `interval`, `retry_after`, `back_off`, `circuit_open`, `unreachable` (its robots.txt) or `stopped`."""

    until: float | None
    why: str

    def in_words(self, now: float) -> str:
        """For people; `now`: Unix time."""
        if self.until is None:
            return "stopped by the operator"
        why = "robots.txt unreachable" if self.why == "unreachable" else WAITS.get(self.why, self.why)
        return f"for {format_duration(max(self.until - now, 0.0))} ({why})"


def delays(view: FrontierView, hosts: Iterable[str], given: Iterable[Order], now: float) -> dict[str, Delay]:
    """What keeps hosts of a shard, running or not, from being asked now; of those that nothing does, nothing. `given`:
    all orders, the oldest first. `now`: Unix time by the clock that the shard is worked by."""
    stopped = {order.host: order.order == "stop" for order in given}
    waits, reasons = view.load_state("waits") or {}, view.load_state("reasons") or {}
    paces = view.load_state("paces") or {}
    by_domain = (view.load_state("policy") or {}).get("pace_by") == "domain"
    found = {}
    for name in hosts:
        pace = registrable(name) if by_domain else paces.get(name, name)
        silent = (view.load_state(UNREACHABLE + name) or [0, {}])[1]
        until, why = (waits[pace][0], "interval") if pace in waits else (now, "")
        if pace in reasons and reasons[pace][0] >= until:
            until, why = reasons[pace]
        if silent and max(silent.values()) > until:
            until, why = max(silent.values()), "unreachable"
        if stopped.get(name):
            found[name] = Delay(None, "stopped")
        elif until > now:
            found[name] = Delay(until, why)
    return found
