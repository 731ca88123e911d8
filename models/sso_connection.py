"""The table `sso_connection`: identity providers of organizations, or of the whole service."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import delete, func, select, update
from sqlmodel import Field, col

from models.base import ENCRYPTED, Instant, Record
from models.member import Member
from models.queries import ReadStatement, by
from models.sso_domain import SsoDomain
from models.statements import insert, is_, table_of

CONFIG = "sso_connection.config"
"""The purpose under which a configuration is encrypted."""


class ConnectionType(StrEnum):
    """The protocol of a connection."""

    OIDC = "oidc"
    SAML = "saml"


class ConnectionState(StrEnum):
    """The state of a connection. Users can sign in through it only while it is `ACTIVE`."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"


class ConnectionSource(StrEnum):
    """Where a connection comes from. Connections from the configuration can only be changed there."""

    CONFIG = "config"
    OPERATION = "operation"
    CLI = "cli"


class SecondFactor(StrEnum):
    """Whether the provider alone is responsible for a second factor, or users also need their own in this service."""

    PROVIDER = "provider"
    LOCAL = "local"


class SsoConnection(Record, table=True):
    """One identity provider and how its users sign in."""

    __tablename__ = "sso_connection"

    provider_id: str = Field(unique=True, max_length=40)
    """The name of the connection in URLs and requests."""
    organization_id: str | None = Field(
        default=None, foreign_key="organization.id", index=True, ondelete="CASCADE", max_length=32
    )
    """The organization whose members sign in; None for a connection of the whole service."""
    type: str = Field(max_length=8)
    issuer: str
    """The issuer of the OpenID provider, or the entity id of the SAML identity provider."""
    config: bytes = Field(sa_column_kwargs=ENCRYPTED, repr=False)
    """The client secret, keys, endpoints and mapping: an `OidcConfig` or `SamlConfig` as JSON, encrypted."""
    name: str = Field(max_length=64)
    """The name on the button of the sign-in page."""
    state: str = Field(default=ConnectionState.DRAFT, max_length=8)
    sign_up: bool = True
    """Whether users without an account get one when they sign in."""
    second_factor: str = Field(default=SecondFactor.PROVIDER, max_length=8)
    default_role: str = "member"
    """The roles of new members in the organization, separated by commas."""
    group_roles: str = "{}"
    """Roles in the organization by group at the provider, as a JSON object."""
    idp_initiated: bool = False
    """Whether SAML responses without a request are accepted, if the service accepts them at all."""
    source: str = Field(max_length=16)
    created_by: str | None = Field(default=None, max_length=32)
    last_used_at: datetime | None = Field(default=None, sa_type=Instant)
    certificate_end_notified: datetime | None = Field(default=None, sa_type=Instant)
    """The expiry of the certificates about which the owners of the organization were last notified."""


class ConnectionRow(NamedTuple):
    """A connection as read by a query; the fields are those of `SsoConnection`."""

    id: str
    provider_id: str
    organization_id: str | None
    type: str
    issuer: str
    config: bytes
    name: str
    state: str
    sign_up: bool
    second_factor: str
    default_role: str
    group_roles: str
    idp_initiated: bool
    source: str
    created_by: str | None
    last_used_at: datetime | None
    created_at: datetime
    updated_at: datetime
    certificate_end_notified: datetime | None = None

    @property
    def is_active(self) -> bool:
        """Whether users can sign in through the connection."""
        return self.state == ConnectionState.ACTIVE


def account_provider(connection_id: str) -> str:
    """Return the `provider_id` of the accounts (`Account`) that store identities at a connection."""
    return f"sso:{connection_id}"


CONNECTION_COLUMNS = tuple(col(getattr(SsoConnection, name)) for name in ConnectionRow._fields)
"""The columns of a `ConnectionRow`."""

_CONNECTIONS = select(*CONNECTION_COLUMNS).execution_options(row=ConnectionRow)
_OLDEST_FIRST = (col(SsoConnection.created_at), col(SsoConnection.id))

CONNECTION_BY_NAME = ReadStatement(
    select(*CONNECTION_COLUMNS).where(by(SsoConnection.provider_id)), ConnectionRow._make
)
"""The connection with a `provider_id`, outside any transaction."""

FIND_CONNECTION = _CONNECTIONS.where(is_(SsoConnection.provider_id, "provider_id"))
"""The connection with the name `provider_id`."""

LOCK_CONNECTION = FIND_CONNECTION.with_for_update()
"""The connection with the name `provider_id`, locked until the transaction ends."""

FIND_CONNECTION_BY_ID = _CONNECTIONS.where(is_(SsoConnection.id, "connection_id"))
"""The connection with the id `connection_id`."""

LOCK_CONNECTION_BY_ID = FIND_CONNECTION_BY_ID.with_for_update(key_share=True)
"""The connection with the id `connection_id`, locked until the transaction ends; rows may still refer to it."""

SHARE_CONNECTION = FIND_CONNECTION_BY_ID.with_for_update(read=True)
"""The connection with the id `connection_id`, with a shared lock: it cannot change until the transaction ends."""

LIST_CONNECTIONS = _CONNECTIONS.order_by(*_OLDEST_FIRST)
"""All connections, the oldest first."""

CONNECTIONS_OF_ORGANIZATION = _CONNECTIONS.where(
    is_(SsoConnection.organization_id, "organization_id")
).order_by(*_OLDEST_FIRST)
"""The connections of an organization, the oldest first."""

SAML_CONNECTIONS = _CONNECTIONS.where(
    col(SsoConnection.type) == ConnectionType.SAML.value,
    col(SsoConnection.state) == ConnectionState.ACTIVE.value,
).order_by(*_OLDEST_FIRST)
"""The active SAML connections, the oldest first."""

CONNECTIONS_OF_SOURCE = _CONNECTIONS.where(is_(SsoConnection.source, "source")).order_by(*_OLDEST_FIRST)
"""The connections with a `source`, the oldest first."""

CONNECTIONS_OF_MEMBER = (
    select(*CONNECTION_COLUMNS, col(Member.role))
    .join(Member, col(Member.organization_id) == col(SsoConnection.organization_id))
    .where(is_(Member.user_id, "user_id"))
    .order_by(*_OLDEST_FIRST)
)
"""The connections of the organizations of the user `user_id`, each with the roles of the user there."""

COUNT_CONNECTIONS = select(func.count()).where(is_(SsoConnection.organization_id, "organization_id"))
"""The number of connections of an organization."""

OWNER_OF_DOMAIN = _CONNECTIONS.join(SsoDomain, col(SsoDomain.connection_id) == col(SsoConnection.id)).where(
    is_(SsoDomain.domain, "domain"),
    col(SsoDomain.verified_at).is_not(None),  # defence: SSO9 proved-domain
)
"""The connection for which a `domain` is verified; at most one."""

CONNECTION_OF_DOMAIN = OWNER_OF_DOMAIN.where(col(SsoConnection.state) == ConnectionState.ACTIVE.value)
"""The connection for which a `domain` is verified, if it is active."""

ADD_CONNECTION = insert(SsoConnection)

CHANGE_CONNECTION = (
    update(table_of(SsoConnection))
    .where(is_(SsoConnection.id, "connection_id"))
    .returning(*CONNECTION_COLUMNS)
    .execution_options(row=ConnectionRow)
)
"""Set the given columns of the connection `connection_id`."""

USE_CONNECTION = update(table_of(SsoConnection)).where(is_(SsoConnection.id, "connection_id"))
"""Set `last_used_at` of the connection `connection_id`."""

REMOVE_CONNECTION = delete(table_of(SsoConnection)).where(is_(SsoConnection.id, "connection_id"))


class Requirement(NamedTuple):
    """A connection through which the users of a domain must sign in."""

    connection_id: str
    provider_id: str
    organization_id: str | None


_REQUIREMENTS = (
    select(*map(col, (SsoConnection.id, SsoConnection.provider_id, SsoConnection.organization_id)))
    .join(SsoDomain, col(SsoDomain.connection_id) == col(SsoConnection.id))
    .where(
        col(SsoDomain.verified_at).is_not(None),
        col(SsoDomain.required),
        # While a connection is paused, its users sign in as others do.
        col(SsoConnection.state) == ConnectionState.ACTIVE.value,
    )
)

REQUIREMENT_BY_DOMAIN = ReadStatement(_REQUIREMENTS.where(by(SsoDomain.domain)), Requirement._make)
"""The active connection through which users of a domain must sign in, outside any transaction."""

IS_CONNECTED = ReadStatement(
    select(col(SsoDomain.connection_id)).where(by(SsoDomain.domain), col(SsoDomain.verified_at).is_not(None)),
    tuple,
)
"""A row if a connection has verified a domain, outside any transaction."""

FIND_REQUIREMENT = _REQUIREMENTS.where(is_(SsoDomain.domain, "domain")).execution_options(row=Requirement)
"""The active connection through which users of a `domain` must sign in, read in a transaction."""
