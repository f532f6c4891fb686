"""What rendering only shells saves and misses, on a site of three kinds in equal parts: articles as they are served,
articles that a script adds comments to, and shells that scripts fill.

    python benchmarks/render_auto.py [--pages 30]
"""

import argparse
import asyncio
import json
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from comity.crawler import Crawler, CrawlSettings
from comity.policy import Policy

STORY = f"<p>{'The keeper of the lamps goes round each evening and fills them with oil. ' * 30}</p>"
ADDED = "A reader's words that a script put there. " * 5
SCRIPT = f"<script>document.body.insertAdjacentHTML('beforeend', {json.dumps(f'<p>{ADDED}</p>')})</script>"


def page(number: int, pages: int) -> str:
    links = "".join(f'<a href="/{each}">{each}</a> ' for each in range(pages)) if not number else ""
    article = f"<title>Page {number}</title><body><main><h1>Page {number}</h1>{STORY}</main>{links}"
    shell = f"<title>Page {number}</title><body><div id=root></div>{SCRIPT}"
    return (article + "<script>1</script>", article + SCRIPT, shell)[number % 3]


class Handler(BaseHTTPRequestHandler):
    pages = 30

    def do_GET(self) -> None:
        number = self.path.strip("/") or "0"
        self.send_response(200 if number.isdigit() else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page(int(number), self.pages).encode() if number.isdigit() else b"")

    def log_message(self, *_: object) -> None: ...


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--pages", type=int, default=30)
    Handler.pages = given.parse_args().pages
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    policy = Policy(agent="bench/1.0", min_interval=0, allow_addresses=("127.0.0.0/8",))
    for name, more in (
        ("no rendering", {}),
        ("all", {"render": True}),
        ("auto", {"render": True, "render_auto": True}),
    ):
        with tempfile.TemporaryDirectory() as folder:
            settings = CrawlSettings(sitemaps=False, **more)  # type: ignore[arg-type]
            begun = time.monotonic()
            seed = f"http://127.0.0.1:{server.server_port}/0"
            asyncio.run(Crawler([seed], Path(folder), policy=policy, settings=settings).run())
            seconds = time.monotonic() - begun
            lines = (Path(folder) / "pages.jsonl").read_text().splitlines()
            bodies = [json.loads(line)["body"] for line in lines]
        scripts = sum("A reader" in body for body in bodies)
        there = sum(body.count("A reader") > 5 for body in bodies)  # five stand in the script
        print(
            f"{name:13} {len(bodies)} pages in {seconds:.1f} s; {there} of {scripts} have what their scripts put there"
        )
    server.shutdown()


if __name__ == "__main__":
    main()
