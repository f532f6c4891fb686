"""Reading the frontier of a crawl folder."""

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Self

from comity.frontier.committed import FrontierView
from comity.frontier.durable import no_crawl
from comity.frontier.sqlite.database import begun, open_for_reading, translate_errors
from comity.frontier.sqlite.dialect import SqliteDialect
from comity.frontier.tables import Tables, one_instant


class View(FrontierView):
    """The frontier of a crawl folder; an InputError where there is none."""

    def __init__(self, path: Path, db: sqlite3.Connection | None = None) -> None:
        """`db`: where it is open already."""
        if not path.exists():
            raise no_crawl(path.parent)
        with translate_errors(path):
            db = db or open_for_reading(path)
            dialect = SqliteDialect(db, path)
            super().__init__(Tables(dialect), one_instant(db, dialect, "BEGIN"))

    @classmethod
    def begun(cls, path: Path) -> Self | None:
        """The same; None where no crawl has begun in it."""
        if not path.exists():
            return None
        with translate_errors(path), ExitStack() as stack:
            db = stack.enter_context(closing(open_for_reading(path)))
            if not begun(db):
                return None
            stack.pop_all()
        return cls(path, db)
