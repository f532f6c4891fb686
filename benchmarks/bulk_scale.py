"""Verdicts over columns that do not fit into memory: `python benchmarks/bulk_scale.py FOLDER URLS...`, such as 1000000.

For each number of URLs, Parquet files of five million are made in FOLDER from the corpus as benchmarks/bulk.py makes
them, in no order, over 100,000 origins; judged batch by batch for one agent, verdicts written to Parquet; and removed.
"""

import resource
import shutil
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from bulk import AGENTS, memory, robots_table, urls_of

from comity import bulk

FILE = 5_000_000
ROWS = 1_000_000  # of a batch


def made(folder: Path, which: list[int], count: int) -> list[Path]:
    """Files of URLs."""
    found = []
    for number, start in enumerate(range(0, count, FILE)):
        found.append(folder / f"urls-{number:03}.parquet")
        pq.write_table(pa.table({"url": urls_of(which, min(FILE, count - start), seed=number)}), found[-1])
    return found


def current() -> float:
    """Megabytes resident now."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def main() -> None:
    folder = Path(sys.argv[1]) / "bulk-scale"
    robots, which = robots_table(100_000)
    print(f"robots.txt files: {robots['body'].nbytes / 1e6:,.0f} MB, {current():,.0f} MB resident")
    for count in map(int, sys.argv[2:]):
        folder.mkdir(parents=True)
        try:
            files = made(folder, which, count)
            size = sum(path.stat().st_size for path in files)
            wall, used, judging, refused = time.perf_counter(), time.process_time(), 0.0, 0
            rulings, marks = bulk.BulkVerdicts(robots, AGENTS[:1]), []
            for path in files:
                out = path.with_name(f"verdicts-{path.name}")
                writer = None
                for batch in pq.ParquetFile(path).iter_batches(ROWS, columns=["url"]):
                    begun = time.process_time()
                    table = rulings.verdicts(batch.column(0), threads=1).drop_columns(["url"])
                    judging += time.process_time() - begun
                    refused += table.num_rows - sum(chunk.true_count for chunk in table["may_fetch"].chunks)
                    writer = writer or pq.ParquetWriter(out, table.schema)
                    writer.write_table(table)
                if writer is not None:
                    writer.close()
                out.unlink()
                path.unlink()
                marks.append(current())
            wall, used = time.perf_counter() - wall, time.process_time() - used
            print(
                f"{count:12,} URLs ({size / 1e6:,.0f} MB of Parquet)   judging {judging:,.1f} CPU s, "
                f"{count / judging / 1e6:.2f} M/s   with reading and writing {used:,.1f} CPU s, {wall:,.1f} s   "
                f"{refused / count:.1%} refused   resident after the first file {marks[0]:,.0f} MB, after the last "
                f"{marks[-1]:,.0f} MB, peak {memory():,.0f} MB",
                flush=True,
            )
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
