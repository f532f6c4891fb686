"""The sink as the crawler holds it: picked by name or given, opened where it stopped, its errors explained.

It keeps the sink's name beside its marker, so that a crawl begun in one format is never continued in another.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from comity.crawler.output.formats import FORMATS
from comity.crawler.output.reader import CHECKED, StoredRecord
from comity.crawler.output.sink import CHANNELS, Channel, Sink
from comity.errors import InvalidSetting, SinkFailed, StorageError
from comity.frontier.durable import disk_error

if TYPE_CHECKING:  # what reads a finished crawl has no use for them
    from concurrent.futures import Executor, Future

    from comity.frontier.rules import DurableFrontier
    from comity.net import Response


ReadAhead = Callable[["Response"], "Future[dict[str, Any]] | None"]
DEFAULT = "jsonl"
LEDGER = "ledger.jsonl"  # beside every output


@dataclass(frozen=True, slots=True)
class Named:
    """A sink and the name by which a later run finds it again."""

    name: str
    sink: Sink


def named(given: Sink | str) -> Named:
    """A sink that was given, or made by its name. An InvalidSetting: there is none, it has not the shape of one, or a
    library that it needs is not installed."""
    if isinstance(given, str):
        return Named(given, make(given))
    from comity.crawler.output import plugins  # late, here and below: what reads a finished crawl makes no sink

    name = plugins.name_of(given)
    return Named(name, plugins.checked(given, "sink", name))


def make(name: str) -> Sink:
    """The sink of that format, or the plug-in `MODULE:NAME`; errors as of `named`."""
    if ":" in name:
        from comity.crawler.output import plugins

        plugin: Sink = plugins.load(name, "sink")
        return plugin
    if name not in FORMATS:
        raise InvalidSetting(
            f"format: {name!r} is neither one of {', '.join(FORMATS)} nor the MODULE:NAME of a plug-in"
        )
    if (export := FORMATS[name].export) is not None:
        export.writer(name)  # before the crawl, not after it: is its library there?
    sink: Sink = getattr(import_module(FORMATS[name].module), FORMATS[name].member)()
    return sink


def read_back(
    folder: Path,
    name: str,
    committed: Any = None,
    *,
    channels: Sequence[Channel] = CHECKED,
    naming: Collection[str] = (),
) -> Iterator[StoredRecord]:
    """What lies in the log of that format, record by record.

    Args:
        committed: what `flush` returned at a commit: what was written later is passed over. None: all there is.
        naming: records in which none of these URLs stands may be left out, unread.
    """
    form = FORMATS[name]
    given = {"naming": [json.dumps(url)[1:-1].encode() for url in naming]} if naming and form.by_line else {}
    records: Iterator[StoredRecord] = getattr(import_module(form.module), form.reader)(
        folder, committed, channels=channels, **given
    )
    return records


class SinkRunner:
    """One crawl's sink, from opening to closing. All of its methods run in one thread: a sink may hold what must not
    leave the thread that made it, such as a connection of sqlite3. A StorageError: the crawl was begun with another
    sink, or what it would write to is there and is not the crawl's.

    Args:
        given: a format's name or a sink as `named` gives it; None for the one the crawl was begun with.
        frontier: remembers the sink's name from before it is opened, and what `flush` returned at the last commit.

    Attributes:
        pending: bytes added that were not durable when the sink was told something last; may be read anywhere.
        read_ahead: what the sink reads of an answer, where that takes long, before its page waits to be written: a
            future, or None; None where it has no such method.
        keeps_requisites: whether it keeps what pages need to look as they do: an archive, which replays them.
        in_utf8: whether the sink takes a page's text in UTF-8, as bytes: ours that write it so, or leave it out.
        exact: whether a body whose text is not spelt as it was served is to be kept as it was served.
    """

    def __init__(self, given: Named | str | None, folder: Path, frontier: "DurableFrontier") -> None:
        stored = frontier.load_state("sink", {})
        begun = stored.get("name")
        if given is None:
            given = begun or DEFAULT
            if given not in FORMATS:  # code is given again for each run
                raise InvalidSetting(f"sink: the crawl was begun with {given!r}, which is to be given again")
        self.name = given if isinstance(given, str) else given.name
        if "committed" in stored and begun != self.name:
            raise StorageError(
                f"{folder} holds a crawl written as {begun}, not as {self.name}",
                hint=f"continue with {begun}, or choose another folder",
            )
        self._folder = folder
        self._sink = make(given) if isinstance(given, str) else given.sink
        if "committed" not in stored:
            if begun != self.name:  # else it was looked at then, and what is there now is ours
                with self._translate_errors("look at its folder"):
                    check_free(folder, self.name, *([] if begun else [LEDGER]))
            frontier.save_state("sink", {"name": self.name})
        self._committed = stored.get("committed")
        self.pending = 0
        self.read_ahead: ReadAhead | None = getattr(self._sink, "read_ahead", None)
        self.keeps_requisites: bool = getattr(self._sink, "keeps_requisites", False)
        self.in_utf8: bool = getattr(self._sink, "in_utf8", False)
        self.exact: bool = getattr(self._sink, "exact", False)

    @contextmanager
    def opened(self, thread: "Executor") -> Iterator[Self]:
        """While it is open; `thread` has one thread, in which everything else is to be called too."""

        def there(what: str, method: Callable[[], None]) -> None:
            with self._translate_errors(what):
                thread.submit(method).result()

        try:
            there("open its output", lambda: self._sink.open(self._folder, self._committed))
            yield self
        except BaseException:
            with suppress(StorageError):  # what stopped the crawl says more than what follows from it
                there("close its output", self._sink.close)
            raise
        there("close its output", self._sink.close)

    @contextmanager
    def writing(self) -> Iterator[Sink]:
        """The sink, to be written to in the block, in its thread."""
        with self._translate_errors("write"):
            yield self._sink
            self.pending = self._sink.pending

    @contextmanager
    def _translate_errors(self, what: str) -> Iterator[None]:
        """Whatever goes wrong in here is a StorageError: a sink may be anybody's."""
        try:
            yield
        except StorageError:
            raise
        except OSError as error:
            raise disk_error(error, self._folder) from error
        except Exception as error:
            raise SinkFailed(
                f"the sink {self.name} could not {what}: {type(error).__name__}: {error}",
                hint="committed results are safe; fix the problem and continue with --resume",
            ) from error

    def remembered(self, marker: Any) -> dict[str, Any]:
        """What the frontier is to remember of what `flush` returned."""
        json.dumps(marker)
        return {"name": self.name, "committed": marker}


def check_free(folder: Path, name: str, *others: str) -> None:
    """Raises StorageError where a format, or one of the files named, would write over what somebody has there."""
    owned = FORMATS[name].owns if name in FORMATS else ()
    for pattern in dict.fromkeys((*(each.format(channel) for each in owned for channel in CHANNELS), *others)):
        for path in sorted(folder.glob(pattern)):
            if any(path.iterdir()) if path.is_dir() else path.stat().st_size:
                raise StorageError(
                    f"{path} already exists and would be overwritten",
                    hint="choose another folder with -o, or move it away",
                )
