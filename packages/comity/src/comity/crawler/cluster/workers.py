"""Who works a crawl: how many processes of this machine, over how many shards, and with whom they share it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from comity.crawler.cluster.worker_process import COMMAND, Start
from comity.crawler.storage.manifest import MAX_SHARDS, CrawlManifest
from comity.errors import InvalidSetting
from comity.frontier.sqlite.database import has_begun

SHARDS_PER_WORKER: Final = 2  # shards where nobody says how many: so a later run may have up to twice as many workers
LEASE_SECONDS: Final = 15.0
MAX_SILENT_SECONDS: Final = 60.0  # seconds after which a worker is taken to hang, and is killed


@dataclass(frozen=True, slots=True)
class Workers:
    """The processes of this machine that work a crawl.

    Attributes:
        count: of these; of a crawl in a folder there are no more than shards.
        shards: into how many parts a crawl is cut, each with its own hosts; None for as many as there are, or where the
            crawl is new, two for each of several workers.
        store: `postgresql://user@host/database`, with `?crawl=NAME` where it holds several, for a crawl that other
            machines may work on too; None for one in the folder, which goes on where one lies there.
        how: whether to begin a crawl in the store, to `join` one that others work on, whose settings hold, or to
            `resume` one that nobody works on, with these settings.
        lease: seconds after which a process that is not heard of has lost its shards; settled when the crawl begins.
        command: the program that is a worker, and its arguments; or `start`, what starts one in another way.
        stalled: seconds of silence after which a worker is killed and started again.
        on_notice: told when a store is away, and there again; where workers are, and that they have no place to run.
    """

    count: int = 1
    shards: int | None = None
    store: str | None = None
    how: Literal["begin", "join", "resume"] = "begin"
    lease: float = LEASE_SECONDS
    command: Sequence[str] = COMMAND
    start: Start | None = None
    stalled: float = MAX_SILENT_SECONDS
    on_notice: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        _check("workers", self.count, 1)
        if self.how == "join" and self.store is None:
            raise InvalidSetting("join: name the store, in which others work on the crawl (store=)")

    @property
    def new_shards(self) -> int:
        """How many shards a new crawl has."""
        return _check("shards", self.shards or min(SHARDS_PER_WORKER * self.count, MAX_SHARDS), 2)

    def needs_shards(self, folder: Path, manifest: CrawlManifest | None) -> bool:
        """Whether a crawl is to be one of several shards. An InvalidSetting: it was begun as one that cannot have
        several workers, or has not so many shards."""
        if self.store is not None:
            return True
        if manifest is not None:
            if self.count > manifest.shards:
                raise InvalidSetting(
                    f"workers: the crawl in {folder} has {manifest.shards} shards, so no more can work on it"
                )
            return True
        wanted = (self.shards or 1) > 1 or (self.count > 1 and self.shards is None)
        if self.count > 1 and self.shards is not None and self.shards < self.count:
            raise InvalidSetting(f"shards: {self.shards} are too few for {self.count} workers")
        if wanted and has_begun(folder / "frontier.sqlite"):
            raise InvalidSetting(
                f"workers: the crawl in {folder} was begun without shards, so it has one",
                hint="begin another with --workers",
            )
        return wanted


def _check(name: str, number: int, least: int) -> int:
    if not least <= number <= MAX_SHARDS:
        raise InvalidSetting(f"{name}: {number} is not a number from {least} to {MAX_SHARDS}")
    return number
