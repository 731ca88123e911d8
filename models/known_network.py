"""The table `known_network`: the networks a user has signed in from."""

from datetime import datetime, timedelta

from sqlmodel import Field, SQLModel

from models.base import Instant, Retention

KNOWN_FOR = timedelta(days=90)
"""How long after a sign-in its network counts as known."""


class KnownNetwork(SQLModel, table=True):
    """One client network of a user, as a keyed digest of both: unique per user, and looked up by itself."""

    __tablename__ = "known_network"
    __export__ = "knownNetworks"
    __retention__ = (Retention("last_success", KNOWN_FOR, key="network"),)

    user_id: str = Field(primary_key=True, foreign_key="user.id", ondelete="CASCADE", max_length=32)
    network: bytes = Field(primary_key=True, index=True)
    last_success: datetime = Field(index=True, sa_type=Instant)
