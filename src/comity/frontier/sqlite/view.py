"""Reading the frontier of a crawl folder."""

import sqlite3
from pathlib import Path
from typing import Self

from comity.errors import InputError
from comity.frontier.committed import FrontierView
from comity.frontier.sqlite.database import begun, explained, open_for_reading
from comity.frontier.sqlite.dialect import SqliteDialect
from comity.frontier.tables import Tables, one_instant


class View(FrontierView):
    """The frontier of a crawl folder; an InputError where there is none."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise InputError(f"no crawl in {path.parent}", hint="name the folder given to comity crawl -o")
        with explained(path):
            self._begin(open_for_reading(path), path)

    def _begin(self, db: sqlite3.Connection, path: Path) -> None:
        dialect = SqliteDialect(db, path)
        super().__init__(Tables(dialect), one_instant(db, dialect, "BEGIN"))

    @classmethod
    def begun(cls, path: Path) -> Self | None:
        """The same; None where no crawl has begun in it."""
        if not path.exists():
            return None
        with explained(path):
            db = open_for_reading(path)
            try:
                if not begun(db):
                    db.close()
                    return None
                view = cls.__new__(cls)
                view._begin(db, path)
            except BaseException:
                db.close()
                raise
            return view
