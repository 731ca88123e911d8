"""Manage OAuth clients: for the operator, for administrators, and for the users who own them.

No permission is checked. `ctx.caller` is an administrator or the owner; None if the operator acts on the command line.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NoReturn

from domain import tokens
from domain.context import Context
from domain.oauth_clients import clients, events, metadata
from domain.oauth_clients.errors import (
    ClientNotFound,
    ClientReadOnly,
    InvalidClientMetadata,
    InvalidRedirectUri,
    StaleClient,
)
from domain.oauth_clients.metadata import InvalidMetadata
from domain.oauth_clients.policy import ClientPolicy
from domain.outbound import OutboundError, OutboundGuard
from models.device_request import END_REQUESTS_OF_CLIENT
from models.oauth_client import (
    FIND_CLIENT,
    LIST_CLIENTS,
    LOCK_CLIENT,
    REMOVE_CLIENT,
    ClientRow,
    ClientSource,
)
from models.oauth_code import CODES_OF_CLIENT
from models.oauth_grant import END_GRANTS_OF_CLIENT
from models.oauth_token import END_TOKENS_OF_CLIENT

OVERLAP = timedelta(hours=24)
"""How long the previous secret is accepted after a rotation."""

_CLIENT_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_SECRET_LENGTHS = range(32, 513)
"""How many characters an imported secret may have: with fewer, its digest could be inverted."""

_FIXED = ("token_endpoint_auth_method",)
"""Members of the metadata that cannot be changed; to authenticate in another way, create a new client."""


async def list_clients(ctx: Context) -> Sequence[ClientRow]:
    """Return the clients, newest first, at most 1,000."""
    return await ctx.db.execute(LIST_CLIENTS)


async def find(ctx: Context, client_id: str) -> ClientRow:
    """Return a client. Raises ClientNotFound."""
    row: ClientRow | None = (await ctx.db.execute(FIND_CLIENT, client_id=client_id)).first()
    if row is None:
        raise ClientNotFound
    return row


async def create(
    ctx: Context,
    sent: Mapping[str, Any],
    source: ClientSource,
    *,
    owner_id: str | None = None,
    form: str | None = None,
) -> tuple[ClientRow, str | None]:
    """Create a client with the metadata `sent`; return the client and its secret, None if it has no secret.

    `form` is the random text of a form, None without a form: a form that is sent twice creates one client, and the
    second call raises StaleClient. Raises InvalidClientMetadata, InvalidRedirectUri, StaleClient.
    """
    checked = _checked(ctx, sent, source)
    await _check_logout_uri(ctx, checked)
    client_id = None if form is None else _id_for(form)  # defence: C8 client-once
    if client_id is not None and await ctx.db.execute(FIND_CLIENT, client_id=client_id):
        raise StaleClient
    row, secret = await clients.add(ctx, checked, source, owner_id=owner_id, client_id=client_id)
    events.created(ctx, row)
    return row, secret


def _id_for(form: str) -> str:
    """Return the id of the client that a form creates."""
    return clients.CLIENT_ID_PREFIX + tokens.digest(form).hex()[:24]


async def import_client(ctx: Context, document: Mapping[str, Any]) -> tuple[ClientRow, str | None]:
    """Create a client from the metadata of another program; return the client and its secret, None without one.

    `client_id` and `client_secret` are kept if the document has them. Raises InvalidClientMetadata,
    InvalidRedirectUri.
    """
    checked = _checked(ctx, document, ClientSource.CLI)
    await _check_logout_uri(ctx, checked)
    client_id, secret = document.get("client_id"), document.get("client_secret")
    if client_id is not None and not (isinstance(client_id, str) and _CLIENT_ID.fullmatch(client_id)):
        raise InvalidClientMetadata(
            "Invalid client metadata: client_id must have 1 to 128 letters, digits, . _ -"
        )
    if secret is not None and not (isinstance(secret, str) and len(secret) in _SECRET_LENGTHS):
        raise InvalidClientMetadata("Invalid client metadata: client_secret must have 32 to 512 characters")
    if client_id is not None and await ctx.db.execute(FIND_CLIENT, client_id=client_id):
        raise InvalidClientMetadata("Invalid client metadata: client_id belongs to another client")
    own = secret if clients.has_secret(checked) else None
    row, new = await clients.add(ctx, checked, ClientSource.CLI, client_id=client_id, own_secret=own)
    events.created(ctx, row)
    return row, new


async def update(
    ctx: Context,
    client_id: str,
    sent: Mapping[str, Any],
    by: ClientSource,
    *,
    owner_id: str | None = None,
    is_disabled: bool | None = None,
    seen: str | None = None,
) -> ClientRow:
    """Change the metadata of a client, and whether it is disabled; return the client.

    `sent` has the members of the metadata to change; None removes a member. `by` says who sends them, and so which
    members are allowed. `is_disabled` of None changes nothing. `seen` is the `version` that a form was shown with, None
    without a form. Raises ClientNotFound, ClientReadOnly, InvalidClientMetadata, InvalidRedirectUri, StaleClient.
    """
    for name in _FIXED:
        if name in sent:
            raise InvalidClientMetadata(f"Invalid client metadata: {name} cannot be changed")
    await _check_logout_uri(ctx, sent)
    row = await _locked(ctx, client_id, owner_id, changes_metadata=bool(sent) or is_disabled is None)
    known = row.metadata
    checked = _checked(ctx, {**known, **sent}, by, only=sent) if sent else known
    changed = {name for name in metadata.MEMBERS if checked.get(name) != known.get(name)}
    # A form that is sent twice has nothing to change the second time, and is not refused as outdated.
    if changed:
        _check_version(row, seen)
        row = await clients.replace(ctx, row, checked)
        events.updated(ctx, row, changed)
    return row if is_disabled is None else await _set_disabled(ctx, row, is_disabled=is_disabled)


async def disable(ctx: Context, client_id: str) -> ClientRow:
    """Disable a client, and end its grants; return the client. Raises ClientNotFound, ClientReadOnly."""
    return await _set_disabled(ctx, await _locked(ctx, client_id, changes_metadata=False), is_disabled=True)


async def rotate_secret(
    ctx: Context, client_id: str, *, owner_id: str | None = None, seen: str | None = None
) -> tuple[ClientRow, str]:
    """Replace the secret of a client; return the client and the new secret. The old secret is accepted for 24 hours.

    `seen` is the `version` that a form was shown with, None without a form. Raises ClientNotFound, ClientReadOnly,
    InvalidClientMetadata if the client has no secret, StaleClient.
    """
    row = await _locked(ctx, client_id, owner_id)
    _check_version(row, seen)
    if row.secret is None:
        raise InvalidClientMetadata("Invalid client metadata: the client has no secret")
    secret = clients.new_secret()
    row = await replace_secret(ctx, row, secret)
    return row, secret


async def replace_secret(ctx: Context, row: ClientRow, secret: str) -> ClientRow:
    """Replace the secret of a locked client, and return the client. The old secret is accepted for 24 hours."""
    events.secret_rotated(ctx, row)
    return await clients.change(
        ctx,
        row,
        secret=tokens.digest(secret),  # defence: O14 secret-digest
        previous_secret=row.secret,
        previous_until=ctx.now + OVERLAP,
    )


async def remove(ctx: Context, client_id: str, *, owner_id: str | None = None) -> None:
    """Delete a client with its grants, tokens and consents. Raises ClientNotFound, ClientReadOnly."""
    await delete_row(ctx, await _locked(ctx, client_id, owner_id))


async def delete_row(ctx: Context, row: ClientRow) -> None:
    """Delete a locked client with everything that refers to it."""
    await ctx.db.execute(REMOVE_CLIENT, client_id=row.client_id)
    events.deleted(ctx, row)


async def end_grants(ctx: Context, row: ClientRow) -> int:
    """End all grants and tokens of a client, its authorization codes and its device requests.

    Returns the number of grants.
    """
    for statement in (CODES_OF_CLIENT, END_REQUESTS_OF_CLIENT, END_TOKENS_OF_CLIENT):
        await ctx.db.execute(statement, client_id=row.client_id)
    return len(await ctx.db.execute(END_GRANTS_OF_CLIENT, client_id=row.client_id))


async def _set_disabled(ctx: Context, row: ClientRow, *, is_disabled: bool) -> ClientRow:
    if is_disabled == (row.disabled_at is not None):
        return row
    # A document that is disabled is not deleted: it would come back.
    kept = None if is_disabled else ctx.now + clients.UNUSED_DOCUMENT
    columns = {"expires_at": kept} if row.is_document else {}
    if not is_disabled:
        events.updated(ctx, row, ["disabled"])
        return await clients.change(ctx, row, disabled_at=None, **columns)
    row = await clients.change(ctx, row, disabled_at=ctx.now, **columns)
    await end_grants(ctx, row)  # defence: O16 client-grants
    events.disabled(ctx, row)
    return row


async def _locked(
    ctx: Context, client_id: str, owner_id: str | None = None, *, changes_metadata: bool = True
) -> ClientRow:
    """Return a client that may be changed, locked; with an owner, only one of this owner.

    The metadata of a client with a document cannot be changed, but it can be disabled.
    """
    row: ClientRow | None = (await ctx.db.execute(LOCK_CLIENT, client_id=client_id)).first()
    # defence: O14 owner
    if row is None or (owner_id is not None and row.owner_id != owner_id):
        raise ClientNotFound
    if row.source == ClientSource.CONFIG or (row.is_document and changes_metadata):
        raise ClientReadOnly
    return row


def _checked(
    ctx: Context, sent: Mapping[str, Any], source: ClientSource, *, only: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return complete metadata; only some members may be those that were sent. Raises the errors of `create`."""
    try:
        metadata.check_permitted(sent if only is None else only, source)
        return metadata.complete(sent, ctx.policy[ClientPolicy])
    except InvalidMetadata as fault:
        _refuse(fault)


def version(row: ClientRow) -> str:
    """Return a text that differs after every change of the metadata or the secret of a client.

    Forms contain it to detect concurrent changes.
    """
    return tokens.digest(f"{row.client_id} {row.registration} {(row.secret or b'').hex()}").hex()


def _check_version(row: ClientRow, seen: str | None) -> None:
    """Check that a locked client is as a form has shown it. Raises StaleClient."""
    if seen is not None and seen != version(row):  # defence: C8 seen-client
        raise StaleClient


def _refuse(fault: InvalidMetadata) -> NoReturn:
    if fault.is_redirect_uri:
        raise InvalidRedirectUri(f"Invalid redirect URI: {fault}") from None
    raise _invalid(fault.member, f"{fault}") from None


def _invalid(member: str, problem: str) -> InvalidClientMetadata:
    error = InvalidClientMetadata(f"Invalid client metadata: {problem}")
    error.member = member
    return error


async def _check_logout_uri(ctx: Context, sent: Mapping[str, Any]) -> None:
    """Check where logout tokens are sent to. Raises InvalidClientMetadata."""
    uri = sent.get("backchannel_logout_uri")
    if not isinstance(uri, str):
        return
    try:
        await ctx.port[OutboundGuard].check(uri)
    except OutboundError as error:
        raise _invalid("backchannel_logout_uri", f"backchannel_logout_uri: {error}") from None
