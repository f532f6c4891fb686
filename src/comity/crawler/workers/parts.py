"""The parts of a crawl's output on this machine: brought back to what is committed, whoever died while writing."""

from pathlib import Path

from comity.crawler.sinks.runner import LEDGER, make
from comity.frontier.durable import AppendedFile
from comity.frontier.postgresql.crawl import CrawlStore, PartRow


def cut_back(store: CrawlStore, folder: Path, form: str) -> None:
    """Have each part in a folder hold what is committed of it and no more; no process may be writing there.

    What a format keeps beside its files until they are complete is written into them.

    Args:
        form: the output's format.

    Raises:
        StorageError: a file cannot be changed, or is shorter than what was committed.
    """
    where = str(folder.absolute())
    for part in store.parts():
        if part.folder == where and (path := folder / part.name).is_dir():
            _cut_back(store, part, path, form)


def _cut_back(store: CrawlStore, part: PartRow, path: Path, form: str) -> None:
    if (path / LEDGER).exists():
        AppendedFile(path / LEDGER, part.ledger["length"] if part.ledger else 0).close()
    sink = make(form)
    sink.open(path, (part.sink or {}).get("committed"))
    try:
        if part.sink and "committed" in part.sink:
            store.end_part(part.shard, part.token, {"name": form, "committed": sink.flush(final=True)})
            sink.flush(final=True)  # so that it learns that its last marker is kept
    finally:
        sink.close()
