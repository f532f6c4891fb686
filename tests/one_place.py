"""The rules of robots.txt, and where each is written: once in the fast form, once in the reference.

    python tests/one_place.py    prints the table; its exit code is 1 where a rule stands anywhere else

A rule is known by an expression that cannot be written down without writing the rule.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
FOLDERS = {
    "robots": REPOSITORY / "packages" / "robots" / "src" / "comity_robots",
    "pages": REPOSITORY / "packages" / "pages" / "src" / "comity_pages",
    **{room: REPOSITORY / "packages" / "comity" / "src" / "comity" / room for room in ("bulk", "policy", "compat")},
}
REFERENCE = "robots/engine/reference.py"
RECORDS, PATHS, MATCHER = (f"robots/engine/{name}" for name in ("records.pyx", "paths.pyx", "matcher.pyx"))


class Place(NamedTuple):
    """A rule, what it is known by, and the files in which it may stand."""

    rule: str
    known_by: str
    files: tuple[str, ...]


PLACES = (
    Place(
        "what a directive is called",
        r"""b["'](user-?agent|disallow|crawl-delay|content-signal)["']""",
        ("robots/directives.py",),
    ),
    Place("a directive's number", r"1 << (1[0-2]|[1-9])\b(?!.*(bits of|of runs))", ()),
    Place(
        "how an entry of the index is packed",
        r"(entry|packed) (& 0xFF|>> (8|32))|<Entry>\w+ (<<|>>)",
        ("robots/engine/records.pxd", REFERENCE),
    ),
    Place("which User-agent lines stand above a line", r"\bended = True$", (RECORDS, REFERENCE)),
    Place(
        "a group for * counts where none names the agent",
        r"everybodys and not named|_is_star\(value, self\._match\)\}",
        (RECORDS, "robots/agents.py"),
    ),
    Place("how a rule is ranked", r"<< 34|(allow\)?|yes\)?) << 33", (MATCHER, REFERENCE)),
    Place(
        "the last bit of a rank: whether its rule allows",
        r"\brank & 1\b",
        (MATCHER, "robots/arrays/rows.pyx", "robots/arrays/rules.pyx", REFERENCE),
    ),
    Place(
        "robots.txt itself may be fetched",
        r"""[=(,] ?b?["']/robots\.txt["'](?!\))|endswith\(["']/robots\.txt""",
        ("robots/engine/matcher.pxd", REFERENCE),
    ),
    Place("where the path of a URL begins", r"""== b"://"|text\[at \+ 1\] == 47""", (PATHS, REFERENCE)),
    Place("which octets are compared encoded", r"""frozenset\(b'"<>|in ['"]<>\\\\""", (REFERENCE,)),
    Place("Allow: /index.html allows the folder", r"""b"/?index\.htm["l]""", (MATCHER, REFERENCE)),
    Place("what an asterisk and a final $ match", r"\banchored = (size > 0|pattern\.ends)", (PATHS, REFERENCE)),
)


def sources() -> Iterator[tuple[str, str]]:
    """The files of the rooms, each after the name of its room."""
    for room, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.p*")):
            if path.suffix in (".py", ".pyx", ".pxd"):
                yield f"{room}/{path.relative_to(folder).as_posix()}", path.read_text("utf-8")


def found(place: Place, files: list[tuple[str, str]]) -> list[str]:
    """Where a rule stands, as FILE:LINE."""
    known = re.compile(place.known_by)
    return [
        f"{name}:{number}"
        for name, text in files
        for number, line in enumerate(text.splitlines(), 1)
        if known.search(line)
    ]


def elsewhere(place: Place, files: list[tuple[str, str]]) -> list[str]:
    """Where a rule stands though it should not, and where it does not though it should."""
    there = found(place, files)
    strange = [each for each in there if each.partition(":")[0] not in place.files]
    return strange + [f"{name}: gone" for name in place.files if not any(each.startswith(f"{name}:") for each in there)]


def main() -> int:
    files = list(sources())
    for place in PLACES:
        print(f"{place.rule:50} {', '.join(found(place, files)) or 'nowhere: names are used'}")
    wrong = [f"{place.rule}: {each}" for place in PLACES for each in elsewhere(place, files)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
