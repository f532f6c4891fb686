"""A short form of `make test-cluster`: workers are killed, or stand still too long, while many hosts are crawled."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sites import HANGS

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "cluster.py"


@pytest.mark.long
def test_no_page_is_lost_or_there_twice_and_no_host_asked_too_early_whatever_befalls_the_workers() -> None:
    size = {"CLUSTER_HOSTS": "24", "CLUSTER_PAGES": "8", "CLUSTER_BLOWS": "3", "CLUSTER_WORKERS": "2"}
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=HANGS, check=False, env=os.environ | size
    )
    told = {what: int(count) for count, what in re.findall(r"^ *(\d+)  (\S.*)$", done.stdout, re.MULTILINE)}
    told.pop("requests over a second after the order to stop", None)  # a matter of the machine; the proof looks, too
    assert told == {
        "pages lost": 0,
        "pages written twice": 0,
        "intervals too short": 0,
        "requests forbidden": 0,
        "findings of the proof": 0,
    }, done.stdout + done.stderr
