"""`comity explain`: which rule decides about a URL, and which rules it overrides."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from comity.cli.answers import COLOURS, Answer, answers, exit_code, policies_of, truncation_note
from comity.cli.exits import Exit
from comity.cli.options import JSON, JUDGING, argument, command
from comity.cli.terminal import error_line, print_json, print_out
from comity.errors import InvalidURL
from comity.policy import Decision, Policy, RobotsResult

if TYPE_CHECKING:
    from comity_robots import Match


@command("Check URLs")
@argument("url", "URL|PATH...")
@JUDGING
@JSON
def explain(url: tuple[str, ...], robots: Path | None, as_json: bool, **options: Any) -> Exit:
    """Explain which robots.txt rule decides, and why.

    Also the rules that it overrides. With --robots a path such as /private will do. The exit codes are those of
    comity check.
    """
    policies, client = policies_of(**options)
    judged = list(answers(url, policies, client, robots))
    if as_json:
        print_json([_as_json(each) for each in judged])
    for number, each in enumerate(judged):
        if isinstance(each, InvalidURL):
            error_line(str(each))
        elif not as_json:
            if number:
                print_out("")
            head, verdict, *lines = _in_words(each, _match_of(each))
            answer = each[0].answer
            print_out(head)
            print_out(verdict.removeprefix(f"  {answer}"), lead=f"  {answer}", colour=COLOURS[answer], indent=4)
            for line in lines:
                print_out(line, indent=12)
    return exit_code(["error" if isinstance(each, InvalidURL) else each[0].answer for each in judged])


def _match_of(each: tuple[Decision, RobotsResult | None, Policy]) -> "Match | None":
    decision, result, policy = each
    # In a mode that does not ask robots.txt no line of it decides.
    if result is None or not result.has_file or decision.source is None:
        return None
    return result.robots.explain(decision.url, policy.asked_as)


def _as_json(each: Answer) -> dict[str, Any]:
    if isinstance(each, InvalidURL):
        return {"url": each.url, "error": str(each)}
    match = _match_of(each)
    return {
        **each[0].to_dict(),
        "path": match.path if match is not None else None,
        "group": list(match.group.agents) if match is not None and match.group else None,
        "overridden": [
            {"line": rule.line, "text": rule.text, "why": why}
            for rule, why in (match.overridden if match is not None else ())
        ],
        "cut": truncation_note(each[1]) or None,
    }


def _in_words(each: tuple[Decision, RobotsResult | None, Policy], match: "Match | None") -> list[str]:
    decision = each[0]
    lines = [decision.url, f"  {decision.answer} for {decision.agent}: {decision.why}"]
    if decision.source is not None:
        status = "" if decision.source.status is None else f" (HTTP {decision.source.status})"
        status = status if decision.source.url.startswith("http") else ""
        lines.append(f"  source    {decision.source.url}{status}")
    if words := truncation_note(each[1]):
        lines.append(f"  read      {words}")
    if match is not None:
        lines.append(f"  compared  {match.path}")
        if match.group is not None:
            lines.append(f"  group     {', '.join(match.group.agents)}")
        if match.rule is not None:
            found = "matches" if decision.by_policy else "decides"  # our own policy refuses what the line allows
            lines.append(f"  {found}   line {match.rule.line}: {match.rule.text}")
        lines.extend(f"  overrides line {rule.line}: {rule.text} ({why})" for rule, why in match.overridden)
    lines.extend(f"  usage     {decision.explain_usage(purpose)}" for purpose in decision.purposes)
    if decision.delay:
        lines.append(f"  delay     {decision.delay:,.10g} s between requests")
    return lines
