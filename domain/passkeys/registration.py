"""Add a passkey to the account of the caller."""

from dataclasses import dataclass
from functools import partial

from domain import one_time_tokens, tokens
from domain.authenticators import Attestation, Authenticators, NewCredential, ResponseRefused
from domain.context import Context
from domain.errors import Refusal
from domain.passkeys import client_data, events, mails, passkeys
from domain.passkeys.errors import (
    ChallengeNotFound,
    FailedToVerifyRegistration,
    PreviouslyRegistered,
    TooManyPasskeys,
)
from domain.passkeys.policy import PasskeyPolicy
from domain.sessions import expiry
from domain.sessions.policy import SessionPolicy
from domain.users import locking, profile
from models import Purpose
from models.passkey import FIND_CREDENTIAL, MULTI_DEVICE, SINGLE_DEVICE, Passkey, PasskeyRow
from models.statements import insert
from models.user import UserRow

TRANSPORTS = ("usb", "nfc", "ble", "internal", "hybrid", "smart-card", "cable")
"""The accepted names of the ways in which browsers reach an authenticator; other names are not stored."""
# Web Authentication Level 3, 7.1: at most 1023 bytes.
CREDENTIAL_ID_BYTES = range(1, 1024)


@dataclass(frozen=True, slots=True)
class RegistrationOptions:
    """The options with which a browser creates a passkey (a credential)."""

    challenge: bytes
    user: UserRow
    user_handle: bytes
    excluded: list[PasskeyRow]
    """The existing passkeys of the user. An authenticator that holds one of these does not create another one."""


def user_handle(user_id: str) -> bytes:
    """Return the user handle, by which authenticators identify a user; all passkeys of a user share it."""
    return user_id.encode("ascii")


async def begin(ctx: Context) -> RegistrationOptions:
    """Create a challenge for a new passkey, bound to the caller's session; return the options for the browser.

    Raises SessionNotFresh, TooManyPasskeys.
    """
    expiry.require_fresh(ctx.policy[SessionPolicy], ctx.signed_in, ctx.now)
    user, policy = ctx.signed_in.user, ctx.policy[PasskeyPolicy]
    existing = await passkeys.of_user(ctx, user.id)
    if len(existing) >= policy.max_per_user:
        raise TooManyPasskeys
    challenge = one_time_tokens.issue_challenge(
        ctx,
        Purpose.PASSKEY_REGISTER,
        user.id,
        expires_in=policy.challenge_expires_in,
        binding=_binding(ctx),
    )
    return RegistrationOptions(challenge, user, user_handle(user.id), existing)


async def finish(
    ctx: Context, response: Attestation, *, name: str | None, transports: list[str]
) -> PasskeyRow:
    """Verify and store the passkey that an authenticator has created; return it. A failure uses up the challenge, too.

    Raises SessionNotFresh, Unauthenticated, ChallengeNotFound, FailedToVerifyRegistration, PreviouslyRegistered,
    TooManyPasskeys.
    """
    expiry.require_fresh(ctx.policy[SessionPolicy], ctx.signed_in, ctx.now)
    try:
        credential = await _verify(ctx, response)
        job = partial(_store, response=response, credential=credential, name=name, transports=transports)
        return await ctx.in_new_transaction(job)  # defence: P24 one-commit
    except Refusal as refusal:
        events.registration_failed(ctx, refusal)
        raise


async def _verify(ctx: Context, response: Attestation) -> NewCredential:
    """Use up the challenge in a separate transaction, then check the response outside any transaction."""
    members = client_data.parse(response.client_data)
    if members is None:
        raise FailedToVerifyRegistration
    challenge = client_data.challenge_of(members)
    if challenge is None or not await ctx.in_new_transaction(partial(_use_challenge, challenge=challenge)):
        raise ChallengeNotFound
    is_sound = client_data.is_own_page(members) and len(response.credential_id) in CREDENTIAL_ID_BYTES
    if not is_sound:
        raise FailedToVerifyRegistration
    expected = ctx.policy[PasskeyPolicy].relying_party
    try:
        return ctx.port[Authenticators].verify_attestation(response, challenge, expected)
    except ResponseRefused:
        raise FailedToVerifyRegistration from None


async def _use_challenge(ctx: Context, challenge: bytes) -> bool:
    bound = ctx.signed_in.user.id, _binding(ctx)
    used = await one_time_tokens.consume_challenge(ctx, Purpose.PASSKEY_REGISTER, challenge, bound=bound)
    return used is not None


def _binding(ctx: Context) -> bytes:
    return tokens.digest(ctx.signed_in.session.id)


async def _store(
    ctx: Context, response: Attestation, credential: NewCredential, name: str | None, transports: list[str]
) -> PasskeyRow:
    user = await locking.lock_caller(ctx)
    if await ctx.db.execute(FIND_CREDENTIAL, credential_id=response.credential_id):
        # Another key under a known id would replace the user's key (Web Authentication Level 3, 7.1).
        raise PreviouslyRegistered  # defence: P9 known-credential
    # Counted again under the lock, because concurrent registrations may have passed the first check.
    # defence: P22 stored-limit
    if await passkeys.count(ctx, user.id) >= ctx.policy[PasskeyPolicy].max_per_user:
        raise TooManyPasskeys
    row = PasskeyRow(
        id=tokens.token(),
        user_id=user.id,
        name=name,
        credential_id=response.credential_id,
        public_key=credential.public_key,
        algorithm=credential.algorithm,
        counter=credential.counter,
        device_type=MULTI_DEVICE if credential.backup_eligible else SINGLE_DEVICE,
        backed_up=credential.backed_up,
        transports=",".join(word for word in TRANSPORTS if word in transports) or None,
        aaguid=credential.aaguid,
        rp_id=ctx.policy[PasskeyPolicy].rp_id,
        user_handle=user_handle(user.id),
        last_used_at=None,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    ctx.db.defer(insert(Passkey), **row._asdict())
    # If another user registers the same credential concurrently, the job runs again and finds it.
    await profile.flush(ctx)
    events.registered(ctx, row, user_verified=credential.user_verified)
    await mails.passkey_added(ctx, user, name)  # defence: P24 same-commit
    return row
