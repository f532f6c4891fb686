"""`comity write`: a robots.txt from what its owner wants, new or as the smallest change of one that is there."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from comity.cli.commands.diff import in_words
from comity.cli.exits import Exit
from comity.cli.options import ALLOW_ADDRESS, CONFIG, DIALECT, PATH, combine, command, is_typed, loaded, option
from comity.cli.robots_files import note_agents, read_all
from comity.cli.terminal import count_noun, print_err
from comity.errors import InvalidSetting
from comity.frontier.durable import write_named
from comity_robots import Diff, diff, parse
from comity_robots.switches import SWITCHES, Wishes, expected, written

_AGENTS_SHOWN: Final = 4
_PURPOSES: Final = dict(zip(("search", "training", "ai_search", "user"), SWITCHES, strict=True))


def _switch(name: str, purpose: str) -> Callable[[Any], Any]:
    flag = name.replace("_", "-")
    words = f"Let agents with the purpose {purpose} in, or block them."
    return option(f"--allow-{flag}/--block-{flag} {name}", None, words)


@command("Write a robots.txt")
@combine(*(_switch(name, purpose) for name, purpose in _PURPOSES.items()))
@option("--allow-agent", "NAME", "Let one agent in, whatever its purpose.", multiple=True)
@option("--block-agent", "NAME", "Block one agent, whatever its purpose.", multiple=True)
@option("--block", "PATTERN", "A path that nobody may fetch, such as /checkout.", multiple=True)
@option("--sitemap", "URL", "A sitemap to name.", multiple=True)
@option("--from source", "FILE|URL", "The robots.txt to change.", otherwise="a new one")
@option("-o --output", "FILE", "Where to write it, with its tests beside it.", type=PATH, otherwise="standard output")
@combine(DIALECT, CONFIG, ALLOW_ADDRESS)
def write(
    allow_agent: tuple[str, ...],
    block_agent: tuple[str, ...],
    block: tuple[str, ...],
    sitemap: tuple[str, ...],
    source: str | None,
    output: Path | None,
    **options: Any,
) -> Exit:
    """Write a robots.txt from what you want.

    With --from, the fewest lines are changed. What it changes by meaning is printed first, on standard error. With -o
    robots.txt, expectations for 'comity test' are written to robots.expectations.
    """
    purposes = {purpose: options.pop(name) for name, purpose in _PURPOSES.items()}
    typed = {purpose: purposes[purpose] for name, purpose in _PURPOSES.items() if is_typed(name)}
    if both := set(allow_agent) & set(block_agent):
        raise InvalidSetting(f"--allow-agent and --block-agent both name {min(both)}")
    wishes = Wishes(
        purposes=typed,
        agents=dict.fromkeys(allow_agent, True) | dict.fromkeys(block_agent, False),
        block=block,
        sitemaps=sitemap,
    )
    if wishes == Wishes():
        raise InvalidSetting("nothing is wished for", hint="try: comity write --block-training --block /checkout")
    tests = None if output is None else output.with_suffix(".expectations")
    taken = [path for path in (output, tests) if path is not None and path.exists()]
    if taken and source is None:
        raise InvalidSetting(f"{taken[0]} is there already", hint=f"to change it: --from {output} -o {output}")
    configuration = loaded(**options)
    if source is None:
        before = parse("", configuration.policy.dialect)
    else:
        (read,) = read_all([source], configuration)
        before = read.robots
        if read.missing:
            print_err(f"{read.name}: {read.missing}")
    note_agents(wishes.agents, before)
    after = written(wishes, before)
    for line in _by_meaning(diff(before, after)):
        print_err(line)
    if output is None or tests is None:
        sys.stdout.buffer.write(after.body)
        sys.stdout.buffer.flush()
        return Exit.DONE
    for path, data in ((output, after.body), (tests, expected(wishes, after).encode())):
        write_named(path, data)
    print_err(f"written: {output}; to test it: comity test {tests} --robots {output}")
    return Exit.DONE


def _by_meaning(changes: Diff) -> Iterator[str]:
    """Each change in a line; agents with the same one stand together."""
    same: dict[tuple[str, bool], list[str]] = {}
    for change in changes.changes:
        same.setdefault((change.paths, change.allowed), []).append(change.agent)
    for (paths, allowed), agents in same.items():
        names = ", ".join("everybody else" if name == "*" else name for name in agents[:_AGENTS_SHOWN])
        more = f" and {count_noun(len(agents) - _AGENTS_SHOWN, 'more agent')}" if len(agents) > _AGENTS_SHOWN else ""
        yield f"{names}{more}: {'may now fetch' if allowed else 'may no longer fetch'} {paths}"
    yield from (f"{lead}{rest}" for lead, rest, _ in in_words(replace(changes, changes=())))
