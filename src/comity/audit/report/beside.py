"""What a report shows that is not in the ledger: the crawl's own counts, and why URLs were given up.

Both are what the summary said, so that report and summary agree. Where a file is missing or damaged, that is left out.
"""

import json
import sqlite3
from collections import Counter
from dataclasses import fields
from pathlib import Path

from comity.crawler.lines import read
from comity.crawler.stats import Stats

MOST_REASONS = 2_000  # told apart; further ones are counted together
OTHER = "(other reasons)"


def counts(folder: Path) -> Stats | None:
    """The statistics of a crawl as last committed; None where they cannot be had."""
    path = folder / "frontier.sqlite"
    if not path.exists():
        return None
    journal = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if journal.exists() and journal.stat().st_size else "mode=ro&immutable=1"
    try:
        database = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=1.0)
        try:
            ((text,),) = database.execute("SELECT value FROM run WHERE key = 'stats'")
        finally:
            database.close()
        kept = json.loads(text)
        values = {field.name: kept[field.name] for field in fields(Stats)}
        return Stats(**values) if all(type(value) in (int, float) for value in values.values()) else None
    except (sqlite3.Error, ValueError, KeyError, TypeError, RecursionError):
        return None


def reasons(folder: Path) -> Counter[str] | None:
    """URLs given up, by reason; None where the output is not JSON Lines."""
    path = folder / "failures.jsonl"
    if not path.exists():
        return None
    found: Counter[str] = Counter()
    for line in read(path):
        if line.problem is None and isinstance(why := line.record.get("why"), str):
            count(found, why.removeprefix(f"{line.record.get('url')}: "))
    return found


def count(reasons: Counter[str], why: str) -> None:
    """Count a reason, in bounded memory."""
    why = why[:200]
    reasons[why if why in reasons or len(reasons) < MOST_REASONS else OTHER] += 1
