"""The table `oauth_client`: applications that sign users in through this service, or act for them."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Index, bindparam, delete, or_, select, text, update
from sqlmodel import Field, col

from models.base import Access, Instant, Retention, Timestamped
from models.queries import ReadStatement, by
from models.statements import insert, is_, table_of


class ClientSource(StrEnum):
    """Where a client comes from. Clients from the configuration can only be changed there.

    The names of clients that registered themselves (`DYNAMIC`) or have a metadata `DOCUMENT` are unchecked.
    """

    CLI = "cli"
    CONFIG = "config"
    ADMIN = "admin"
    USER = "user"
    DYNAMIC = "dynamic"
    DOCUMENT = "document"


_OWNED = text("owner_id IS NOT NULL")
_EXPIRES = text("expires_at IS NOT NULL")


class OauthClient(Timestamped, table=True):
    """One client. Its secrets have 190 random bits, so a plain digest of them is safe, unlike that of a password."""

    __tablename__ = "oauth_client"
    __export__ = "oauthClients"
    __retention__ = (Retention("expires_at", where=lambda row: row.expires_at.is_not(None)),)
    # A stranger who registered an application in an account with another's address keeps its secret.
    __access__ = (Access("oauth_clients", "registered applications", owner="owner_id"),)
    __table_args__ = (
        Index(None, "owner_id", postgresql_where=_OWNED, sqlite_where=_OWNED),
        Index(None, "expires_at", postgresql_where=_EXPIRES, sqlite_where=_EXPIRES),
        Index(None, "created_at", "client_id"),
    )

    client_id: str = Field(primary_key=True, max_length=512)
    """`app_` and 24 letters and digits, a name from the configuration, or the URL of a metadata document."""
    client_name: str = Field(max_length=64)
    secret: bytes | None = Field(default=None, repr=False)
    """The SHA-256 digest of the secret; None for a client without a secret."""
    previous_secret: bytes | None = Field(default=None, repr=False)
    previous_until: datetime | None = Field(default=None, sa_type=Instant)
    """The time until which the previous secret is accepted, too."""
    registration: str
    """The client metadata (RFC 7591, section 2), with some members that only this service has, as JSON."""
    source: str = Field(max_length=16)
    owner_id: str | None = Field(default=None, foreign_key="user.id", ondelete="CASCADE", max_length=32)
    disabled_at: datetime | None = Field(default=None, sa_type=Instant)
    last_used_on: datetime | None = Field(default=None, sa_type=Instant)
    """The day (UTC) on which the client last received a token."""
    fetched_at: datetime | None = Field(default=None, sa_type=Instant)
    """When the client's metadata document was last fetched; None for a client without one."""
    fresh_until: datetime | None = Field(default=None, sa_type=Instant)
    """Until when the stored metadata are used without fetching the document again."""
    expires_at: datetime | None = Field(default=None, sa_type=Instant)
    """When a client that registered itself or has a document is deleted; a use postpones or removes this time."""


class ClientRow(NamedTuple):
    """A client as read by a query; the fields are those of `OauthClient`."""

    client_id: str
    client_name: str
    secret: bytes | None
    previous_secret: bytes | None
    previous_until: datetime | None
    registration: str
    source: str
    owner_id: str | None
    disabled_at: datetime | None
    last_used_on: datetime | None
    fetched_at: datetime | None
    fresh_until: datetime | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The client metadata."""
        return _parsed(self.registration)

    @property
    def is_document(self) -> bool:
        """Whether the client's id is the URL of a document, from which the metadata come."""
        return self.source == ClientSource.DOCUMENT

    @property
    def is_verified(self) -> bool:
        """Whether the client was added by an operator, an administrator or a user, not by itself or a document."""
        return self.source not in (ClientSource.DYNAMIC, ClientSource.DOCUMENT)


# Every request of a client needs it: to parse it each time takes 3 of the 50 µs of an introspection.
@lru_cache(maxsize=512)
def _parsed(registration: str) -> Mapping[str, Any]:
    return MappingProxyType(orjson.loads(registration))


CLIENT_COLUMNS = tuple(col(getattr(OauthClient, name)) for name in ClientRow._fields)
"""The columns of a `ClientRow`."""

CLIENT_BY_ID = ReadStatement(
    select(*CLIENT_COLUMNS).where(by(OauthClient.client_id)),
    ClientRow._make,
    key=OauthClient.client_id,
    cacheable=True,
)
"""A client, by its id."""

FIND_CLIENT = (
    select(*CLIENT_COLUMNS).where(is_(OauthClient.client_id, "client_id")).execution_options(row=ClientRow)
)
"""The client `client_id`, as the transaction sees it."""

LOCK_CLIENT = FIND_CLIENT.with_for_update(key_share=True)
"""The client `client_id`, locked until the transaction ends; rows that refer to it can still be inserted."""

ADD_CLIENT = insert(OauthClient)

CHANGE_CLIENT = (
    update(table_of(OauthClient))
    .where(is_(OauthClient.client_id, "id"))
    .returning(*CLIENT_COLUMNS)
    .execution_options(row=ClientRow)
)
"""Set the given columns of the client `id`."""

REMOVE_CLIENT = delete(table_of(OauthClient)).where(is_(OauthClient.client_id, "client_id"))

LIST_CLIENTS = (
    select(*CLIENT_COLUMNS)
    .order_by(col(OauthClient.created_at).desc(), col(OauthClient.client_id).desc())
    .limit(1000)
    .execution_options(row=ClientRow)
)
"""The newest 1000 clients."""

CLIENTS_OF_OWNER = LIST_CLIENTS.where(is_(OauthClient.owner_id, "owner_id"))
"""The newest 1000 clients of the user `owner_id`."""

CLIENTS_OF_SOURCE = (
    select(*CLIENT_COLUMNS)
    .where(is_(OauthClient.source, "source"))
    .order_by(col(OauthClient.client_id))
    .execution_options(row=ClientRow)
)
"""Every client of a source."""

NOTE_USE = update(table_of(OauthClient)).where(
    is_(OauthClient.client_id, "id"),
    or_(
        col(OauthClient.last_used_on).is_(None),
        col(OauthClient.last_used_on) < bindparam("today", type_=Instant()),
    ),
)
"""Set the given columns of the client `id`, unless a use on the day `today` or later is stored already."""
