"""Opens a crawl where it is kept, whether that is a folder or PostgreSQL: what is asked of it is in crawl.py."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Final

from comity.crawler.storage.crawl import StoredCrawl
from comity.crawler.storage.crawl_output import CrawlOutput
from comity.crawler.storage.folder import FolderCrawl
from comity.crawler.storage.manifest import stored_in
from comity.crawler.storage.orders import EVERYTHING, Order
from comity.errors import InputError, InvalidSetting, StorageError
from comity.frontier.values import Unreachable

STORES: Final = ("postgresql://", "postgres://")  # what the address of a store begins with


def open_crawl(place: str | Path | Sequence[Path], store: str | None = None) -> StoredCrawl:
    """The crawl in a folder, in those of several machines, or in the store that a URL names.

    Args:
        store: the address of the store of a crawl in PostgreSQL: what its folders say of that is never connected to,
            for a folder may be anybody's. Without folders it names them: those of this machine.

    Raises:
        InputError: there is none, or the folders are not of one crawl, or not all of its kind.
        InvalidSetting: they are of a crawl in a store, and no store is given.
        StorageError: what says how it is cut cannot be read, or the store not be reached.
    """
    if isinstance(place, str):
        if place.startswith(STORES):
            from comity.crawler.storage.store import StoreCrawl  # late: few crawls are in one

            return StoreCrawl(place)
        place = Path(place)
    crawl = _open(place, store)
    if isinstance(crawl, FolderCrawl):
        crawl.check()  # one in a store is there, else it could not be opened
    return crawl


def open_output(folders: Path | Sequence[Path], store: str | None = None) -> CrawlOutput:
    """What the crawl wrote that lies in a folder, or in those of several machines. Its queue need not be there.

    Args, Raises: as of open_crawl.
    """
    return _open(folders, store).output()


def _open(folders: Path | Sequence[Path], store: str | None) -> StoredCrawl:
    given = [folders] if isinstance(folders, Path) else list(dict.fromkeys(folders))
    held = {folder: mark for folder in given if (mark := stored_in(folder)) is not None}
    if held or (store is not None and not given):
        if alone := [str(folder) for folder in given if folder not in held]:
            raise InputError(f"{', '.join(alone)}: no part of a crawl in a store lies there", hint="leave it out")
        if store is None:
            folder, mark = next(iter(held.items()))
            raise InvalidSetting(
                f"store: {folder} holds parts of a crawl in {mark.url!r}; a folder does not decide where to connect",
                hint=f"if that database is yours, add --store {quote(mark.url)}; to frontier and serve, instead of DIR",
            )
        from comity.crawler.storage.store import StoreCrawl

        try:
            return StoreCrawl(store, held)
        except Unreachable as error:
            raise StorageError(
                f"{error.args[0]}; it says what of the crawl is committed",
                hint="check that it runs, or name another address of it with --store URL",
            ) from error
    if len(given) > 1:
        raise InputError(
            f"{', '.join(map(str, given))}: they hold no parts of one crawl in a store",
            hint="several folders must belong to machines that worked on one crawl; otherwise name one",
        )
    (folder,) = given
    opened = FolderCrawl(folder)  # refuses a part of a stored crawl by itself
    if store is not None:
        raise InvalidSetting(f"store: {folder} holds no part of a crawl in a store", hint="leave out --store")
    return opened


def end(crawl: StoredCrawl) -> Order:
    """Order a crawl that runs to end, on all machines: what is under way is finished, what waits is for a later run. An
    InvalidSetting says that it does not run."""
    if not crawl.is_running():
        raise InvalidSetting(f"the crawl in {crawl.name} is not running")
    return crawl.give(EVERYTHING, "end", None)
