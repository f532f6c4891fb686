"""How one crawl is cut into shards: where each lies, and what holds for all of them.

A shard is a folder with a crawl of its own: queue, what was met, waits, ledger, output. The manifest at the top says
how many there are, which never changes, and with what the crawl was begun.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, get_args

from comity.crawler.storage.placement import ShardAssignment
from comity.digests import sha256_of
from comity.errors import InputError, StorageError
from comity.files import read_regular, write_anew
from comity.frontier.durable import of_another_version, translate_os_errors
from comity.frontier.values import Run
from comity.policy.policy import PaceBy

MANIFEST: Final = "crawl.json"
LOCK: Final = "crawl.lock"
STORE: Final = "store.json"  # in a folder with parts of a crawl whose queue lies in PostgreSQL: which crawl
LOST_PREFIX: Final = "lost-"  # what the name of a part begins with that a failure of the database has undone
MAX_SHARDS: Final = 256
_FORMAT: Final = 1
_STORED_PART: Final = re.compile(r"shard-\d{3,}-\d{6,}-[0-9a-f]{10}")


@dataclass(slots=True)
class CrawlManifest:
    """What holds for a whole crawl.

    Attributes:
        by: what its hosts are placed by.
        sink: format or plug-in of the output, and `expander` the plug-in's name.
        policy, settings: as `policy_to_dict` and `settings_to_dict` give them.
        refresh: the number of the last refresh begun; 0 in a first crawl.
        ended: how the last run ended; None while it runs, or where it was cut off.
        seconds: that earlier runs took.
        crawl: by which it is told from every other; `run`: the number of its last run.
        records: of each shard's ledger, when a run began or ended last: a folder that has fewer is an older copy.
    """

    shards: int
    by: PaceBy = "host"
    seeds: list[str] = field(default_factory=list)
    sink: str = "jsonl"
    expander: str | None = None
    policy: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    refresh: int = 0
    ended: str | None = None
    seconds: float = 0.0
    crawl: str = ""
    run: int = 0
    records: list[int] = field(default_factory=list)

    @classmethod
    def read(cls, values: Mapping[str, Any], where: object) -> "CrawlManifest":
        """As a store keeps it; a StorageError says that another version wrote it."""
        try:
            return cls(**values)
        except TypeError as error:
            raise StorageError(
                f"the crawl in {where} was created by another version of comity", hint="continue with that one"
            ) from error

    def assignment(self, number: int) -> ShardAssignment:
        """One shard in the run that was the last to begin."""
        return ShardAssignment(number, self.shards, self.by, Run(self.crawl, self.run))

    @property
    def parts(self) -> list[str]:
        """The names of the shards' folders."""
        return [part(number) for number in range(self.shards)]

    def write(self, folder: Path) -> None:
        """Write it, all or nothing."""
        _write(folder / MANIFEST, {"format": _FORMAT, **asdict(self), "parts": self.parts})


@dataclass(frozen=True, slots=True)
class StoreMark:
    """Of which crawl a folder holds one machine's parts: where its queue lies and by which address that is reached,
    both without a password; and by what the crawl is told from others that have or had that name."""

    store: str
    crawl: str
    url: str

    def write(self, folder: Path) -> None:
        """Mark a folder."""
        _write(folder / STORE, {"format": _FORMAT, **asdict(self)})


def stored_in(folder: Path) -> StoreMark | None:
    """Of which crawl in a store a folder holds parts; None where of none."""
    kept = _read(folder / STORE)
    try:
        return None if kept is None else StoreMark(str(kept["store"]), str(kept["crawl"]), str(kept["url"]))
    except KeyError as error:
        raise _damaged(folder / STORE) from error


def _write(path: Path, values: dict[str, Any]) -> None:
    with translate_os_errors(path):
        write_anew(path, f"{json.dumps(values, indent=1)}\n".encode("ascii"))


def _read(path: Path) -> dict[str, Any] | None:
    """What a file of ours holds, without its format; None where it is not there. A StorageError says that it cannot be
    read, or is another version's."""
    try:
        kept: dict[str, Any] = json.loads(read_regular(path).decode("ascii"))
        if (its := kept.pop("format")) != _FORMAT:
            raise of_another_version(path, its, _FORMAT)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _damaged(path) from error
    return kept


def _damaged(path: Path) -> StorageError:
    return StorageError(f"{path} is damaged", hint="restore it, or start a new crawl in another folder")


def part(number: int) -> str:
    """The name of a shard's folder."""
    return f"shard-{number:03}"


def database_of(folder: Path, number: int) -> Path:
    """Where a shard of the crawl in a folder keeps its frontier."""
    return folder / part(number) / "frontier.sqlite"


def run_in(folder: Path) -> Run | None:
    """The run of the crawl in a folder that was the last to begin; None where it has no shards of its own."""
    kept = _read(folder / MANIFEST)
    return None if kept is None else Run(kept["crawl"], kept["run"])


def is_part(path: Path) -> bool:
    """Whether a folder has the name of a part of a crawl in a store."""
    return _STORED_PART.fullmatch(path.name) is not None


def manifest_of(folder: Path) -> CrawlManifest | None:
    """The manifest of the crawl in a folder; None where it has no shards, or there is none. An InputError says that it
    holds one machine's parts of a crawl in a store."""
    for marked in (folder, folder.parent) if is_part(folder) else (folder,):
        if (stored := stored_in(marked)) is not None:
            raise InputError(
                f"{folder} holds one machine's part of the crawl in {stored.store}, and is not a crawl by itself",
                hint="to continue it, give --store URL too, with --resume, or with --join where others work on it; "
                "comity prove, report, why and pages read it with --store URL too",
            )
    path = folder / MANIFEST
    if (kept := _read(path)) is None:
        return None
    try:
        del kept["parts"]
        manifest = CrawlManifest(**kept)
        if (
            type(manifest.shards) is not int
            or not 1 < manifest.shards <= MAX_SHARDS
            or manifest.by not in get_args(PaceBy)
        ):
            raise ValueError
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(path) from error
    for each in (folder / name for name in manifest.parts):
        if each.is_symlink():  # it may lead into another crawl
            raise StorageError(f"{each} is a link, and a crawl's shards are folders", hint="put back its folder")
    return manifest


def combined(hashes: Iterable[str]) -> str:
    """One hash for the ledgers of all shards: that of their last hashes, a line each, in the order of the shards."""
    return sha256_of("".join(f"{each}\n" for each in hashes).encode("ascii", "replace"))
