"""The robots.txt of every origin of many URLs, asked for politely: a table of them, as files of robots.txt give it."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from comity import client
from comity.bulk import sources
from comity.errors import ComityError
from comity.net import ClientSettings
from comity.policy import Policy
from comity_pages import urls

MAX_ORIGINS_AT_ONCE: Final = 32  # origins


def origins_in(given: list[Path], column: str, rows: int) -> list[str]:
    """The origins of the URLs in files, each once; what is no URL has none. `rows`: read at a time."""
    found: dict[str, None] = {}
    for batch in sources.batches(given, column, rows):
        for text in batch.to_pylist():
            with suppress(ComityError, TypeError, AttributeError):
                found.setdefault(urls.origin(text))
    return list(found)


def fetched(origins: Iterable[str], policy: Policy, settings: ClientSettings) -> Any:
    """The robots.txt of each origin, with its status and the time of its fetch."""
    with client.Client(policy, settings) as asking, ThreadPoolExecutor(MAX_ORIGINS_AT_ONCE) as pool:
        list(pool.map(lambda origin: asking.check(f"{origin}/"), origins))
        results = asking.inspect()
    rows = [
        {"origin": origin, "status": result.status, "body": result.body, "fetched_at": result.fetched_at}
        for origin, result in results.items()
    ]
    names = {"origin": pa.string(), "status": pa.int32(), "body": pa.binary(), "fetched_at": pa.float64()}
    return pa.Table.from_pylist(rows, schema=pa.schema(list(names.items())))
