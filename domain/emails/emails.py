"""Verify and change email addresses."""

from dataclasses import dataclass

from domain import errors, identifiers, one_time_tokens
from domain.context import Context
from domain.emails import events, mails
from domain.emails.errors import (
    ChangeEmailDisabled,
    EmailAlreadyVerified,
    EmailMismatch,
    InvalidUser,
    VerificationEmailNotEnabled,
)
from domain.emails.policy import ChangeEmailPolicy, EmailVerificationPolicy
from domain.mail import messages, outbox
from domain.mail.policy import MailPolicy
from domain.rate_limits import limits
from domain.sso_enforcement import enforcement
from domain.users import locking, lookup, profile
from models import Purpose
from models.one_time_token import MAILBOX_PROOFS, OneTimeTokenRow
from models.user import UserRow

# A link that was mailed to the former address must not work for its owner afterwards.
# defence: V82 dies-with-email
DIES_WITH_ADDRESS = (
    Purpose.RESET,
    Purpose.VERIFY,
    Purpose.CHANGE_EMAIL,
    Purpose.DELETE,
    Purpose.DISOWN,
    Purpose.MAIL_CODE,
    *MAILBOX_PROOFS,
)
"""The tokens and codes that become invalid when the email address changes."""

SAME_EMAIL = "Email is the same"
"""The error message if the new address is the current one."""


async def mail_verification(ctx: Context, user: UserRow, callback_url: str | None) -> None:
    """Send the user a link that verifies their current address, unless the email limit is reached."""
    if not await limits.may_mail(ctx, limits.LINKS, user.email):  # defence: V74 verification-mails
        return
    expires_in = ctx.policy[EmailVerificationPolicy].token_expires_in
    token = await one_time_tokens.issue(ctx, Purpose.VERIFY, user.id, expires_in=expires_in, email=user.email)
    mails.verify_email(ctx, user, token, callback_url)


async def send_verification(ctx: Context, email: str, callback_url: str | None) -> None:
    """Request a verification link for an address, which with a session must be that of the caller.

    Without a session the response does not reveal whether the address is registered. Raises
    VerificationEmailNotEnabled; with a session also EmailMismatch and EmailAlreadyVerified.
    """
    if not ctx.policy[EmailVerificationPolicy].enabled:
        raise VerificationEmailNotEnabled
    if ctx.caller is None:  # defence: V70 send-verification
        # Looked up by the background worker, so that the time of the response does not show whether the address has
        # an account.
        mails.queue_verification_request(ctx, email.lower(), callback_url)  # defence: V71 file-verification
        return
    if email.lower() != ctx.caller.user.email:
        raise EmailMismatch  # defence: V32 own-email
    user = await locking.lock_caller(ctx)
    if user.email_verified:
        raise EmailAlreadyVerified
    events.verification_requested(ctx, user, user.email)
    await mail_verification(ctx, user, callback_url)


@messages.resolves(mails.VERIFY_EMAIL)
async def resolve_verification(ctx: Context, email: str, callback_url: str | None) -> None:
    """In the background: send the verification link if the address has an unverified user; otherwise queue a decoy."""
    user = await locking.lock_by_email(ctx, email)
    events.verification_requested(ctx, user, email)
    if user is not None and not user.email_verified:
        await mail_verification(ctx, user, callback_url)
    elif await limits.may_mail(ctx, limits.DECOYS, email):
        mails.verify_email(ctx, messages.UNREGISTERED, await one_time_tokens.issue_decoy(ctx), callback_url)


@dataclass(frozen=True, slots=True)
class MailedLink:
    """What a valid link does: it verifies `email`, or makes it the new address of an account."""

    email: str
    account: str | None
    """For a change of address, the current address of the account, masked for all but its user; otherwise None."""
    is_foreign: bool
    """Whether a user other than that of the account is signed in, who may not use the link."""


async def peek(ctx: Context, token: str) -> MailedLink | None:
    """Return what a verification or email-change link does, without using it up; None if the link is not valid."""
    found = await one_time_tokens.find(ctx, token)
    if found is None or found[0].expires_at <= ctx.now:
        return None
    row, owner = found
    if row.purpose == Purpose.VERIFY and row.email == owner.email:
        return MailedLink(owner.email, None, is_foreign=False)
    if row.purpose != Purpose.CHANGE_EMAIL or row.email is None:
        return None
    is_own = ctx.caller is not None and ctx.caller.user.id == owner.id
    account = owner.email if is_own else identifiers.masked_email(owner.email)  # defence: H8 masked-account
    return MailedLink(row.email, account, is_foreign=ctx.caller is not None and not is_own)


async def verify(ctx: Context, token: str) -> UserRow:
    """Use the token of a verification or email-change link; return the updated user. No session is created.

    Raises InvalidToken, TokenExpired, SsoRequired; InvalidUser if the link changes an address and another user is
    signed in.
    """
    joined = await one_time_tokens.find(ctx, token)
    if joined is None or joined[0].purpose not in (Purpose.VERIFY, Purpose.CHANGE_EMAIL):
        raise errors.InvalidToken
    row, owner = joined
    if row.expires_at <= ctx.now:  # defence: V82 expiry-of-link
        raise errors.TokenExpired
    changes = row.purpose == Purpose.CHANGE_EMAIL
    if changes and ctx.caller is not None and ctx.caller.user.id != owner.id:
        # An attacker may have entered the victim's address, and the victim opens the link while signed in to another
        # account.
        raise InvalidUser  # defence: V21 link-owner
    user = await locking.lock(ctx, owner.id)
    if user is None:
        raise errors.InvalidToken
    return await (_follow_change(ctx, user, row, token) if changes else _follow_verification(ctx, user, row))


async def _follow_verification(ctx: Context, user: UserRow, row: OneTimeTokenRow) -> UserRow:
    if user.email != row.email:
        raise errors.InvalidToken
    # Opened again, the link gives the same answer, because scanners of mail open it before its user does.
    if user.email_verified:
        return user
    events.email_verified(ctx, user.id)
    return await profile.change(ctx, user, email_verified=True)


async def _follow_change(ctx: Context, user: UserRow, row: OneTimeTokenRow, token: str) -> UserRow:
    assert row.email is not None, "an email-change token is made for an address"  # noqa: S101
    if not await one_time_tokens.consume(ctx, Purpose.CHANGE_EMAIL, user.id, token) or await _is_taken(
        ctx, row.email
    ):
        raise errors.InvalidToken
    # The domain may require a connection only since the link was mailed.
    await enforcement.check_new_address(ctx, user, row.email)
    return await set_address(ctx, user, row.email, verified=True)


async def change(ctx: Context, new_email: str, callback_url: str | None) -> bool:
    """Change the caller's email: at once if the old one was never verified, otherwise when the emailed link is
    opened.

    Returns whether the change takes effect at once. A registered address gets the same response and has no effect.
    Raises ChangeEmailDisabled, ValidationError (the same address), SsoRequired, VerificationEmailNotEnabled (no mail
    sender).
    """
    # Domain and, at nearly all providers, local part are the same in any case; two spellings would be two accounts.
    policy, address = ctx.policy, new_email.lower()  # defence: V77 new-email
    if not policy[ChangeEmailPolicy].enabled:
        raise ChangeEmailDisabled
    user = await locking.lock_caller(ctx)
    if address == user.email:
        raise errors.ValidationError(SAME_EMAIL, errors.Field("body", "newEmail", SAME_EMAIL))
    await enforcement.check_new_address(ctx, user, address)
    # defence: V32 immediate-change
    at_once = not user.email_verified and policy[ChangeEmailPolicy].immediate_if_unverified
    if not at_once and policy[MailPolicy].sender == "none":
        raise VerificationEmailNotEnabled
    # The response is the same as for a free address; otherwise any user could find out who has an account.
    is_taken = await _is_taken(ctx, address)  # defence: V70 taken-email
    if at_once and not is_taken:
        user = await set_address(ctx, user, address, verified=False)  # defence: V32 unverified
        if policy[EmailVerificationPolicy].enabled:
            await mail_verification(ctx, user, callback_url)
    else:
        await _mail_change(ctx, user, address, callback_url, is_taken=is_taken)
    return at_once


async def _mail_change(
    ctx: Context, user: UserRow, address: str, callback_url: str | None, *, is_taken: bool
) -> None:
    """Send the link, or queue a decoy if the address is taken; either way the older link becomes invalid.

    Neither the response time nor an older link may reveal whether the address is registered.
    """
    family = limits.DECOYS if is_taken else limits.LINKS
    if await limits.may_mail(ctx, family, address):  # defence: V74 change-mails
        # Only the newest link works, so that an older one cannot replace the latest request.
        await one_time_tokens.revoke(ctx, user.id, Purpose.CHANGE_EMAIL)  # defence: V21 V82 older-link
        expires_in = ctx.policy[EmailVerificationPolicy].token_expires_in
        token = await one_time_tokens.issue(
            ctx, Purpose.CHANGE_EMAIL, user.id, expires_in=expires_in, email=address
        )
        mails.change_email(ctx, user, outbox.DECOY_ADDRESS if is_taken else address, token, callback_url)
    events.email_change_requested(ctx, is_taken=is_taken)


async def set_address(ctx: Context, user: UserRow, address: str, *, verified: bool) -> UserRow:
    """Change the address of a user, whose row is locked; revoke older links and codes, and notify the old address.

    Returns the updated user.
    """
    changed = await profile.change(ctx, user, email=address, email_verified=verified)
    await one_time_tokens.revoke(ctx, user.id, *DIES_WITH_ADDRESS)  # defence: V21 old-tokens
    one_time_tokens.revoke_mailed(ctx, user.email, address)  # defence: M17 old-links
    await mails.email_changed(ctx, changed, user.email, was_verified=user.email_verified)
    events.email_changed(ctx, user.id, user.email)
    return changed


async def _is_taken(ctx: Context, address: str) -> bool:
    return await lookup.by_email(ctx, address) is not None
