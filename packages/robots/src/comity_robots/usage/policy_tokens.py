"""Policy tokens in User-agent lines: preferences as ordinary groups, keyed by a purpose. Not read yet.

draft-kelley-aipref-training-preference-signal-00 (2026-10-30): its abstract speaks of such groups; which tokens there
are, and what a group means to whom, is in its body, which could not be had. One secondary source writes
`__usage_ai-training`. Until it is read such a group changes no verdict, and each use is told that it is there.
"""

import re
from typing import Final

from comity_robots.usage.statements import Statement, shown

DRAFT: Final = "draft-kelley-aipref-training-preference-signal-00"


def is_policy_token(value: str) -> bool:
    """Whether a User-agent value is written as a token of that draft, and so is no crawler's name."""
    return value.startswith("__") and re.fullmatch(r"[\w.-]{3,}", value, re.ASCII) is not None


def unread(value: str, line: int) -> Statement:
    """What a policy token states: that it is there."""
    note = f"it is a policy token ({DRAFT}), which comity does not read yet"
    return Statement("", "unknown", "policy-token", "robots.txt", "User-agent", shown(value), line, note=note)
