"""Grants: what a user has authorized a client to do. Every token about a user is issued under a grant."""

from domain import tokens
from domain.authentication_methods import amr_of
from domain.backchannel_logout.session_ids import sid_of
from domain.context import Context
from domain.oauth.policy import OAuthPolicy
from domain.sessions import sso_origin
from models.oauth_client import ClientRow
from models.oauth_grant import ADD_GRANT, REVOKE_GRANT, GrantRow
from models.session import SessionRow

OFFLINE_ACCESS = "offline_access"
"""The scope of grants that outlive their session."""


async def add(
    ctx: Context, client: ClientRow, session: SessionRow, *, scopes: str, resources: str
) -> GrantRow:
    """Create a grant by the user of `session` to the client; return it, and defer its insertion.

    `scopes` and `resources` are separated by spaces. The caller has checked the session, and locks it in the same
    transaction.
    """
    origin = await sso_origin.read(ctx, session)
    row = GrantRow(
        id=tokens.token(),
        client_id=client.client_id,
        user_id=session.user_id,
        session_id=session.id,
        sid=sid_of(ctx.cipher, client.client_id, session.id),
        offline=OFFLINE_ACCESS in scopes.split(),
        scopes=scopes,
        resources=resources,
        auth_time=sso_origin.authenticated_at(session, origin),
        # Sessions created by an earlier version have a method but no `amr`.
        amr=session.amr or amr_of(session.method),
        expires_at=ctx.now + ctx.policy[OAuthPolicy].grant_lifetime,
        revoked_at=None,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    ctx.db.defer(ADD_GRANT, **row._asdict(), connection_id=origin and origin.connection_id)
    return row


async def revoke(ctx: Context, grant_id: str) -> bool:
    """End a grant with all its tokens; return False if it had already ended."""
    ended = await ctx.db.execute(REVOKE_GRANT, grant_id=grant_id, revoked_at=ctx.now, updated_at=ctx.now)
    return bool(ended)
