"""How long hosts are left alone from one run to the next: a restart, after a crash too, makes no request early.

What was sent after the last commit is known to nobody when a crash follows. So after one, every host is taken to have
been asked at the very end, and waits its whole interval from the beginning of the new run.
"""

from collections.abc import Callable
from typing import Any

from comity.net import AsyncClient, Clock


def facts(client: AsyncClient, clock: Clock, *, at_rest: bool) -> dict[str, Any]:
    """What a later run has to know.

    Args:
        at_rest: whether this run sends nothing more.
    """
    wall = clock.wall()
    waits = {key: (wall + seconds, seconds) for key, seconds in client.waits().items()}
    return {"waits": waits, "intervals": client.intervals(), "at_rest": at_rest}


def keep(client: AsyncClient, clock: Clock, recall: Callable[[str, Any], Any]) -> None:
    """Have a client wait as `facts` of the run before says.

    Args:
        recall: gives back a fact by its name, or the default.
    """
    wall = clock.wall()
    waits = {
        key: min(until - wall, seconds)  # a clock that was set back makes no wait longer than it was
        for key, (until, seconds) in recall("waits", {}).items()
        if until > wall
    }
    intervals: dict[str, float] = recall("intervals", {})
    others = 0.0
    if not recall("at_rest", True):
        others = client.policy.min_interval
        for key in waits.keys() | intervals.keys():
            waits[key] = max(waits.get(key, 0.0), intervals.get(key, others))
    client.left_alone(waits, intervals=intervals, others=others)
