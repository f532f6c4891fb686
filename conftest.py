"""Fixtures shared by all tests: real servers on loopback, a clock that needs no waiting, what may be skipped."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from examples import ALL
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from clocks import FakeClock
    from pages import Page
    from postgres import Server
    from sites import Site

pytest_plugins = ["side_by_side"]
CORPUS = Path(__file__).parents[1] / "shared" / "corpus"

# How fast the machine is decides nothing: no deadline for an example, and none for making them up. Nor does chance in
# `make test`, where it would fail a change for what it did not touch: new examples are for `make test-long`, not in CI.
_ANY: Any = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("comity", **_ANY, max_examples=ALL // 5, derandomize=True)
settings.register_profile("thorough", **_ANY, max_examples=ALL, derandomize="CI" in os.environ)
settings.load_profile("comity")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Gzip data has the time in it: as a test's name it would differ between the processes that share the tests."""
    return argname if isinstance(val, bytes) and val.startswith(b"\x1f\x8b") else None


def missing(what: str, how: str) -> None:
    """Skip a test for want of something from outside, saying how to get it; a failure where all is required."""
    message = f"{what} is not here: {how}"
    if os.environ.get("COMITY_REQUIRE_ALL"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture
def site() -> "Iterator[Site]":
    """An empty web site on a loopback port."""
    from sites import Site

    with Site() as site:
        yield site


@pytest.fixture(scope="session", autouse=True)
def _browsers() -> Iterator[None]:
    """Ends those that tests share."""
    yield
    if "libraries" in sys.modules:
        sys.modules["libraries"].close()


@pytest.fixture
def clock() -> "FakeClock":
    from clocks import FakeClock

    return FakeClock()


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Real robots.txt files and questions about them, answered by Google's parser."""
    if not CORPUS.is_dir():
        missing("the corpus of robots.txt files", "it lies in shared/corpus beside the project")
    return CORPUS


@pytest.fixture(scope="session")
def nginx() -> str:
    """The path of the nginx program."""
    path = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if path is None:
        missing("nginx", "apt-get install nginx-light")
    assert path is not None
    return path


@pytest.fixture(scope="session")
def postgres() -> "Iterator[Server]":
    """A PostgreSQL server."""
    from postgres import programs, serve

    bin_ = programs()
    if bin_ is None:
        missing("PostgreSQL", "apt-get install postgresql")
        raise AssertionError
    if importlib.util.find_spec("psycopg") is None:
        missing("psycopg", "pip install 'comity[postgresql]'")
    with serve(bin_) as server:
        yield server


@pytest.fixture(scope="session")
def html_documentation() -> Path:
    """A large tree of HTML that nobody here wrote."""
    for path in (Path("/usr/share/doc/python3.11/html"), Path("/usr/share/doc/python3/html")):
        if (path / "index.html").exists():
            return path.resolve()
    missing("Python's HTML documentation", "apt-get install python3.11-doc")
    raise AssertionError


@pytest.fixture(scope="module")
def chromium() -> "Iterator[Any]":
    """A browser for pages of ours."""
    from libraries import shell
    from playwright.sync_api import sync_playwright
    from sites import HANGS

    def patient(**options: Any) -> Any:
        context = new_context(**options)
        context.set_default_timeout(HANGS * 1000)  # of its own it takes 30 seconds for too long
        return context

    with sync_playwright() as playwright:
        browser: Any = playwright.chromium.launch(executable_path=shell(), args=["--no-sandbox"])
        new_context = browser.new_context
        browser.new_context, browser.new_page = patient, lambda **options: patient(**options).new_page()
        yield browser
        browser.close()


@pytest.fixture
def page() -> "Iterator[Page]":
    """The workbench."""
    from pages import Page

    with Page() as served:
        yield served
