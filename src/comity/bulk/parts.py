"""An audit's verdicts in parts: one Parquet file a batch of URLs, judged here or by workers of a Ray cluster.

A part that is there is not made again, so that a run that was stopped goes on. Nothing is fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from comity._extras import need
from comity.bulk.rulings import Rulings
from comity.errors import InputError
from comity.policy import Policy

DIALECTS: Final = b"comity.dialects"
AHEAD: Final = 2  # batches a worker has waiting


class Judge:
    """Judges batches into parts; sent to a worker, it makes its rulings there, once."""

    def __init__(self, robots: Any, agents: list[str], policy: Policy, at: Any, dialects: list[str]) -> None:
        self._given = (robots, agents, policy, at, dialects)
        self._others: dict[str, Rulings] = {}
        self._rulings: Rulings | None = None

    def __reduce__(self) -> Any:
        return type(self), self._given

    def __call__(self, batch: Any, part: str) -> None:
        """Write the verdicts of a batch; with them, how many answers of each agent other dialects would change."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        robots, agents, policy, at, dialects = self._given
        if self._rulings is None:
            self._rulings = Rulings(robots, agents, policy=policy)
            for name in dialects:
                self._others[name] = Rulings(robots, agents, policy=policy.with_changes(dialect=name))
        table = self._rulings.verdicts(batch, at=at)
        changed: dict[str, dict[str, int]] = {}
        for name, rulings in self._others.items():
            differs = pc.not_equal(table["may_fetch"], rulings.verdicts(batch, at=at)["may_fetch"])
            size = len(batch)
            changed[name] = {
                agent: pc.sum(differs.slice(number * size, size)).as_py() or 0 for number, agent in enumerate(agents)
            }
        fresh = Path(part).with_suffix(".new")
        pq.write_table(table.replace_schema_metadata({DIALECTS: json.dumps(changed)}), fresh)
        fresh.rename(part)


def written(judge: Judge, batches: Iterator[Any], folder: Path, engine: str = "local") -> Iterator[tuple[Path, int]]:
    """Each part, in the order of batches, and how many URLs it has.

    Args:
        folder: where parts are; workers of a cluster must see it under the same name.
        engine: `local` or `ray`.
    """
    named = ((folder.resolve() / f"part-{number:06}.parquet", batch) for number, batch in enumerate(batches))
    if engine == "local":
        for part, batch in named:
            if not part.exists():
                judge(batch, str(part))
            yield part, len(batch)
    else:
        yield from _by_ray(judge, named)


def _by_ray(judge: Judge, named: Iterator[tuple[Path, Any]]) -> Iterator[tuple[Path, int]]:
    ray = need("ray", "ray", "comity audit --engine ray")
    started = not ray.is_initialized()
    if started:
        try:
            ray.init(include_dashboard=False, log_to_driver=False)
        except Exception as error:  # Ray raises bare ones
            raise InputError(f"Ray does not start: {error}", hint="start a cluster first: ray start --head") from error
    try:
        cores = int(ray.cluster_resources().get("CPU", 1))
        worker = ray.remote(num_cpus=1)(_Worker)
        kept = ray.put(judge)
        workers = [worker.remote(kept) for _ in range(cores)]
        waiting: list[tuple[Any, Path, int]] = []
        for number, (part, batch) in enumerate(named):
            task = None if part.exists() else workers[number % cores].judge.remote(batch, str(part))
            waiting.append((task, part, len(batch)))
            if len(waiting) >= AHEAD * cores:
                yield _done(ray, waiting.pop(0))
        for each in waiting:
            yield _done(ray, each)
    finally:
        if started:
            ray.shutdown()


def _done(ray: Any, waited_for: tuple[Any, Path, int]) -> tuple[Path, int]:
    task, part, size = waited_for
    if task is not None:
        ray.get(task)
    return part, size


class _Worker:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def judge(self, batch: Any, part: str) -> None:
        self._judge(batch, part)


def joined(parts: list[Path], output: Path) -> None:
    """Parts as one file."""
    import pyarrow.parquet as pq

    whole = output.with_suffix(".new")
    writer = None
    for part in parts:
        source = pq.ParquetFile(part)
        writer = writer or pq.ParquetWriter(whole, source.schema_arrow.remove_metadata())
        for group in range(source.num_row_groups):
            writer.write_table(source.read_row_group(group).replace_schema_metadata(None))
    if writer is None:
        raise InputError("the files hold no URL")
    writer.close()
    whole.rename(output)
