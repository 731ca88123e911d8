"""The settings of the database."""

from typing import Literal

from pydantic import Field

from server.config.base import Group
from server.config.value_types import Duration, duration_between


class DatabaseSettings(Group):
    """`database.*`: connections, and the schema at startup."""

    key = "database"

    pool_size: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="Connections each server process keeps at most, at least 3; PostgreSQL only.",
    )
    pooler: Literal["none", "transaction"] = Field(
        default="none",
        description="The pooler in front of PostgreSQL, such as PgBouncer, if it may give each"
        " transaction another connection.",
    )
    timeout: Duration = duration_between(
        "5s", "Longest wait for a connection or a statement.", at_least="0.05s"
    )
    migrate: Literal["auto", "check"] = Field(
        default="auto",
        description="At startup, migrate the schema (auto), or refuse an outdated one (check).",
    )
