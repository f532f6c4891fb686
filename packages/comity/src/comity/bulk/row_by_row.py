"""Verdicts row by row, by `comity.policy`: for policies and dialects that the compiled way does not suit, and for
everything where the modules are interpreted.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from comity.bulk import outcomes
from comity.bulk.capture_rules import CaptureRules, outcome_of
from comity.bulk.columns import JudgedRows, shown
from comity.policy import OriginPolicy, Policy
from comity_robots.paths import is_robots_txt


def judge(
    capture_rules: CaptureRules,
    policies: list[Policy],
    known: outcomes.Outcomes,
    states: list[int],
    rows: Any,
    texts: list[str],
    located: Any,
    codes: Any,
    cited: Any,
) -> JudgedRows:
    """Set outcome and rule of rows, whose normal forms are `texts`, for each agent."""
    rules: dict[tuple[int, int], int] = {}
    lines: list[int] = []
    said: list[str] = []
    delays = np.full((len(capture_rules.entries), len(policies)), np.nan)
    has_usage = np.zeros(len(capture_rules.entries), bool)
    captures = located[rows]
    order = np.argsort(captures, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(captures[order])) + 1):
        if not len(group):
            continue  # there are no rows
        capture, places = int(captures[group[0]]), group.tolist()
        own = [(int(rows[place]), texts[place]) for place in places]
        if capture < 0:
            codes[:, rows[places]] = states[-capture]
            continue
        entry = int(capture_rules.entries[capture])
        if entry:
            for row, url in own:
                codes[:, row] = outcome_of(entry, is_robots_txt(url))
            continue
        body = capture_rules.body(capture)
        for number, policy in enumerate(policies):
            result = outcomes.answered(policy, 200, body)
            robots = result.robots
            has_usage[capture] |= robots.states_usage
            if result.kind == "unparsable":
                for row, url in own:
                    codes[number, row] = known.of(outcomes.whole(policy, result, url))
                continue
            delay = robots.crawl_delay(policy.asked_as)
            delays[capture, number] = np.nan if delay is None else delay
            origin_policy = OriginPolicy(policy, result)
            for row, url in own:
                found, rule = outcomes.judged(policy, origin_policy, url)
                codes[number, row] = known.of(found)
                if rule is not None:
                    key = (capture, rule.line)
                    if key not in rules:
                        rules[key] = len(lines)
                        lines.append(rule.line)
                        said.append(shown(rule.text.encode("utf-8", "surrogatepass")))
                    cited[number, row] = rules[key]
    return JudgedRows(None, pa.array(said, pa.string()), np.array(lines, np.int64), delays, has_usage)
