"""Two minutes among slow and failing hosts: what must stay bounded does, whatever the machine is busy with."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[4] / "benchmarks" / "soak.py"
HOSTS = 300
OTHER_FILES = 100  # the frontier's, the output's, the loop's own


@pytest.mark.long
@pytest.mark.waits
def test_a_crawl_among_slow_and_failing_hosts_stays_within_bounds() -> None:
    pytest.importorskip("uvloop")
    if not Path("/proc/self/statm").exists():
        pytest.skip("what a process has in memory is read in /proc")
    words = ("--hosts", str(HOSTS), "--seconds", "120", "--rate", "30", "--json")
    ran = subprocess.run([sys.executable, str(SOAK), *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["answers"] > HOSTS, "each host that answers at all was asked"
    assert found["most_descriptors"] < HOSTS + OTHER_FILES
    assert found["most_journal"] < 100  # MB
    assert found["most_memory"] < 600  # MB: twice what a crawl of such pages may take
