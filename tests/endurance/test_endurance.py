"""Short forms of `make test-kills`, `test-cluster`, `test-tampering` and `soak`: whatever befalls a crawl, its workers,
commands and database, or its evidence afterwards."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import missing
from postgres import programs
from sites import HANGS

HERE = Path(__file__).parent
SOAKED = 300  # hosts
OTHER_FILES = 100  # the frontier's, the output's, the loop's own
NEVER = {"pages lost", "pages written twice", "intervals too short", "requests forbidden"}


def counted(script: str, *, hosts: int, pages: int, blows: int) -> dict[str, int]:
    """What went wrong, by a run of a program."""
    size = {"CLUSTER_HOSTS": str(hosts), "CLUSTER_PAGES": str(pages), "CLUSTER_BLOWS": str(blows)}
    done = subprocess.run(
        [sys.executable, str(HERE / script)],
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


@pytest.mark.long
def test_nothing_is_lost_or_there_twice_where_the_command_is_killed_again_and_again() -> None:
    words = [sys.executable, str(HERE / "kills.py"), "--kills", "3"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=2 * HANGS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\ndefects: 0\n" in done.stdout


@pytest.mark.long
def test_a_proof_finds_each_way_of_tampering_with_the_evidence() -> None:
    words = [sys.executable, str(HERE / "tampering.py")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=4 * HANGS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\nnot found or not named: 0\n" in done.stdout


@pytest.mark.long
@pytest.mark.waits
def test_a_crawl_among_slow_and_failing_hosts_stays_within_bounds() -> None:
    pytest.importorskip("uvloop")
    if not Path("/proc/self/statm").exists():
        pytest.skip("what a process has in memory is read in /proc")
    words = ("--hosts", str(SOAKED), "--seconds", "120", "--rate", "30", "--json")
    ran = subprocess.run([sys.executable, str(HERE / "soak.py"), *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["answers"] > SOAKED, "each host that answers at all was asked"
    assert found["most_descriptors"] < SOAKED + OTHER_FILES
    assert found["most_journal"] < 100  # MB
    assert found["most_memory"] < 600  # MB: twice what a crawl of such pages may take
