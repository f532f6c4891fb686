"""Verdicts about URLs for `comity check` and `comity explain`: each URL for each agent, by a file or by its site."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from comity import client
from comity.cli.exits import Exit
from comity.cli.input_files import named, read, site_url
from comity.cli.options import loaded
from comity.cli.robots_files import note_agents
from comity.errors import InvalidURL
from comity.net.client_settings import ClientSettings
from comity.policy import Decision, Policy, RobotsResult, decide
from comity_pages import urls

Answer = tuple[Decision, RobotsResult | None, Policy] | InvalidURL
COLOURS: Final = {"allowed": "green", "disallowed": "red", "unreachable": "yellow"}
_ANY: Final = "https://example.com"  # stands for the site of a file, whose name no rule has


def policies_of(agent: tuple[str, ...], **options: Any) -> tuple[list[Policy], ClientSettings]:
    """Return the policy of each named agent, and the settings for fetching robots.txt."""
    configuration = loaded(**options, agent=agent[0] if agent else None)
    policies = [configuration.policy, *(configuration.policy.with_changes(agent=each) for each in agent[1:])]
    return policies, configuration.client


def answers(
    targets: Iterable[str],
    policies: Sequence[Policy],
    settings: ClientSettings,
    robots: Path | None,
    *,
    asking: "client.Client | None" = None,
) -> Iterator[Answer]:
    """Yield the verdict on each URL for each agent, in order; a text that is not a URL yields its error. Each site's
    robots.txt is fetched once, under the first agent's name, by `asking` where that is given."""
    file = None if robots is None else (named(robots), 200, read(robots))
    noted: set[str] = set()
    opened = client.Client(policies[0], settings) if file is None and asking is None else nullcontext(asking)
    with opened as asking:
        for given in targets:
            # An argument's byte that is not UTF-8 comes as a lone surrogate: U+FFFD in all that is said of it.
            target = given.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            if robots is None:
                target = site_url(target) or target
            path = target if robots is not None and target.startswith("/") and not target.startswith("//") else ""
            try:
                url = urls.normalise(f"{_ANY}{path}" if path else target)
            except InvalidURL as error:
                yield error
                continue
            result: RobotsResult | None
            if file is not None:
                result = RobotsResult.from_response(urls.origin(url), *file, fetched_at=time.time(), policy=policies[0])
            else:
                assert asking is not None
                asking.check(url)
                result = asking.inspect().get(urls.origin(url))
            for policy in policies:
                if policy.agent not in noted and result is not None:
                    noted.add(policy.agent)
                    note_agents([policy.agent], result.robots)
                decision = decide(policy, url, result)
                yield replace(decision, url=path) if path else decision, result, policy


def truncation_note(result: RobotsResult | None) -> str:
    """Describe how much of a robots.txt was read; empty if all of it was."""
    if result is None or not result.robots.truncated:
        return ""
    size = f"{'more than ' if result.left_out else ''}{len(result.body):,}"
    return f"of {size} bytes, only the first 512,000 were read (RFC 9309, 2.5)"


def exit_code(answers: Sequence[str]) -> Exit:
    if "error" in answers:
        return Exit.USAGE
    if "unreachable" in answers:
        return Exit.NOT_READY
    return Exit.PARTLY if "disallowed" in answers else Exit.DONE
