"""Initial access tokens: they let a program register clients (RFC 7591, section 3)."""

from collections.abc import Sequence
from datetime import timedelta

from domain import tokens
from domain.context import Context
from domain.oauth_clients.errors import InvalidInitialToken
from models.initial_access_token import (
    ADD_INITIAL_TOKEN,
    LIST_INITIAL_TOKENS,
    REMOVE_INITIAL_TOKEN,
    USE_INITIAL_TOKEN,
    InitialTokenRow,
)

PREFIX = "gwi_"


async def use(ctx: Context, authorization: str | None) -> str:
    """Use the initial access token in an Authorization header once; return the label of the token.

    The use does not count if the request is refused. Raises InvalidInitialToken.
    """
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer":
        raise InvalidInitialToken
    used = await ctx.db.execute(
        USE_INITIAL_TOKEN, digest=tokens.digest(token.strip()), now=ctx.now, updated_at=ctx.now
    )
    label: str | None = used.scalar()
    if label is None:
        raise InvalidInitialToken
    return label


async def create(
    ctx: Context, label: str, *, uses: int, expires_in: timedelta
) -> tuple[InitialTokenRow, str]:
    """Create a token that can be used `uses` times; return its row, and its text, of which only a digest is stored."""
    token = PREFIX + tokens.token()
    row = InitialTokenRow(
        id=tokens.token(),
        label=label,
        uses_left=uses,
        expires_at=ctx.now + expires_in,
        created_at=ctx.now,
    )
    await ctx.db.execute(ADD_INITIAL_TOKEN, **row._asdict(), token=tokens.digest(token), updated_at=ctx.now)
    return row, token


async def list_all(ctx: Context) -> Sequence[InitialTokenRow]:
    """Return the tokens that can still be used, oldest first."""
    return await ctx.db.execute(LIST_INITIAL_TOKENS, now=ctx.now)


async def revoke(ctx: Context, token_id: str) -> bool:
    """Delete a token; return whether there was one."""
    return bool(await ctx.db.execute(REMOVE_INITIAL_TOKEN, token_id=token_id))
