"""Operations with codes sent by email: sign in, verify an address, reset a password, change the address."""

from functools import partial

from domain import errors, mailbox_proofs
from domain.context import Context
from domain.email_codes import codes, events, mails
from domain.email_codes.errors import InvalidOtp
from domain.email_codes.policy import EmailCodePolicy
from domain.emails import emails
from domain.emails import events as email_events
from domain.emails.errors import ChangeEmailDisabled, VerificationEmailNotEnabled
from domain.emails.policy import ChangeEmailPolicy, EmailVerificationPolicy
from domain.mail import messages
from domain.mail.policy import MailPolicy
from domain.mailbox_proofs import MailboxSignIn, NewUser
from domain.passwords import mails as password_mails
from domain.passwords import passwords, strength
from domain.passwords.errors import ResetPasswordDisabled
from domain.passwords.policy import PasswordPolicy, PasswordResetPolicy
from domain.rate_limits import limits
from domain.sso_enforcement import enforcement
from domain.users import locking, lookup, profile
from models.user import UserRow


async def request(ctx: Context, email: str, code_type: codes.CodeType) -> None:
    """Queue a request to send a code to an address; the user is looked up in the background.

    The errors do not depend on whether the address has a user: ResetPasswordDisabled, VerificationEmailNotEnabled, and
    for sign-in codes SsoRequired if the domain of the address requires single sign-on.
    """
    if code_type is codes.SIGN_IN:
        await enforcement.refuse_address(ctx, email)  # defence: SSO11 code
    sender = ctx.policy[MailPolicy].sender
    if code_type is codes.RESET:
        sender = ctx.policy[PasswordResetPolicy].sender
        if sender == "none":
            raise ResetPasswordDisabled
    if code_type is codes.VERIFY and not (
        ctx.policy[EmailVerificationPolicy].enabled or ctx.policy[EmailCodePolicy].verify_current_email
    ):
        raise VerificationEmailNotEnabled
    messages.queue_request(ctx, code_type.template, sender, email.lower(), None)


@messages.resolves(mails.SIGN_IN_CODE)
async def resolve_sign_in(ctx: Context, email: str, target: str | None) -> None:
    """In the background: send a sign-in code to a user or, if sign-up is open, to an address without a user."""
    user = await locking.lock_by_email(ctx, email)
    reason = mailbox_proofs.refusal_of(ctx, user, method_allows=ctx.policy[EmailCodePolicy].sign_up)
    await codes.send(ctx, codes.Binding(codes.SIGN_IN, email), user, reason)


@messages.resolves(mails.VERIFY_EMAIL_CODE)
async def resolve_verification(ctx: Context, email: str, target: str | None) -> None:
    """In the background: send a verification code if the address is unverified, or if changing it needs such a code."""
    user = await locking.lock_by_email(ctx, email)
    reason = None
    if user is None:
        reason = "no such user"
    elif user.email_verified and not ctx.policy[EmailCodePolicy].verify_current_email:
        reason = "verified already"
    await codes.send(ctx, codes.Binding(codes.VERIFY, email), user, reason)


@messages.resolves(mails.RESET_PASSWORD_CODE)
async def resolve_reset(ctx: Context, email: str, target: str | None) -> None:
    """In the background: send a code that resets the password, if a user has this address; `target` is not used.

    A user who must sign in through the connection of an organization gets a notice of this instead of a code.
    """
    user = await locking.lock_by_email(ctx, email)
    is_bound = await enforcement.is_bound(ctx, email, user)
    if user is not None and is_bound:  # defence: SSO11 reset-code
        if await limits.may_mail(ctx, limits.LINKS, email):
            password_mails.sign_in_with_organization(ctx, user)
        return
    await codes.send(ctx, codes.Binding(codes.RESET, email), user, "no such user" if user is None else None)


async def check(ctx: Context, email: str, code_type: codes.CodeType, otp: str) -> None:
    """Check a code without using it up. Raises InvalidOtp, OtpExpired, TooManyAttempts, Limited."""
    email = email.lower()
    await codes.peek(ctx, codes.Binding(code_type, email), otp, await codes.failure_subject(ctx, email))


async def verify_email(ctx: Context, email: str, otp: str) -> UserRow:
    """Verify an address by its code; return the user. Raises InvalidOtp, OtpExpired, TooManyAttempts, Limited."""
    email = email.lower()
    subject = await codes.failure_subject(ctx, email)
    user = await locking.lock_by_email(ctx, email)
    await (await codes.compare(ctx, codes.Binding(codes.VERIFY, email), otp, subject)).use(ctx)
    if user is None:
        raise InvalidOtp
    await limits.reset_failures(ctx, user.id)
    if user.email_verified:
        return user
    email_events.email_verified(ctx, user.id)
    return await profile.change(ctx, user, email_verified=True)


async def sign_in(
    ctx: Context, email: str, otp: str, *, name: str, image: str | None, remembered: bool
) -> MailboxSignIn:
    """Sign in with a code; if the address has no user, create one with `name` and `image`.

    Raises InvalidOtp, OtpExpired, TooManyAttempts, Limited, NewUserSignupDisabled, BannedMailboxUser, SsoRequired.
    """
    email = email.lower()  # defence: M11 capitals
    subject = await codes.failure_subject(ctx, email)
    user = await locking.lock_by_email(ctx, email)
    await (await codes.compare(ctx, codes.Binding(codes.SIGN_IN, email), otp, subject)).use(ctx)
    new = NewUser(ctx.policy[EmailCodePolicy].sign_up, name, image)
    return await mailbox_proofs.sign_in(
        ctx, user, email, new, method=events.EMAIL_CODE.name, remembered=remembered
    )


async def reset_password(ctx: Context, email: str, otp: str, new: str) -> None:
    """Replace a forgotten password; a refused password does not use up the code.

    Raises ResetPasswordDisabled, PasswordTooLong, PasswordTooShort, PasswordTooCommon, InvalidOtp, OtpExpired,
    TooManyAttempts, Limited, Overloaded.
    """
    if ctx.policy[PasswordResetPolicy].sender == "none":
        raise ResetPasswordDisabled
    strength.check_length(ctx.policy[PasswordPolicy], new)
    email = email.lower()
    subject = await codes.failure_subject(ctx, email)
    job = partial(codes.peek, binding=codes.Binding(codes.RESET, email), otp=otp, subject=subject)
    # A separate transaction: hashing must not hold locks, and a wrong code must not cost a hash.
    right, seen = await ctx.in_new_transaction(job)
    if seen is None:
        raise InvalidOtp
    hashed = await passwords.hash_for(ctx, seen, new)
    user = await locking.lock(ctx, seen.id)
    await right.use(ctx)
    if user is None:
        raise InvalidOtp
    await passwords.complete_reset(ctx, user, hashed, method=events.EMAIL_CODE.name)


# --- Change of address ----------------------------------------------------------------------------------------


async def request_change(ctx: Context, new_email: str, otp: str | None) -> None:
    """Send a code to the new address of the caller. A taken address causes the same response, but gets no email.

    With the policy `verify_current_email`, `otp` is a code that was sent to the current address; otherwise it is
    ignored. Raises ChangeEmailDisabled, ValidationError (the code is missing, or the address is the current one),
    SsoRequired; for a wrong code InvalidOtp, OtpExpired, TooManyAttempts, Limited.
    """
    new_email = new_email.lower()
    _refuse_change(ctx, new_email)
    needs_code = ctx.policy[EmailCodePolicy].verify_current_email
    if needs_code and otp is None:
        message = "A code sent to the current address is required"
        raise errors.ValidationError(message, errors.Field("body", "otp", message))
    subject = await codes.failure_subject(ctx, ctx.signed_in.user.email) if needs_code else None
    user = await locking.lock_caller(ctx)
    if subject is not None and otp is not None:
        await (await codes.compare(ctx, codes.Binding(codes.VERIFY, user.email), otp, subject)).use(ctx)
    await enforcement.check_new_address(ctx, user, new_email)
    is_taken = await lookup.by_email(ctx, new_email) is not None  # defence: M19 taken
    email_events.email_change_requested(ctx, is_taken=is_taken)
    await codes.send(
        ctx, codes.Binding(codes.CHANGE, new_email, user.id), user, "address taken" if is_taken else None
    )


def _refuse_change(ctx: Context, new_email: str) -> None:
    if not ctx.policy[ChangeEmailPolicy].enabled:
        raise ChangeEmailDisabled
    if new_email == ctx.signed_in.user.email:
        message = "Email is the same"
        raise errors.ValidationError(message, errors.Field("body", "newEmail", message))


async def change_email(ctx: Context, new_email: str, otp: str) -> None:
    """Change the caller's address with the code sent to the new one.

    Raises ChangeEmailDisabled, ValidationError (the address is the current one), SsoRequired, OtpExpired,
    TooManyAttempts, Limited, and InvalidOtp, also if the address was taken meanwhile.
    """
    new_email = new_email.lower()
    _refuse_change(ctx, new_email)
    subject = limits.FailureSubject(ctx.signed_in.user.id)
    await limits.check(ctx, subject)
    user = await locking.lock_caller(ctx)
    await (await codes.compare(ctx, codes.Binding(codes.CHANGE, new_email, user.id), otp, subject)).use(ctx)
    await enforcement.check_new_address(ctx, user, new_email)
    # The address may have been taken between the request and the code. An error of its own would show that.
    if await lookup.by_email(ctx, new_email) is not None:  # defence: M19 taken-meanwhile
        raise InvalidOtp
    await emails.set_address(ctx, user, new_email, verified=True)
