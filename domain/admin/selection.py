"""Act on several users: on each in a transaction of its own, by the rule for one user."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Literal

from sqlmodel import col

from domain.admin import permissions
from domain.admin.errors import (
    YouAreNotAllowedToBanUsers,
    YouAreNotAllowedToListUsers,
    YouAreNotAllowedToRevokeUsersSessions,
)
from domain.admin.policy import AdminPolicy
from domain.context import Context, Job
from domain.errors import Forbidden, Refusal, Unavailable
from domain.ports import SearchTimedOut
from domain.users.errors import UserNotFound
from domain.users.policy import Permission
from models import User
from models.user import SELECT_USER, UserRow

Act = Literal["ban", "unban", "end-sessions"]
ACTS: Mapping[Act, tuple[Permission, type[Forbidden]]] = {
    "ban": (("user", "ban"), YouAreNotAllowedToBanUsers),
    "unban": (("user", "ban"), YouAreNotAllowedToBanUsers),
    "end-sessions": (("session", "revoke"), YouAreNotAllowedToRevokeUsersSessions),
}
"""What can be done to several users, and the permission that it needs."""

LIFE = timedelta(hours=1)
"""How long the results are shown."""

_PURPOSE = "console.results"

Results = Mapping[str, str | None]
"""The code of the refusal for each user id; None if it was done."""


async def users_of(ctx: Context, ids: Sequence[str], act: Act | None = None) -> Mapping[str, UserRow]:
    """Return those of these users that exist, by id, for a caller who may list users, and do this to them.

    Raises the refusals of permissions, Unavailable.
    """
    permissions.require(ctx, "user", "list", YouAreNotAllowedToListUsers)
    if act is not None:
        permission, error = ACTS[act]
        permissions.require(ctx, *permission, error)
    if not ids:
        return {}
    statement = SELECT_USER.where(col(User.id).in_(ids))
    try:
        [found] = await ctx.resources.database.search(
            [statement], ctx.policy[AdminPolicy].scan_timeout, is_scan=False
        )
    except SearchTimedOut:
        raise Unavailable from None
    by_id = {user.id: user for user in found}
    return {user_id: by_id[user_id] for user_id in ids if user_id in by_id}


async def act_on_each(
    ctx: Context, ids: Sequence[str], act: Act, rule: Callable[[str], Job[object]]
) -> Results:
    """Run the rule for each of these users, for the caller's own account last; return the refusals.

    Raises the refusals of permissions, and Unavailable before anything was done.
    """
    existing = await users_of(ctx, ids, act)
    # A caller whose own sessions end first could do nothing to the others.
    ordered = sorted(dict.fromkeys(ids), key=ctx.signed_in.user.id.__eq__)
    results: dict[str, str | None] = {}
    for user_id in ordered:
        try:
            if user_id not in existing:
                raise UserNotFound
            await ctx.in_new_transaction(rule(user_id))
            results[user_id] = None
        except Refusal as refusal:
            results[user_id] = refusal.code
    return results


def seal(ctx: Context, act: Act, results: Results) -> str:
    """Return results, encrypted for a URL that only the caller can use."""
    by_code: dict[str, list[str]] = {}
    for user_id, code in results.items():
        by_code.setdefault(code or "", []).append(user_id)
    claims = {
        "caller": ctx.signed_in.user.id,
        "until": (ctx.now + LIFE).timestamp(),
        "act": act,
        "results": by_code,
    }
    return ctx.cipher.encrypt(_PURPOSE, json.dumps(claims, separators=(",", ":"))).decode()


def unseal(ctx: Context, sealed: str) -> tuple[Act, Results] | None:
    """Return what was done, and the results; None if they are of another caller, expired, or changed."""
    text = ctx.cipher.decrypt(_PURPOSE, sealed.encode())
    if text is None:
        return None
    claims = json.loads(text)
    # defence: C3 own-results
    if claims["caller"] != ctx.signed_in.user.id or ctx.now.timestamp() >= claims["until"]:
        return None
    by_code: Mapping[str, Sequence[str]] = claims["results"]
    return claims["act"], {user_id: code or None for code, ids in by_code.items() for user_id in ids}
