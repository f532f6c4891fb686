"""What the compiled part leaves to Python: files of unusual policies and dialects row by row, stated uses, and odd
delays. Where the modules are interpreted it judges everything.
"""

from __future__ import annotations

from typing import Any

from comity.bulk import outcomes
from comity.bulk._judging import HAS_USAGE, UNREADABLE_DELAY
from comity.bulk.columns import PREFERENCES, USAGE, shown
from comity.policy import OriginPolicy
from comity.robots import parse
from comity.robots.usage import for_agent

Rulings = Any  # of rulings.py, which calls this module


def spans(begins: Any) -> list[tuple[int, int, int]]:
    """Captures that are asked about, each with where its rows begin and end."""
    import numpy as np

    starts = np.append(0, begins[:-1]) if len(begins) else begins
    return [(int(c), int(starts[c]), int(begins[c])) for c in np.flatnonzero(begins > starts)]


def judge(
    rulings: Rulings, texts: Any, begins: Any, order: Any, codes: Any, cited: Any, delays: Any, flags: Any
) -> tuple[Any, Any]:
    """Judge by `OriginPolicy`, row by row; the lines and texts of the rules that decided."""
    import numpy as np
    import pyarrow as pa

    rules: dict[tuple[int, int], int] = {}
    lines: list[int] = []
    shown_rules: list[str] = []
    for capture, low, high in spans(begins):
        if not rulings.read[capture]:
            continue
        body = rulings.captures.body(int(rulings.source[capture]))
        rows = texts.of(order[low:high])
        for number, policy in enumerate(rulings._policies):
            result = outcomes.answered(policy, 200, body)
            robots = result.robots
            assert robots is not None
            if robots.states_usage:
                flags[capture] |= HAS_USAGE
            if result.kind == "unparsable":
                for row, url in rows:
                    codes[number][row] = rulings._outcomes.of(outcomes.whole(policy, result, url))
                continue
            delay = robots.crawl_delay(policy.asked_as)
            delays[capture, number] = np.nan if delay is None else delay
            ruling = OriginPolicy(policy, result)
            for row, url in rows:
                found, rule = outcomes.judged(policy, ruling, robots, url)
                codes[number][row] = rulings._outcomes.of(found)
                if rule is not None:
                    key = (capture, rule.line)
                    if key not in rules:
                        rules[key] = len(lines)
                        lines.append(rule.line)
                        shown_rules.append(shown(rule.text.encode("utf-8", "surrogatepass")))
                    cited[number][row] = rules[key]
    return np.array(lines, np.int64), pa.array(shown_rules, pa.string())


def odd_delays(rulings: Rulings, delays: Any, flags: Any) -> None:
    """Crawl-delays that are no plain numbers, as `Robots.crawl_delay` reads them."""
    import numpy as np

    for capture in np.flatnonzero(flags & UNREADABLE_DELAY).tolist():
        robots = parse(rulings.captures.body(int(rulings.source[capture])), rulings._dialect)
        for number, policy in enumerate(rulings._policies):
            delay = robots.crawl_delay(policy.asked_as)
            delays[capture, number] = np.nan if delay is None else delay


def usage(rulings: Rulings, texts: Any, begins: Any, order: Any, codes: Any, flags: Any, rows: int) -> Any:
    """By agent and purpose the stated preference of each row, as a place in PREFERENCES; None where no file that is
    asked about states any."""
    import numpy as np

    if not (flags & HAS_USAGE).any():
        return None
    found = np.full((len(rulings.agents), len(USAGE), rows), PREFERENCES.index("unknown"), np.int8)
    free = np.array([each.verdict in ("allowed_explicit", "allowed_implicit") for each in rulings._outcomes.all])
    for capture, low, high in spans(begins):
        if not flags[capture] & HAS_USAGE:
            continue
        robots = parse(rulings.captures.body(int(rulings.source[capture])), rulings._dialect)
        own = texts.rows_of(order[low:high])
        for number, policy in enumerate(rulings._policies):
            stated = for_agent(robots, policy.asked_as)
            allowed = own[free[codes[number][own]]]
            if all(rules.pattern is None for rules in (*stated.content_usage, *stated.content_signal)):
                answer = stated.for_url("/", crawlable=True)
                for place, purpose in enumerate(USAGE):
                    found[number, place, allowed] = PREFERENCES.index(answer.allows(purpose))
                continue
            yes = set(allowed.tolist())
            for row, url in texts.of(order[low:high]):
                if row in yes:
                    answer = stated.for_url(url, crawlable=True)
                    for place, purpose in enumerate(USAGE):
                        found[number, place, row] = PREFERENCES.index(answer.allows(purpose))
    return found
