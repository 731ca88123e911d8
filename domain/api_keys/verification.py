"""Verify a key: its form, row, owner, permissions, and remaining uses."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, NoReturn, Protocol

import orjson

from domain import tokens
from domain.api_keys import events, key_text
from domain.api_keys.errors import (
    ApiKeyConfigurationNotFound,
    InvalidApiKey,
    InvalidReferenceIdFromApiKey,
    KeyDisabled,
    KeyExpired,
    KeyPermissionsInsufficient,
    RateLimited,
    UsageExceeded,
    UserBanned,
)
from domain.api_keys.policy import ApiKeyPolicy
from domain.context import Caller, Context, StaleRead
from domain.errors import Limited, Unauthenticated
from domain.rate_limits import events as limit_events
from domain.sessions.policy import SessionPolicy
from models.api_key import FIND_KEY, KEY_BY_DIGEST, USE_KEY, ApiKeyRow
from models.base import EPOCH
from models.user import UserRow

REFUSALS = (Unauthenticated, Limited)
"""The families of the errors that say why a key is refused."""

VALID = "valid"
"""The result of a verification that was not refused, in metrics."""

_MILLISECOND = timedelta(milliseconds=1)


class KeyUsage(Protocol):
    """Records the use of API keys in this process."""

    def verified(self, verifier: str | None, result: str) -> None:
        """Count a verification for metrics. `result` is `valid` or the code of the refusal.

        `verifier` is the service that asked; None if a request was sent with the key itself.
        """

    def used(self, key_id: str, now: datetime) -> None:
        """Note the use of a key whose uses are not limited; its `lastRequest` is written in the background."""

    def is_first(self, *what: str, now: datetime) -> bool:
        """Return whether this is the first call with these texts within a minute."""

    def is_burst(self, verifier: str, now: datetime) -> bool:
        """Count an invalid key that a verifier has sent; return whether their number has just reached the limit per
        minute."""


class VerifiedKey(NamedTuple):
    """A stored key, and the user who owns it; None for a key of an organization."""

    key: ApiKeyRow
    user: UserRow | None


async def verify(
    ctx: Context,
    text: str,
    *,
    permissions: Mapping[str, Sequence[str]] | None = None,
    kind: str | None = None,
    for_session: bool = False,
) -> VerifiedKey:
    """Verify the key with this text, and count one use of it; return the key. A refused key is not used.

    `permissions` are those that the key must have. `kind` refuses keys of other kinds, `for_session` keys of
    organizations. Raises ApiKeyConfigurationNotFound for an unknown kind.

    Raises the reason why a key is refused: InvalidApiKey, UserBanned, KeyDisabled, KeyExpired,
    KeyPermissionsInsufficient, RateLimited, UsageExceeded or InvalidReferenceIdFromApiKey.
    """
    if kind is not None and kind not in ctx.policy[ApiKeyPolicy].kinds:
        raise ApiKeyConfigurationNotFound
    seen, usage = await find(ctx, text), ctx.port[KeyUsage]
    if seen is None or kind not in {None, seen.key.kind}:  # defence: KEY2 kind
        _refuse_unknown(ctx)
    try:
        # Before the use is counted: refused verifications must not use up what the owner has paid for.
        check(seen, permissions, ctx.now)  # defence: KEY9 checked-first
        if for_session and seen.user is None:  # defence: KEY11 organization-key
            raise InvalidReferenceIdFromApiKey
        verified = seen._replace(key=await _use(ctx, seen, permissions))
    except REFUSALS as refusal:
        usage.verified(ctx.facts.verifier, refusal.code)
        # defence: KEY15 one-read
        if usage.is_first(seen.key.id, refusal.code, now=ctx.now):
            events.refused(ctx, seen.key, refusal, ctx.facts.verifier)
        raise
    usage.verified(ctx.facts.verifier, VALID)
    return verified


async def authenticate(ctx: Context, text: str) -> Caller:
    """Verify the key with this text, count one use of it, and return its user as the caller.

    Raises InvalidApiKey, UserBanned, KeyDisabled, KeyExpired, RateLimited, UsageExceeded, InvalidReferenceIdFromApiKey.
    """
    key, user = await verify(ctx, text, for_session=True)
    if user is None:
        raise InvalidReferenceIdFromApiKey
    return Caller(text, key, user, by_cookie=False)


def shown_expiry(ctx: Context, key: ApiKeyRow) -> datetime:
    """Return when a key expires; for a key that never expires, when a new session would."""
    return key.expires_at or ctx.now + ctx.policy[SessionPolicy].expires_in


async def find(ctx: Context, text: str) -> VerifiedKey | None:
    """Return the stored key with this text, valid or not, by a single query; None if there is none."""
    policy = ctx.policy[ApiKeyPolicy]
    imported = policy.accept_imported and key_text.could_be_imported(text)
    if not key_text.has_form(text) and not imported:
        return None
    # Looked up by digest: a key is not stored, and comparing texts would take time that depends on the key.
    row = await ctx.reads.one(KEY_BY_DIGEST, tokens.digest(text))  # defence: KEY13 digest
    kind = None if row is None else policy.kinds.get(row[0].kind)
    # Keys of a kind that is no longer configured, or now belongs to other owners, are unknown.
    if row is None or kind is None or kind.is_of_organizations == (row[1] is not None):
        return None
    return VerifiedKey(*row)


def check(verified: VerifiedKey, permissions: Mapping[str, Sequence[str]] | None, now: datetime) -> None:
    """Check whether a stored key may be used now. The order of the checks is part of the contract.

    Raises UserBanned, KeyDisabled, KeyExpired, KeyPermissionsInsufficient, RateLimited, UsageExceeded.
    """
    key, user = verified
    if user is not None and user.is_banned(now):  # defence: KEY6 ban
        raise UserBanned
    if not key.enabled:  # defence: KEY7 enabled
        raise KeyDisabled
    if key.has_expired(now):  # defence: KEY7 expiry
        raise KeyExpired
    if permissions and not _permits(key, permissions):  # defence: KEY5 permissions
        raise KeyPermissionsInsufficient
    ends = key.window_ends_at()
    if key.rate_limit_enabled and ends is not None and ends > now and key.request_count >= key.rate_limit_max:
        raise _spent(RateLimited, ends, now)
    refills = key.refills_at()
    if key.remaining == 0 and (refills is None or refills > now):
        raise _spent(UsageExceeded, refills, now)


def _permits(key: ApiKeyRow, permissions: Mapping[str, Sequence[str]]) -> bool:
    """Return whether the key grants every requested action; an empty list of actions is refused, as with roles."""
    granted = orjson.loads(key.permissions or "{}")
    return all(
        actions and set(actions) <= set(granted.get(resource, ()))
        for resource, actions in permissions.items()
    )


def _spent(error: type[Limited], until: datetime | None, now: datetime) -> Limited:
    if until is None:
        return error()
    wait = max(1, (until - now) // _MILLISECOND)
    # `retry_after` is in whole seconds, rounded up; `tryAgainIn` is in milliseconds.
    return error(retry_after=-(-wait // 1000), tryAgainIn=wait)


async def _use(ctx: Context, seen: VerifiedKey, permissions: Mapping[str, Sequence[str]] | None) -> ApiKeyRow:
    """Use a key once, and return its updated row. Raises an error of `check` if a concurrent request
    has made the key unusable; StaleRead if the row has changed and the key is still usable."""
    key = seen.key
    if not key.is_counted():
        ctx.port[KeyUsage].used(key.id, ctx.now)
        return key
    used = await ctx.db.execute(
        USE_KEY,
        key_id=key.id,
        seen=key.updated_at,
        at=ctx.now,
        window_floor=_floor(ctx.now, key.rate_limit_window_ms),
        refill_floor=None if key.refill_interval_ms is None else _floor(ctx.now, key.refill_interval_ms),
    )
    row: ApiKeyRow | None = (used or await ctx.db.execute(FIND_KEY, key_id=key.id)).first()
    if row is None:
        raise InvalidApiKey
    if not used:
        check(seen._replace(key=row), permissions, ctx.now)
        raise StaleRead  # The row was changed after it was read, but the key is still usable.
    return row


def _floor(now: datetime, milliseconds: int) -> datetime:
    """Return the latest start of an interval that is over at `now`."""
    try:
        return now - timedelta(milliseconds=milliseconds)
    except OverflowError:
        # The interval begins before year 1, which a datetime cannot express.
        return EPOCH


def _refuse_unknown(ctx: Context) -> NoReturn:
    ctx.port[KeyUsage].verified(ctx.facts.verifier, InvalidApiKey.code)
    if ctx.facts.verifier is not None and ctx.port[KeyUsage].is_burst(ctx.facts.verifier, ctx.now):
        limit_events.limit_reached(ctx, "api_keys", verifier=ctx.facts.verifier)
    raise InvalidApiKey
