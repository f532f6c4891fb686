"""What many robots.txt files say, counted: which agents are refused, by how many hosts, and by which standard.

Each file counts once, by its last capture. It judges by `comity_robots` alone.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from comity.bulk.captures import Captures
from comity.bulk.report import ReportTable, page, share
from comity.templates import date
from comity_robots import Robots, directives, parse
from comity_robots.agent_table import asked_agents
from comity_robots.switches import access

Refused = Literal["blocked", "partly", "open"]
_HOW: Final[dict[Refused, str]] = {"blocked": "blocked", "partly": "partly", "open": "allowed"}
_PURPOSES: Final = ("search", "ai-input", "train-ai")
_STATED: Final = ("disallowed", "unknown", "allowed")
MAX_SITES: Final = 1_000  # listed by name


@dataclass
class Survey:
    """The counts.

    Attributes:
        refused: agent -> how -> hosts.
        reserves: purpose -> what is stated about it -> hosts.
        sites: those that state something, when each file was captured (Unix time; 0: not known), and what by purpose.
        captured: the first and the last of these times.
    """

    hosts: int = 0
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    says: Counter[str] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)
    findings: Counter[str] = field(default_factory=Counter)
    sizes: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    reserves: dict[str, Counter[str]] = field(default_factory=dict)
    sites: list[tuple[str, float, list[str]]] = field(default_factory=list)
    captured: tuple[float, float] | None = None

    def lines(self, *, every: bool = False) -> list[str]:
        """The table, as researchers print it; with `every`, agents that no site blocks too."""
        hosts = max(self.hosts, 1)
        ranked = sorted(self.refused.items(), key=lambda item: -item[1]["blocked"])
        refusing = [each for each in ranked if every or each[1]["blocked"] or each[1]["partly"]]
        width = max([20, *(len(agent) for agent, _ in refusing)])
        rows = [
            f"{self.hosts:,} host{'s' * (self.hosts != 1)}",
            "",
            f"{'agent':{width}} {'blocked':>16} {'partly':>16} {'allowed':>16}",
        ]
        for agent, counts in refusing:
            shares = (f"{counts[how]:,} ({counts[how] / hosts:.1%})" for how in _HOW)
            rows.append(f"{agent:{width}} " + " ".join(f"{share:>16}" for share in shares))
        if len(refusing) < len(ranked):
            rows.append(f"{len(ranked) - len(refusing):,} more agents are blocked nowhere: --all lists them")
        rows.append("")
        for purpose, stated in self.reserves.items():
            said = ", ".join(
                f"{how} {share(stated[how], hosts)}" for how in _STATED if stated[how] and how != "unknown"
            )
            rows += [f"{f'states about {purpose}':34} {said}"] if said else []
        rows += [f"{what:34} {count:7,} ({count / hosts:.1%})" for what, count in self.says.most_common() if count]
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

    def page(self) -> str:
        """The survey as an HTML page."""
        ranked = sorted(self.refused.items(), key=lambda item: (-item[1]["blocked"], -item[1]["partly"], item[0]))
        refusing = [(agent, counts) for agent, counts in ranked if counts["blocked"] or counts["partly"]]
        hosts = max(self.hosts, 1)
        verdict = f"{self.hosts:,} site{'s' * (self.hosts != 1)}"
        if refusing:
            most, counts = refusing[0]
            verdict += f": {most} is blocked most often, by {share(counts['blocked'], hosts)}"
        stated = self.reserves.get("train-ai", Counter())
        tables = [
            ReportTable(
                "agents",
                "Which agents are blocked",
                ["Agent", *map(str.capitalize, _HOW.values()), "Share of sites"],
                [
                    (agent, [share(counts[how], hosts) for how in _HOW], [counts[how] / hosts for how in _HOW])
                    for agent, counts in refusing
                ],
                [*_HOW.values()],
                _open(len(ranked) - len(refusing)),
            ),
            ReportTable(
                "reserves",
                "What sites state about search, AI input and training",
                ["Purpose", *map(str.capitalize, _STATED), "Share of sites"],
                [
                    (purpose, [share(counts[how], hosts) for how in _STATED], [counts[how] / hosts for how in _STATED])
                    for purpose, counts in self.reserves.items()
                    if counts["disallowed"] or counts["allowed"]
                ],
                _STATED,
                "By AIPREF's Content-Usage or by Content-Signal, for the front page and an agent without a group.",
            ),
            ReportTable(
                "sites",
                "Sites that state something",
                ["Site", "Captured", *_PURPOSES],
                [(origin, [date(at) if at else "", *values], ()) for origin, at, values in self.sites],
                note=f"The first {MAX_SITES:,}." if len(self.sites) == MAX_SITES else "",
            ),
            ReportTable(
                "says",
                "What the files hold",
                ["Line or fault", "Sites", "Share"],
                [(name, [share(n, hosts)], [0, 0, n / hosts]) for name, n in self.says.most_common() if n],
            ),
            ReportTable(
                "findings",
                "Faults, by kind",
                ["Finding of comity lint", "Sites", "Share"],
                [(code, [share(n, hosts)], [n / hosts]) for code, n in self.findings.most_common(15)],
            ),
        ]
        tiles = [
            ("sites", f"{self.hosts:,}"),
            ("reserve training", f"{stated['disallowed']:,}"),
            ("contradict themselves", f"{len({each.split(': ')[0] for each in self.contradictions}):,}"),
        ]
        tiles = [(words, count) for words, count in tiles if count != "0"]
        lead = "robots.txt files at hand."
        if self.captured is not None:
            lead = f"Captured from {date(self.captured[0])} to {date(self.captured[1])} UTC."
        return page("audit", verdict, lead, tiles, tables)


def _open(count: int) -> str:
    return f"{count:,} more agents are blocked nowhere." if count else ""


_SHOWN = {
    "Content-usage": "Content-Usage (AIPREF)",
    "Content-signal": "Content-Signal",
    "License": "License (RSL)",
}


def refused(robots: Robots, agent: str) -> Refused:
    """Whether a file refuses an agent, as the workbench shows it; JSON calls `open` what is shown as allowed."""
    how = access(robots, agent)[0]
    return "open" if how == "allowed" else how


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
        at = max(float(captures.times[capture]) / 1e6, 0.0)
        if at:
            first, last = found.captured or (at, at)
            found.captured = min(first, at), max(last, at)
        _count(found, origin, parse(body), at)
    return found


def _count(found: Survey, origin: str, robots: Robots, at: float = 0.0) -> None:
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
        usage = robots.usage("/", "some-bot")
        stated, answers = usage.statements, [str(usage.preference(purpose)) for purpose in _PURPOSES]
        if set(answers) != {"unknown"} and len(found.sites) < MAX_SITES:
            found.sites.append((origin, at, answers))
        for purpose, answer in zip(_PURPOSES, answers, strict=True):
            found.reserves.setdefault(purpose, Counter())[answer] += 1
        for purpose in _PURPOSES:
            values = {each.value for each in stated if each.purpose == purpose and each.value != "unknown"}
            if len(values) > 1:
                found.contradictions.append(f"{origin}: {purpose}")
    if found.contradictions:
        found.says["standards that contradict each other"] = len({each.split(": ")[0] for each in found.contradictions})
    errors = {finding.code for finding in robots.lint() if finding.severity == "error"}
    found.findings.update(errors)
    found.says["errors found by lint"] += bool(errors)
