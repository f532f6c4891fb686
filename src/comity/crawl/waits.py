"""How long hosts are to be left alone, from one run to the next: kept by the wall clock, for the other starts anew."""

from collections.abc import Mapping

from comity.net import AsyncClient, Clock

LONGEST = 86_400.0  # seconds that a host is left alone because of an earlier run, whatever the wall clock did


def waits(client: AsyncClient, clock: Clock) -> dict[str, float]:
    """Until when hosts are to be left alone, in Unix time."""
    wall = clock.wall()
    return {key: wall + seconds for key, seconds in client.waits().items()}


def leave_alone(client: AsyncClient, clock: Clock, kept: Mapping[str, float]) -> None:
    """Go on with the waits of an earlier run."""
    left = {key: until - clock.wall() for key, until in kept.items()}
    client.left_alone({key: min(seconds, LONGEST) for key, seconds in left.items() if seconds > 0})
