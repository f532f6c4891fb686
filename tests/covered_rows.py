"""Which rows of BEHAVIOURS.md are covered, and by which tests: `python tests/covered_rows.py [W7 L5 ...]`.

A test names the rows that it covers in a comment above it or behind its name: `# covers: L3, F8`.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
COVERS = re.compile(r"#\s*covers:\s*([A-Z]\d+(?:\s*(?:,|\.\.|and)\s*[A-Z]\d+)*)")


def rows() -> dict[str, list[str]]:
    """Row -> tests, each as `file::name`; cases in data files are named by file."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((*HERE.rglob("test_*.py"), *HERE.parent.glob("packages/*/tests/**/test_*.py"))):
        waiting: list[str] = []
        for line in path.read_text("utf-8").splitlines():
            covered = [row for match in COVERS.finditer(line) for row in re.findall(r"[A-Z]\d+", match[1])]
            test = re.match(r"(?:async )?def (test_\w+)", line)
            waiting += covered
            if test:
                for row in waiting:
                    found[row].append(f"{path.name}::{test[1]}")
                waiting = []
    for path in sorted((HERE / "cases").glob("*.json")):
        for row in set(re.findall(r'"covers": *"([^"]+)"', path.read_text("utf-8"))):
            for each in re.findall(r"[A-Z]\d+", row):
                if path.name not in found[each]:
                    found[each].append(path.name)
    return found


def main() -> None:
    found = rows()
    wanted = sys.argv[1:] or sorted(found, key=lambda row: (row[0], int(row[1:])))
    for row in wanted:
        print(f"{row:4} {', '.join(found.get(row, ['NOT COVERED']))}")


if __name__ == "__main__":
    main()
