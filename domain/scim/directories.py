"""Authenticate the directory of a SCIM request, and check email domains and the versions of resources.

Also stops a directory that disables too many users within an hour.
"""

from datetime import timedelta

from domain import identifiers, tokens, urls
from domain.context import ConnectionActor, Context
from domain.identifiers import InvalidEmail
from domain.organizations.access import retried
from domain.rate_limits import limits
from domain.scim import events
from domain.scim.errors import (
    DirectoryStopped,
    ForeignDomain,
    InvalidScimToken,
    InvalidValue,
    VersionMismatch,
)
from domain.scim.policy import ScimPolicy
from domain.scim.request import ScimRequest
from models.scim_link import ADD_STATE, CHANGE_STATE, COUNT_ACTIVE, FIND_STATE, LOCK_STATE, DirectoryRow
from models.scim_token import FIND_DIRECTORY, MARK_TOKEN_USED, Directory
from models.sso_connection import ConnectionRow
from models.sso_domain import DOMAINS_OF_CONNECTION

PREFIX = "scim_"
"""The first characters of every SCIM token."""
FEWEST_GUARDED = 20
"""A directory with fewer active users is never stopped."""

_WINDOW = timedelta(hours=1)
_RETRY = 3600
"""Seconds after which a stopped directory may ask again; only a confirmation lets it continue."""
_USE_INTERVAL = timedelta(hours=1)


async def enter(ctx: Context, request: ScimRequest) -> Directory:
    """Return the directory to which the bearer token of a request belongs.

    Also stores the id of its connection in the request, and the connection as the actor of audit records. Raises
    InvalidScimToken, Limited.
    """
    sent = request.token
    if sent is None or not sent.startswith(PREFIX) or not tokens.is_token(sent.removeprefix(PREFIX)):
        raise InvalidScimToken
    found = (await ctx.db.execute(FIND_DIRECTORY, digest=tokens.digest(sent), now=ctx.now)).first()
    if found is None:
        raise InvalidScimToken
    *connection, token_id, last_used_at = found
    directory = Directory(ConnectionRow(*connection), token_id)
    # Before the limit, so that its refusal is among the failures that the connection lists.
    request.connection_id = directory.connection.id
    ctx.connection_actor = ConnectionActor("directory", directory.connection.id)
    await limits.check_program(ctx, "scim", directory.token_id, ctx.policy[ScimPolicy].rate)
    if last_used_at is None or ctx.now - last_used_at >= _USE_INTERVAL:
        ctx.db.defer(MARK_TOKEN_USED, token_id=directory.token_id, last_used_at=ctx.now, updated_at=ctx.now)
    return directory


async def address_of(ctx: Context, directory: Directory, user_name: str) -> str:
    """Return a user name as an email address in lower case.

    Raises InvalidValue if it is no email address, ForeignDomain if its domain is not a verified one of the directory.
    """
    try:
        address = identifiers.email(user_name)
    except InvalidEmail:
        raise InvalidValue("userName: must be an email address") from None
    if identifiers.domain_of(address) not in await domains(ctx, directory):  # defence: SSO12 domain
        raise ForeignDomain
    return address


async def domains(ctx: Context, directory: Directory) -> frozenset[str]:
    """Return the verified domains of a directory. Domains that the operator has named need no verification."""
    rows = await ctx.db.execute(DOMAINS_OF_CONNECTION, connection_id=directory.connection.id)
    return frozenset(row.domain for row in rows if row.verified_at is not None)


def location(ctx: Context, endpoint: str, resource_id: str) -> str:
    """Return the URL of a user or group; `endpoint` is `Users` or `Groups`."""
    return urls.public_url(ctx.policy, f"/scim/v2/{endpoint}/{resource_id}")


def etag(version: int) -> str:
    """Return the entity tag of a version of a resource."""
    return f'W/"{version}"'


def check_version(request: ScimRequest, version: int) -> None:
    """Raise VersionMismatch unless the `If-Match` of a request is missing or has this version."""
    if request.if_match is None:
        return
    expected = [tag.strip().removeprefix("W/") for tag in request.if_match.split(",")]
    if "*" not in expected and f'"{version}"' not in expected:  # defence: SSO13 version
        raise VersionMismatch


async def count_disabled(ctx: Context, directory: Directory) -> None:
    """Count a user who is about to be disabled or removed.

    Stops a directory of at least FEWEST_GUARDED active users if this would disable more than half of them within an
    hour. Raises DirectoryStopped if the directory is stopped now or was before.
    """
    state = await _locked_state(ctx, directory)
    if state.stopped_at is not None:
        raise DirectoryStopped(retry_after=_RETRY)  # defence: SSO13 stays-stopped
    began, members, disabled = state.window_began_at, state.window_members, state.window_disabled
    if began is None or ctx.now - began >= _WINDOW:
        members = (await ctx.db.execute(COUNT_ACTIVE, connection_id=directory.connection.id)).scalar()
        began, disabled = ctx.now, 0
    disabled += 1
    if members >= FEWEST_GUARDED and disabled * 2 > members:  # defence: SSO13 stop
        await _change(ctx, directory.connection.id, stopped_at=ctx.now)
        events.stopped(ctx, directory, disabled - 1, members)
        raise DirectoryStopped(retry_after=_RETRY)
    await _change(
        ctx,
        directory.connection.id,
        window_began_at=began,
        window_members=members,
        window_disabled=disabled,
    )


async def state_of(ctx: Context, connection_id: str) -> DirectoryRow | None:
    """Return the stored state of the directory of a connection; None if it has never disabled a user."""
    row: DirectoryRow | None = (await ctx.db.execute(FIND_STATE, connection_id=connection_id)).first()
    return row


async def resume(ctx: Context, connection_id: str) -> bool:
    """Allow a stopped directory to continue, with a new count of disabled users; return whether it was stopped."""
    row: DirectoryRow | None = (await ctx.db.execute(LOCK_STATE, connection_id=connection_id)).first()
    if row is None or row.stopped_at is None:
        return False
    await _change(ctx, connection_id, stopped_at=None, window_began_at=None)
    return True


async def _locked_state(ctx: Context, directory: Directory) -> DirectoryRow:
    connection_id = directory.connection.id
    row: DirectoryRow | None = (await ctx.db.execute(LOCK_STATE, connection_id=connection_id)).first()
    if row is not None:
        return row
    with retried():
        await ctx.db.execute(
            ADD_STATE,
            connection_id=connection_id,
            window_members=0,
            window_disabled=0,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    return DirectoryRow(connection_id, None, 0, 0, None)


async def _change(ctx: Context, connection_id: str, **changes: object) -> None:
    await ctx.db.execute(CHANGE_STATE, directory=connection_id, **changes, updated_at=ctx.now)
