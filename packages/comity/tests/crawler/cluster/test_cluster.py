"""Short forms of `make test-cluster`: whatever befalls workers, commands and database while many hosts are crawled."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import missing
from postgres import programs
from sites import HANGS

BENCHMARKS = Path(__file__).parents[5] / "benchmarks"
NEVER = {"pages lost", "pages written twice", "intervals too short", "requests forbidden"}


def counted(script: str, *, hosts: int, pages: int, blows: int) -> dict[str, int]:
    """What went wrong, by a run of a program."""
    size = {"CLUSTER_HOSTS": str(hosts), "CLUSTER_PAGES": str(pages), "CLUSTER_BLOWS": str(blows)}
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / script)],
        capture_output=True,
        text=True,
        timeout=4 * HANGS,  # many starts of processes, one after the other
        check=False,
        env=os.environ | size | {"CLUSTER_WORKERS": "2"},
    )
    told = {what: int(count) for count, what in re.findall(r"^ *(\d+)  (\S.*)$", done.stdout, re.MULTILINE)}
    assert told.keys() >= NEVER, done.stdout + done.stderr
    return told


@pytest.mark.long
def test_no_page_is_lost_or_there_twice_and_no_host_asked_too_early_whatever_befalls_the_workers() -> None:
    told = counted("cluster.py", hosts=24, pages=8, blows=3)
    told.pop("requests over a second after the order to stop", None)  # a matter of the machine; the proof looks, too
    assert told == dict.fromkeys((*NEVER, "findings of the proof"), 0)


@pytest.mark.long
def test_nor_where_commands_in_a_store_are_killed_cut_off_from_it_and_the_database_is_restarted() -> None:
    if programs() is None:
        missing("PostgreSQL", "apt-get install postgresql")
    told = counted("cluster_store.py", hosts=16, pages=30, blows=5)
    assert told == dict.fromkeys(NEVER, 0)
