"""`comity diff`: what a change of a robots.txt means."""

from dataclasses import asdict
from typing import Any

from comity.cli.exits import Exit
from comity.cli.options import JSON, READING, argument, command, loaded
from comity.cli.robots_files import read_all
from comity.cli.terminal import print_json, print_out
from comity_robots import diff as difference


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
    changes = difference(*(source.robots for source in read_all((old, new), configuration)), agent=agent)
    if as_json:
        print_json(asdict(changes))
        return Exit.PARTLY if changes else Exit.DONE
    for change in changes.changes:
        verb = "may now fetch" if change.allowed else "may no longer fetch"
        rule = change.after or change.before
        where = f"{'NEW' if change.after else 'OLD'}, line {rule.line}: {rule.text}" if rule else "no rule"
        what = f"{change.agent} {verb} {change.paths}"
        print_out(f"  ({where})", lead=what, colour="green" if change.allowed else "red")
    for pattern in changes.undecided:
        print_out(f"not known whether paths of {pattern} changed: it meets too many other patterns")
    for agent, (before, after) in changes.delays.items():
        print_out(f"{agent}: Crawl-delay {_seconds(before)} -> {_seconds(after)}")
    for name, differing in (("Request-rate", changes.rates), ("Visit-time", changes.hours)):
        for agent, (was, now) in differing.items():
            print_out(f"{agent}: {name} {was or 'none'} -> {now or 'none'}")
    for agent, (lines, lines_now) in changes.usage.items():
        print_out(f"{agent}: preferences {'; '.join(lines) or 'none'} -> {'; '.join(lines_now) or 'none'}")
    for name, what in (("licences", "licence"), ("parameters", "Clean-param"), ("sitemaps", "sitemap")):
        for how in ("added", "removed"):
            for value in getattr(changes, f"{name}_{how}"):
                print_out(f"{what} {how}: {value}")
    return Exit.PARTLY if changes else Exit.DONE


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:,.10g} s"
