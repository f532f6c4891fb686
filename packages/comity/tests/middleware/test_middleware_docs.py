"""The examples run, and the page about them shows what they print."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from examples import first_of
from libraries import chromium, need
from sites import HANGS, Site

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").glob("with_*.py"))
SHOWN = dict(re.findall(r"```console\n\$ python (examples/\w+\.py) \S+\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.parametrize("example", first_of(*EXAMPLES, now=2), ids=lambda example: example.stem)
def test_an_example_prints_what_the_page_shows(example: Path, site: Site) -> None:
    if example.stem == "with_playwright":
        chromium()
    need(example.stem.split("_")[1])
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    site.set("/open", "hello", headers={"X-Robots-Tag": "noindex"})
    site.set("/private", "secret")
    own = ["127.0.0.0/8"] if example.stem == "with_playwright" else []
    result = subprocess.run(
        [sys.executable, str(example), site.url("/"), *own],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    shown = SHOWN[f"examples/{example.name.replace('_async', '')}"]
    assert result.stdout.replace(site.url("/"), "https://example.com/") == shown
    assert site.paths() == ["/robots.txt", "/open"]
    assert site.intervals()[0] >= 1.0


def test_the_code_on_the_page_is_a_whole_example() -> None:
    blocks = re.findall(r"\(\.\./(examples/\w+\.py)\)[^\n]*\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 6
    for path, block in blocks:
        assert block == (ROOT / path).read_text(encoding="utf-8").split('"""\n', 1)[1].lstrip("\n")


@pytest.mark.long
def test_an_example_does_not_call_a_download_a_refusal(site: Site) -> None:
    chromium()
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    site.set("/open", "file", headers={"Content-Disposition": "attachment; filename=a.bin"})
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples/with_playwright.py"), site.url("/"), "127.0.0.0/8"],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    first, second = result.stdout.splitlines()
    assert first == f"failed: {site.url('/open')} - Page.goto: Download is starting"
    assert second.startswith(f"refused: {site.url('/private')} - ")
