"""`comity prove`: says whether a finished crawl kept to the rules, and which record says otherwise."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from comity.audit.prove import Proof, StillRunning, prove
from comity.cli.exits import Exit
from comity.cli.terminal import complain, safe, say

_MOST_RUNS = 8  # that are listed


def show(folders: Sequence[Path], *, as_json: bool, **how: Any) -> Exit:
    """Prove the crawl in a folder, or in those of several machines, and print what came of it; `how`: as of `prove`."""
    try:
        proof = prove(folders, **how)
    except StillRunning as error:
        complain(str(error))
        return Exit.NOT_READY
    if as_json:
        print(json.dumps(proof.to_dict(), indent=2))
    else:
        _print(proof)
    return Exit.DONE if proof.holds else Exit.FATAL


def _print(proof: Proof) -> None:
    if proof.holds:
        click.secho(_headline(proof), fg="yellow" if proof.unenforced else "green", bold=not proof.unenforced)
    else:
        click.secho(f"not proved: {_count(proof.found, 'finding')}", fg="red", bold=True)
        for finding in proof.findings:
            say(f"  {finding}")
        if proof.found > len(proof.findings):
            say(f"  and {proof.found - len(proof.findings):,} more")
    for name, value in (
        ("checked", f"{_count(proof.requests, 'request')} to {_count(proof.hosts, 'host')}"),
        ("", f"{_count(proof.refusals, 'refusal')}, {proof.robots:,} robots.txt, {_count(proof.runs, 'run')}"),
        ("unproved", _from_cache(proof)),
        (
            "bodies",
            f"{_count(proof.unread, 'page')} without one, re-coded or rendered: not compared" if proof.unread else "",
        ),
        ("not read", ", ".join(proof.unchecked)),
        ("last hash", proof.hash),
        ("sealed", proof.sealed),
    ):
        if value:
            click.secho(f"{name:10}{safe(value)}", dim=True)


def _headline(proof: Proof) -> str:
    """What was proved, and no more than that: a crawl that did not enforce robots.txt was not kept to it."""
    if not proof.unenforced:
        return "proved: no disallowed fetch, no early request, chain intact"
    modes: dict[str, list[str]] = {}
    for run, mode in proof.unenforced.items():
        modes.setdefault(mode, []).append(f"{run:,}")
    where = " and ".join(f"in {_runs(runs)} (mode {mode})" for mode, runs in modes.items())
    recorded = f": {_count(proof.disallowed, 'disallowed request')} recorded" if "report_only" in modes else ""
    return f"proved: no early request, chain intact; robots.txt was not enforced {where}{recorded}"


def _runs(numbers: list[str]) -> str:
    if len(numbers) > _MOST_RUNS:
        return f"{len(numbers):,} runs"
    return f"run{'' if len(numbers) == 1 else 's'} {', '.join(numbers)}"


def _from_cache(proof: Proof) -> str:
    parts = [f"{proof.cached:,} robots.txt"] if proof.cached else []
    if proof.copies:
        parts.append(_count(proof.copies, "page"))
    return f"{' and '.join(parts)} from a cache that this ledger does not cover" if parts else ""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
