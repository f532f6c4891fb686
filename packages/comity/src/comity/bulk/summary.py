"""What an audit found, counted: by agent, reason, host, purpose and dialect; as lines, as JSON, as plots."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from comity.bulk.columns import USAGE
from comity.bulk.outcomes import TOO_EARLY, UNKNOWN
from comity.bulk.part_files import DIALECTS
from comity.bulk.report import ReportTable, page, share
from comity.errors import InvalidURL, without_userinfo
from comity.policy.decision import verdict_in_words
from comity_pages.urls import Url

Counts = Counter[tuple[str, ...]]
"""("urls",), ("verdict", agent, verdict), ("reason", agent, reason), ("host", agent, host) for refused URLs,
("purpose", purpose, agent, preference), ("dialect", dialect, agent) for answers that the dialect would change,
("missing", host) for URLs of hosts without a robots.txt."""
SHOWN: Final = 10


def counted(part: Path) -> Counts:
    """The counts of a part."""
    table = pq.read_table(part, columns=["url", "agent", "verdict", "may_fetch", "reason", *USAGE.values()])
    found: Counts = Counter()
    agent = table["agent"].cast(pa.string())
    kinds: dict[str, tuple[str, ...]] = {"verdict": ("verdict",), "reason": ("reason",)}
    kinds |= {name: ("purpose", purpose) for purpose, name in USAGE.items()}
    for name, what in kinds.items():
        plain = pa.table({"agent": agent, "own": table[name].cast(pa.string())})
        for row in plain.group_by(["agent", "own"]).aggregate([([], "count_all")]).to_pylist():
            found[(*what, row["agent"], row["own"] or "none")] += row["count_all"]
    refused = table.filter(pc.invert(table["may_fetch"]).fill_null(False))
    plain = pa.table({"agent": refused["agent"].cast(pa.string()), "host": _hosts(refused)})
    for row in plain.group_by(["agent", "host"]).aggregate([([], "count_all")]).to_pylist():
        if row["host"]:
            found[("host", row["agent"], _origin(row["host"]))] += row["count_all"]
    first = table.slice(0, len(table) // len(table["agent"].unique())) if len(table) else table
    missing = first.filter(pc.is_in(first["reason"].cast(pa.string()), pa.array([UNKNOWN, TOO_EARLY])))
    for row in pa.table({"host": _hosts(missing)}).group_by("host").aggregate([([], "count_all")]).to_pylist():
        found[("missing", _origin(row["host"]) if row["host"] else "none")] += row["count_all"]
    changed = json.loads((table.schema.metadata or {}).get(DIALECTS, b"{}"))
    for dialect, by_agent in changed.items():
        for name, count in by_agent.items():
            found[("dialect", dialect, name)] += count
    return found


def _hosts(table: Any) -> Any:
    """The origin of each URL, as it is written there."""
    origin = pc.extract_regex(table["url"].cast(pa.string()), r"^(?P<origin>[a-zA-Z]+://[^/?#]*)")
    return pc.struct_field(origin, "origin")


def _origin(written: str) -> str:
    """The host that a URL's origin, as it is written, leads to; without its user name and password."""
    try:
        return Url(written).origin
    except InvalidURL:
        return without_userinfo(written)


def _by(counts: Counts, part: int, *head: str) -> Counter[str]:
    """The counts whose keys begin so, by one part of their keys."""
    found = Counter[str]()
    for key, count in counts.items():
        if key[: len(head)] == head:
            found[key[part]] += count
    return found


def lines(counts: Counts, agents: Sequence[str]) -> list[str]:
    """The summary as text."""
    found = []
    every = f", {len(agents)} agents together" if len(agents) > 1 else ""
    for agent in agents:
        own = _by(counts, 2, "verdict", agent)
        total = own.total() or 1
        told = ", ".join(f"{_shown(name)} {count:,} ({count / total:.1%})" for name, count in sorted(own.items()))
        found.append(f"{agent:20} {told}")
    for what, title in (("reason", "reasons"), ("host", "hosts with most disallowed URLs")):
        ranked = _by(counts, 2, what).most_common(SHOWN)
        found += ["", f"{title}{every}:", *(f"{count:12,}  {name}" for name, count in ranked)]
    if missing := _by(counts, 1, "missing"):
        found += ["", f"hosts without a robots.txt: {len(missing):,}, by URLs (--json lists all):"]
        found += [f"{count:12,}  {name}" for name, count in missing.most_common(SHOWN)]
    found += ["", f"stated preferences{every}:"]
    for purpose in USAGE:
        own = _by(counts, 3, "purpose", purpose)
        found.append(f"{purpose:20} " + ", ".join(f"{_shown(name)} {count:,}" for name, count in sorted(own.items())))
    if any(key[0] == "dialect" for key in counts):
        found += ["", "answers that another dialect would change:"]
        for key, count in sorted(counts.items()):
            if key[0] == "dialect":
                found.append(f"{count:12,}  {key[1]}, {key[2]}")
    return found


def _shown(name: str) -> str:
    """A verdict or preference in words; `none` is a row without one, whose reason says why."""
    return "no answer" if name == "none" else verdict_in_words(name)


def nested(counts: Counts) -> dict[str, Any]:
    """The counts as what JSON can say: objects in objects, by the parts of a key."""
    found: dict[str, Any] = {}
    for (*outer, last), count in sorted(counts.items()):
        place = found
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = count
    return found


def report(counts: Counts, agents: Sequence[str]) -> str:
    """The audit as an HTML page."""
    urls = counts[("urls",)]
    rows = []
    for agent in agents:
        own = _by(counts, 2, "verdict", agent)
        total = own.total() or 1
        refused, unknown = own["disallowed_explicit"], own["unknown_unreachable"] + own["none"]
        numbers = refused, unknown, total - refused - unknown
        rows.append((agent, [share(each, total) for each in numbers], [each / total for each in numbers]))
    rows.sort(key=lambda row: -row[2][0])
    kinds = ("disallowed", "not known", "allowed")
    tables = [
        ReportTable(
            "agents", "Who may fetch what", ["Agent", "Disallowed", "Not known", "Allowed", "Share"], rows, kinds
        ),
        _ranked(counts, "reasons", "Reasons", "reason"),
        _ranked(counts, "hosts", "Sites with most disallowed URLs", "host"),
    ]
    stated = []
    for purpose in USAGE:
        said = _by(counts, 3, "purpose", purpose)
        if said["disallowed"] or said["allowed"]:
            cells = [share(said[how], said.total()) for how in ("disallowed", "allowed")]
            stated.append((purpose, cells, ()))
    tables.append(ReportTable("usage", "Stated preferences", ["Purpose", "Disallowed", "Allowed"], stated))
    most = f"{rows[0][0]} may not fetch {rows[0][1][0]}" if rows else ""
    tiles = [("URLs", f"{urls:,}"), ("agents", f"{len(agents):,}")]
    lead = "By robots.txt; what a site states about uses is a preference, not a rule."
    return page("audit", f"{urls:,} URLs, {len(agents):,} agents: {most}", lead, tiles, tables)


def _ranked(counts: Counts, id_: str, heading: str, what: str) -> ReportTable:
    rows = [(name, [f"{count:,}"], ()) for name, count in _by(counts, 2, what).most_common(2 * SHOWN)]
    return ReportTable(id_, heading, [heading, "URLs, all agents"], rows)
