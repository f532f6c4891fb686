"""What many robots.txt files say, counted: which agents are refused, by how many hosts, and by which standard.

Each file counts once, by its last capture. It judges by `comity_robots` alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from comity.bulk.captures import Captures
from comity.bulk.report import bars
from comity_robots import Robots, directives, parse
from comity_robots.agent_table import asked_agents

Refused = Literal["blocked", "partly", "open"]
_HOW: Final[tuple[Refused, ...]] = get_args(Refused)


@dataclass
class Survey:
    """The counts. `refused`: agent -> how -> hosts."""

    hosts: int = 0
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    says: Counter[str] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)
    findings: Counter[str] = field(default_factory=Counter)
    sizes: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The table, as researchers print it."""
        hosts = max(self.hosts, 1)
        rows = [
            f"{self.hosts:,} host{'s' * (self.hosts != 1)}",
            "",
            f"{'agent':20} {'blocked':>16} {'partly':>16} {'open':>16}",
        ]
        for agent, counts in sorted(self.refused.items(), key=lambda item: -item[1]["blocked"]):
            shares = (f"{counts[how]:,} ({counts[how] / hosts:.1%})" for how in _HOW)
            rows.append(f"{agent:20} " + " ".join(f"{share:>16}" for share in shares))
        rows.append("")
        rows += [f"{what:34} {count:7,} ({count / hosts:.1%})" for what, count in self.says.most_common()]
        if self.sizes:
            sizes = sorted(self.sizes)
            rows += [
                "",
                f"bytes: median {sizes[len(sizes) // 2]:,}, mean {sum(sizes) // len(sizes):,}, largest {sizes[-1]:,}",
            ]
        if self.delays:
            delays = sorted(self.delays)
            rows.append(f"Crawl-delay for *: median {delays[len(delays) // 2]:g} s, largest {delays[-1]:g} s")
        if self.findings:
            rows += ["", "hosts with findings of lint, by code:"]
            rows += [f"{code:34} {count:7,} ({count / hosts:.1%})" for code, count in self.findings.most_common(15)]
        return rows

    def plots(self) -> list[str]:
        """Who is refused by how many hosts, and who says what by which standard."""
        hosts = max(self.hosts, 1)
        ranked = sorted(self.refused.items(), key=lambda item: -item[1]["blocked"])
        refused = [(agent, [counts[how] / hosts for how in _HOW]) for agent, counts in ranked]
        says = [(name, [count / hosts]) for name, count in self.says.most_common()]
        return [
            bars("Share of hosts that block each agent", refused, list(_HOW)),
            bars("What robots.txt files say, share of hosts", says, ["hosts"]),
        ]


_SHOWN = {
    "Content-usage": "Content-Usage (AIPREF)",
    "Content-signal": "Content-Signal",
    "License": "License (RSL)",
}


def refused(robots: Robots, agent: str) -> Refused:
    """Whether a file refuses an agent: wholly where the root is disallowed and no rule allows anything, partly where
    any rule disallows."""
    rules = [entry.directive for entry in robots.entries(robots.applying(agent)[1]) if entry.octets]
    if directives.DISALLOW not in rules:
        return "open"
    return "blocked" if directives.ALLOW not in rules and not robots.allowed("/", agent) else "partly"


def survey(table: Any, agents: tuple[str, ...] = ()) -> Survey:
    """Count what the robots.txt files of a table say. Captures without a body count as files that say nothing.

    Args:
        agents: whom to count for; without any, the well-known search and AI agents.
    """
    captures = Captures(table)
    found = Survey(refused={agent: Counter() for agent in agents or asked_agents()})
    for origin, number in captures.numbers.items():
        capture = int(captures.firsts[number + 1]) - 1
        status = int(captures.statuses[capture])
        body = captures.body(capture) if 200 <= status < 300 and captures.sizes[capture] > 0 else b""
        _count(found, origin, parse(body))
    return found


def _count(found: Survey, origin: str, robots: Robots) -> None:
    found.hosts += 1
    found.sizes.append(len(robots.body))
    for agent, counts in found.refused.items():
        counts[refused(robots, agent)] += 1
    there = {entry.directive for entry in robots.entries()}
    for each in directives.DIRECTIVES:
        if each.number > directives.DISALLOW:
            name = each.label.decode().capitalize()
            found.says[_SHOWN.get(name, name)] += each.number in there
    delay = robots.crawl_delay("*") if directives.CRAWL_DELAY in there else None
    if delay is not None:
        found.delays.append(delay)
    if robots.states_usage:
        stated = robots.usage("/", "some-bot").statements
        for purpose in ("search", "ai-input", "train-ai"):
            values = {each.value for each in stated if each.purpose == purpose and each.value != "unknown"}
            if len(values) > 1:
                found.contradictions.append(f"{origin}: {purpose}")
    if found.contradictions:
        found.says["standards that contradict each other"] = len({each.split(": ")[0] for each in found.contradictions})
    errors = {finding.code for finding in robots.lint() if finding.severity == "error"}
    found.findings.update(errors)
    found.says["errors found by lint"] += bool(errors)
