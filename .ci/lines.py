"""Lines of source by package and room, held to the ceilings of lines.txt, which only go down.

python .ci/lines.py            exit code 1 where a room has more lines than its ceiling, or has none
python .ci/lines.py --lower    write the ceilings of rooms that have become smaller; those of rooms that are gone go

A ceiling is raised by hand, in the commit that says why.
"""

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
CEILINGS = Path(__file__).with_name("lines.txt")
SUFFIXES = (".py", ".pyx", ".pxd", ".pyi")


def counted() -> Counter[str]:
    """Lines by `package` and `package/room`; modules beside the rooms count for the package alone."""
    lines: Counter[str] = Counter()
    for source in ROOT.glob("packages/*/src"):
        for path in source.rglob("*"):
            if path.suffix in SUFFIXES:
                parts = path.relative_to(source).parts
                size = len(path.read_text("utf-8").splitlines())
                lines[parts[0]] += size
                if len(parts) > 2:
                    lines["/".join(parts[:2])] += size
    return lines


def main() -> int:
    lines = counted()
    ceilings = {room: int(most) for room, most in (row.split() for row in CEILINGS.read_text("utf-8").splitlines())}
    if "--lower" in sys.argv:
        kept = {room: min(ceilings.get(room, size), size) for room, size in sorted(lines.items())}
        CEILINGS.write_text("".join(f"{room} {most}\n" for room, most in kept.items()), "utf-8")
        ceilings = kept
    over = [
        f"{room}: {size} lines, of at most {ceilings.get(room, 0)}"
        for room, size in sorted(lines.items())
        if size > ceilings.get(room, 0)
    ]
    print(*over, sep="\n", end="\n" if over else "")
    return 1 if over else 0


sys.exit(main())
