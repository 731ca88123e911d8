"""The table `known_network`: the networks a user has signed in from."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Insert, select
from sqlmodel import Field, SQLModel, col

from models.base import Instant, Retention
from models.queries import ReadStatement, by
from models.statements import upsert

KNOWN_FOR = timedelta(days=90)
"""How long after a sign-in its network counts as known."""


class KnownNetwork(SQLModel, table=True):
    """A client network from which a user has signed in. It is stored as a keyed digest of user and network."""

    __tablename__ = "known_network"
    __export__ = "knownNetworks"
    __retention__ = (Retention("last_success", KNOWN_FOR, key="network"),)

    user_id: str = Field(primary_key=True, foreign_key="user.id", ondelete="CASCADE", max_length=32)
    network: bytes = Field(primary_key=True, index=True)
    last_success: datetime = Field(index=True, sa_type=Instant)


def _last_success(columns: Sequence[Any]) -> datetime:
    last: datetime = columns[0]
    return last


LAST_SUCCESS_BY_NETWORK = ReadStatement(
    select(col(KnownNetwork.last_success)).where(by(KnownNetwork.network)), _last_success
)
"""When a user last signed in from a network, however long ago; the key is the digest of user and network."""


@cache
def upsert_known_network(dialect: str) -> Insert:
    """Return the upsert that stores that `user_id` has signed in from `network` at `last_success`."""
    adding: Any = upsert(dialect, KnownNetwork)
    noted: Insert = adding.on_conflict_do_update(
        index_elements=["user_id", "network"], set_={"last_success": adding.excluded.last_success}
    )
    return noted
