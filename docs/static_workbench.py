"""The workbench as files, for which nobody has to run a server: comity's plain form, in the browser by Pyodide."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
SOURCE = ROOT / "packages/comity/src/comity"
SOURCES = tuple(ROOT / "packages" / package / "src" for package in ("comity", "pages", "robots"))
TABLE = SOURCES[2] / "comity_robots" / "agent_table.csv"
STATIC = SOURCE / "web" / "static"
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")
NEEDED = """
import json, sys
from comity.web import workbench
workbench.known_agents()
for name, question in json.load(sys.stdin).items():
    workbench.QUESTIONS[name](**question)
ours = ("comity", "comity_pages", "comity_robots")
print(json.dumps([m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] in ours]))
"""
TEXT = "User-agent: GPTBot\nDisallow: /blog/ *\nContent-Signal: use=full\nCrawl-delay: 5s\n\nUser-agent: Googelbot\n"
ASKED = {
    "check": {"text": TEXT, "agents": ["GPTBot"], "urls": ["/blog/é"], "tests": "GPTBot not /x"},
    "explain": {"text": TEXT, "agent": "GPTBot", "url": "/blog/"},
    "lint": {"text": TEXT},
    "bots": {"text": TEXT},
    "switch": {"text": TEXT, "agents": ["CCBot"], "access": "blocked", "purpose": "AI training"},
    "diff": {"old": TEXT, "new": "User-agent: *\nDisallow: /\n"},
}
"""Each way of asking once, so that what is imported late is there too."""


def build(folder: Path) -> bool:
    """Puts the workbench into a folder; False where npm is not here, which brings Pyodide."""
    if shutil.which("npm") is None:
        print("no npm: the site has no workbench")
        return False
    subprocess.run(["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=WEB, check=True)
    shutil.copytree(STATIC, folder, ignore=shutil.ignore_patterns("dashboard.*", "api.*", "asking.js", "index.html"))
    page = (STATIC / "index.html").read_text("utf-8").replace('<html lang="en">', '<html lang="en" data-alone>')
    page = re.sub("<nav.*?</nav>", '<nav aria-label="Pages"><a href="../index.html">comity</a></nav>', page)
    (folder / "index.html").write_text(page, "utf-8")
    shutil.copy(WEB / "engine.js", folder)
    (folder / "pyodide").mkdir()
    for name in PYODIDE:
        shutil.copy(WEB / "node_modules" / "pyodide" / name, folder / "pyodide")
    with zipfile.ZipFile(folder / "comity.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in [*modules(), SOURCES[1] / "comity_pages" / "_cython.py", TABLE]:
            packed.write(path, path.relative_to(next(each for each in SOURCES if path.is_relative_to(each))))
    size = sum(len(gzip.compress(path.read_bytes())) for path in folder.rglob("*") if path.is_file())
    print(f"the workbench in it: {size / 1e6:.1f} MB compressed")
    return True


def modules() -> list[Path]:
    """The modules that the workbench needs, in their plain form."""
    done = subprocess.run(
        [sys.executable, "-c", NEEDED],
        input=json.dumps(ASKED), capture_output=True, text=True, check=True,
        env={**os.environ, "COMITY_NO_EXTENSIONS": "1"},
    )  # fmt: skip
    return [Path(name) for name in json.loads(done.stdout)]
