"""The settings of the database."""

from typing import Literal

from server.config.base import Group
from server.config.value_types import Duration, duration_between, setting


class DatabaseSettings(Group):
    """`database.*`: connections, and the schema at startup."""

    key = "database"

    pool_size: int = setting(
        10, "Largest number of connections of each server process, 4 or more; PostgreSQL only.", ge=1, le=1000
    )
    pooler: Literal["none", "transaction"] = setting(
        "none",
        "`transaction` if a pooler in front of PostgreSQL, such as PgBouncer, may give each transaction "
        "another connection.",
    )
    timeout: Duration = duration_between(
        "5s", "Longest wait for a connection, and for the result of a statement.", at_least="0.05s"
    )
    migrate: Literal["auto", "check"] = setting(
        "auto", "At startup, migrate the schema (auto), or refuse an outdated one (check)."
    )
