"""Sign in with a passkey."""

from dataclasses import dataclass
from functools import partial

from domain import one_time_tokens
from domain.authentication import gate
from domain.authentication.gate import SignInOptions
from domain.authenticators import Assertion, Authenticators, ResponseRefused, VerifiedAssertion
from domain.context import Context
from domain.passkeys import client_data, events, passkeys
from domain.passkeys.errors import AuthenticationFailed, ChallengeNotFound, CredentialUnknown
from domain.passkeys.policy import PasskeyPolicy
from domain.sessions.sessions import OpenedSession
from domain.two_factor.challenges import PendingSignIn
from domain.users import locking
from models import Purpose
from models.passkey import (
    FIND_PASSKEY,
    MULTI_DEVICE,
    PASSKEY_BY_CREDENTIAL,
    USE_PASSKEY,
    PasskeyRow,
)


@dataclass(frozen=True, slots=True)
class SignInOffer:
    """The options with which a browser asks an authenticator to sign in with a passkey."""

    challenge: bytes
    allowed: list[PasskeyRow]
    """The passkeys of the caller; empty without a session, so that the options do not reveal who has an account."""


async def begin(ctx: Context) -> SignInOffer:
    """Create a challenge for a sign-in, bound to the caller if there is a session; return the browser's options."""
    user_id = None if ctx.caller is None else ctx.caller.user.id
    # defence: P17 nobody-named
    allowed = [] if user_id is None else await passkeys.of_user(ctx, user_id)
    expires_in = ctx.policy[PasskeyPolicy].challenge_expires_in
    challenge = one_time_tokens.issue_challenge(ctx, Purpose.PASSKEY_SIGN_IN, user_id, expires_in=expires_in)
    return SignInOffer(challenge, allowed)


async def finish(
    ctx: Context, response: Assertion, *, remembered: bool, owner: str | None = None
) -> OpenedSession | PendingSignIn:
    """Sign in the owner of a passkey; return a session, or a sign-in that waits for a second factor.

    `owner` is the id of the only user who may sign in; None for any. A failure uses up the challenge, too. Raises
    AuthenticationFailed, ChallengeNotFound, CredentialUnknown, BannedUser, SsoRequired, EmailNotVerified.
    """
    row, verified = await _prove(ctx, response, owner)
    return await ctx.in_new_transaction(partial(_complete, row=row, verified=verified, remembered=remembered))


async def sign_in_again(ctx: Context, response: Assertion) -> OpenedSession | PendingSignIn:
    """Sign the caller in again with one of their passkeys; a new session replaces that of the request.

    If a second factor is required, the old session stays. Raises AuthenticationFailed, ChallengeNotFound,
    CredentialUnknown, BannedUser, SsoRequired, EmailNotVerified.
    """
    row, verified = await _prove(ctx, response, ctx.signed_in.user.id)
    remembered = ctx.signed_in.session.remembered
    return await ctx.in_new_transaction(partial(_replace, row=row, verified=verified, remembered=remembered))


async def _prove(
    ctx: Context, response: Assertion, owner: str | None
) -> tuple[PasskeyRow, VerifiedAssertion]:
    """Use up the challenge in a separate transaction, then check the response outside any transaction."""
    row: PasskeyRow | None = None
    try:
        members = client_data.parse(response.client_data)
        if members is None:
            raise AuthenticationFailed
        challenge = client_data.challenge_of(members)
        if challenge is None:
            raise ChallengeNotFound
        use = partial(one_time_tokens.consume_challenge, purpose=Purpose.PASSKEY_SIGN_IN, challenge=challenge)
        used = await ctx.in_new_transaction(use)
        if used is None:
            raise ChallengeNotFound
        row = await ctx.reads.one(PASSKEY_BY_CREDENTIAL, response.credential_id)
        if row is None:
            raise CredentialUnknown
        if owner not in (None, row.user_id):
            raise AuthenticationFailed  # defence: P8 expected-owner
        if not _is_owners(row, response, used.user_id) or not client_data.is_own_page(members):
            raise AuthenticationFailed
        return row, _verify(ctx, row, response, challenge)
    except (AuthenticationFailed, ChallengeNotFound, CredentialUnknown) as refusal:
        events.failed(ctx, refusal, row)
        raise


def _is_owners(row: PasskeyRow, response: Assertion, bound_to: str | None) -> bool:
    """Return whether a response belongs to the user that the challenge is bound to, and names no other user."""
    if bound_to is None and response.user_handle is None:
        return False  # defence: P8 handle-present
    if bound_to not in (None, row.user_id):
        return False  # defence: P8 bound
    # The user handle of an imported passkey is unknown, so it cannot be compared.
    # defence: P8 handle
    return None in (response.user_handle, row.user_handle) or response.user_handle == row.user_handle


def _verify(ctx: Context, row: PasskeyRow, response: Assertion, challenge: bytes) -> VerifiedAssertion:
    expected = ctx.policy[PasskeyPolicy].relying_party
    try:
        verified = ctx.port[Authenticators].verify_assertion(
            response, challenge, expected, row.public_key, row.algorithm
        )
    except ResponseRefused:
        raise AuthenticationFailed from None
    # Backup eligibility is fixed at registration (Web Authentication Level 3, 6.1.3); a change means another
    # credential.
    if verified.backup_eligible != (row.device_type == MULTI_DEVICE):  # defence: P11 eligibility
        raise AuthenticationFailed
    return verified


async def _complete(
    ctx: Context, row: PasskeyRow, verified: VerifiedAssertion, remembered: bool
) -> OpenedSession | PendingSignIn:
    """Record the use of a passkey, with its user locked first as in every transaction, and pass the gate."""
    user = await locking.lock(ctx, row.user_id)
    rows = await ctx.db.execute(FIND_PASSKEY, passkey_id=row.id, user_id=row.user_id)
    if user is None or not rows:
        events.failed(ctx, CredentialUnknown, row)
        raise CredentialUnknown
    counted = await ctx.db.execute(
        USE_PASSKEY, passkey_id=row.id, new=verified.counter, is_backed_up=verified.backed_up, at=ctx.now
    )
    if not counted:
        events.counter_regressed(ctx, row, AuthenticationFailed, user_verified=verified.user_verified)
        raise AuthenticationFailed
    return await gate.complete_sign_in(ctx, user, _options(ctx, row, verified, remembered))


async def _replace(
    ctx: Context, row: PasskeyRow, verified: VerifiedAssertion, remembered: bool
) -> OpenedSession | PendingSignIn:
    opened = await _complete(ctx, row, verified, remembered)
    await gate.end_replaced(ctx, opened)
    return opened


def _options(ctx: Context, row: PasskeyRow, verified: VerifiedAssertion, remembered: bool) -> SignInOptions:
    # defence: P15 factors
    is_both = verified.user_verified and ctx.policy[PasskeyPolicy].counts_as_two_factors
    return SignInOptions(
        remembered,
        None,
        events.PASSKEY.name,
        amr="pop user mfa" if verified.user_verified else "pop",
        factors=2 if is_both else 1,
        details={"passkey_id": row.id, "user_verified": verified.user_verified},
    )
