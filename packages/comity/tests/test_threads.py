"""What several threads ask at once is answered as it is to one; on a free-threaded Python without a lock of its own."""

import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import comity
from comity_pages import extraction
from comity_pages.signals.links import read_page

THREADS = 8
AGENTS = [f"Bot{number}/1.0" for number in range(20)]
URLS = [f"https://example.com/{section}/{page}.html?q={page}" for section in ("a", "b", "shop") for page in range(20)]
BODY = "\n".join(
    f"User-agent: Bot{number}\nDisallow: /a/{number}\nDisallow: /*q={number}$\nAllow: /shop/*.html\nCrawl-delay: 1"
    for number in range(20)
)
PARAGRAPHS = "".join(
    f"<h2>{n}</h2><p>The lamp {n} burns at night, <a href='/p{n}'>as always</a>.</p>" for n in range(50)
)
PAGE = f"<html><head><title>Lamps</title></head><body>{PARAGRAPHS}</body></html>"


def at_once(work: Callable[[], object]) -> list[object]:
    """What a function gives to each of several threads that begin together."""
    together = threading.Barrier(THREADS)

    def run(_: int) -> object:
        together.wait(60)
        return work()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # as many changes of thread as there can be, where there is a lock
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(run, range(THREADS)))
    finally:
        sys.setswitchinterval(before)


@pytest.mark.interpreted_long
@pytest.mark.both_forms
def test_one_file_answers_eight_threads_as_it_does_one() -> None:
    def answers(robots: comity.Robots) -> list[object]:
        return [
            (robots.allowed(url, agent), robots.explain(url, agent).why, robots.crawl_delay(agent))
            for agent in AGENTS
            for url in URLS[::7]
        ]

    expected = answers(comity.parse(BODY))
    for _ in range(5):
        shared = comity.parse(BODY)  # a new one: the first questions about it are asked by all threads
        assert all(told == expected for told in at_once(lambda shared=shared: answers(shared)))  # type: ignore[misc]


@pytest.mark.interpreted_long
@pytest.mark.both_forms
def test_eight_threads_read_pages_as_one_does() -> None:
    def read() -> object:
        page = extraction.read(PAGE, "https://example.com/")
        return read_page(PAGE.encode(), "https://example.com/", "text/html", []), page.markdown, page.metadata

    expected = repr(read())
    assert all(repr(told) == expected for told in at_once(read))


def test_importing_all_of_it_does_not_turn_the_lock_on_again() -> None:
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python always has its lock: python3.14t has not")
    code = (
        "import runpy, sys; from importlib import import_module; import comity._compiled as compiled\n"
        "[import_module('comity.' + name) for name in compiled.MODULES if not name.startswith('bulk')]\n"
        "print(sys._is_gil_enabled())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
