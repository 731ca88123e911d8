"""The table `sso_domain`: email domains of connections, and whether they are verified."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Index, Integer, UniqueConstraint, bindparam, delete, or_, select, text, update
from sqlmodel import Field, col

from models.base import Instant, Record
from models.statements import insert, is_, table_of

_VERIFIED = text("verified_at IS NOT NULL")


class SsoDomain(Record, table=True):
    """One email domain that a connection claims. Several connections may claim it, but only one can verify it."""

    __tablename__ = "sso_domain"
    __table_args__ = (
        UniqueConstraint("connection_id", "domain"),
        Index(
            "ix_sso_domain_verified",
            "domain",
            unique=True,
            postgresql_where=_VERIFIED,
            sqlite_where=_VERIFIED,
        ),
        Index(None, "checked_at", postgresql_where=_VERIFIED, sqlite_where=_VERIFIED),
    )

    connection_id: str = Field(foreign_key="sso_connection.id", ondelete="CASCADE", max_length=32)
    domain: str = Field(max_length=253)
    """The domain in lower case; international names in punycode."""
    required: bool = False
    """Whether users of the domain must sign in through the connection."""
    token: str = Field(max_length=64)
    """The value of the TXT record that verifies the domain. It is no secret, because it is published."""
    verified_at: datetime | None = Field(default=None, sa_type=Instant)
    checked_at: datetime | None = Field(default=None, sa_type=Instant)
    """When the record was last found; None if the domain needs no record."""
    missed_at: datetime | None = Field(default=None, sa_type=Instant)
    """Since when the record of a verified domain is missing."""


class DomainRow(NamedTuple):
    """A domain as read by a query; the fields are those of `SsoDomain`."""

    id: str
    connection_id: str
    domain: str
    required: bool
    token: str
    verified_at: datetime | None
    checked_at: datetime | None
    missed_at: datetime | None
    created_at: datetime
    updated_at: datetime


DOMAIN_COLUMNS = tuple(col(getattr(SsoDomain, name)) for name in DomainRow._fields)
"""The columns of a `DomainRow`."""

DOMAINS = select(*DOMAIN_COLUMNS).order_by(col(SsoDomain.domain)).execution_options(row=DomainRow)
"""All domains by name; callers add conditions."""

DOMAINS_OF_CONNECTION = DOMAINS.where(is_(SsoDomain.connection_id, "connection_id"))
"""The domains of a connection, by name."""

FIND_DOMAIN = DOMAINS.where(is_(SsoDomain.id, "domain_id")).with_for_update()
"""The domain with the id `domain_id`, locked until the transaction ends."""

DUE_DOMAINS = (
    DOMAINS.where(
        col(SsoDomain.verified_at).is_not(None),
        or_(
            col(SsoDomain.checked_at) <= bindparam("until", type_=Instant()),
            col(SsoDomain.missed_at).is_not(None),
        ),
    )
    # `DOMAINS` is sorted already, and another `order_by` would only extend that.
    .order_by(None)
    .order_by(col(SsoDomain.updated_at), col(SsoDomain.id))
    .limit(bindparam("most", type_=Integer()))
)
"""At most `most` verified domains whose TXT record has to be looked up again, those looked up longest ago first.

The record was last found at `until` or earlier, or is missing. Domains that need no record have no `checked_at`, and
are left out.
"""

ADD_DOMAIN = insert(SsoDomain)

CHANGE_DOMAIN = update(table_of(SsoDomain)).where(is_(SsoDomain.id, "domain_id"))
"""Set the given columns of the domain `domain_id`."""

REMOVE_DOMAIN = delete(table_of(SsoDomain)).where(is_(SsoDomain.id, "domain_id"))
