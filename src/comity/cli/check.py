"""`comity check` and `comity explain`."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from comity import urls
from comity.cli.exits import Exit
from comity.errors import StorageError
from comity.net.settings import ClientSettings
from comity.policy import Decision, Policy, RobotsResult, decide
from comity.robots import Match


def check(
    targets: Sequence[str], policy: Policy, settings: ClientSettings, robots: Path | None, *, as_json: bool
) -> Exit:
    """Print one verdict a URL."""
    decisions = [decision for decision, _ in _judge(targets, policy, settings, robots)]
    if as_json:
        print(json.dumps([decision.to_dict() for decision in decisions], indent=2))
    else:
        for decision in decisions:
            word = "allowed" if decision.may_fetch else "disallowed"
            print(f"{word:10}  {decision.url}  {decision.why}")
    return _exit(decisions)


def explain(
    targets: Sequence[str], policy: Policy, settings: ClientSettings, robots: Path | None, *, as_json: bool
) -> Exit:
    """Print why, with the rules that lost."""
    judged = _judge(targets, policy, settings, robots)
    if as_json:
        print(json.dumps([{**decision.to_dict(), **_match(match)} for decision, match in judged], indent=2))
    else:
        print("\n\n".join(_story(decision, match) for decision, match in judged))
    return _exit([decision for decision, _ in judged])


def _judge(
    targets: Sequence[str], policy: Policy, settings: ClientSettings, robots: Path | None
) -> list[tuple[Decision, Match | None]]:
    normal = [urls.normalise(target) for target in targets]
    judged: list[tuple[Decision, Match | None]] = []
    with _results(policy, settings, robots) as result_of:
        for url in normal:
            result = result_of(url)
            match = (
                result.robots.explain(url, policy.asked_as)
                if result is not None and result.robots is not None
                else None
            )
            judged.append((decide(policy, url, result), match))
    return judged


@contextmanager
def _results(
    policy: Policy, settings: ClientSettings, robots: Path | None
) -> Iterator[Callable[[str], RobotsResult | None]]:
    if robots is not None:
        try:
            body = robots.read_bytes()
        except OSError as error:
            raise StorageError(f"{robots} cannot be read: {error.strerror}") from error

        def from_file(url: str) -> RobotsResult:
            return RobotsResult.from_response(
                urls.origin(url), str(robots), 200, body, fetched_at=time.time(), policy=policy
            )

        yield from_file
        return
    from comity.net import Client

    with Client(policy, settings) as client:

        def from_site(url: str) -> RobotsResult | None:
            client.check(url)
            return client.inspect().get(urls.origin(url))

        yield from_site


def _exit(decisions: list[Decision]) -> Exit:
    if any(not decision.may_fetch and decision.verdict == "unknown_unreachable" for decision in decisions):
        return Exit.NOT_READY
    return Exit.DONE if all(decision.may_fetch for decision in decisions) else Exit.PARTLY


def _match(match: Match | None) -> dict[str, Any]:
    if match is None:
        return {"path": None, "group": None, "beaten": []}
    return {
        "path": match.path,
        "group": list(match.group.agents) if match.group else None,
        "beaten": [{"line": rule.line, "text": rule.text, "why": why} for rule, why in match.beaten],
    }


def _story(decision: Decision, match: Match | None) -> str:
    lines = [
        f"{decision.url}",
        f"  {'allowed' if decision.may_fetch else 'disallowed'} for {decision.agent}: {decision.why}",
    ]
    if decision.source is not None:
        status = f" (HTTP {decision.source.status})" if decision.source.url.startswith("http") else ""
        lines.append(f"  source    {decision.source.url}{status}")
    if match is not None:
        lines.append(f"  compared  {match.path}")
        if match.group is not None:
            lines.append(f"  group     {', '.join(match.group.agents)}")
        if match.rule is not None:
            lines.append(f"  decides   line {match.rule.line}: {match.rule.text}")
        lines.extend(f"  beaten    line {rule.line}: {rule.text} ({why})" for rule, why in match.beaten)
    lines.extend(f"  usage     {decision.usage.explain(purpose)}" for purpose in decision.purposes)
    if decision.delay:
        lines.append(f"  delay     {decision.delay:g} s between requests")
    return "\n".join(lines)
