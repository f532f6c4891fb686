"""A crawl's frontier in PostgreSQL, for several machines: a schema for each crawl, a partition for each shard.

It needs psycopg (extra `postgresql`), which is imported when a database is first named.
"""
