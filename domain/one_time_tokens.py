"""One-time tokens: create, look up, use up with one atomic statement, revoke."""

from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import Delete, bindparam, delete, select
from sqlmodel import col

from domain import tokens
from domain.context import Context
from models import OneTimeToken, Purpose
from models.one_time_token import MAILBOX_PROOFS, ONE_TIME_TOKEN_BY_DIGEST, OneTimeTokenRow
from models.user import UserRow

# Built once, because each statement object is compiled once.
_MAILED = select(
    *map(col, (OneTimeToken.user_id, OneTimeToken.email, OneTimeToken.payload, OneTimeToken.remembered))
).where(
    col(OneTimeToken.digest) == bindparam("token"),
    # Digest and purpose together: a token that was mailed for one purpose must not work for another.
    col(OneTimeToken.purpose) == bindparam("kind"),  # defence: M2 purpose
    col(OneTimeToken.expires_at) > bindparam("now"),  # defence: M2 expiry
)
_CONSUME = (
    delete(OneTimeToken)
    .where(
        col(OneTimeToken.digest) == bindparam("token"),  # defence: V29 consume-digest
        col(OneTimeToken.purpose) == bindparam("kind"),  # defence: V29 V85 consume-purpose
        # The owner is part of the condition, so that another user's session cannot use a token up.
        col(OneTimeToken.user_id).is_not_distinct_from(bindparam("owner")),  # defence: V22 V85 consume-owner
        col(OneTimeToken.expires_at) > bindparam("now"),
    )
    .returning(col(OneTimeToken.digest))
)


class MailedToken(NamedTuple):
    """The stored data of a token that was sent to an email address, with or without a user."""

    user_id: str | None
    email: str
    payload: bytes
    remembered: bool


class UsedChallenge(NamedTuple):
    """A challenge that this request used up."""

    user_id: str | None
    """The user to whom the challenge was bound, if any."""


async def issue(
    ctx: Context,
    purpose: Purpose,
    user_id: str | None,
    *,
    expires_in: timedelta,
    email: str | None = None,
    payload: bytes | None = None,
    remembered: bool | None = None,
) -> str:
    """Return a new token for a user, or without a user (None), and store its digest.

    It is valid for `expires_in`, and bound to `email` if that is given. `payload` is stored as given: the caller
    encrypts it. `remembered` says whether the session that the token opens outlives the browser.
    """
    token = tokens.token()
    ctx.db.add(
        OneTimeToken(
            digest=tokens.digest(token),
            purpose=purpose,
            user_id=user_id,
            email=email,
            payload=payload,
            remembered=remembered,
            expires_at=ctx.now + expires_in,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    return token


def issue_challenge(
    ctx: Context,
    purpose: Purpose,
    user_id: str | None,
    *,
    expires_in: timedelta,
    binding: bytes | None = None,
) -> bytes:
    """Return a new challenge of 32 random bytes for an authenticator, and store its digest.

    It is bound to the user and to `binding`, unless these are None.
    """
    challenge = tokens.random_bytes(32)
    ctx.db.add(
        OneTimeToken(
            digest=tokens.digest_of_bytes(challenge),
            purpose=purpose,
            user_id=user_id,
            binding=binding,
            expires_at=ctx.now + expires_in,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    return challenge


async def consume_challenge(
    ctx: Context, purpose: Purpose, challenge: bytes, *, bound: tuple[str, bytes] | None = None
) -> UsedChallenge | None:
    """Use up a challenge; return None if it is unknown, used, expired or for another purpose.

    `bound`, a user id and a binding, requires that the challenge was issued for both. Of any number of simultaneous
    calls exactly one succeeds.
    """
    used = delete(OneTimeToken).where(
        col(OneTimeToken.digest) == tokens.digest_of_bytes(challenge),
        col(OneTimeToken.purpose) == purpose,  # defence: P5 purpose
        col(OneTimeToken.expires_at) > ctx.now,  # defence: P5 expiry
    )
    if bound is not None:
        # A ceremony that was begun in one session must not be finished in another one.
        # defence: P6 session
        used = used.where(col(OneTimeToken.user_id) == bound[0], col(OneTimeToken.binding) == bound[1])
    row = (await ctx.db.execute(used.returning(col(OneTimeToken.user_id)))).first()
    return None if row is None else UsedChallenge(row.user_id)  # defence: P19 used-once


async def issue_decoy(ctx: Context) -> str:
    """Return an expired token without a user, so that a request for an unknown user takes as long as any other."""
    return await issue(ctx, Purpose.SPENT, None, expires_in=timedelta(0))


async def find(ctx: Context, token: str) -> tuple[OneTimeTokenRow, UserRow] | None:
    """Return the stored row of a token and its user, whatever its purpose and expiry; the token is not used up.

    None if the token is unknown or has no user.
    """
    if not tokens.is_token(token):
        return None
    return await ctx.reads.one(ONE_TIME_TOKEN_BY_DIGEST, tokens.digest(token))


async def find_live(ctx: Context, purpose: Purpose, token: str) -> tuple[OneTimeTokenRow, UserRow] | None:
    """Return the stored row of a token and its user if the token is valid for this purpose, else None.

    The token is not used up.
    """
    row = await find(ctx, token)
    # defence: V29 V82 live-grant
    if row is None or row[0].purpose != purpose or row[0].expires_at <= ctx.now:
        return None
    return row


async def find_mailed(ctx: Context, purpose: Purpose, token: str) -> MailedToken | None:
    """Return the data of a token, with or without a user, if it is valid for this purpose, else None.

    The token is not used up.
    """
    if not tokens.is_token(token):
        return None
    rows = await ctx.db.execute(_MAILED, token=tokens.digest(token), kind=purpose, now=ctx.now)
    row = rows.first()
    return None if row is None else MailedToken(*row)


async def consume(ctx: Context, purpose: Purpose, user_id: str | None, token: str) -> bool:
    """Use up a token of this user, or one without a user (None); return whether it was valid for this purpose.

    Of any number of simultaneous calls exactly one returns true.
    """
    consumed = await ctx.db.execute(
        _CONSUME, token=tokens.digest(token), kind=purpose, owner=user_id, now=ctx.now
    )
    return bool(consumed)  # defence: R19 consume-once


async def revoke(ctx: Context, user_id: str, *purposes: Purpose) -> None:
    """Revoke every token of the user with one of these purposes."""
    await ctx.db.execute(
        delete(OneTimeToken).where(
            col(OneTimeToken.user_id) == user_id, col(OneTimeToken.purpose).in_(purposes)
        )
    )


def revoke_mailed(ctx: Context, *emails: str, purposes: tuple[Purpose, ...] = MAILBOX_PROOFS) -> None:
    """Revoke, at commit, every link and code that was sent to one of these addresses, with or without a user.

    `purposes` limits what is revoked, by default to links and codes that prove a mailbox.
    """
    for email in emails:
        ctx.db.defer(_delete_mailed(purposes), to=email)


@lru_cache
def _delete_mailed(purposes: tuple[Purpose, ...]) -> Delete:
    """Return the statement that deletes links and codes sent to an address; it is compiled once."""
    return delete(OneTimeToken).where(
        col(OneTimeToken.email) == bindparam("to"), col(OneTimeToken.purpose).in_(purposes)
    )


async def revoke_all_users(ctx: Context) -> None:
    """Revoke every token and code of all users. Marks of used ID tokens stay, so that these cannot be used again."""
    # A spent row marks an ID token that was used; without it the ID token could be used again.
    # defence: V18 keep-spent
    await ctx.db.execute(delete(OneTimeToken).where(col(OneTimeToken.purpose) != Purpose.SPENT))
