"""What a crawl writes beside its output is, after a power cut at any moment, what it was before or what it is to be."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from power_loss import Disk, PowerCut

from comity import Policy
from comity.crawler.output.ledger import Ledger
from comity.crawler.storage import orders
from comity.crawler.storage.manifest import CrawlManifest, StoreMark, manifest_of, stored_in
from comity.frontier.values import Run
from comity.net import Clock

MOST = 20  # syncs of one write


def order(folder: Path, number: int) -> None:
    orders.give(folder, f"{number}.example", "stop")


def ordered(folder: Path) -> list[str]:
    return [each.host for each in orders.Orders(folder, 0).new()]


def manifest(folder: Path, number: int) -> None:
    CrawlManifest(2, seeds=[f"http://{number}.example/"], crawl="c", run=number).write(folder)


def runs(folder: Path) -> list[str]:
    return [] if (found := manifest_of(folder)) is None else [f"{found.run}.example"]


def mark(folder: Path, number: int) -> None:
    StoreMark("store", f"{number}.example", "postgresql://").write(folder)


def marked(folder: Path) -> list[str]:
    return [] if (found := stored_in(folder)) is None else [found.crawl]


def record(folder: Path, number: int) -> None:
    path, at = folder / "mark", folder / "ledger.jsonl"
    kept = json.loads(path.read_text()) if path.exists() else None  # which the frontier keeps, in its own transaction
    with Ledger(at, kept, Clock()) as ledger:
        ledger.begin(Policy(), [f"{number}.example"], "jsonl", Run("c", number))
        text = json.dumps(ledger.commit(ledger.collect()))
    path.write_text(text)


def recorded(folder: Path) -> list[str]:
    with Ledger(folder / "ledger.jsonl", json.loads((folder / "mark").read_text()), Clock()):
        lines = (folder / "ledger.jsonl").read_text("ascii").splitlines()
    return [json.loads(line)["seeds"][0] for line in lines]


@pytest.mark.parametrize(
    ("write", "read", "adds"),
    [(order, ordered, True), (manifest, runs, False), (mark, marked, False), (record, recorded, True)],
)
def test_what_replaces_or_follows_something_is_there_whole_or_not_at_all(
    write: Callable[[Path, int], None], read: Callable[[Path], list[str]], adds: bool, tmp_path: Path
) -> None:
    cuts = 0
    for syncs in range(MOST):
        (folder := tmp_path / str(syncs)).mkdir()
        write(folder, 1)
        before, after = ["1.example"], ["1.example", "2.example"] if adds else ["2.example"]
        kept = (folder / "mark").read_bytes() if adds and (folder / "mark").exists() else None
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(folder)
            disk.watch(patch, syncs)
            is_cut = True
            with suppress(PowerCut):
                write(folder, 2)
                is_cut = False
            disk.rebuild(found := tmp_path / f"{syncs} after")
            disk.close()
        if kept is not None:
            (found / "mark").write_bytes(kept if is_cut else (folder / "mark").read_bytes())
        cuts += is_cut
        assert read(found) in ([before, after] if is_cut else [after])
        write(found, 3)
        assert read(found)[-1] == "3.example", "it can be written on"
        if not is_cut:
            break
    assert 0 < cuts < MOST
