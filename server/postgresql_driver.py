"""asyncpg and SQLAlchemy's half for PostgreSQL, without the pool, which is ours, and without other drivers."""

from server.imports import StandIns, without

# A file of services, or the name of who runs the program, is looked at where the address leaves something open.
SELDOM: StandIns = {
    "asyncpg.pool": ("Pool", "create_pool"),
    "configparser": (),
    "getpass": (),
    "sqlalchemy.dialects.postgresql.pg8000": (),
    "sqlalchemy.dialects.postgresql.psycopg2": (),
    "sqlalchemy.dialects.postgresql.psycopg2cffi": (),
}

with without(late=SELDOM):
    import asyncpg
    import sqlalchemy.dialects.postgresql

__all__ = ["asyncpg", "sqlalchemy"]
