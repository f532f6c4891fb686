"""Our settings and what the site says -> one Decision. Pure: no I/O, no clock (time is an argument)."""

from comity.policy.decision import Decision, Reason, RuleCited, Source, json_schema
from comity.policy.origin_policy import OriginPolicy, decide
from comity.policy.policy import Policy
from comity.policy.robots_result import RobotsResult, stale_if_error

__all__ = [
    "Decision",
    "OriginPolicy",
    "Policy",
    "Reason",
    "RobotsResult",
    "RuleCited",
    "Source",
    "decide",
    "json_schema",
    "stale_if_error",
]
