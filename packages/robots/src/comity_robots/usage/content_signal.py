"""Content Signals: `search=yes, ai-train=no, use=reference`, in a robots.txt group or a response header.

A key that is absent neither grants nor reserves anything. Source: the Content Signals policy text (2025; `use` since
2026-07), which has no formal grammar; so case, white space and a stray comma are forgiven, and other keys are
recorded, not guessed at.
"""

from typing import Final

from comity_robots.usage.statements import USE, USES, Preference, Use
from comity_robots.usage.vocabulary import MAX_KEY_CHARACTERS, MAX_KEYS, Stated, Vocabulary

_PURPOSES: Final = {"search": "search", "ai-input": "ai-input", "ai-train": "train-ai"}
_VALUES: Final[dict[str, Preference]] = {"yes": "allowed", "no": "disallowed"}
_USES: Final[dict[str, Use]] = {use: use for use in USES}


def read(value: str) -> list[Stated]:
    """The signals in one value. Never raises."""
    found: list[Stated] = []
    others = 0
    for part in value.split(","):
        key, equals, word = part.partition("=")
        key = key.strip().lower()
        if not key:
            continue
        purpose = _PURPOSES.get(key)
        if purpose is not None:
            preference = _VALUES.get(word.strip().lower(), "unknown")
            found.append(Stated(purpose, preference, "" if preference != "unknown" else "neither yes nor no"))
        elif key == USE:
            use = _USES.get(word.strip().lower())
            note = "" if use is not None else f"none of {', '.join(USES)}"
            found.append(Stated(USE, use or "unknown", note))
        elif others < MAX_KEYS:
            others += 1
            found.append(
                Stated(key[:MAX_KEY_CHARACTERS], "unknown", "no content signal that we know" if equals else "no value")
            )
    return found


VOCABULARY: Final = Vocabulary("content-signal", "Content-Signal", read, (*sorted(_PURPOSES), USE), "no", "yes")
