"""What runs on a forge: actions by commit, least rights, pinned build tools."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / "action.yml"]


@pytest.mark.skipif(not FILES[:-1], reason="not in a checkout")
def test_an_action_is_named_by_its_commit_and_the_version_that_has_it() -> None:
    used = [line for file in FILES for line in re.findall(r"uses:\s*(.*)", file.read_text("utf-8"))]
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


@pytest.mark.skipif(not FILES[:-1], reason="not in a checkout")
def test_a_workflow_has_no_right_but_those_that_a_job_names() -> None:
    for file in FILES[:-1]:
        text = file.read_text("utf-8")
        assert "\npermissions: {}\n" in text
        assert len(re.findall(r"^    permissions:$", text, re.MULTILINE)) == len(re.findall(r"runs-on:", text))
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")


@pytest.mark.skipif(not FILES[:-1], reason="not in a checkout")
def test_what_builds_a_release_is_pinned() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    tools = [tool for line in re.findall(r"pip install ([^\n&]*)", text) for tool in line.split()]
    assert tools
    assert [tool for tool in tools if "==" not in tool] == []
    locked = (ROOT / ".ci" / "lock.txt").read_text("utf-8")
    settings = tomllib.loads((ROOT / ".ci" / "cibuildwheel.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    assert settings["build-frontend"] == {"name": "build", "args": ["--no-isolation"]}  # or the newest are installed
    install, _, needed = settings["before-build"].partition(" {project}/.ci/lock.txt ")
    assert install == "pip install --constraint"
    for package in (ROOT, *(ROOT / "packages" / name for name in ("robots", "pages"))):
        required = tomllib.loads((package / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
        assert {re.split(r"\W", each)[0] for each in required} == {*needed.split()}
    assert all(re.search(rf"^{name.lower()}==", locked, re.MULTILINE) for name in needed.split())
