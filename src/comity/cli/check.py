"""`comity check` and `comity explain`."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from comity import urls
from comity.cells import cell
from comity.cli.exits import Exit
from comity.cli.input_files import named, read
from comity.cli.terminal import complain, say
from comity.errors import InvalidURL
from comity.net.client_settings import ClientSettings
from comity.policy import Decision, Policy, RobotsResult, decide

if TYPE_CHECKING:
    from comity.robots import Match

CheckAnswer = tuple[Decision, RobotsResult | None, Policy] | InvalidURL
UNREACHABLE: Final = "unreachable"


_COLUMNS: Final = ("url", "agent", "answer", "why", "verdict", "line", "rule", "robots_sha256", "robots_at", "delay")


def check(
    targets: Sequence[str],
    policies: Sequence[Policy],
    settings: ClientSettings,
    robots: Path | None,
    *,
    form: Literal["text", "json", "csv"],
    exit_zero: bool = False,
) -> Exit:
    """Print a verdict for each URL and agent as soon as it is known, and what the site states about the purposes.

    Args:
        policies: one for each agent; they differ in nothing else.
        exit_zero: whether the exit code is 0 whatever the answers are.
    """
    if form == "csv":
        import csv  # late: few ask for a table

        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow((*_COLUMNS, *policies[0].purposes))
    judged: list[str] = []
    width = max(len(policy.agent) for policy in policies)
    for each in _judge(targets, policies, settings, robots):
        row = _row(each)
        judged.append(row["answer"])
        if form == "json":
            print(json.dumps(row), flush=True)
        elif form == "csv":
            flat = row | (row["decision"] or {})
            stated = ((row["usage"] or {}).get(purpose, {}).get("preference") for purpose in policies[0].purposes)
            table.writerow([cell(value) for value in (*(flat.get(name) for name in _COLUMNS), *stated)])
        elif isinstance(each, InvalidURL):
            complain(str(each))
        else:
            decision, _, _ = each
            agent = f"{decision.agent:{width}}  " if len(policies) > 1 else ""
            say(f"{row['answer']:11}  {agent}{decision.url}  {decision.why}")
            for purpose in decision.purposes:
                say(f"{'':11}  {decision.usage.explain(purpose)}")
    return Exit.DONE if exit_zero else _exit(judged)


def _row(each: CheckAnswer) -> dict[str, Any]:
    """An answer as it is printed; the keys are always the same."""
    if isinstance(each, InvalidURL):
        return {"url": each.url, "agent": None, "answer": "error", "why": str(each), "decision": None, "usage": None}
    decision, _, _ = each
    return {
        "url": decision.url,
        "agent": decision.agent,
        "answer": _word(decision),
        "why": decision.why,
        "decision": decision.brief(),
        "usage": decision.usage.brief(decision.purposes) if decision.purposes else None,
    }


def explain(
    targets: Sequence[str], policies: Sequence[Policy], settings: ClientSettings, robots: Path | None, *, as_json: bool
) -> Exit:
    """Print why, with the rules that lost."""
    judged = list(_judge(targets, policies, settings, robots))
    if as_json:
        print(json.dumps([_as_json(each) for each in judged], indent=2))
    for number, each in enumerate(judged):
        if isinstance(each, InvalidURL):
            complain(str(each))
        elif not as_json:
            if number:
                say("")
            for line in _story(each[0], _match_of(each)):
                say(line)
    return _exit([_row(each)["answer"] for each in judged])


def _judge(
    targets: Sequence[str], policies: Sequence[Policy], settings: ClientSettings, robots: Path | None
) -> Iterator[CheckAnswer]:
    """What comes of each URL for each agent, in order; a text that is no URL does not keep others from being judged.

    A site is asked once, by the name of the first agent.
    """
    with _results(policies[0], settings, robots) as result_of:
        for target in targets:
            try:
                url = urls.normalise(target)
            except InvalidURL as error:
                yield error
                continue
            result = result_of(url)
            for policy in policies:
                yield decide(policy, url, result), result, policy


@contextmanager
def _results(
    policy: Policy, settings: ClientSettings, robots: Path | None
) -> Iterator[Callable[[str], RobotsResult | None]]:
    if robots is not None:
        body = read(robots)

        def from_file(url: str) -> RobotsResult:
            return RobotsResult.from_response(
                urls.origin(url), named(robots), 200, body, fetched_at=time.time(), policy=policy
            )

        yield from_file
        return
    from comity.client import Client

    with Client(policy, settings) as client:

        def from_site(url: str) -> RobotsResult | None:
            client.check(url)
            return client.inspect().get(urls.origin(url))

        yield from_site


def _exit(answers: Sequence[str]) -> Exit:
    if "error" in answers:
        return Exit.USAGE
    if UNREACHABLE in answers:
        return Exit.NOT_READY
    return Exit.PARTLY if "disallowed" in answers else Exit.DONE


def _word(decision: Decision) -> str:
    """The verdict in a word. That a robots.txt cannot be had for now is not the site's no."""
    if decision.may_fetch:
        return "allowed"
    return UNREACHABLE if decision.verdict == "unknown_unreachable" else "disallowed"


def _match_of(each: tuple[Decision, RobotsResult | None, Policy]) -> "Match | None":
    decision, result, policy = each
    # In a mode that does not ask robots.txt no line of it decides.
    if result is None or result.robots is None or decision.source is None:
        return None
    return result.robots.explain(decision.url, policy.asked_as)


def _as_json(each: CheckAnswer) -> dict[str, Any]:
    if isinstance(each, InvalidURL):
        return {"url": each.url, "error": str(each)}
    return {**each[0].to_dict(), **_match(_match_of(each))}


def _match(match: "Match | None") -> dict[str, Any]:
    if match is None:
        return {"path": None, "group": None, "beaten": []}
    return {
        "path": match.path,
        "group": list(match.group.agents) if match.group else None,
        "beaten": [{"line": rule.line, "text": rule.text, "why": why} for rule, why in match.beaten],
    }


def _story(decision: Decision, match: "Match | None") -> list[str]:
    lines = [
        f"{decision.url}",
        f"  {_word(decision)} for {decision.agent}: {decision.why}",
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
        lines.extend(f"  overrides line {rule.line}: {rule.text} ({why})" for rule, why in match.beaten)
    lines.extend(f"  usage     {decision.usage.explain(purpose)}" for purpose in decision.purposes)
    if decision.delay:
        lines.append(f"  delay     {decision.delay:,.10g} s between requests")
    return lines
