"""The AIPREF vocabulary: a Structured Field dictionary of `train-ai`, `search`, `ai-use` with the tokens `y` and `n`.

`ai-use` is in draft-ietf-aipref-vocab-08 (2026-09-14), which says of itself that it reflects no consensus: each
preference that it states says so. Source: draft-ietf-aipref-vocab, "Exemplary Serialization Format"; RFC 9651, 3.2. A
kept library reads the Structured Field; here its members become preferences.
"""

import re
from typing import Final

from comity_robots.usage.vocabulary import MAX_KEY_CHARACTERS, MAX_KEYS, Stated, Vocabulary

_NO_CONSENSUS: Final = "ai-use is in draft-ietf-aipref-vocab-08 of 2026-09-14, which reflects no consensus"
LABELS: Final = {"train-ai": ("train-ai", ""), "search": ("search", ""), "ai-use": ("ai-input", _NO_CONSENSUS)}
"""The categories the drafts define: the purpose that each is here, and a note on it."""
# A Date, and the strings that it has to be told from.
_DATE: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|@(-?[0-9]{11,15})(?![0-9])')
# What nearly all sites write, which the library need not be loaded for: keys with the tokens y and n, nothing more.
_MEMBER: Final = r"[a-z*][a-z0-9_.*-]*=[yn]"
_PLAIN: Final = re.compile(rf" *{_MEMBER}(?:[ \t]*,[ \t]*{_MEMBER})* *")
_DATES: Final = range(-62_135_596_800, 253_402_300_800)


def read(value: str) -> list[Stated]:
    """The preferences in one value. Never raises; what does not parse as a dictionary is one unknown."""
    try:
        members = _members(value)
    except ValueError as error:
        spaced = _PLAIN.fullmatch("=".join(part.strip(" \t") for part in value.split("=")))  # and nothing else is wrong
        why = "white space stands beside '='" if spaced else error
        return [Stated("", "unknown", f"not a Structured Field dictionary: {why}")]
    found: list[Stated] = []
    for key in (*LABELS, *[key for key in members if key not in LABELS][:MAX_KEYS]):
        if key not in members:
            continue
        stated = members[key]
        if key not in LABELS:
            found.append(Stated(key[:MAX_KEY_CHARACTERS], "unknown", "not in the AIPREF vocabulary, ignored"))
        elif stated in ("y", "n"):
            purpose, note = LABELS[key]
            found.append(Stated(purpose, "allowed" if stated == "y" else "disallowed", note))
        else:
            found.append(
                Stated(LABELS[key][0], "unknown", f"the value of {key} is neither the token y nor the token n")
            )
    return found


def _members(value: str) -> dict[str, str | None]:
    """The keys, and the token that each has; None where it has something else.

    Raises:
        ValueError: it is not a Structured Field dictionary.
    """
    if _PLAIN.fullmatch(value) is not None:
        pairs = (member.strip(" \t").partition("=") for member in value.split(","))
        return {key: stated for key, _, stated in pairs}
    import http_sf  # late: most sites state no preferences

    read = http_sf.parse(_DATE.sub(_in_range, value).encode("utf-8", "surrogatepass"), tltype="dictionary")
    assert isinstance(read, dict)
    values = {key: member[0] if isinstance(member, tuple) else member for key, member in read.items()}
    return {key: str(stated) if isinstance(stated, http_sf.Token) else None for key, stated in values.items()}


def _in_range(found: re.Match[str]) -> str:
    """A Date of the years 1 to 9999 in the place of one beyond them.

    Beyond them a recipient need not understand a Date (RFC 9651, 3.3.7), yet it parses (4.2.9), and so does the rest;
    the library fails the whole field. No preference is a Date, so any will do.
    """
    return found[0] if found[1] is None or int(found[1]) in _DATES else "@0"


VOCABULARY: Final = Vocabulary("aipref", "Content-Usage", read, ("search", "train-ai", "ai-use"), "n", "y", joined=True)
