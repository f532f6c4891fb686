"""A crawl goes on with other wishes than before: what the old ones decided about its queue is decided anew.

Only our own wishes are meant: the scope, and what our policy refused or put off without a line of robots.txt saying so.
"""

from collections.abc import Sequence
from typing import Any

from comity.crawler.again import policies, remembered
from comity.crawler.settings import CrawlSettings
from comity.crawler.watch.watching import UNREACHABLE
from comity.frontier import Frontier, Judged, Kind
from comity.policy import Policy


def judge_again(frontier: Frontier, settings: CrawlSettings, policy: Policy, seeds: Sequence[str]) -> None:
    """Judge the queue by settings and policy of the run that begins, and remember these, in one transaction.

    Args:
        seeds: URLs given that no run before was given.
    """
    recall, recall_all = frontier.recall, frontier.recall_all
    kept = remembered.to_dict(settings)
    before, scope = recall(remembered.FACT, {}), recall("scope")
    covers = None
    if scope is not None and any(before.get(name) != _as_json(kept[name]) for name in remembered.COVERING):
        covers = settings.scope_around(seeds, scope)
    otherwise = policies.judges_otherwise(policy, recall(policies.FACT))

    def inside(url: str, depth: int, kind: Kind) -> bool:
        assert covers is not None
        if kind is Kind.SITEMAP:
            return covers.reaches(url)
        return depth == 0 or covers.holds(url, depth=depth)  # what was given is crawled whatever the patterns say

    def facts(by_policy: Judged, by_scope: Judged) -> dict[str, Any]:
        facts: dict[str, Any] = {remembered.FACT: kept, policies.FACT: policies.to_dict(policy)}
        if otherwise:
            facts |= dict.fromkeys(recall_all(UNREACHABLE))
        stats = recall("stats")
        if stats is not None:
            stats["outside"] = max(stats["outside"] + by_scope.left - by_scope.back, 0)
            stats["refused"] = max(stats["refused"] - by_policy.refused, 0)
            stats["failed"] = max(stats["failed"] - by_policy.failed, 0)
            facts["stats"] = stats | ({"postponed": 0} if otherwise else {})
        return facts

    frontier.judge_again(inside if covers is not None else None, policy=otherwise, facts=facts)


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
