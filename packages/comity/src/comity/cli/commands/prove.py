"""`comity prove`: says whether a finished crawl kept to the rules, and which record says otherwise."""

from pathlib import Path
from typing import Any, Final

import click

from comity.audit.asked import Account, Selection, asked
from comity.audit.prove import Proof, StillRunning
from comity.audit.prove import prove as proved
from comity.cli.exits import Exit
from comity.cli.options import FOLDERS, JSON, PATH, STORE, command, option
from comity.cli.terminal import count_noun, error_line, print_json, print_out, safe

_MAX_RUNS_SHOWN: Final = 8  # that are listed


@command("Read a crawl")
@FOLDERS
@STORE
@option("--hash noted", "HEX", "The last hash of the ledger, if you stored it elsewhere.")
@option("--sealed-by", "KEYID", "The key that must have sealed it, if you stored that elsewhere.")
@option("--authority", "FILE", "Certificates of the authority that stamped it, as PEM.", type=PATH)
@option("--host", "HOST", "Show findings about this host, and what was asked of it.")
@JSON
def prove(folders: tuple[Path, ...], host: str | None, as_json: bool, **how: Any) -> Exit:
    """Verify a crawl against its ledger.

    Offline; names each record that breaks a rule. For a crawl in PostgreSQL, name the folders of all machines; the
    store is read for how far it was committed. Exit code 0: everything holds, 1: something does not, or is missing.
    With --host the whole ledger is checked too, and findings about other hosts do not count.
    """
    chosen = Selection.of(host, None, None)
    try:
        proof = proved(folders, host=chosen.host if chosen is not None else "", **how)
    except StillRunning as error:
        error_line(str(error))
        return Exit.NOT_READY
    account = Account()
    if chosen is not None:
        for row in asked(folders, chosen, store=how["store"]):
            account.add(row)
    if as_json:
        print_json(proof.to_dict())
    else:
        _print(proof, "" if chosen is None else f"{account}; comity report --host {chosen.host} lists them")
    return Exit.DONE if proof.holds else Exit.FATAL


def _print(proof: Proof, account: str) -> None:
    if proof.holds:
        click.secho(_headline(proof), fg="yellow" if proof.unenforced else "green", bold=not proof.unenforced)
    else:
        click.secho(f"not proved: {count_noun(proof.found, 'finding')}", fg="red", bold=True)
        for finding in proof.findings:
            print_out(f"  {finding}")
        if proof.found > len(proof.findings):
            print_out(f"  and {proof.found - len(proof.findings):,} more")
    unread = f"{count_noun(proof.unread, 'page')} without one, re-coded or rendered: not compared"
    for name, value in (
        ("this host", f" {account}" if account else ""),
        ("elsewhere", count_noun(proof.elsewhere, "finding") if proof.elsewhere else ""),
        ("checked", f"{count_noun(proof.requests, 'request')} to {count_noun(proof.hosts, 'host')}"),
        ("", f"{count_noun(proof.refusals, 'refusal')}, {proof.robots:,} robots.txt, {count_noun(proof.runs, 'run')}"),
        ("unproved", _from_cache(proof)),
        ("bodies", unread if proof.unread else ""),
        ("not read", ", ".join(proof.unchecked)),
        ("last hash", proof.hash),
        ("sealed", proof.sealed),
    ):
        if value:
            click.secho(f"{name:10}{safe(value)}", dim=True)


def _headline(proof: Proof) -> str:
    """Say what was proved: a crawl that did not enforce robots.txt is not said to have obeyed it."""
    if not proof.unenforced:
        return "proved: no disallowed fetch, no early request, chain intact"
    modes: dict[str, list[str]] = {}
    for run, mode in proof.unenforced.items():
        modes.setdefault(mode, []).append(f"{run:,}")
    where = " and ".join(f"in {_runs(runs)} (mode {mode})" for mode, runs in modes.items())
    recorded = f": {count_noun(proof.disallowed, 'disallowed request')} recorded" if "report_only" in modes else ""
    return f"proved: no early request, chain intact; robots.txt was not enforced {where}{recorded}"


def _runs(numbers: list[str]) -> str:
    if len(numbers) > _MAX_RUNS_SHOWN:
        return f"{len(numbers):,} runs"
    return f"run{'' if len(numbers) == 1 else 's'} {', '.join(numbers)}"


def _from_cache(proof: Proof) -> str:
    parts = [f"{proof.cached:,} robots.txt"] * bool(proof.cached) + [count_noun(proof.copies, "page")] * bool(
        proof.copies
    )
    return f"{' and '.join(parts)} from a cache that this ledger does not cover" if parts else ""
