"""Floor 2: our settings and what the site says -> one Decision. Pure: no I/O, no clock (time is an argument)."""

from comity.policy.decision import Decision, RuleCited, Source, json_schema
from comity.policy.outcome import RobotsResult, standing
from comity.policy.ruling import Ruling, decide
from comity.policy.settings import Policy

__all__ = ["Decision", "Policy", "RobotsResult", "RuleCited", "Ruling", "Source", "decide", "json_schema", "standing"]
