"""`comity agents`: the table of well-known agents, and a newer one made from a file."""

import os
from dataclasses import asdict
from pathlib import Path

from comity.cli.agent_tables import VARIABLE, read_agents
from comity.cli.exits import Exit
from comity.cli.options import FILE, JSON, PATH, command, option
from comity.cli.terminal import count_noun, print_err, print_json, print_out
from comity.errors import InvalidSetting
from comity.frontier.durable import write_named
from comity_robots.agent_table import PURPOSES, as_csv, known_agents, merged


@command("Write a robots.txt")
@option("--purpose", PURPOSES, "Only agents with this purpose.")
@option("--refresh", "FILE", "Take newer rows from FILE: CSV as -o writes, or ai.robots.txt's robots.json.", type=FILE)
@option("-o --output", "FILE", "Write the table to FILE, as CSV.", type=PATH)
@JSON
def agents(purpose: str | None, refresh: Path | None, output: Path | None, as_json: bool) -> Exit:
    """List well-known agents: names, operators, purposes, sources.

    Nothing is fetched. To use a refreshed table, write it with -o and name it in the environment as COMITY_AGENTS.
    """
    if refresh is not None and output is None:
        raise InvalidSetting("--refresh changes no file of comity's own", hint="name the new table with -o FILE")
    every = before = known_agents()
    if refresh is not None:
        every = merged(before, read_agents(refresh))
    wanted = [each for each in every if purpose in (None, each.purpose)]
    if output is not None:
        write_named(output, as_csv(wanted).encode("utf-8"))
        added, changed = len(every) - len(before), sum(each not in before for each in every)
        print_err(f"{count_noun(len(wanted), 'agent')} in {output}, {added} new, {changed - added} changed")
        print_err(f"to use this table: {VARIABLE}={output}")
        return Exit.DONE
    if as_json:
        print_json([asdict(each) for each in wanted])
        return Exit.DONE
    for each in wanted:
        print_out(f"  {each.purpose:14}  {each.operator:20}  {each.source}  {each.read}", lead=f"{each.name:26}")
    print_err(
        f"{count_noun(len(wanted), 'agent')}, from {os.environ.get(VARIABLE) or 'the table that comes with comity'}"
    )
    return Exit.DONE
