"""The scopes and resources that a user has allowed a client: add some, and check for some.

The caller has locked the user's row.
"""

from collections.abc import Iterable

from domain import tokens
from domain.context import Context
from models.oauth_consent import ADD_CONSENT, CHANGE_CONSENT, FIND_CONSENT, ConsentRow


async def add(
    ctx: Context, user_id: str, client_id: str, scopes: Iterable[str], resources: Iterable[str]
) -> None:
    """Store that the user allows the client these scopes and resources, in addition to earlier ones."""
    stored = await _find(ctx, user_id, client_id)
    if stored is None:
        await ctx.db.execute(
            ADD_CONSENT,
            id=tokens.token(),
            user_id=user_id,
            client_id=client_id,
            scopes=_union("", scopes),
            resources=_union("", resources),
            created_at=ctx.now,
            updated_at=ctx.now,
        )
        return
    await ctx.db.execute(
        CHANGE_CONSENT,
        consent_id=stored.id,
        scopes=_union(stored.scopes, scopes),
        resources=_union(stored.resources, resources),
        updated_at=ctx.now,
    )


async def covers(
    ctx: Context, user_id: str, client_id: str, scopes: Iterable[str], resources: Iterable[str]
) -> bool:
    """Return whether the user has allowed the client all these scopes and resources."""
    stored = await _find(ctx, user_id, client_id)
    if stored is None:
        return False
    return set(scopes) <= set(stored.scopes.split()) and set(resources) <= set(stored.resources.split())


async def _find(ctx: Context, user_id: str, client_id: str) -> ConsentRow | None:
    found: ConsentRow | None = (
        await ctx.db.execute(FIND_CONSENT, user_id=user_id, client_id=client_id)
    ).first()
    return found


def _union(stored: str, added: Iterable[str]) -> str:
    return " ".join(dict.fromkeys([*stored.split(), *added]))
