"""Characters that nobody sees: which of them stand in a text for a reason that shows, and which carry something.

The set is Unicode's Default_Ignorable_Code_Point, with control characters and interlinear annotation marks. Joiners
are seen in scripts that join and in emoji, variation selectors behind what has variants, tags in flags, Hangul fillers
beside jamo; everywhere else a run of them can spell any text.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, Literal

Kind = Literal["zero_width", "bidi_control", "tag_characters"]

_JOINING_SCRIPTS: Final = (
    "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1700-\u180a\u1810-\u18af\u1900-\u1aaf\u1b00-\u1c4f\ua800-\uabff"
    "\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001e95f"
)
_PICTOGRAPHS: Final = "\u00a9\u00ae\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_IDEOGRAPHS: Final = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_JAMO: Final = "\u1100-\u115e\u1161-\u11ff\ua960-\ua97c\ud7b0-\ud7fb"
_TAG: Final = 0xE0000
_FLAGS: Final = "|".join(
    "".join(chr(_TAG + ord(char)) for char in f"{region}\x7f") for region in ("gbeng", "gbsct", "gbwls")
)

# Kind (None: not told of, for it is seen now and then), what it is called where it is taken out, what is found. A
# pattern with a group finds what is seen as well, and means its group alone.
_CHARACTERS: Final[tuple[tuple[Kind | None, str, re.Pattern[str]], ...]] = (
    (None, "control characters", re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")),
    (None, "characters of no width", re.compile("\xad")),
    (
        "zero_width",
        "characters of no width",
        re.compile(
            "[\u034f\u17b4\u17b5\u200b\u2060-\u2065\u3164\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
            "\U0001d173-\U0001d17a]|(?<!^)\ufeff"
            f"|(?<![{_JOINING_SCRIPTS}])\u200c|(?<![{_JOINING_SCRIPTS}{_PICTOGRAPHS}\ufe0f])\u200d"
            f"|(?<![{_JAMO}])[\u115f\u1160](?![{_JAMO}])|(?<![\u1800-\u18af])[\u180b-\u180d\u180f]|\u180e"
        ),
    ),
    ("bidi_control", "characters that turn the direction of writing", re.compile("[\u202a-\u202e\u2066-\u206f]")),
    (
        "bidi_control",
        "characters that turn the direction of writing",
        re.compile("[\u061c\u200e\u200f]{2,}|(?<=[A-Za-z])[\u061c\u200e\u200f](?=[A-Za-z])"),
    ),
    (None, "characters that turn the direction of writing", re.compile("[\u061c\u200e\u200f]")),
    (
        "tag_characters",
        "tag characters",
        re.compile(f"(?<=\U0001f3f4)(?:{_FLAGS})|([\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]+)"),
    ),
    (
        "tag_characters",
        "runs of variation selectors",
        re.compile(
            f"(?<![#*0-9\u1000-\u109f\ua840-\ua87f\u203c-\u218f{_PICTOGRAPHS}{_IDEOGRAPHS}])[\ufe00-\ufe0f]"
            f"|(?<![{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]"
        ),
    ),
)
# What the patterns that tell of a kind may begin with, whatever stands around it: one class is found faster.
_CARRIERS: Final = (
    "\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SUSPECT: Final = re.compile(f"[{_CARRIERS}]")
_ASCII: Final = bytes(range(128))
_INVISIBLE: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad{_CARRIERS}]")


def find_invisible(text: str) -> Iterator[tuple[Kind, int, int, int]]:
    """Each kind that a text holds: where its first run stands, from and to, and how many characters there are of it."""
    rare = text.encode("utf-8", "replace").translate(None, _ASCII).decode()  # little of most texts
    suspects = [match.start() for match in _SUSPECT.finditer(text)] if _SUSPECT.search(rare) else []
    places: dict[Kind, tuple[int, int, int]] = {}
    for kind, _, pattern in _CHARACTERS if suspects else ():
        if kind is None:
            continue
        at = 0
        for suspect in suspects:
            if suspect < at or (match := pattern.match(text, suspect)) is None:
                continue
            at = match.end()
            if pattern.groups and match[1] is None:
                continue
            first, end, length = places.get(kind, (suspect, at, 0))
            places[kind] = (first, end, length + at - suspect)
    for kind, place in places.items():
        yield kind, *place


def remove_invisible(text: str, removed: Counter[str]) -> str:
    """A text without them; what was taken out is counted, a run as one."""
    for _, name, pattern in _CHARACTERS:
        count = 0

        def take(match: re.Match[str]) -> str:
            nonlocal count
            if match.re.groups and match[1] is None:
                return match[0]
            count += 1
            return ""

        text = pattern.sub(take, text)
        if count:
            removed[name] += count
    return text


def escape_invisible(text: str) -> str:
    """A text in which every character that may not be seen stands as `\\u200b`."""
    return _INVISIBLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
