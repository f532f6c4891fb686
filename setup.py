"""Builds the compiled modules: ordinary `.py` files that Cython compiles where a C compiler is present.

COMITY_NO_EXTENSIONS=1 installs the interpreted modules only. COMITY_REQUIRE_EXTENSIONS=1 makes a failed build an
error; without it a failed build leaves a working, interpreted package behind.
"""

import os
import runpy
from pathlib import Path

from setuptools import Extension, setup

COMPILED = runpy.run_path("src/comity/_compiled.py")["MODULES"]

forbidden = os.environ.get("COMITY_NO_EXTENSIONS", "") not in ("", "0")
required = os.environ.get("COMITY_REQUIRE_EXTENSIONS", "") not in ("", "0")
if forbidden and required:
    raise SystemExit("COMITY_NO_EXTENSIONS and COMITY_REQUIRE_EXTENSIONS contradict each other: set one of them")


def flags(name: str) -> list[str]:
    """How a module is compiled: without what a debugger would want, a quarter of the build, and those of `retrieve`
    as fast at -O1, which takes half as long.
    """
    return ["-g0", "-O1" if name.startswith("retrieve.") else "-O3"]


extensions: list[Extension] = []
if COMPILED and not forbidden:
    from Cython.Build import cythonize

    extensions = cythonize(
        [
            Extension(
                f"comity.{name}",
                [f"src/comity/{name.replace('.', '/')}.py"],
                extra_compile_args=[] if os.name == "nt" else flags(name),
            )
            for name in COMPILED
        ],
        build_dir="build/cython",
        nthreads=os.cpu_count() or 1,
        compiler_directives={"language_level": "3"},
    )
    # the largest first, so that no processor is left alone with one at the end
    extensions.sort(key=lambda extension: Path(extension.sources[0]).stat().st_size, reverse=True)
    for extension in extensions:  # cythonize forgets this one when it is set above
        extension.optional = not required

setup(ext_modules=extensions, options={"build_ext": {"parallel": os.cpu_count() or 1}})
