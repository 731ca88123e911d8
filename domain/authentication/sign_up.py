"""Sign up with a password."""

from dataclasses import dataclass, field

from domain.accounts import accounts
from domain.authentication import gate, mails
from domain.authentication.errors import EmailPasswordSignUpDisabled
from domain.authentication.policy import EmailPasswordPolicy, SignUpPolicy
from domain.context import Context, StaleRead
from domain.emails import emails
from domain.emails.policy import EmailVerificationPolicy
from domain.mail import messages
from domain.passwords import events as password_events
from domain.passwords import strength
from domain.rate_limits import limits
from domain.sessions.sessions import OpenedSession
from domain.sso_enforcement import enforcement
from domain.users import events as user_events
from domain.users import locking, profile
from domain.users.errors import UserAlreadyExistsUseAnotherEmail
from models.account import PASSWORD_BY_EMAIL
from models.user import UserRow


@dataclass(frozen=True, slots=True)
class SignUp:
    """The fields of a sign-up, already validated against the contract."""

    name: str
    email: str
    password: str = field(repr=False)
    image: str | None
    username: str | None
    display_username: str | None
    locale: str | None
    remembered: bool
    callback_url: str | None


async def sign_up(ctx: Context, new: SignUp) -> tuple[UserRow, OpenedSession | None]:
    """Create a user with a password; return the user, and a session unless the policy creates none.

    Raises EmailPasswordSignUpDisabled, SsoRequired, UsernameTooShort, UsernameTooLong, InvalidUsername,
    InvalidDisplayUsername, UsernameIsAlreadyTaken, ValidationError (an unknown locale), PasswordTooLong,
    PasswordTooShort, PasswordTooCommon, Overloaded, UserAlreadyExistsUseAnotherEmail.

    If the policy creates no session, a registered email raises nothing: an invented user is returned, so that the
    response is the same as for a new email.
    """
    policy = ctx.policy
    if not (policy[EmailPasswordPolicy].enabled and policy[SignUpPolicy].enabled):
        raise EmailPasswordSignUpDisabled
    await enforcement.refuse_address(ctx, new.email)  # defence: SSO11 sign-up
    # Hashed before the look-up, so that a taken address costs the same time as a free one.
    user, hashed = await _new_user(ctx, new)  # defence: V71 hash-first
    if await ctx.reads.one(PASSWORD_BY_EMAIL, user.email) is not None:
        return await _answer_taken_address(ctx, user), None
    if _verifies_sign_ups(ctx):
        await _add_user(ctx, user, hashed)
        await emails.mail_verification(ctx, user, new.callback_url)  # defence: R17 one-transaction
    elif not _makes_session(ctx):
        await _add_user(ctx, user, hashed)
        if policy[SignUpPolicy].notify_existing:
            await _queue_decoy(ctx, user.email)
    else:
        # A concurrent sign-up with the same email is detected at commit.
        profile.defer_add(ctx, user)
        accounts.add_credential(ctx, user.id, hashed)
    user_events.user_created(ctx, user.id, "password")
    return user, await _first_session(ctx, user, new)


async def _new_user(ctx: Context, new: SignUp) -> tuple[UserRow, str]:
    """Return a new, unsaved user and the hash of their password, both checked by the rules of sign-up.

    Raises the refusals of usernames and new passwords.
    """
    names = await profile.new_names(ctx, new.username, new.display_username)
    user = profile.new_user(
        ctx,
        name=new.name,
        email=new.email,
        email_verified=False,  # defence: V30 new-email
        image=new.image,
        names=names,
        locale=profile.supported_locale(new.locale),
    )
    strength.check(ctx.policy, new.password, email=user.email, username=user.username, name=user.name)
    return user, await ctx.hasher.hash(new.password)


async def _add_user(ctx: Context, user: UserRow, hashed: str) -> None:
    """Store a new user and the account that holds their password."""
    await profile.add(ctx, user)
    accounts.add_credential(ctx, user.id, hashed)


def _verifies_sign_ups(ctx: Context) -> bool:
    verification = ctx.policy[EmailVerificationPolicy]
    return verification.enabled and verification.send_on_sign_up


def _makes_session(ctx: Context) -> bool:
    # defence: V32 sign-up-session
    return ctx.policy[SignUpPolicy].auto_sign_in and not ctx.policy[EmailVerificationPolicy].required


async def _first_session(ctx: Context, user: UserRow, new: SignUp) -> OpenedSession | None:
    if not _makes_session(ctx):
        return None
    options = gate.SignInOptions(
        new.remembered,
        new.callback_url,
        password_events.PASSWORD.name,
        is_first=True,
        under_session_limit=True,
    )
    opened = await gate.complete_sign_in(ctx, user, options)
    assert isinstance(opened, OpenedSession), "who is new has no second factor"  # noqa: S101
    return opened


async def _answer_taken_address(ctx: Context, invented: UserRow) -> UserRow:
    owner = await locking.lock_by_email(ctx, invented.email)
    if owner is None:
        raise StaleRead  # The user with this email was deleted after the look-up.
    user_events.user_not_created(
        ctx, owner.id, password_events.PASSWORD.name, UserAlreadyExistsUseAnotherEmail
    )
    # A sign-up that opens a session cannot hide that the address is taken, so the error says it.
    if _makes_session(ctx):  # defence: V70 same-answer
        raise UserAlreadyExistsUseAnotherEmail
    if ctx.policy[SignUpPolicy].notify_existing:
        if await limits.may_mail(ctx, limits.LINKS, owner.email):  # defence: V74 taken-email
            mails.existing_account(ctx, owner)  # defence: V80 taken-notice
    elif _verifies_sign_ups(ctx):
        await _queue_decoy(ctx, owner.email)
    return invented  # defence: V70 invented-user


async def _queue_decoy(ctx: Context, email: str) -> None:
    """Queue a decoy for an email address that gets no email, so that the timing does not reveal whether it is
    registered."""
    if await limits.may_mail(ctx, limits.DECOYS, email):
        mails.existing_account(ctx, messages.UNREGISTERED)
