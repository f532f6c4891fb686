"""Builds the documentation as a site: python docs/site.py [--serve [PORT]]

The pages are copied to build/docs/pages, with the reference, which is made from the docstrings, and with what lies
beside docs/. The site is build/docs/site. Anything can serve it. Each link and anchor of
the site is followed once.
"""

import functools
import http.server
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import static_workbench
from reference import reference

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BUILD = ROOT / "build" / "docs"
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages that lie in the repository's root."""
SHOWN = (
    "LICENSE",
    "examples",
    "tests/cases",
    "packages/robots/src/comity_robots/_compiled.py",
    "Dockerfile",
    "compose.yaml",
)
"""Files that pages lead to, which the site holds as they are."""


def gather(pages: Path) -> None:
    """The pages as the site has them."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name in BESIDE:
        text = (ROOT / name).read_text("utf-8")
        (pages / name).write_text(re.sub(r"\]\(docs/", "](", text), "utf-8")
    for name in SHOWN:
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, pages / name)
    (pages / "reference.md").write_text(reference(), "utf-8")
    rows = []
    for page in sorted((pages / "decisions").glob("0*.md")):
        heading = page.read_text("utf-8").partition("\n")[0].removeprefix("# ")
        rows.append(f"- [{heading}]({page.name})")
    index = "# Decisions\n\nWhy it is built this way, one page each, with what was measured.\n\n" + "\n".join(rows)
    (pages / "decisions" / "index.md").write_text(index + "\n", "utf-8")
    for page in pages.rglob("*.md"):
        text = page.read_text("utf-8")
        text = re.sub(r"\]\(\.\./(" + "|".join(map(re.escape, (*BESIDE, *SHOWN))) + r")", r"](\1", text)
        text = re.sub(r"\]\(decisions/\)", "](decisions/index.md)", text)
        text = text.replace("](../docs/", "](../")  # those of examples
        page.write_text(re.sub(r"(?m)^(\S.*:?)\n(?=[-*] |\d\. )", _apart, text), "utf-8")


def _apart(found: re.Match[str]) -> str:
    """A list begins after a blank line here, which GitHub's Markdown does not ask for."""
    line = found[1]
    return line + ("\n" if re.match(r"[-*] |\d+\. |\||#", line) else "\n\n")


class Page(HTMLParser):
    """The links of a page, and the anchors in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value and tag != "base":
                self.links.append(value)


def broken(site: Path) -> list[str]:
    """Links of a site that lead to no page or no anchor of it."""
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            there = target in pages or target.exists()
            if not there or (
                parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors
            ):
                wrong.append(f"{path.relative_to(site)}: {link}")
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(wrong)} broken")
    return wrong


def unlisted(pages: Path) -> list[str]:
    """Pages that no entry of the navigation leads to."""
    text = (ROOT / "zensical.toml").read_text("utf-8")
    listed = set(re.findall(r'"([^"]+\.md)"', text))
    return sorted({page.name for page in pages.glob("*.md")} - listed)


def main(arguments: list[str]) -> None:
    gather(BUILD / "pages")
    if left_out := unlisted(BUILD / "pages"):
        sys.exit(f"zensical.toml does not list {', '.join(left_out)}")
    shutil.copy(ROOT / "zensical.toml", BUILD)
    subprocess.run([sys.executable, "-m", "zensical", "build", "--clean"], cwd=BUILD, check=True)
    static_workbench.build(BUILD / "site" / "workbench")
    if wrong := broken(BUILD / "site"):
        sys.exit("\n".join(wrong))
    print(f"the site is {BUILD / 'site' / 'index.html'}")
    if arguments[:1] == ["--serve"]:
        port = int(arguments[1]) if arguments[1:] else 8000
        serve = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(BUILD / "site"))
        with http.server.ThreadingHTTPServer(("127.0.0.1", port), serve) as server:
            print(f"http://127.0.0.1:{port}/")
            server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
