"""`comity diff`: what a change of a robots.txt means."""

from collections.abc import Iterator
from typing import Any

from comity.cli.exits import Exit
from comity.cli.options import JSON, READING, argument, command, loaded
from comity.cli.robots_files import note_agents, read_all
from comity.cli.terminal import print_json, print_out
from comity_robots import Diff
from comity_robots import diff as difference
from comity_robots.as_json import jsonable
from comity_robots.usage.policy_tokens import is_policy_token


@command("Write a robots.txt")
@argument("old", "OLD")
@argument("new", "NEW")
@READING
@JSON
def diff(old: str, new: str, as_json: bool, **options: Any) -> Exit:
    """Compare two robots.txt files: who gained or lost what.

    Each is a file, '-' or a URL. With --agent: what changes for this one. Exit code 0: both mean the same, 2: they
    differ, 3: a site could not be reached.
    """
    configuration = loaded(**options)
    agent = configuration.policy.asked_as if options["agent"] or options["product_token"] else None
    files = [source.robots for source in read_all((old, new), configuration)]
    note_agents([agent] if agent is not None else [], *files)
    changes = difference(*files, agent=agent)
    if as_json:
        print_json(jsonable(changes))
        return Exit.PARTLY if changes else Exit.DONE
    for lead, more, colour in in_words(changes):
        print_out(more, lead=lead, colour=colour, indent=12)
    return Exit.PARTLY if changes else Exit.DONE


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:,.10g} s"


def in_words(changes: Diff) -> Iterator[tuple[str, str, str | None]]:
    """Each change as a sentence, with what follows it and a colour."""
    for change in changes.changes:
        verb = "may now fetch" if change.allowed else "may no longer fetch"
        if is_policy_token(change.agent):  # no crawler: what it means is not known
            verb = "now allows" if change.allowed else "no longer allows"
        rule = change.after or change.before
        where = f"{'NEW' if change.after else 'OLD'}, line {rule.line}: {rule.text}" if rule else "no rule"
        word, colour = ("allowed", "green") if change.allowed else ("disallowed", "red")
        yield f"{word:10}", f"  {change.agent} {verb} {change.paths}  ({where})", colour
    for pattern in changes.undecided:
        yield f"not known whether paths of {pattern} changed: it meets too many other patterns", "", None
    for agent, (before, after) in changes.delays.items():
        yield f"{agent}: Crawl-delay {_seconds(before)} -> {_seconds(after)}", "", None
    for name, differing in (("Request-rate", changes.rates), ("Visit-time", changes.hours)):
        for agent, (was, now) in differing.items():
            yield f"{agent}: {name} {was or 'none'} -> {now or 'none'}", "", None
    for agent, (lines, lines_now) in changes.usage.items():
        yield f"{agent}: preferences {'; '.join(lines) or 'none'} -> {'; '.join(lines_now) or 'none'}", "", None
    for name, what in (("licences", "licence"), ("parameters", "Clean-param"), ("sitemaps", "sitemap")):
        for how in ("added", "removed"):
            for value in getattr(changes, f"{name}_{how}"):
                yield f"{what} {how}: {value}", "", None
