"""Reading one shard of a crawl in PostgreSQL."""

from comity.files import closed_on_error
from comity.frontier.committed import FrontierView
from comity.frontier.durable import no_crawl
from comity.frontier.postgresql.database import Address, connect, is_made, translate_errors
from comity.frontier.postgresql.dialect import PostgresDialect
from comity.frontier.tables import Tables, one_instant


class PostgresView(FrontierView):
    """One shard; an InputError where there is no such crawl."""

    def __init__(self, where: Address, shard: int) -> None:
        with translate_errors(where):
            db = connect(where)
            with closed_on_error(db):
                if not is_made(db, where):
                    raise no_crawl(where, "name the URL given to comity crawl --store")
            dialect = PostgresDialect(db, where, shard)
            begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            super().__init__(Tables(dialect), one_instant(db, dialect, begin))
