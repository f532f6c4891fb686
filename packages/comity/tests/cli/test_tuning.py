"""`comity crawl` sets its process up for bodies that come and go."""

import platform
import subprocess
import sys

import pytest

BODIES = """
import resource, threading
from comity.cli.process import tune

def faults():
    def make():
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        for _ in range(100):
            bytearray(b"a" * 700_000)
        counts.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)

    counts = []
    make()
    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return counts

tune()
print(*faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's heap can be told so")
def test_the_memory_of_a_body_serves_the_next_one_in_every_thread() -> None:
    ran = subprocess.run([sys.executable, "-c", BODIES], capture_output=True, text=True, timeout=120, check=True)
    assert max(map(int, ran.stdout.split())) < 10_000  # else every body has its memory anew: 310 faults for each
