"""Addresses: prove one, change one (interface 4.4; behaviour 5.4)."""

from sqlmodel import select

from domain import audit, errors, grants, limits, mails, users
from domain.context import Context
from models import Purpose, User
from models.queries import GrantRow, UserRow

DIES_WITH_ADDRESS = (Purpose.RESET, Purpose.VERIFY, Purpose.CHANGE_EMAIL, Purpose.DELETE, Purpose.MAIL_CODE)
"""The tokens and codes that were sent to an address and are worth nothing once it has changed."""


async def mail_verification(ctx: Context, user: User | UserRow, callback_url: str | None) -> None:
    """Send the user a link that proves their current address, unless they got too many mails of late."""
    if not await limits.may_mail(ctx, "links", user.email):
        return
    expires_in = ctx.policy.verification_token_expires_in
    token = await grants.issue(ctx, Purpose.VERIFY, user.id, expires_in=expires_in, email=user.email)
    mails.verify_email(ctx, user, token, callback_url)


async def send_verification(ctx: Context, email: str, callback_url: str | None) -> None:
    """Ask for a verification link. Without a session the answer never tells whether the address is known.

    Raises VerificationEmailNotEnabled; with a session also EmailMismatch and EmailAlreadyVerified.
    """
    if not ctx.policy.verification_enabled:
        raise errors.VerificationEmailNotEnabled
    if ctx.caller is None:
        mails.file_verification_request(ctx, email.lower(), callback_url)
        return
    if email.lower() != ctx.caller.user.email:
        raise errors.EmailMismatch
    user = await users.lock_caller(ctx)
    if user.email_verified:
        raise errors.EmailAlreadyVerified
    audit.verification_requested(ctx, user, user.email)
    await mail_verification(ctx, user, callback_url)


async def resolve_verification(ctx: Context, email: str, callback_url: str | None) -> None:
    """In the background: send the link if there is such a user and there is something to verify."""
    user = await users.lock_by_email(ctx, email)
    audit.verification_requested(ctx, user, email)
    if user is not None and not user.email_verified:
        await mail_verification(ctx, user, callback_url)


async def verify(ctx: Context, token: str) -> User:
    """Follow a verification or email-change link; give the user as they are afterwards. Never signs in.

    Raises InvalidToken, TokenExpired, and InvalidUser when another user than the link's is signed in.
    """
    found = await grants.find(ctx, token)
    if found is None or found[0].purpose not in (Purpose.VERIFY, Purpose.CHANGE_EMAIL):
        raise errors.InvalidToken
    grant, owner = found
    if grant.expires_at <= ctx.now:
        raise errors.TokenExpired
    changes = grant.purpose == Purpose.CHANGE_EMAIL
    if changes and ctx.caller is not None and ctx.caller.user.id != owner.id:
        raise errors.InvalidUser
    user = await users.lock(ctx, owner.id)
    if user is None:
        raise errors.InvalidToken
    await (_follow_change(ctx, user, grant, token) if changes else _follow_verification(ctx, user, grant))
    return user


async def _follow_verification(ctx: Context, user: User, grant: GrantRow) -> None:
    if user.email != grant.email:
        raise errors.InvalidToken
    if not user.email_verified:
        user.email_verified = True
        user.updated_at = ctx.now
        audit.email_verified(ctx, user.id)


async def _follow_change(ctx: Context, user: User, grant: GrantRow, token: str) -> None:
    assert grant.email is not None, "an email-change token is made for an address"  # noqa: S101
    if not await grants.consume(ctx, Purpose.CHANGE_EMAIL, user.id, token) or await _is_taken(
        ctx, grant.email
    ):
        raise errors.InvalidToken
    await _set_address(ctx, user, grant.email, verified=True)


async def change(ctx: Context, new_email: str, callback_url: str | None) -> None:
    """Change the caller's address: at once if the old one was never proven, otherwise when the mailed link is opened.

    An address that belongs to somebody gets the same answer and has no effect. Raises ChangeEmailDisabled,
    ValidationError (the same address), VerificationEmailNotEnabled (no sender for the link).
    """
    policy, address = ctx.policy, new_email.lower()
    if not policy.change_email_enabled:
        raise errors.ChangeEmailDisabled
    user = await users.lock_caller(ctx)
    if address == user.email:
        raise errors.ValidationError("Email is the same")
    at_once = not user.email_verified and policy.change_email_immediate_if_unverified
    if not at_once and policy.mail_sender == "none":
        raise errors.VerificationEmailNotEnabled
    if await _is_taken(ctx, address):
        # A row is written all the same, for a token nobody ever sees: the answer must not come sooner.
        if await limits.may_mail(ctx, "nobody", address):
            await _issue_change(ctx, user, address)
        audit.email_change_requested(ctx, is_taken=True)
        return
    if at_once:
        await _set_address(ctx, user, address, verified=False)
        if policy.verification_enabled:
            await mail_verification(ctx, user, callback_url)
    else:
        await _mail_change(ctx, user, address, callback_url)


async def _mail_change(ctx: Context, user: User, address: str, callback_url: str | None) -> None:
    if await limits.may_mail(ctx, "links", address):
        await grants.revoke(ctx, user.id, Purpose.CHANGE_EMAIL)
        mails.change_email(ctx, user, address, await _issue_change(ctx, user, address), callback_url)
    audit.email_change_requested(ctx, is_taken=False)


async def _issue_change(ctx: Context, user: User, address: str) -> str:
    expires_in = ctx.policy.verification_token_expires_in
    return await grants.issue(ctx, Purpose.CHANGE_EMAIL, user.id, expires_in=expires_in, email=address)


async def _set_address(ctx: Context, user: User, address: str, *, verified: bool) -> None:
    old, was_verified = user.email, user.email_verified
    user.email, user.email_verified, user.updated_at = address, verified, ctx.now
    await users.flush(ctx)
    await grants.revoke(ctx, user.id, *DIES_WITH_ADDRESS)
    if await limits.may_notify(ctx, old, is_verified=was_verified):
        mails.email_changed(ctx, user, old)
    audit.email_changed(ctx, user.id)


async def _is_taken(ctx: Context, address: str) -> bool:
    return (await ctx.db.execute(select(User.id).where(User.email == address))).first() is not None
