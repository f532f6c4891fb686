"""A crawl of something nobody here wrote: Python's own documentation, served by nginx, judged by nginx's own log."""

import json
import socket
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest
from commands import process
from sites import HANGS

DELAY = 0.02
FORBIDDEN = "/c-api/"
CONFIGURATION = r"""
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 64; }}
http {{
  types {{ text/html html; text/plain txt; text/css css; text/javascript js; image/png png; image/svg+xml svg; }}
  # Times in milliseconds: when the answer was done, how long it took, so when the request began.
  log_format times '$msec $request_time $status $request_uri';
  access_log {folder}/access.log times;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    root {root};
    location = /robots.txt {{
      default_type text/plain;
      return 200 "User-agent: *\nDisallow: {forbidden}\nDisallow: /_*\n";
    }}
    location = / {{ return 302 /index.html; }}
  }}
}}
"""


@pytest.mark.long
@pytest.mark.waits
def test_the_whole_documentation_is_crawled_politely(nginx: str, html_documentation: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "nginx.conf").write_text(
        CONFIGURATION.format(folder=tmp_path, port=port, root=html_documentation, forbidden=FORBIDDEN), encoding="utf-8"
    )
    with subprocess.Popen([nginx, "-c", str(tmp_path / "nginx.conf")], stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(port)
            started = time.monotonic()
            answer = process(
                *("crawl", f"http://127.0.0.1:{port}/index.html", "-o", str(tmp_path / "out"), "--json"),
                *("--delay", str(DELAY), "--allow-address", "127.0.0.0/8"),
            )
            took = time.monotonic() - started
        finally:
            server.terminate()
    summary = json.loads(answer.stdout)
    log = [line.split() for line in (tmp_path / "access.log").read_text().splitlines()]
    paths = [uri.partition("?")[0] for _, _, _, uri in log]
    assert not [path for path in paths if path.startswith((FORBIDDEN, "/_"))]
    begun = sorted(float(done) - float(lasted) for done, lasted, _, _ in log)
    least = min(later - earlier for earlier, later in pairwise(begun))
    # nginx keeps milliseconds: each of two times may be off by one.
    assert least >= DELAY - 0.002, least
    pages = {
        json.loads(line)["url"].partition(f":{port}")[2].partition("?")[0]
        for line in (tmp_path / "out" / "pages.jsonl").open(encoding="utf-8")
    }
    linked = {
        "/" + str(path.relative_to(html_documentation))
        for path in html_documentation.rglob("*.html")
        if not str(path.relative_to(html_documentation)).startswith(("c-api/", "_", "distutils/_"))
    }
    assert len(linked & pages) > 0.95 * len(linked), sorted(linked - pages)[:20]
    assert summary["refused"] > 50
    print(
        f"{summary['pages']} pages, {summary['refused']} refused, {summary['failed']} failed in {took:.1f} s;"
        f" nginx saw {len(log)} requests, none forbidden,"
        f" least interval {least * 1000:.0f} ms for a delay of {DELAY * 1000:.0f} ms"
    )


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + HANGS
    while time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("nginx did not start")
