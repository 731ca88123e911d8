"""The single sign-on that opened a session: the connection, and what its identity provider calls user and session.

This origin is stored with the session. While the sign-in waits for a second factor, the origin is kept encrypted.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy.exc import IntegrityError

from domain import tokens
from domain.context import Context, StaleRead
from domain.sessions import events, mails
from models import Account
from models.base import from_milliseconds, to_milliseconds
from models.session import SessionRow
from models.sso_connection import ConnectionRow
from models.sso_session import ADD_SSO_SESSION, SSO_SESSION_BY_ID, SSO_SESSION_OF, SsoSessionRow
from models.statements import insert
from models.user import UserRow

_PAYLOAD = "grant.origin"
"""The purpose under which an origin is encrypted while its sign-in waits for a second factor."""

_ADD_IDENTITY = insert(Account)


class NewIdentity(NamedTuple):
    """An identity at the provider of a connection. It is stored together with the first session of its user."""

    provider_id: str
    issuer: str
    account_id: str
    connection: str
    """The `providerId` of the connection."""
    name: str
    """The name of the connection, for people."""
    is_linked: bool
    """Whether the user existed before. Such a user is notified by email."""


class Provisioning(NamedTuple):
    """The values to write for the user of a sign-in through a connection, after the last factor."""

    email: str
    """The email address from the provider, in a verified domain of the connection."""
    profile: Mapping[str, str]
    """New values of `name` and `image`; empty unless the connection overwrites the profile."""
    roles: Sequence[str]
    """The roles in the organization."""
    replaces_roles: bool
    """Whether `roles` also replace the roles of a user who is a member already."""
    fingerprint: str
    """The result of `fingerprint_of` for the connection at the sign-in."""


@dataclass(frozen=True, slots=True)
class SsoOrigin:
    """The single sign-on that opens a session: the connection, and what its provider calls the user and the session."""

    connection_id: str
    subject: bytes
    """The digest of the identifier of the user at the provider."""
    session_index: bytes | None = None
    """The digest of the provider's own name of the session."""
    name_id: bytes | None = None
    """The encrypted SAML name identifier and session index, for a logout request to the provider."""
    organization_id: str | None = None
    """The organization that is active in the session."""
    authenticated_at: datetime | None = None
    """When the user has authenticated at the provider, if it says so."""
    amr: str = ""
    """The authentication methods (`amr`, RFC 8176) at the provider, separated by spaces; set for a new sign-in."""
    not_after: datetime | None = None
    """When the provider ends the session; None for no end. A session with an end is never extended."""
    identity: NewIdentity | None = None
    """The identity to store; None if the user has it already."""
    provisioning: Provisioning | None = None
    """What to write at the sign-in; None for a session that replaces another one or is opened by it."""

    def vouches_for(self, user: UserRow) -> bool:
        """Return whether the provider has sent the current email address of the user."""
        return self.provisioning is not None and self.provisioning.email == user.email


def fingerprint_of(row: ConnectionRow) -> str:
    """Return a digest of everything in a connection that decides who its users are and which roles they get."""
    parts = (row.issuer, row.organization_id or "", row.default_role, row.group_roles)
    return tokens.digest_of_bytes(row.config + json.dumps(parts).encode()).hex()


async def keep(ctx: Context, user: UserRow, session_id: str, origin: SsoOrigin) -> None:
    """Store the origin of a new session, and the new identity of its user if `origin` has one.

    The identity is stored only now, because a user with a second factor must have passed it first.
    """
    try:
        if origin.identity is not None:
            await _add_identity(ctx, user, origin.identity)
        await ctx.db.execute(
            ADD_SSO_SESSION,
            session_id=session_id,
            connection_id=origin.connection_id,
            subject=origin.subject,
            session_index=origin.session_index,
            name_id=origin.name_id,
            authenticated_at=origin.authenticated_at,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    except IntegrityError as collision:
        # Another request has added the identity, or deleted the connection.
        raise StaleRead from collision


async def _add_identity(ctx: Context, user: UserRow, new: NewIdentity) -> None:
    await ctx.db.execute(
        _ADD_IDENTITY,
        id=tokens.token(),
        user_id=user.id,
        provider_id=new.provider_id,
        issuer=new.issuer,
        account_id=new.account_id,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    events.sso_identity_linked(ctx, user.id, new.connection)
    if new.is_linked:
        await mails.organization_linked(ctx, user, new.name)


async def of_session(ctx: Context, session: SessionRow) -> SsoOrigin | None:
    """Return the origin of a locked session, for a session that replaces it or that it opens on a device.

    None for a session that no connection opened.
    """
    row = (await ctx.db.execute(SSO_SESSION_OF, session_id=session.id)).first()
    if row is None:
        return None
    # A session that is not remembered may have an end that the provider has set.
    not_after = None if session.remembered else session.expires_at
    return SsoOrigin(
        row.connection_id,
        row.subject,
        row.session_index,
        row.name_id,
        authenticated_at=row.authenticated_at,
        not_after=not_after,
    )


async def read(ctx: Context, session: SessionRow) -> SsoSessionRow | None:
    """Return the stored origin of a session, outside the transaction.

    None if no connection opened the session, or if it was created by a change of the password.
    """
    # `fed` is in the methods of every session that a sign-in through a connection opens, also after a second factor
    # here. After a change of the password, the user has authenticated by that.
    if "fed" not in session.amr.split():  # defence: O8 provider-time
        return None
    return await ctx.reads.one(SSO_SESSION_BY_ID, session.id)


def authenticated_at(session: SessionRow, origin: SsoSessionRow | None) -> datetime:
    """Return when the user of a session has authenticated, which may be earlier at the provider of a connection."""
    known = None if origin is None else origin.authenticated_at
    return session.created_at if known is None else min(known, session.created_at)


def encrypt(ctx: Context, origin: SsoOrigin) -> bytes:
    """Return the encrypted form of an origin."""
    values = {
        "connection": origin.connection_id,
        "subject": origin.subject.hex(),
        "index": origin.session_index and origin.session_index.hex(),
        "name": origin.name_id and origin.name_id.hex(),
        "organization": origin.organization_id,
        "until": origin.not_after and to_milliseconds(origin.not_after),
        "authenticated": origin.authenticated_at and to_milliseconds(origin.authenticated_at),
        "amr": origin.amr,
        "identity": origin.identity,
        "provisioning": origin.provisioning,
    }
    return ctx.cipher.encrypt(_PAYLOAD, json.dumps(values))


def decrypt(ctx: Context, payload: bytes) -> SsoOrigin | None:
    """Return the origin in an encrypted payload; None if it cannot be decrypted."""
    text = ctx.cipher.decrypt(_PAYLOAD, payload)
    if text is None:
        return None
    values: dict[str, Any] = json.loads(text)
    index, name, until, identity = (values[key] for key in ("index", "name", "until", "identity"))
    authenticated, provisioning = values["authenticated"], values["provisioning"]
    return SsoOrigin(
        values["connection"],
        bytes.fromhex(values["subject"]),
        None if index is None else bytes.fromhex(index),
        None if name is None else bytes.fromhex(name),
        values["organization"],
        None if authenticated is None else from_milliseconds(authenticated),
        values["amr"],
        None if until is None else from_milliseconds(until),
        None if identity is None else NewIdentity(*identity),
        None if provisioning is None else Provisioning(*provisioning),
    )
