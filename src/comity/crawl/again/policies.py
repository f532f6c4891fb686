"""The policy that a crawl was begun with: a later run of it keeps to that, unless it is told otherwise."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from comity.crawl.frontier import View
from comity.policy import Policy

FACT: Final = "policy"


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
