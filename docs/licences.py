"""Writes docs/licences.md: what comity and its extras depend on, and under which licences, as their metadata says.

python docs/licences.py    in an environment where they are installed; what is not there keeps its line
"""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = Path(__file__).with_name("licences.md")
NAMES = {  # what packages say that give no expression, nor a classifier that tells the licence exactly
    "Apache 2": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT license": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def direct(requirements: list[str]) -> list[str]:
    return sorted({plain(re.match(r"[\w.-]+", each)[0]) for each in requirements})  # type: ignore[index]


def licence(name: str) -> str:
    about = metadata(name)
    if expression := about.get("License-Expression"):
        return expression
    for each in about.get_all("Classifier") or []:
        if each.startswith("License :: ") and (last := each.rpartition(" :: ")[2]) != "OSI Approved":
            return NAMES.get(last, last)
    said = (about.get("License") or "not said").strip().partition("\n")[0]
    return NAMES.get(said, said)


def closure(names: list[str]) -> list[str]:
    """With what they need themselves, without extras."""
    found: dict[str, None] = {}
    todo = list(names)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        try:
            needed = requires(name) or []
        except PackageNotFoundError:
            continue
        found[name] = None
        todo += direct([each for each in needed if "extra ==" not in each])
    return sorted(found)


def table(names: list[str], before: dict[str, str]) -> list[str]:
    lines = ["| package | licence |", "|---|---|"]
    for name in names:
        try:
            lines.append(f"| {name} | {licence(name)} |")
        except PackageNotFoundError:
            lines.append(f"| {name} | {before.get(name, 'not known here')} |")
    return lines


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    text = DOCUMENT.read_text("utf-8") if DOCUMENT.exists() else ""
    before = dict(re.findall(r"^\| (\S+) \| (.+) \|$", text, re.MULTILINE))
    base = closure(direct(project["dependencies"]))
    extras = project["optional-dependencies"]
    more = sorted(set(direct([each for wanted in extras.values() for each in wanted])) - {*base, "comity"})
    lines = [
        "# Licences of what comity depends on",
        "",
        "comity has the [MIT licence](../LICENSE). Its wheels contain two pieces of others' code: Cython's runtime",
        "(Apache-2.0), in the compiled modules, of which the bill of materials in each wheel says so",
        "(`comity-*.dist-info/sboms`, CycloneDX, PEP 770), and CodeMirror (MIT), the editor of the workbench, with its",
        "licences in `comity/web/static/vendor/LICENCES.txt`. Its dependencies are installed separately, under their",
        "own licences.",
        "`python docs/licences.py` writes these tables from the packages' own metadata.",
        "",
        "## The base install",
        *table(base, before),
        "",
        "## Extras",
        "Each extra also installs the dependencies of these packages.",
        "",
        *table(more, before),
    ]
    DOCUMENT.write_text("\n".join(lines) + "\n", "utf-8")


main()
