"""Floor 2: our settings and what the site says -> one Decision. Pure: no I/O, no clock (time is an argument)."""

from comity.policy.decision import Decision, Source, decide
from comity.policy.outcome import RobotsResult
from comity.policy.settings import Policy

__all__ = ["Decision", "Policy", "RobotsResult", "Source", "decide"]
