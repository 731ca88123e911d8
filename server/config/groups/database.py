"""The settings of the database."""

from typing import Literal

from server.config.base import Group
from server.config.value_types import Duration, duration_between, setting


class DatabaseSettings(Group):
    """`database.*`: connections, and the schema at startup."""

    key = "database"

    pool_size: int = setting(
        10, "Connections each server process keeps at most, at least 4; PostgreSQL only.", ge=1, le=1000
    )
    pooler: Literal["none", "transaction"] = setting(
        "none",
        "The pooler in front of PostgreSQL, such as PgBouncer, if it may give each"
        " transaction another connection.",
    )
    timeout: Duration = duration_between(
        "5s", "Longest wait for a connection or a statement.", at_least="0.05s"
    )
    migrate: Literal["auto", "check"] = setting(
        "auto", "At startup, migrate the schema (auto), or refuse an outdated one (check)."
    )
