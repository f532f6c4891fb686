"""setuptools as the build's backend. Away from the repository, the build needs what comity-robots declares."""

from pathlib import Path
from typing import Any

from setuptools.build_meta import *  # noqa: F403


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return [] if Path("../robots/src").is_dir() else ["comity-robots==0.1.0"]


get_requires_for_build_editable = get_requires_for_build_wheel
