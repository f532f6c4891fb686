"""The workbench as files on any web server: no server of ours answers."""

import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wheels import once

DOCS = Path(__file__).parents[4] / "docs"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if shutil.which("npm") is None:
        pytest.skip("npm, which brings Pyodide, is not here")
    sys.path.insert(0, str(DOCS))
    try:
        import static_workbench
    finally:
        sys.path.remove(str(DOCS))
    # once for all who test: `npm ci` takes away what another one copies
    site = once(tmp_path_factory, "workbench", lambda folder: static_workbench.build(folder / "workbench"))
    serve = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/workbench/"
        server.shutdown()


@pytest.mark.long
def test_the_workbench_answers_in_the_browser_alone(chromium: Any, address: str) -> None:
    tab = chromium.new_page()
    asked: list[str] = []
    wrong: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.add_init_script(
        "addEventListener('unhandledrejection', () => { document.documentElement.dataset.ready = 'no' })"
    )
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]", timeout=400_000)
    assert not wrong
    tab.locator("#tab-urls").click()
    tab.evaluate(
        "text => { document.querySelector('robots-editor').value = text }",
        "User-agent: *\nDisallow: /日本/*x\nDisalow: /y\n",
    )
    tab.fill("#urls", "/日本/x\nhttps://EXAMPLE.com/x")
    tab.wait_for_selector("#why >> text=Googlebot may not fetch /日本/x", timeout=60_000)
    assert "other" not in tab.inner_text("#matrix")  # all dialects agree once a URL is written as it is sent
    tab.wait_for_selector("#findings li", state="attached", timeout=60_000)
    tab.fill("#urls", "http://[")
    tab.wait_for_selector("#matrix >> text=not a URL", timeout=60_000)
    assert not wrong
    assert all(url.startswith((address, "data:", "blob:")) for url in asked)
    tab.close()


@pytest.mark.long
def test_a_file_that_is_missing_is_told(chromium: Any, address: str) -> None:
    tab = chromium.new_page()
    tab.context.route("**/pyodide.mjs", lambda route: route.fulfill(status=404))
    tab.goto(address)
    tab.wait_for_selector("#error >> text=could not be started", timeout=60_000)
    tab.close()
