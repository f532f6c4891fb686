"""The formats that a crawl can be written in: one row for each, and a module beside this one."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Format:
    """A sink of ours.

    Attributes:
        module, member: where its class is, or what makes it, imported late.
        where: which file holds the records of channel `{}`, in words.
        owns: patterns of all files and folders that it writes, cuts back or removes.
        reader: the function of the module that reads it back: called with the folder and what `flush` returned at a
            commit (None: read all there is), it gives each record as a StoredRecord.
        by_line: whether it takes `naming` too: texts, as octets; lines that hold none of them may be passed over.
    """

    module: str
    member: str
    where: str
    owns: tuple[str, ...]
    reader: str = "read_back"
    by_line: bool = False


FORMATS: Final = {
    "jsonl": Format("comity.crawler.output.lines", "JsonLines", "{}.jsonl", ("{}.jsonl",), "read_jsonl", True),
    "jsonl.gz": Format(
        "comity.crawler.output.packed", "gzip_lines", "{}.jsonl.gz", ("{}.jsonl.gz",), "read_gzip", True
    ),
    "jsonl.zst": Format(
        "comity.crawler.output.packed", "zstd_lines", "{}.jsonl.zst", ("{}.jsonl.zst",), "read_zstd", True
    ),
    "warc": Format("comity.crawler.output.warc", "Warc", "crawl-*.warc.gz", ("crawl-*.warc.gz", "crawl-*.cdxj*")),
    "wacz": Format(
        "comity.crawler.output.wacz", "Wacz", "crawl.wacz", ("crawl-*.warc.gz", "crawl-*.cdxj*", "crawl.wacz*")
    ),
    "parquet": Format("comity.crawler.output.parquet", "Parquet", "{}/*.parquet", ("{}", "{}-[0-9]*.*")),
    "sqlite": Format("comity.crawler.output.sqlite", "Sqlite", "crawl.sqlite, table {}", ("crawl.sqlite",)),
    "markdown": Format(
        "comity.crawler.output.markdown", "MarkdownFiles", "{}.jsonl", ("{}.jsonl", "files"), by_line=True
    ),
    "files": Format("comity.crawler.output.files", "Files", "{}.jsonl", ("{}.jsonl", "files"), "read_files", True),
}
