"""`comity.check` and `comity.fetch`: one question, one page, without a client to open and close.

Each process has one client for each policy that is asked with, so that calls one after the other keep a host's pace and
read its robots.txt once. They end with the interpreter.
"""

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from comity.client.blocking_client import Client
from comity.policy import Decision, Policy

if TYPE_CHECKING:
    from comity.retrieve import Retrieved

MAX_CLIENTS: Final = 16  # for as many policies; of more, those used longest ago are made anew


def check(url: str, policy: Policy | None = None, **fields: Any) -> Decision:
    """Decide about a URL without fetching it; robots.txt is fetched if need be.

    Args:
        policy, fields: as of `Client`: `comity.check(url, agent="MyBot/1.0")`.

    Raises:
        InvalidURL, Postponed
    """
    return _client(policy, fields).check(url)


def fetch(url: str, policy: Policy | None = None, **fields: Any) -> "Retrieved":
    """Return the page for a reader that is a program, as `Client.retrieve` and the command `comity fetch` do: its
    Markdown is `.markdown`.

    Args:
        policy, fields: as of `Client`: `comity.fetch(url, agent="MyBot/1.0")`.
    """
    return _client(policy, fields).retrieve(url)


def _client(policy: Policy | None, fields: dict[str, Any]) -> Client:
    asked_with = Client(policy, **fields).policy  # refuses, in words, what no policy has; it does not open
    return _of(asked_with, os.getpid())  # what a parent process has open is not its child's


@lru_cache(MAX_CLIENTS)
def _of(policy: Policy, _process: int) -> Client:
    return Client(policy)
