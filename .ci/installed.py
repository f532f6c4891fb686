"""What an installed comity does, by the Python that runs this: README's examples, and each step of a crawl.

usage: installed.py README.md compiled|interpreted
"""

import doctest
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RULES = "User-agent: *\nDisallow: /shop/\nAllow: /shop/public\n"


def comity(*words: str, folder: Path, codes: tuple[int, ...] = (0,), says: str = "") -> None:
    began = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "comity", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    said = ran.stdout + ran.stderr
    if ran.returncode not in codes or says not in said or "Traceback" in said:
        sys.exit(f"comity {' '.join(words)}: code {ran.returncode}, expected {codes} and {says!r}\n{said}")
    print(f"  {time.perf_counter() - began:6.2f} s  comity {' '.join(words)}")


def main(readme: str, form: str) -> None:
    failed, tried = doctest.testfile(readme, module_relative=False, encoding="utf-8")
    if failed or not tried:
        sys.exit(f"{failed} of {tried} lines of README's examples fail")
    print(f"  {tried} lines of README's examples")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "robots.txt").write_text(RULES)
        comity("--version", folder=folder)  # compiles what the install left as source
        comity("--version", folder=folder, says=f"({form},")
        comity("lint", "robots.txt", folder=folder)
        asked = ("--robots", "robots.txt", "--agent", "MyBot")
        comity("check", *asked, "https://example.com/shop/1", folder=folder, codes=(2,), says="line 2")
        comity("explain", *asked, "https://example.com/shop/public/1", folder=folder, says="line 3")
        comity("crawl", "--demo", "--max-pages", "8", "-o", "out", folder=folder, codes=(0, 2), says="pages  ")
        comity("prove", "out", folder=folder, says="proved")
        comity("report", "out", "-o", "report.html", folder=folder)


main(*sys.argv[1:])
