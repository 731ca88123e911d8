"""Administration of the keys that sign tokens for other services."""

from collections.abc import Sequence
from functools import partial

from domain.admin import permissions
from domain.admin.errors import YouAreNotAllowedToManageService
from domain.context import Context
from domain.errors import Field, Unavailable, ValidationError
from domain.jwt import rotation
from domain.jwt.policy import JwtPolicy
from domain.jwt.rotation import KeyChanges, Rule, State
from models.signing_key import SigningKeyRow


async def list_keys(ctx: Context) -> Sequence[tuple[SigningKeyRow, State]]:
    """Return every key and its state, newest first. Raises YouAreNotAllowedToManageService, TwoFactorRequired."""
    _require(ctx)  # defence: ADM24 signing-keys
    return await rotation.list_keys(ctx)


async def find(ctx: Context, kid: str) -> tuple[SigningKeyRow, State]:
    """Return the key with the id `kid` and its state, if the caller may revoke the key now.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, SessionNotFresh, SigningKeyNotFound,
    SigningKeyAlreadyRevoked.
    """
    _require(ctx, fresh=True)
    row = await rotation.find(ctx, kid)
    return next((key, state) for key, state in await rotation.list_keys(ctx) if key.kid == row.kid)


def check_rotation(ctx: Context, algorithm: str) -> None:
    """Check that the caller may create a key of this algorithm now; raise an error otherwise.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, SessionNotFresh, ValidationError.
    """
    _require(ctx, fresh=True)  # defence: ADM24 rotate-key
    algorithms = ctx.policy[JwtPolicy].algorithms
    if algorithm not in algorithms:
        problem = f"must be one of {', '.join(algorithms)}"
        raise ValidationError(f"[body.algorithm] {problem}", Field("body", "algorithm", problem))


async def rotate(ctx: Context, algorithm: str, *, at_once: bool) -> None:
    """Create the next key of an algorithm. It signs after `jwt.publish_ahead`, with `at_once` immediately.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, SessionNotFresh, ValidationError,
    SigningKeyAlreadyAnnounced, and Unavailable while another instance changes keys.
    """
    check_rotation(ctx, algorithm)
    holder = ctx.port[KeyChanges].holder
    await _change(
        ctx,
        algorithm,
        lambda pairs: partial(rotation.rotate, pairs=pairs.values(), holder=holder, at_once=at_once),
    )


async def revoke(ctx: Context, kid: str) -> None:
    """Revoke a key; if it signs, another one replaces it at once.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, SessionNotFresh, SigningKeyNotFound,
    SigningKeyAlreadyRevoked, and Unavailable while another instance changes keys.
    """
    _require(ctx, fresh=True)  # defence: ADM24 revoke-key
    row = await ctx.in_new_transaction(lambda own: rotation.find(own, kid))
    holder = ctx.port[KeyChanges].holder
    await _change(
        ctx,
        row.algorithm,
        lambda pairs: partial(rotation.revoke, kid=kid, pairs=pairs, holder=holder),
    )


async def _change(ctx: Context, algorithm: str, rule: Rule) -> None:
    if not await ctx.port[KeyChanges].change((algorithm,), rule, ctx.in_new_transaction):
        raise Unavailable


def _require(ctx: Context, *, fresh: bool = False) -> None:
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService, fresh=fresh)
