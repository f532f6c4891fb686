"""The formats of a crawl: logs, which it writes, and exports, which are made of a log. One row for each, and a module
beside this one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from comity_pages._extras import need


@dataclass(frozen=True, slots=True)
class Export:
    """What is made of a log by the function `write` of a module, imported late.

    Attributes:
        where: which file holds the records of channel `{}`, in words, in the crawl's folder.
        place: what `--format` names in the crawl's folder; the folder itself where it is empty.
        is_file: whether it is one file, not a folder.
        log: the log that is kept by `--format`; `needs_log`: it is made of no other.
        library: what it cannot be made without, and the extra that has it.
    """

    module: str
    where: str
    place: str
    is_file: bool = False
    log: str = "jsonl"
    needs_log: bool = False
    library: tuple[str, str] | None = None

    def writer(self, name: str) -> Callable[[Any, Path], None]:
        """What makes it of a source, where nothing is; MissingExtra says that its library is not installed."""
        if self.library is not None:
            need(*self.library, f"the format {name}")
        writer: Callable[[Any, Path], None] = import_module(self.module).write
        return writer


@dataclass(frozen=True, slots=True)
class Format:
    """What `--format` names: a log, and perhaps an export of it at the end of each run.

    Attributes:
        module, member: where the sink's class is, or what makes it, imported late.
        where: which file of the log holds the records of channel `{}`, in words.
        owns: patterns of all files and folders that it writes, cuts back or removes.
        reader: the function of the module that reads it back: called with the folder, what `flush` returned at a
            commit (None: read all there is), and the channels that are wanted, it gives each record as a StoredRecord.
        by_line: whether it takes `naming` too: texts, as octets; lines that hold none of them may be passed over.
        export: what is made of it.
    """

    module: str
    member: str
    where: str
    owns: tuple[str, ...]
    reader: str = "read_back"
    by_line: bool = False
    export: Export | None = None


_ROOM: Final = "comity.crawler.output"
LOGS: Final = {
    "jsonl": Format(f"{_ROOM}.lines", "JsonLines", "{}.jsonl", ("{}.jsonl",), "read_jsonl", True),
    "jsonl.gz": Format(f"{_ROOM}.packed", "gzip_lines", "{}.jsonl.gz", ("{}.jsonl.gz",), "read_gzip", True),
    "jsonl.zst": Format(f"{_ROOM}.packed", "zstd_lines", "{}.jsonl.zst", ("{}.jsonl.zst",), "read_zstd", True),
    "warc": Format(f"{_ROOM}.warc", "Warc", "crawl-*.warc.gz", ("crawl-*.warc.gz", "crawl-*.cdxj*")),
    "markdown": Format(f"{_ROOM}.markdown", "MarkdownLines", "{}.jsonl", ("{}.jsonl",), by_line=True),
}
EXPORTS: Final = {
    "jsonl": Export(f"{_ROOM}.lines", "{}.jsonl", ""),
    "files": Export(f"{_ROOM}.files", "files/{}.jsonl", "files"),
    "markdown": Export(f"{_ROOM}.markdown", "{}.jsonl", "files", log="markdown"),
    "sqlite": Export(f"{_ROOM}.sqlite", "crawl.sqlite, table {}", "crawl.sqlite", is_file=True),
    "parquet": Export(f"{_ROOM}.parquet", "{}/*.parquet", "", library=("pyarrow.parquet", "parquet")),
    "wacz": Export(f"{_ROOM}.wacz", "crawl.wacz", "crawl.wacz", is_file=True, log="warc", needs_log=True),
}
FORMATS: Final = LOGS | {
    name: replace(
        LOGS[each.log],
        member="ExactLines" if name == "files" else LOGS[each.log].member,
        owns=(*LOGS[each.log].owns, each.place or "{}", f"{each.place}.export.json".removeprefix(".")),
        export=each,
    )
    for name, each in EXPORTS.items()
    if name != "jsonl"
}
