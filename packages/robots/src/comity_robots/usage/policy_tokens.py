"""Where preferences written as groups under a policy token will be read: not yet, for the text that defines them could
not be had.

Source: the abstract of draft-kelley-aipref-training-preference-signal-00 (2026-10-30): ordinary groups of robots.txt,
keyed by a token for a purpose in the User-agent line. Which tokens there are, and what a group means to whom, is in
its body; one secondary source writes `__usage_ai-training`. Until it is read here, such a group changes no answer.
"""

from typing import Final

DRAFT: Final = "draft-kelley-aipref-training-preference-signal-00"
PREFIX: Final = "__"


def is_policy_token(agent: str) -> bool:
    """Whether a User-agent value is written as a policy token, which is no crawler's name."""
    return agent.startswith(PREFIX)
