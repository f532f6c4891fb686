"""Chunks of real pages: nothing is lost, nothing is there twice, and Chromium finds each by its text fragment.

    python benchmarks/chunks.py PAGES [--number N] [--tokens N] [--all]

PAGES holds `html/ID.html.gz` and `truth.jsonl.gz`. Scripts are off and nothing but the page itself is loaded.
"""

import argparse
import base64
import contextlib
import gzip
import json
import random
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

from playwright.sync_api import Page, sync_playwright

from comity_pages.extraction import ExtractedPage, read
from comity_pages.pieces import Chunk

_ARGUMENTS = ["--no-sandbox", "--blink-settings=imagesEnabled=false"]  # images that fail move what stands below them
_ABOVE = 30_000  # pixels put above a page: who is led to a passage has scrolled past them
_BEFORE = (
    "<style>*{scroll-behavior:auto !important} ::target-text{background:#01fe03 !important}</style>"
    f"<div style='height:{_ABOVE}px !important'></div>"
)
_IS_MARKED = """async (shot) => {  // whether a picture of the window has the colour of what the browser was led to
  const picture = await createImageBitmap(new Blob([Uint8Array.from(atob(shot), each => each.charCodeAt(0))]));
  const canvas = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
  canvas.drawImage(picture, 0, 0);
  const {data} = canvas.getImageData(0, 0, picture.width, picture.height);
  for (let at = 0; at < data.length; at += 4)
    if (data[at] === 1 && data[at + 1] === 254 && data[at + 2] === 3) return true;
  return false;
}"""
_SHOWN = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); const seen = [];
  while (walker.nextNode()) {
    const range = document.createRange(); range.selectNodeContents(walker.currentNode);
    for (const box of range.getClientRects())
      if (box.bottom > -_NEAR && box.top < innerHeight + _NEAR) { seen.push(walker.currentNode.data); break; }
  }
  return [scrollY, seen.join(" ")];
}""".replace("_NEAR", "300")  # pixels that images may move a page by after it was scrolled


def letters(text: str) -> str:
    return "".join(re.findall(r"[^\W_]+", text.lower()))


def pages(folder: Path, number: int, seed: int) -> list[tuple[str, str, str]]:
    with gzip.open(folder / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    chosen = random.Random(seed).sample(rows, min(number, len(rows)))
    found = []
    for row in chosen:
        html = gzip.decompress((folder / "html" / f"{row['id']}.html.gz").read_bytes()).decode("utf-8", "replace")
        found.append((row["id"], row["type"], html))
    return found


def lost_or_twice(page: ExtractedPage, chunks: tuple[Chunk, ...]) -> list[str]:
    """What is wrong with how chunks lie on the page."""
    wrong, at = [], 0
    for chunk in chunks:
        if chunk.start < at:
            wrong.append(f"twice: {page.markdown[chunk.start : at]!r:.80}")
        elif page.markdown[at : chunk.start].strip():
            wrong.append(f"lost: {page.markdown[at : chunk.start]!r:.80}")
        missing = [
            line for line in page.markdown[chunk.start : chunk.end].split("\n") if line.strip() not in chunk.text
        ]
        wrong += [f"not in the text: {line!r:.80}" for line in missing]
        at = chunk.end
    return [*wrong, f"lost: {page.markdown[at:]!r:.80}"] if page.markdown[at:].strip() else wrong


def is_found(tab: Page, url: str) -> bool:
    """Whether the browser shows the words of a URL's text fragment after it went there: it scrolled to them, or marks
    them where they stand over the page.
    """
    place, _, words = url.partition(":~:text=")
    tab.goto("about:blank")
    tab.goto(f"{place.partition('#')[0]}#:~:text={words}", wait_until="load")
    for tried in range(300):
        scrolled, shown = tab.evaluate(_SHOWN)
        if letters(unquote(words)) in letters(shown) and (
            scrolled > _ABOVE / 2
            or (tried % 100 == 99 and tab.evaluate(_IS_MARKED, base64.b64encode(tab.screenshot()).decode()))
        ):
            return True
        tab.wait_for_timeout(30)
    return False


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("pages", type=Path)
    given.add_argument("--number", type=int, default=50)
    given.add_argument("--tokens", type=int, default=300)
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--most", type=int, default=15, help="chunks of a page that the browser is asked for")
    options = given.parse_args()
    served: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = served.get(self.path, b"")
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            with contextlib.suppress(OSError):  # the browser has gone on
                self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}"
    asked = found = number = wrong = without = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=_ARGUMENTS)
        context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 800})
        context.route("**/*", lambda route: route.continue_() if route.request.url.startswith(root) else route.abort())
        for name, kind, html in pages(options.pages, options.number, options.seed):
            page = read(html, f"{root}/{name}")
            chunks = page.chunks(options.tokens)
            if not chunks:
                continue
            number += 1
            faults = lost_or_twice(page, chunks)
            wrong += bool(faults)
            served[f"/{name}"] = re.sub(r"(<body[^>]*>)", rf"\1{_BEFORE}", html, count=1, flags=re.I).encode()
            tab = context.new_page()
            tab.set_default_timeout(120_000)  # a busy machine
            for chunk in chunks[:: -(-len(chunks) // options.most)]:
                if ":~:" not in chunk.url:
                    without += 1
                    continue
                asked += 1
                if is_found(tab, chunk.url):
                    found += 1
                else:
                    faults.append(f"not found: {unquote(chunk.url.partition(':~:text=')[2])!r} in {chunk.text!r:.60}")
            tab.close()
            for fault in faults:
                print(f"  {name} {kind}: {fault}")
        browser.close()
    server.shutdown()
    print(f"pages {number}, with text lost or twice {wrong}; chunks without words {without}")
    print(f"fragments {asked}, found {found} ({found / asked:.1%})")


if __name__ == "__main__":
    main()
