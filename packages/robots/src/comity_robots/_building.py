"""How each package is built: its modules that Cython compiles where a C compiler is present.

COMITY_NO_EXTENSIONS=1 installs the interpreted modules only. COMITY_REQUIRE_EXTENSIONS=1 makes a failed build an
error; without it a failed build leaves a working, interpreted package behind, and says so; its wheel has the name of
one for every platform (`py3-none-any`), not of a compiled one.
"""

import itertools
import json
import os
import re
import runpy
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

forbidden = os.environ.get("COMITY_NO_EXTENSIONS", "") not in ("", "0")
required = os.environ.get("COMITY_REQUIRE_EXTENSIONS", "") not in ("", "0")
if forbidden and required:
    raise SystemExit("COMITY_NO_EXTENSIONS and COMITY_REQUIRE_EXTENSIONS contradict each other: set one of them")


def flags(name: str, quickly: tuple[str, ...]) -> list[str]:
    """How a module is compiled: without what a debugger would want, a quarter of the build, and those of `quickly`,
    which are as fast at -O1, in half the time. What sanitizers are built in (`make sanitize`) tells where it is.
    """
    if "-fsanitize" in os.environ.get("CFLAGS", ""):
        return ["-g1", "-O1"]
    # Cython declares PyType_GenericAlloc with the wrong type, for GCC 14 an error.
    quiet = ["-Wno-unused-function", "-Wno-incompatible-pointer-types"]
    return ["-g0", *quiet, "-O1" if name.startswith(quickly) else "-O3"]


def source(sources: str, package: str, name: str) -> str:
    """The file of a module: `.pyx` where it is written for the compiler only."""
    path = Path(sources, package, *name.split("."))
    return str(next(each for each in (path.with_suffix(".pyx"), path.with_suffix(".py")) if each.exists()))


def extensions(package: str, sources: str, quickly: tuple[str, ...], declarations: str) -> list[Extension]:
    """The compiled modules of a package, as C.

    What Cython adds for typed views, 20,000 lines of C, is a module of its own where several have them, not in each.
    """
    names = runpy.run_path(f"{sources}/{package}/_compiled.py")["MODULES"]
    if forbidden:
        return []
    from Cython.Build import cythonize

    if "build_ext" in sys.argv:
        print(f"Translating {len(names)} modules of {package} to C", flush=True)
    files = {name: [source(sources, package, name)] for name in names}
    with_views = {name: file for name, file in files.items() if "[::1]" in Path(file[0]).read_text("utf-8")}
    shared = len(with_views) > 1
    if shared:
        with_views["_shared"] = []

    def translated(files: dict[str, list[str]], views_from: str | None) -> list[Extension]:
        return cythonize(  # type: ignore[no-any-return]
            [
                Extension(
                    f"{package}.{name}",
                    file,
                    extra_compile_args=[] if os.name == "nt" else flags(name, ("_shared", *quickly)),
                )
                for name, file in files.items()
            ],
            shared_utility_qualified_name=views_from,
            build_dir="build/cython",
            include_path=[declarations],
            quiet=True,
            nthreads=os.cpu_count() or 1,
            # Nothing here needs the interpreter's lock: without this, Python 3.14t would turn it on again at import.
            compiler_directives={"language_level": "3", "freethreading_compatible": True},
        )

    without_views = {name: file for name, file in files.items() if name not in with_views}
    made = translated(without_views, None) + translated(with_views, f"{package}._shared" if shared else None)
    # the largest first, so that no processor is left alone with one at the end
    made.sort(key=lambda extension: Path(extension.sources[0]).stat().st_size, reverse=True)
    for extension in made:  # cythonize forgets this one when it is set above
        extension.optional = not required
    return made


class BuildModules(build_ext):
    """Names each module as its compiling begins, for it takes a while, and says once what was not compiled."""

    def build_extension(self, ext: Extension) -> None:
        path = self.get_ext_fullpath(ext.name)
        if self.force or not Path(path).exists() or Path(path).stat().st_mtime < Path(ext.sources[0]).stat().st_mtime:
            print(f"Compiling {next(self.counted)} of {len(self.extensions)}: {ext.name}", flush=True)
        super().build_extension(ext)

    def run(self) -> None:
        self.counted = itertools.count(1)
        super().run()
        there = [Path(self.get_ext_fullpath(each.name)).exists() for each in self.extensions]
        if self.extensions and not any(there):
            self.distribution.ext_modules = []
        if not all(there):
            what = "some modules" if any(there) else "the modules"
            print(f"comity: {what} could not be compiled, and are installed in their interpreted form, which is slower")


def described() -> str:
    """README as an index shows it, where no file lies beside it: links lead to the repository, at this version.

    As long as the metadata names no repository (`Source`), a link is its words, and pictures are left out.
    """
    text = Path("README.md").read_text("utf-8")
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    source = project.get("urls", {}).get("Source")
    if source is None:
        text = re.sub(r"!\[[^]]*\]\((?!https?:)[^)]*\)\n*", "", text)
        return re.sub(r"\[([^]]*)\]\((?!https?:|#)[^)]*\)", r"\1", text)
    return re.sub(r"\]\((?!https?:|#)([^)]*)\)", rf"]({source}/blob/v{project['version']}/\1?raw=true)", text)


def materials(compiled: bool) -> dict[str, object]:
    """What a wheel is made of, in CycloneDX: its package, and Cython's runtime where modules are compiled with it.

    The libraries that it needs are not in it: its metadata names them.
    """
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]

    def component(name: str, version: str, licence: str, kind: str) -> dict[str, object]:
        purl, licences = f"pkg:pypi/{name}@{version}", [{"license": {"id": licence}}]
        known = {"bom-ref": purl, "type": kind, "name": name, "version": version}
        return {**known, "licenses": licences, "purl": purl}

    own = component(project["name"], project["version"], project["license"], "library")
    parts = []
    if compiled:
        from Cython import __version__ as cython

        parts.append(component("cython", cython, "Apache-2.0", "library"))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": parts,
        "dependencies": [
            {"ref": own["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]},
            *({"ref": part["bom-ref"]} for part in parts),
        ],
    }


class Wheel(bdist_wheel):
    """One without compiled modules is named for what it is; each says what it is made of (PEP 770)."""

    def write_wheelfile(self, wheelfile_base: str, *given: str, **named: str) -> None:
        super().write_wheelfile(wheelfile_base, *given, **named)
        folder = Path(wheelfile_base) / "sboms"
        folder.mkdir(exist_ok=True)
        made_of = json.dumps(materials(not self.root_is_pure), indent=1) + "\n"
        (folder / f"{self.distribution.get_name()}.cdx.json").write_text(made_of, "utf-8")

    def run_command(self, command: str) -> None:
        super().run_command(command)
        self.root_is_pure = not self.distribution.has_ext_modules()


def build(package: str, sources: str = "src", *, quickly: tuple[str, ...] = ()) -> None:
    """Run setuptools for the package whose folder this is run in.

    Args:
        sources: the folder that holds the package.
        quickly: how the names of modules begin that need not be compiled for speed.
    """
    setup(
        long_description=described(),
        long_description_content_type="text/markdown",
        ext_modules=extensions(package, sources, quickly, str(Path(__file__).parents[1])),
        cmdclass={"bdist_wheel": Wheel, "build_ext": BuildModules},
        options={"build_ext": {"parallel": os.cpu_count() or 1}},
    )
