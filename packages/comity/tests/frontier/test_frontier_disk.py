"""A crawl that is killed, loses power or fills the disk at any moment fetches every URL exactly once in the end."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import frontier_work
import pytest
from postgres import Server
from sites import HANGS
from stores import PostgresStore

HERE = Path(__file__).parent
EVERYTHING = [frontier_work.url(number) for number in range(frontier_work.STEPS * frontier_work.FOUND)]


@pytest.fixture(autouse=True)
def _small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_FRESH", "BLOCK", "SLICE"):
        monkeypatch.setattr(frontier_work.seen, name, getattr(frontier_work.seen, name))  # put back


@pytest.fixture(scope="session")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that watches a process's disk (disk.c)."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("needs Linux and a C compiler to watch what a process writes")
    library = tmp_path_factory.mktemp("disk") / "disk.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "disk.c"), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


@pytest.fixture
def root() -> Iterator[Path]:
    folder = frontier_work.memory_folder()
    yield folder
    shutil.rmtree(folder)


def fetched(folder: Path) -> list[str]:
    return [line.split('"')[3] for line in (folder / "pages.jsonl").read_text().splitlines()]


def finish(folder: Path) -> None:
    """Go on with a crawl, and see that all is there exactly once."""
    frontier_work.work(folder)
    assert sorted(fetched(folder)) == sorted(EVERYTHING)


def start(folder: Path, *words: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(HERE / "frontier_work.py"), str(folder), *words],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
    )


def test_killed_at_any_moment(tmp_path: Path) -> None:
    rng = random.Random(1)
    kills = 0
    for _ in range(12):
        process = start(tmp_path / "crawl")
        database = tmp_path / "crawl" / "frontier.sqlite"
        deadline = time.monotonic() + HANGS
        while not database.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.1))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.communicate()
    assert kills >= 4
    finish(tmp_path / "crawl")


@pytest.mark.long
def test_killed_at_any_moment_in_postgresql(postgres: Server, tmp_path: Path) -> None:
    rng = random.Random(1)
    store = PostgresStore(postgres)
    url = postgres.url(store.where.name)
    kills = 0
    with store.view() as view:
        assert view.load_state("step") is None
    for number in range(6):
        process = start(tmp_path / "crawl", STORE=url)
        step = -1
        deadline = time.monotonic() + HANGS
        while step < number * 4 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
            with store.view() as view:
                step = view.load_state("step") or 0
        time.sleep(rng.uniform(0, 0.05))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.communicate()
    assert kills >= 2
    frontier_work.work(tmp_path / "crawl", store=url)
    assert sorted(fetched(tmp_path / "crawl")) == sorted(EVERYTHING)
    store.remove()


class Disk:
    """What a disk holds that keeps only what was synced: contents with the file, names with the folder."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.names: dict[str, dict[str, str]] = {}

    def put_into(self, folder: Path, original: Path) -> None:
        for directory, names in self.names.items():
            inside = folder / Path(directory).relative_to(original)
            if not inside.is_dir():
                continue
            for name, inode in names.items():
                if (Path(directory) / name).is_dir():
                    (inside / name).mkdir()
                else:
                    (inside / name).write_bytes(self.contents.get(inode, b""))


def replay(log: bytes, folder: Path) -> list[tuple[int, Path]]:
    """After some of the syncs: the number of commits reported by then, and the disk as it would be found."""
    disk, committed, position, number = Disk(), 0, 0, 0
    images: list[tuple[int, Path]] = []
    while position < len(log):
        end = log.index(b"\n", position)
        kind, *words = log[position:end].decode().split(" ", 2)
        position = end + 1
        if kind == "C":
            committed = int(words[0])
        elif kind == "F":
            disk.contents[words[0]] = log[position : position + int(words[1])]
            position += int(words[1])
        else:
            end = log.index(b"\n\n", position - 1) + 1
            lines = log[position:end].decode().splitlines()
            disk.names[words[0]] = {line.split(" ", 1)[1]: line.split(" ", 1)[0] for line in lines}
            position = end + 1
        number += 1
        if number % 9 == 0:
            images.append((committed, folder / f"image-{number}"))
            images[-1][1].mkdir()
            disk.put_into(images[-1][1], folder / "crawl")
    return images


def test_power_is_lost_and_with_it_everything_not_synced(root: Path, disk: Path) -> None:
    log, folder = root / "log", root / "crawl"
    variables = {"COMITY_DISK_LOG": str(log), "COMITY_DISK_FOLDER": str(folder), "LD_PRELOAD": str(disk)}
    process = start(folder, str(log), **variables)
    process.communicate()
    assert process.returncode == 0
    images = replay(log.read_bytes(), root)
    assert len(images) > 20
    for committed, image in images:
        if committed == 0 and not (image / "frontier.sqlite").exists():
            continue  # nothing was accepted by then
        with frontier_work.Frontier(image / "frontier.sqlite") as frontier:
            assert frontier.load_state("step", 0) in (committed, committed + 1)
        finish(image)
        shutil.rmtree(image)


@pytest.mark.parametrize("times", [5, pytest.param(15, marks=pytest.mark.long)])
def test_the_disk_is_full_at_any_moment(root: Path, disk: Path, times: int) -> None:
    rng = random.Random(2)
    stopped = 0
    for number in range(times):
        folder = root / str(number)
        variables = {"COMITY_DISK_ROOM": str(rng.randrange(1, 900_000)), "COMITY_DISK_FOLDER": str(folder)}
        process = start(folder, **variables, LD_PRELOAD=str(disk))
        said, _ = process.communicate()
        assert process.returncode in (0, 74), said
        if process.returncode:
            stopped += 1
            assert said.startswith(b"no room left"), said
        finish(folder)
        shutil.rmtree(folder)
    assert stopped > times / 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a limit on the size of files")
@pytest.mark.parametrize("kilobytes", [8, 60, 120])
def test_a_quota_is_reached(root: Path, kilobytes: int) -> None:
    limit = f"trap '' XFSZ; ulimit -f {kilobytes}; exec \"$@\""
    words = [sys.executable, str(HERE / "frontier_work.py"), str(root / "crawl")]
    limited = subprocess.run(["bash", "-c", limit, "_", *words], capture_output=True, text=True, check=False)
    assert limited.returncode == 74, limited
    assert limited.stdout.startswith("no room left"), limited.stdout
    finish(root / "crawl")
