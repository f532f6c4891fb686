"""Our settings and what the site says -> one Decision. Pure: no I/O, no clock (time is an argument)."""

from typing import TYPE_CHECKING

from comity_robots._lazy import lazy_exports

if TYPE_CHECKING:
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

__getattr__ = lazy_exports(
    __name__,
    {
        "comity.policy.decision": "Decision Reason RuleCited Source json_schema",
        "comity.policy.origin_policy": "OriginPolicy decide",
        "comity.policy.policy": "Policy",
        "comity.policy.robots_result": "RobotsResult stale_if_error",
    },
)
