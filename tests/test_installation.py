"""The package installs and works with a C compiler, without one, and says so when one is demanded."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from zipfile import ZipFile

import pytest
from examples import first_of

from comity.cli.crawling import INTERPRETED

ROOT = Path(__file__).parents[1]
ROBOTS = Path("packages", "robots")
PAGES = Path("packages", "pages")
ONE = {
    ROBOTS / "src" / "comity_robots": ("plain_urls",),
    PAGES / "src" / "comity_pages": ("_utf8",),
    Path("packages", "comity", "src", "comity"): ("frontier.sqlite._words",),
}  # compiled in seconds


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with one module each that is compiled: all are when `.ci/newcomer` installs them."""
    copy = tmp_path_factory.mktemp("sources") / "tree"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
    for folder in (Path(), PAGES, ROBOTS):
        for name in ("setup.py", "pyproject.toml"):  # as they are now, committed or not
            (copy / folder / name).write_bytes((ROOT / folder / name).read_bytes())
    building = ROBOTS / "src" / "comity_robots" / "_building.py"
    (copy / building).write_bytes((ROOT / building).read_bytes())
    for package, modules in ONE.items():
        listed = copy / package / "_compiled.py"
        text, replaced = re.subn(
            r"(?s)(^MODULES[^=]*= )\([^)]*\)", rf"\g<1>{modules!r}", listed.read_text(), flags=re.M
        )
        assert replaced == 1
        listed.write_text(text)
    return copy


def build(tree: Path, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build comity-robots without installing it. Of another build in the same tree only the C code is taken."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COMITY_")}
    return subprocess.run(
        [
            *(sys.executable, "setup.py", "--quiet", "build"),
            *("--build-lib", str(tmp_path / "built"), "--build-temp", str(tmp_path / "objects")),
        ],
        cwd=tree / ROBOTS,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )


PROBE = """
import sys
sys.modules["cython"] = None  # as where Cython is not installed
sys.path.insert(0, sys.argv[1])
import comity_robots
from comity_robots._forms import engine
assert comity_robots.__file__.startswith(sys.argv[1]), comity_robots.__file__
robots = comity_robots.parse("User-agent: *\\nDisallow: /x*y$")
assert [robots.allowed(path, "a") for path in ("/xy", "/xyz", "/xay", "/xay")] == [False, True, False, False]
print(engine())
"""


def version(tmp_path: Path) -> str:
    """Which form the built package runs, once it has shown that it works."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COMITY_")}
    return subprocess.run(
        [sys.executable, "-c", PROBE, str(tmp_path / "built")],
        capture_output=True,
        text=True,
        check=True,
        env=clean,
        cwd=tmp_path,
    ).stdout.strip()


@pytest.fixture(scope="module", autouse=True)
def _needs_build_tools() -> None:
    pytest.importorskip("Cython", reason="Cython is not here: pip install Cython")
    pytest.importorskip("setuptools", reason="setuptools is not here: pip install setuptools")
    if not (ROOT / ".git").exists():
        pytest.skip("the sources are not a git checkout")


def test_without_a_compiler_the_interpreted_modules_are_installed_and_work(tree: Path, tmp_path: Path) -> None:
    built = build(tree, tmp_path, CC="/bin/false")
    assert built.returncode == 0, built.stderr
    assert built.stdout.count("installed in their interpreted form") == 1, "it says so, once"
    assert version(tmp_path) == "interpreted"


@pytest.mark.parametrize(("compiler", "pure"), first_of(({"CC": "/bin/false"}, True), ({}, False), now=1))
def test_a_wheel_without_compiled_modules_has_a_name_of_its_own(
    compiler: dict[str, str], pure: bool, tree: Path, tmp_path: Path
) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COMITY_")}
    words = ("bdist_wheel", "--dist-dir", tmp_path, "--bdist-dir", tmp_path / "wheel")
    build = ("build", "--build-lib", tmp_path / "built", "--build-temp", tmp_path / "objects")
    subprocess.run(
        [sys.executable, "setup.py", "--quiet", *build, *words],
        cwd=tree / ROBOTS, env=clean | compiler, capture_output=True, check=True, timeout=1200,
    )  # fmt: skip
    (made,) = tmp_path.glob("comity_robots-*.whl")
    with ZipFile(made) as archive:
        names = archive.namelist()
        (about,) = (archive.read(name).decode() for name in names if name.endswith("/WHEEL"))
    if not pure and not any(name.endswith(".so") for name in names):
        pytest.skip("no C compiler here: apt-get install gcc python3-dev")
    assert made.name.endswith("-py3-none-any.whl") == pure
    assert (f"Root-Is-Purelib: {str(pure).lower()}" in about, "comity_robots/__init__.py" in names) == (True, True)


@pytest.mark.long
def test_the_source_distribution_holds_what_the_repository_holds(tree: Path, tmp_path: Path) -> None:
    for name in ("MANIFEST.in", "README.md"):
        (tree / name).write_bytes((ROOT / name).read_bytes())
    environment = {**os.environ, "COMITY_NO_EXTENSIONS": "1", "COMITY_REQUIRE_EXTENSIONS": ""}
    subprocess.run(
        [sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(tmp_path)],
        cwd=tree, env=environment, capture_output=True, check=True, timeout=600,
    )  # fmt: skip
    (made,) = tmp_path.glob("comity-*.tar.gz")
    with tarfile.open(made) as archive:
        there = {name.partition("/")[2] for name in archive.getnames()}
        (about,) = (name for name in archive.getnames() if name.endswith("0/PKG-INFO"))
        description = archive.extractfile(about).read().decode()  # type: ignore[union-attr]
    listed = subprocess.run(["git", "ls-files"], cwd=tree, capture_output=True, text=True, check=True).stdout
    assert set(listed.splitlines()) - there == set()
    assert not [name for name in there if name.endswith((".so", ".pyc"))]
    assert "Description-Content-Type: text/markdown" in description
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", description) == [], "an index has no file beside it"


@pytest.mark.long
def test_with_a_compiler_the_compiled_modules_are_installed(tree: Path, tmp_path: Path) -> None:
    built = build(tree, tmp_path, COMITY_REQUIRE_EXTENSIONS="1")
    if built.returncode and not os.environ.get("COMITY_REQUIRE_EXTENSIONS"):
        pytest.skip("no C compiler here: apt-get install gcc python3-dev")
    assert built.returncode == 0, built.stderr
    assert version(tmp_path) == "compiled"
    code = next(tree.glob("packages/robots/build/cython/**/*.c"))
    assert "Py_MOD_GIL_NOT_USED" in code.read_text(encoding="utf-8"), "a free-threaded Python would lock for it"
    (module,) = tmp_path.glob("built/comity_robots/plain_urls.*.so")
    assert b".debug_info" not in module.read_bytes()  # a quarter of the build


@pytest.mark.long
def test_what_is_said_of_interpreted_modules_leads_to_compiled_ones_though_pip_has_kept_their_wheel(
    tree: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pip", reason="pip is not here")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("COMITY_", "PIP_"))}
    for name, folder in (("comity", tree), ("comity-pages", tree / PAGES), ("comity-robots", tree / ROBOTS)):
        subprocess.run(
            [sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(tmp_path / "index" / name)],
            cwd=folder, env=clean | {"COMITY_NO_EXTENSIONS": "1"}, capture_output=True, check=True, timeout=600,
        )  # fmt: skip
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "index"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        where = clean | {
            "PIP_INDEX_URL": f"http://127.0.0.1:{server.server_port}/",
            "PIP_CACHE_DIR": str(tmp_path / "cache"),
            "PIP_NO_BUILD_ISOLATION": "0",  # which means that there is none
            "PIP_NO_DEPS": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

        def form(words: str, target: str, **environment: str) -> str:
            """Which form a folder has after pip was told this."""
            given = ("--target", str(tmp_path / target), "--ignore-installed") if "install" in words else ()
            subprocess.run(
                [sys.executable, "-m", *words.split(), *given],
                env=where | environment, capture_output=True, check=True, timeout=1200,
            )  # fmt: skip
            names = ("comity/frontier/sqlite/_words", "comity_pages/_utf8", "comity_robots/plain_urls")
            there = {bool(list(tmp_path.glob(f"{target}/{name}.*.so"))) for name in names}
            assert len(there) == 1, "all packages, or none"
            return "compiled" if there == {True} else "interpreted"

        try:
            assert form("pip install comity comity-pages comity-robots", "before", CC="/bin/false") == "interpreted"
            if form("pip install --no-cache-dir comity comity-pages comity-robots", "with") == "interpreted":
                pytest.skip("no C compiler here: apt-get install gcc python3-dev")
            assert form("pip install comity comity-pages comity-robots", "kept") == "interpreted", (
                "pip takes what it has kept"
            )
            said = re.search(r"with one: (.*?) && (.*?);", INTERPRETED)
            assert said is not None
            form(said[1], "way")
            assert form(said[2], "way") == "compiled"
            assert form("pip install comity comity-pages comity-robots", "after") == "compiled", (
                "so is what it keeps from now on"
            )
        finally:
            server.shutdown()


def test_a_demanded_compiler_that_is_missing_is_an_error(tree: Path, tmp_path: Path) -> None:
    assert build(tree, tmp_path, CC="/bin/false", COMITY_REQUIRE_EXTENSIONS="1").returncode != 0


def test_extensions_may_be_forbidden(tree: Path, tmp_path: Path) -> None:
    assert build(tree, tmp_path, COMITY_NO_EXTENSIONS="1").returncode == 0
    assert version(tmp_path) == "interpreted"


def test_forbidding_and_demanding_contradict_each_other(tree: Path, tmp_path: Path) -> None:
    built = build(tree, tmp_path, COMITY_NO_EXTENSIONS="1", COMITY_REQUIRE_EXTENSIONS="1")
    assert built.returncode != 0
    assert "contradict" in built.stderr


def test_a_module_compiled_from_an_earlier_source_is_told_of(tmp_path: Path) -> None:
    copy = shutil.copytree(
        ROOT / "packages" / "pages" / "src" / "comity_pages",
        tmp_path / "comity_pages",
        ignore=shutil.ignore_patterns("*.so", "*.c"),
    )
    (copy / f"urls{EXTENSION_SUFFIXES[0]}").touch()
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import comity; comity.Policy"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COMITY_")}
    ran = subprocess.run([sys.executable, "-c", code], env=clean, capture_output=True, text=True, check=False)
    assert ran.stderr.rstrip().endswith(
        "was built from an earlier version of its source: build again (pip install -e .), or set COMITY_NO_EXTENSIONS=1"
    )
