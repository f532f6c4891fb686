"""The wheel, installed with nothing but what it declares, does what README promises; extras bring what they name."""

import json
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from wheels import ROOT, Installed, build, install, install_extra, once

from comity.cli.app import app
from comity.demo import serve
from comity.demo.server import DemoSite

pytestmark = pytest.mark.long

MOST_PACKAGES = 26
EXTRAS = tuple(
    each
    for each in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    if each != "all"  # tests/test_docs.py: it is all others
)

EVERY_MODULE = """
import importlib.util, json, pkgutil
import comity
told = {}
for found in pkgutil.walk_packages(comity.__path__, "comity."):
    if found.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(found.name)
        told[found.name] = ""
    except comity.errors.MissingExtra as error:
        told[found.name] = str(error)
    except ModuleNotFoundError as error:
        ours = error.name.startswith(("comity_pages.", "comity_robots."))
        if not ours and error.name.removeprefix("comity.") not in comity._compiled.MODULES:
            raise
        assert not importlib.util.find_spec(error.name), "of the compiled form, which this wheel has not"
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return next(once(tmp_path_factory, "wheel", build).glob("comity-*.whl"))


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(once(tmp_path_factory, "base", lambda folder: install(wheel, folder)))


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoSite]:
    with serve() as site:
        yield site


@pytest.fixture(scope="module")
def crawled(base: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds `out`, a crawl of the demo site made by the installed command; this process's own."""

    def crawl(folder: Path) -> None:
        ran = base.run("crawl", "--demo", "-o", "out", cwd=folder)
        assert ran.code == 2, ran.err  # some pages fail, as the demo site means them to
        assert "Traceback" not in ran.err
        assert ran.out.splitlines()[0].startswith("pages ")
        assert ran.err.count("modules are interpreted") == 1, "nobody asked for that here"

    made = once(tmp_path_factory, "crawled", crawl)
    folder = tmp_path_factory.mktemp("crawled") / "own"
    shutil.copytree(made, folder)
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /private\n")
    (folder / "expected.txt").write_text("* not /private\n")
    return folder


def test_the_base_install_is_small(base: Installed) -> None:
    print(len(base.packages), *base.packages)
    assert len(base.packages) <= MOST_PACKAGES


def test_every_module_imports_or_names_the_extra_that_it_needs(base: Installed, tmp_path: Path) -> None:
    ran = base.python(EVERY_MODULE, tmp_path)
    assert ran.code == 0, ran.err
    told: dict[str, str] = json.loads(ran.out)
    lacking = {module: why for module, why in told.items() if why}
    print(f"{len(told) - len(lacking)} modules import; {len(lacking)} need an extra:")
    for module, why in lacking.items():
        print(f"  {module:40} {why}")
        assert any(f"comity[{extra}]" in why for extra in EXTRAS), why
    assert {module.split(".")[1] for module in lacking} <= {"bulk", "mcp", "middleware"}


COMMANDS: dict[str, tuple[list[str], int, str]] = {
    "agents": ([], 0, "GPTBot"),
    "audit": (["--robots", "."], 64, "comity[bulk]"),
    "changes": (["out"], 66, "no refresh"),
    "check": (["{harbour}private/", "--json"], 0, '"verdict"'),
    "completion": (["bash"], 0, "comity"),
    "crawl": (["-o", "out", "--resume", "--delay", "0.2", "--allow-address", "127.0.0.0/8"], 2, "pages "),
    "diff": (["robots.txt", "robots.txt"], 0, ""),
    "explain": (["--robots", "robots.txt", "https://example.com/private/1"], 2, "line 2"),
    "export": (["out", "--to", "files", "-o", "copy"], 0, "files, "),
    "fetch": (["{harbour}"], 0, "# The harbour"),
    "frontier": (["out"], 0, " kept, "),
    "identity": (
        [
            "new",
            "bot",
            "--name",
            "A",
            "--page",
            "https://a.example/bot",
            "--contact",
            "a@a.example",
            "--purpose",
            "search",
        ],
        64,
        "comity[identity]",
    ),
    "inspect": (["{harbour}"], 0, "robots.txt"),
    "lint": (["robots.txt"], 0, ""),
    "man": (["check"], 0, "comity"),
    "mcp": ([], 64, "comity[mcp]"),
    "pages": (["out"], 0, '"url"'),
    "prove": (["out"], 0, "proved"),
    "report": (["out", "-o", "report.html"], 0, ""),
    "seal": (["out", "--identity", "bot"], 64, "comity identity new"),
    "serve": ([], 64, "comity[web]"),
    "settings": ([], 0, "agent"),
    "test": (["expected.txt"], 0, ""),
    "write": (["--block-training", "-o", "written.txt"], 0, "written.txt"),
    "why": (["out", "{harbour}"], 66, "not found"),
}


def test_no_command_is_forgotten() -> None:
    context = click.Context(app)
    commands = [app.get_command(context, name) for name in app.list_commands(context)]
    assert set(COMMANDS) == {command.name for command in commands if command is not None and not command.hidden}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works_after_a_bare_install(base: Installed, crawled: Path, demo: DemoSite, command: str) -> None:
    arguments, code, words = COMMANDS[command]
    ran = base.run(
        command,
        *(argument.format(harbour=demo.seeds[0]) for argument in arguments),
        cwd=crawled,
        COMITY_RESOLVE=json.dumps(demo.resolve),
        COMITY_ALLOW_ADDRESSES="127.0.0.0/8",
    )
    assert (ran.code, "Traceback" in ran.err) == (code, False), ran.out + ran.err
    assert words in ran.out + ran.err


def crawl_as(form: str) -> list[str]:
    return ["crawl", "--demo", "--max-pages", "5", "--format", form, "-o", "out"]


PROMISED = {  # extra -> a program that uses what it brings, or a command
    "dns": "import asyncio, comity\n"
    "async def main():\n"
    "    client = comity.AsyncClient(comity.Policy(agent='A/1'), comity.ClientSettings(nameservers=('127.0.0.1:9',)))\n"
    "    async with client:\n"
    "        await client.check('http://a.test/')\n"
    "asyncio.run(main())\n",
    "bulk": "import pyarrow as pa, comity.bulk\n"
    "robots = pa.table({'origin': ['https://a.example'], 'status': pa.array([200], pa.int32()), 'body': [b'']})\n"
    "assert len(comity.bulk.verdicts(pa.array(['https://a.example/']), robots, 'A/1')) == 1\n",
    "httpx": "import comity.middleware.httpx",
    "httpx2": "import comity.middleware.httpx",
    "retrieve": "import comity_pages.extraction",
    "identity": "import os, rfc3161_client\n"
    "from comity.signatures import SigningKey\n"
    "key = SigningKey(os.urandom(32))\n"
    "assert key.public.verifies(key.sign(b'words'), b'words')\n",
    "language": "import py3langid",
    "mcp": "import comity.mcp.server",
    "metrics": "import prometheus_client.core",
    "telemetry": "from comity.crawler.observe.telemetry import Telemetry; Telemetry().close()",
    "parquet": crawl_as("parquet"),
    "pdf": "import pypdfium2",
    "playwright": "import comity.middleware.playwright",
    "postgresql": "import psycopg, comity.frontier.postgresql.store",
    "ray": "import ray.util.client.worker, comity.crawler.cluster.on_ray",
    "remote": "import fsspec",
    "requests": "import comity.middleware.requests",
    "scrapy": "import comity.middleware.scrapy",
    "speed": "import deflate, isal.isal_zlib, orjson, uvloop",
    "warc": crawl_as("warc"),
    "web": "import comity, uvicorn\n"
    "from comity.web.app import build\n"
    "build(comity.Policy(agent='A/1'), comity.ClientSettings())\n",
    "zstd": [*crawl_as("jsonl"), "--compress", "zstd"],
}


LARGE = {"ray"}  # a hundred megabytes


@pytest.mark.parametrize(
    "extra", [pytest.param(extra, marks=pytest.mark.long if extra in LARGE else ()) for extra in EXTRAS]
)
def test_an_extra_brings_what_it_promises(wheel: Path, base: Installed, tmp_path: Path, extra: str) -> None:
    installed = install_extra(wheel, base, tmp_path / "env", extra)
    promise = PROMISED[extra]
    words = ["-c", promise] if isinstance(promise, str) else ["-m", "comity", *promise]
    ran = installed.run(*words, program="python", cwd=tmp_path)
    shutil.rmtree(tmp_path / "env")  # some are large
    assert "Traceback" not in ran.err, ran.err
    assert ran.code in ((0,) if isinstance(promise, str) else (0, 2)), ran.out + ran.err
