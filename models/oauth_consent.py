"""The table `oauth_consent`: what users have allowed clients."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import UniqueConstraint, delete, select, update
from sqlmodel import Field, col

from models.base import Access, Record
from models.oauth_client import OauthClient
from models.queries import ReadStatement, by
from models.statements import insert, is_, table_of


class OauthConsent(Record, table=True):
    """What one user has allowed one client."""

    __tablename__ = "oauth_consent"
    __export__ = "oauthConsents"
    __access__ = (Access("oauth_consents", None),)
    __table_args__ = (UniqueConstraint("user_id", "client_id"),)

    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=32)
    client_id: str = Field(
        foreign_key="oauth_client.client_id", ondelete="CASCADE", index=True, max_length=512
    )
    scopes: str
    """The allowed scopes, separated by spaces."""
    resources: str = ""
    """The URIs of the allowed resources (RFC 8707), separated by spaces."""


class ConsentRow(NamedTuple):
    """A consent as read by a query; the fields are those of `OauthConsent`."""

    id: str
    user_id: str
    client_id: str
    scopes: str
    resources: str
    created_at: datetime
    updated_at: datetime


CONSENT_COLUMNS = tuple(col(getattr(OauthConsent, name)) for name in ConsentRow._fields)
"""The columns of a `ConsentRow`."""

CONSENTS_OF_USER = ReadStatement(
    select(*CONSENT_COLUMNS).where(by(OauthConsent.user_id)), ConsentRow._make, key=OauthConsent.user_id
)
"""Every consent of a user, unsorted."""

FIND_CONSENT = (
    select(*CONSENT_COLUMNS)
    .where(is_(OauthConsent.user_id, "user_id"), is_(OauthConsent.client_id, "client_id"))
    .execution_options(row=ConsentRow)
)
"""The consent of `user_id` for `client_id`, as the transaction sees it."""

ADD_CONSENT = insert(OauthConsent)

CHANGE_CONSENT = update(table_of(OauthConsent)).where(is_(OauthConsent.id, "consent_id"))
"""Set the given columns of the consent `consent_id`."""


class ConsentWithClient(NamedTuple):
    """A consent with the name and the source of its client."""

    id: str
    user_id: str
    client_id: str
    scopes: str
    resources: str
    created_at: datetime
    updated_at: datetime
    client_name: str
    source: str


_WITH_CLIENT = select(*CONSENT_COLUMNS, col(OauthClient.client_name), col(OauthClient.source)).join(
    OauthClient, col(OauthClient.client_id) == col(OauthConsent.client_id)
)

CONSENTS_WITH_CLIENTS = ReadStatement(
    _WITH_CLIENT.where(by(OauthConsent.user_id)), ConsentWithClient._make, key=OauthConsent.user_id
)
"""Every consent of a user with its client, unsorted."""

FIND_CONSENT_OF_USER = _WITH_CLIENT.where(
    is_(OauthConsent.id, "consent_id"),
    # That of another user looks like an unknown one.
    is_(OauthConsent.user_id, "user_id"),  # defence: O5 consent-owner
).execution_options(row=ConsentWithClient)
"""The consent `consent_id` of the user `user_id` with its client."""

END_CONSENTS_OF_CLIENT = delete(table_of(OauthConsent)).where(is_(OauthConsent.client_id, "client_id"))
"""Delete all consents for `client_id`."""

REMOVE_CONSENTS_OF_USER = delete(table_of(OauthConsent)).where(is_(OauthConsent.user_id, "user_id"))
"""Delete all consents of `user_id`."""

REMOVE_CONSENT_FOR_CLIENT = REMOVE_CONSENTS_OF_USER.where(is_(OauthConsent.client_id, "client_id"))
"""Delete the consent of `user_id` for `client_id`."""

REMOVE_CONSENT = delete(table_of(OauthConsent)).where(is_(OauthConsent.id, "consent_id"))
"""Delete the consent `consent_id`."""
