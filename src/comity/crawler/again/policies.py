"""The policy that a crawl was begun with: a later run of it keeps to that, unless it is told otherwise."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from comity.frontier import View
from comity.policy import Policy

FACT: Final = "policy"
_PACE: Final = frozenset(
    ("min_interval", "pace_by", "adaptive", "backoff", "max_backoff", "max_retry_after", "robots_fetch_counts")
) | {"breaker_failures", "breaker_recovery", "purposes"}


def to_dict(policy: Policy) -> dict[str, Any]:
    """A policy as JSON can hold it: infinity is the text "inf"."""
    values = dataclasses.asdict(policy)
    return {name: "inf" if value == math.inf else value for name, value in values.items()}


def from_dict(values: Mapping[str, Any]) -> Policy:
    """As `to_dict` gave it; what this version does not know is left out.

    Raises:
        InvalidSetting: a value is not allowed.
    """
    known = {field.name for field in dataclasses.fields(Policy)}
    return Policy(**{name: _value(value) for name, value in values.items() if name in known})


def judges_otherwise(policy: Policy, before: Mapping[str, Any] | None) -> bool:
    """Whether a policy may decide otherwise than the one of the run before, as `to_dict` gave it.

    What only sets the pace decides nothing.
    """
    now = to_dict(policy)
    then = {} if before is None else {name: _value(value) for name, value in before.items()}
    return before is not None and any(_value(now[name]) != then.get(name) for name in now.keys() - _PACE)


def begun_with(folder: Path) -> Policy | None:
    """The policy of the crawl in a folder, or None where there is none.

    Raises:
        StorageError: the folder's frontier cannot be read.
    """
    path = folder / "frontier.sqlite"
    if not path.exists():
        return None
    with View(path) as view:
        kept = view.recall(FACT)
    return None if kept is None else from_dict(kept)


def _value(value: Any) -> Any:
    if value == "inf":
        return math.inf
    return tuple(value) if isinstance(value, list) else value
