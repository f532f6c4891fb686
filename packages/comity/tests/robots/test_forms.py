"""The engine's two forms, and columns beside the policy, give the same answers."""

import subprocess
import sys
from pathlib import Path

import pytest

from comity_robots import engine

SCRIPT = Path(__file__).parents[4] / "fuzz" / "compare_forms.py"


@pytest.mark.parametrize("questions", [1_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_reference_and_fast_form_and_columns_and_policy_agree(questions: int) -> None:
    if not engine.COMPILED:
        pytest.skip("the fast form is not built here")
    pytest.importorskip("pyarrow")
    words = [sys.executable, str(SCRIPT), "--questions", str(questions), "--seed", "7"]
    asked = subprocess.run(words, capture_output=True, text=True, check=False, timeout=1200)
    assert asked.returncode == 0, asked.stdout[-3000:] + asked.stderr[-3000:]
    assert asked.stdout.count(" 0 different") == 2
