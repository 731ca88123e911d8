"""List, reduce and revoke the caller's consents to clients. Reducing or revoking also ends the grants to the client."""

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from domain.context import Context
from domain.oauth.errors import InvalidConsentScope
from domain.oauth_consents import events
from domain.oauth_consents.errors import ConsentNotFound
from domain.users import locking
from models.device_request import END_APPROVED_REQUESTS
from models.oauth_client import ClientSource
from models.oauth_code import CODES_OF_USER, OauthCode
from models.oauth_consent import (
    CHANGE_CONSENT,
    CONSENTS_WITH_CLIENTS,
    FIND_CONSENT_OF_USER,
    REMOVE_CONSENT,
    ConsentRow,
    ConsentWithClient,
)
from models.oauth_grant import END_GRANTS_OF_CONSENT
from models.statements import is_

_BY_AGE = attrgetter("consent.created_at", "consent.id")

_END_CODES = CODES_OF_USER.where(is_(OauthCode.client_id, "client_id"))


class Connection(NamedTuple):
    """A consent with the client that it is for."""

    consent: ConsentRow
    client_name: str
    is_verified: bool
    """False if the client has registered itself or comes from a metadata document: its name is unchecked."""


async def list_own(ctx: Context) -> list[Connection]:
    """Return the consents of the caller, oldest first."""
    rows = await ctx.reads.all(CONSENTS_WITH_CLIENTS, ctx.signed_in.user.id)
    return sorted(map(_connection, rows), key=_BY_AGE)


async def read(ctx: Context, consent_id: str) -> Connection:
    """Return a consent of the caller. Raises ConsentNotFound."""
    for found in await list_own(ctx):
        if found.consent.id == consent_id:
            return found
    raise ConsentNotFound


async def narrow(ctx: Context, consent_id: str, scopes: Sequence[str]) -> Connection:
    """Reduce a consent of the caller to `scopes`, end all grants to its client, and return the consent.

    Raises ConsentNotFound; InvalidConsentScope if a scope is not part of the consent; Unauthenticated if the session
    has ended.
    """
    found = await _lock(ctx, consent_id)
    kept = [scope for scope in found.consent.scopes.split() if scope in scopes]
    # Nothing is added without a question to the user.
    # defence: O5 narrow
    if len(kept) != len(set(scopes)):
        raise InvalidConsentScope
    text = " ".join(kept)
    await ctx.db.execute(CHANGE_CONSENT, consent_id=consent_id, scopes=text, updated_at=ctx.now)
    await end_grants(ctx, found.consent.user_id, found.consent.client_id)
    events.consent_revoked(ctx, found.consent.client_id, kept)
    return found._replace(consent=found.consent._replace(scopes=text, updated_at=ctx.now))


async def revoke(ctx: Context, consent_id: str) -> None:
    """Delete a consent of the caller, and end all grants to its client.

    Raises ConsentNotFound; Unauthenticated if the session has ended.
    """
    found = await _lock(ctx, consent_id)
    await ctx.db.execute(REMOVE_CONSENT, consent_id=consent_id)
    await end_grants(ctx, found.consent.user_id, found.consent.client_id)
    events.consent_revoked(ctx, found.consent.client_id)


async def _lock(ctx: Context, consent_id: str) -> Connection:
    """Lock the caller and return one of their consents. Raises ConsentNotFound, Unauthenticated."""
    user = await locking.lock_caller(ctx)
    row = (await ctx.db.execute(FIND_CONSENT_OF_USER, consent_id=consent_id, user_id=user.id)).first()
    if row is None:
        raise ConsentNotFound
    return _connection(row)


async def end_grants(ctx: Context, user_id: str, client_id: str) -> int:
    """End all grants of a user to a client; return how many.

    Unused authorization codes and approved device requests are ended as well. The caller has locked the user's row.
    """
    of = {"user_id": user_id, "client_id": client_id}
    # Before the grants: a code that is being redeemed has its grant once its row can be deleted.
    # defence: O16 codes-of-consent
    await ctx.db.execute(_END_CODES, **of)
    await ctx.db.execute(END_APPROVED_REQUESTS, **of)
    return len(await ctx.db.execute(END_GRANTS_OF_CONSENT, **of))  # defence: O16 consent


def _connection(row: ConsentWithClient) -> Connection:
    is_verified = row.source not in (ClientSource.DYNAMIC, ClientSource.DOCUMENT)
    return Connection(ConsentRow._make(row[: len(ConsentRow._fields)]), row.client_name, is_verified)
