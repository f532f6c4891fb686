"""Whether a crawl runs in a folder, for those who look at it from outside: its lock says so. Nothing is written."""

import sqlite3
from pathlib import Path


def is_running(folder: Path) -> bool:
    """Whether a process, this one or another, crawls into a folder now."""
    lock = folder / "frontier.lock"
    if not lock.exists():
        return False
    try:
        database = sqlite3.connect(f"{lock.resolve().as_uri()}?mode=ro", uri=True, timeout=0.0)
    except sqlite3.Error:
        return False
    try:
        database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        return "locked" in str(error)
    finally:
        database.close()
    return False
