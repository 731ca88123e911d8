"""Perform an action on several users: for each one in its own transaction, by the rule for a single user."""

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
"""The actions on several users, each with the permission that it needs and the error if that is missing."""

LIFE = timedelta(hours=1)
"""How long the results of an action can be shown."""

_PURPOSE = "console.results"

Results = Mapping[str, str | None]
"""The code of the refusal for each user id; None if the action succeeded."""


async def users_of(ctx: Context, ids: Sequence[str], act: Act | None = None) -> Mapping[str, UserRow]:
    """Return the users with these ids, by id, without those that do not exist.

    Checks that the caller may list users and, if `act` is given, perform it. Raises YouAreNotAllowedToListUsers, the
    error of `act` in `ACTS`, TwoFactorRequired, Unavailable.
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
    """Run a rule for each of these users, for the caller's own account last; return the result for each user id.

    Raises YouAreNotAllowedToListUsers, the error of `act` in `ACTS`, TwoFactorRequired, and Unavailable, all of them
    before the first user is changed.
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
    """Return an action and its results, encrypted for a URL; only the caller can read them with `unseal`."""
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
    """Return the action and the results that `seal` has encrypted.

    None if they belong to another caller, are older than `LIFE`, or cannot be decrypted.
    """
    text = ctx.cipher.decrypt(_PURPOSE, sealed.encode())
    if text is None:
        return None
    claims = json.loads(text)
    # defence: C3 own-results
    if claims["caller"] != ctx.signed_in.user.id or ctx.now.timestamp() >= claims["until"]:
        return None
    by_code: Mapping[str, Sequence[str]] = claims["results"]
    return claims["act"], {user_id: code or None for code, ids in by_code.items() for user_id in ids}
