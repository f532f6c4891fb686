"""Where URLs and robots.txt files come from: Parquet, CSV, JSONL, text, folders and globs; a cache, WARC files.

It reads; it judges and fetches nothing.
"""

import glob
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.json as reader_of_json
import pyarrow.parquet as pq

from comity.errors import InputError, InvalidURL
from comity.frontier.sqlite.database import open_finished
from comity.url_lists import is_packed_or_markup, pages_in_sitemap
from comity_pages._extras import need
from comity_pages.urls import Url
from comity_robots.paths import is_robots_txt

KINDS: Final = (".parquet", ".csv", ".jsonl", ".json", ".txt", ".urls", ".xml")
MAX_BODY_BYTES: Final = 16 * 1024 * 1024  # of a robots.txt in an archive, unpacked
_SCHEMA: Final = pa.schema(
    {"origin": pa.string(), "status": pa.int32(), "body": pa.binary(), "fetched_at": pa.timestamp("us", "UTC")}
)


def files(given: str, kinds: tuple[str, ...] = KINDS) -> list[Path]:
    """The files that a path, a folder or a glob stands for. Raises InputError: there are none."""
    path = Path(given)
    if path.is_dir():
        found = sorted(each for each in path.rglob("*") if each.is_file() and each.suffix.lower() in kinds)
    elif path.exists():
        found = [path]
    else:
        found = sorted(Path(each) for each in glob.glob(given, recursive=True))  # noqa: PTH207 (a pattern with its folder)
    if not found:
        if path.is_dir():
            raise InputError(f"{given} holds no file of these kinds: {', '.join(filter(None, kinds))}")
        raise InputError(f"{given}: no such file or folder")
    return found


@dataclass(frozen=True, slots=True)
class Piece:
    """What is read at a time, by one process: a file, or some of a Parquet file's row groups.

    Attributes:
        groups: their numbers; None for all there is in the file.
    """

    path: Path
    groups: tuple[int, ...] | None = None


def pieces(given: list[Path], size: int) -> Iterator[Piece]:
    """Files in pieces: row groups next to each other until they have `size` rows, and other files whole.

    Raises:
        InputError: a file cannot be read.
    """
    for path in given:
        if path.suffix.lower() != ".parquet":
            yield Piece(path)
            continue
        rows, groups = 0, list[int]()
        for number, held in enumerate(_rows(path)):
            if groups and rows + held > size:
                yield Piece(path, tuple(groups))
                rows, groups = 0, []
            rows += held
            groups.append(number)
        yield Piece(path, tuple(groups))


def _rows(path: Path) -> list[int]:
    try:
        with pq.ParquetFile(path) as source:
            return [source.metadata.row_group(number).num_rows for number in range(source.num_row_groups)]
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def batches(given: Iterable[Path | Piece], column: str, size: int) -> Iterator[Any]:
    """The URLs of files or pieces, as chunked arrays of at most `size` rows; else as `tables`."""
    return (table[column] for table in tables(given, column, size, whole=False))


def tables(given: Iterable[Path | Piece], column: str, size: int, *, whole: bool = True) -> Iterator[Any]:
    """Files or pieces as tables of at most `size` rows, in a fixed order. A text file is one column of that name.

    Args:
        whole: with all columns, not only the URLs'.

    Raises:
        InputError: a file cannot be read, or has no such column.
    """
    for each in given:
        piece = each if isinstance(each, Piece) else Piece(each)
        for table in _tables(piece.path, column, size, piece.groups, whole=whole):
            for start in range(0, len(table), size):
                yield table.slice(start, size)


def _tables(path: Path, column: str, size: int, groups: tuple[int, ...] | None, *, whole: bool) -> Iterator[Any]:
    try:
        if path.suffix.lower() == ".parquet":
            source = pq.ParquetFile(path)
            _has(path, column, source.schema_arrow.names)
            for batch in source.iter_batches(size, row_groups=groups, columns=None if whole else [column]):
                batch[column].validate(full=True)
                yield pa.Table.from_batches([batch])
        elif path.suffix.lower() == ".csv":
            with csv.open_csv(path, convert_options=csv.ConvertOptions(column_types={column: pa.string()})) as reader:
                _has(path, column, reader.schema.names)
                for batch in reader:
                    yield pa.Table.from_batches([batch])
        elif path.suffix.lower() in (".jsonl", ".json"):
            table = reader_of_json.read_json(path)
            _has(path, column, table.column_names)
            table[column].validate(full=True)
            number = table.column_names.index(column)
            yield table.set_column(number, column, table[column].cast(pa.string()))
        elif (pages := _sitemap(path)) is not None:
            yield pa.table({column: pa.array(pages, pa.string())})
        else:
            with path.open(encoding="utf-8", errors="replace") as lines:
                rows: list[str] = []
                for line in lines:
                    url = line.strip()
                    if url and not url.startswith("#"):
                        rows.append(url)
                    if len(rows) == size:
                        yield pa.table({column: pa.array(rows, pa.string())})
                        rows = []
                yield pa.table({column: pa.array(rows, pa.string())})
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    except UnicodeDecodeError as error:  # in the name of a column
        raise InputError(f"{path} is not UTF-8", hint="convert it: iconv -f utf-16 -t utf-8") from error


def _sitemap(path: Path) -> list[str] | None:
    """The URLs of the pages in a sitemap; None for a list of lines, which is not read as a whole."""
    with path.open("rb") as file:
        head = file.read(1024)
        return pages_in_sitemap(head + file.read(), str(path)) if is_packed_or_markup(head, str(path)) else None


def _has(path: Path, column: str, names: list[str]) -> None:
    if column not in names:
        raise InputError(f"{path}: no column {column!r}; it has {', '.join(names)}", hint="name it by --column")


def robots(given: str, *, siblings: bool = False, origins: Callable[[], list[str]] | None = None) -> Any:
    """A table of robots.txt files: of a Parquet file, a crawl's cache (SQLite), WARC files, or a folder of files, each
    named for its host (`example.com.txt`).

    Args:
        siblings: a file named for a host stands for http and https, and for `www.` before the host where that has no
            file of its own; else for https alone.
        origins: gives those that a robots.txt applies to that is named itself, and is in no folder.

    Raises:
        InputError: it cannot be read.
    """
    kinds = (".parquet", ".warc", ".gz", ".sqlite", ".db", ".txt", "")
    rows: list[dict[str, Any]] = []
    named: dict[str, bytes] = {}
    tables = []
    for each in files(given, kinds):
        try:
            with each.open("rb") as file:
                head = file.read(16)
            if each.suffix.lower() == ".parquet":
                tables.append(pq.read_table(each))
            elif head.startswith(b"SQLite format 3"):
                rows += _cached(each)
            elif ".warc" in each.name:
                rows += _archived(each)
            else:
                name = each.name.removesuffix(".txt") if each.name != "robots.txt" else each.resolve().parent.name
                named[name] = each.read_bytes()
        except (OSError, sqlite3.Error, ValueError, pa.ArrowException) as error:
            raise InputError(f"{each} cannot be read: {error}") from error
    if named and origins is not None and Path(given).is_file():
        return _of_all(origins(), *named.values())
    for name, body in named.items():
        hosts = [name] if not siblings or f"www.{name}" in named else [name, f"www.{name}"]
        schemes = ("https", "http") if siblings else ("https",)
        rows += [_row(f"{scheme}://{host}", 200, body, None) for host in hosts for scheme in schemes]
    if rows or not tables:
        tables.append(pa.Table.from_pylist(rows, schema=_SCHEMA))
    return pa.concat_tables(tables, promote_options="permissive")


def _of_all(origins: list[str], body: bytes) -> Any:
    """One robots.txt for every origin; its octets are kept once."""
    bodies = pa.DictionaryArray.from_arrays(pa.array([0] * len(origins), pa.int32()), pa.array([body], pa.binary()))
    return pa.table({"origin": pa.array(origins, pa.string()), "body": bodies})


def digest(table: Any) -> str:
    """What tells one table of robots.txt files from another."""
    found = hashlib.sha256()
    for column in table.columns:
        for chunk in column.chunks:
            for array in (chunk, chunk.dictionary) if hasattr(chunk, "dictionary") else (chunk,):
                for buffer in array.buffers():
                    found.update(buffer or b"")
    return found.hexdigest()


def _row(origin: str, status: int | None, body: bytes, fetched_at: datetime | None) -> dict[str, Any]:
    return {"origin": origin, "status": status, "body": body, "fetched_at": fetched_at}


def _cached(path: Path) -> list[dict[str, Any]]:
    with closing(open_finished(path)) as database:
        found = []
        for origin, record, body in database.execute("SELECT origin, record, body FROM robots"):
            kept = json.loads(record)
            moment = datetime.fromtimestamp(float(kept["fetched_at"]), UTC)
            found.append(_row(origin, kept["status"], body, moment))
    return found


def _archived(path: Path) -> list[dict[str, Any]]:
    """The robots.txt answers in a WARC file, such as those of Common Crawl."""
    warc = need("fastwarc.warc", "warc", "a WARC file")
    with path.open("rb") as file:
        found = []
        for record in warc.ArchiveIterator(file, record_types=warc.WarcRecordType.response):
            target = record.headers.get("WARC-Target-URI", "").strip("<>")
            if record.http_headers is None:
                continue
            try:
                url = Url(target)
            except InvalidURL:
                continue
            if not is_robots_txt(url):
                continue
            body = record.reader.read(MAX_BODY_BYTES)
            found.append(_row(url.origin, record.http_headers.status_code, body, record.record_date))
    return found
