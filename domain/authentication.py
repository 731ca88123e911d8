"""Sign up, sign in, and the one gate that opens sessions (interface 4.1; behaviour 5.1)."""

from dataclasses import dataclass, field, replace
from typing import Literal

from domain import (
    accounts,
    audit,
    challenges,
    emails,
    errors,
    identifiers,
    limits,
    mails,
    new_password,
    secrets,
    sessions,
    trusted_devices,
    users,
)
from domain.challenges import Pending
from domain.context import Context, Outdated
from domain.sessions import OpenedSession
from models import User
from models.candidates import candidate_by
from models.queries import PASSWORD_BY_EMAIL, UserRow

BAN = ("banned", "ban_reason", "ban_expires")
"""The columns of a user that shut them out."""


@dataclass(frozen=True, slots=True)
class SignUp:
    """What a sign-up asks for, already of the form the contract demands."""

    name: str
    email: str
    password: str = field(repr=False)
    image: str | None
    username: str | None
    display_username: str | None
    remembered: bool
    callback_url: str | None


@dataclass(frozen=True, slots=True)
class SignIn:
    """How a sign-in wants its session, and where its verification mail should lead."""

    remembered: bool
    callback_url: str | None
    method: str
    asks_second_factor: bool = True
    """Whether who has a second factor is asked for it; the operator may trust providers to have done so."""
    needs_verified_email: bool = False
    """Whether the address must be verified for this sign-in, though the policy does not want it of everybody."""
    is_first: bool = False
    """Whether the user is made by the same transaction."""
    has_room: bool = False
    """Whether the user was seen to have few sessions, or none."""


async def sign_up(ctx: Context, wanted: SignUp) -> tuple[UserRow, OpenedSession | None]:
    """Make a user with a password, and a session unless the policy makes none.

    Raises EmailPasswordSignUpDisabled, the refusals of usernames and new passwords, and
    UserAlreadyExistsUseAnotherEmail. Where no session is made, a taken address gets the same answer as a free one.
    """
    policy = ctx.policy
    if not (policy.email_password_enabled and policy.sign_up_enabled):
        raise errors.EmailPasswordSignUpDisabled
    user, hashed = await new_user(ctx, wanted)
    if await ctx.reads.one(PASSWORD_BY_EMAIL, user.email) is not None:
        return await _answer_taken_address(ctx, user), None
    if policy.verification_enabled and policy.verification_on_sign_up:
        await add_user(ctx, user, hashed)
        await emails.mail_verification(ctx, user, wanted.callback_url)
    else:
        # Who was faster with the address is met by the commit.
        users.file(ctx, user)
        accounts.add_credential(ctx, user.id, hashed)
    audit.user_created(ctx, user.id, "password")
    return user, await _first_session(ctx, user, wanted)


async def new_user(ctx: Context, wanted: SignUp) -> tuple[UserRow, str]:
    """Give a user who is not stored yet, and the hash of their password, both by the rules of sign-up.

    Raises the refusals of usernames and new passwords.
    """
    names = await users.new_names(ctx, wanted.username, wanted.display_username)
    user = _row(ctx, wanted, names)
    new_password.check(ctx.policy, wanted.password, email=user.email, username=user.username, name=user.name)
    return user, await ctx.hasher.hash(wanted.password)


async def add_user(ctx: Context, user: UserRow, hashed: str) -> None:
    """Store a new user and the account that holds their password."""
    await users.add(ctx, user)
    accounts.add_credential(ctx, user.id, hashed)


def _makes_session(ctx: Context) -> bool:
    return ctx.policy.sign_up_auto_sign_in and not ctx.policy.verification_required


async def _first_session(ctx: Context, user: UserRow, wanted: SignUp) -> OpenedSession | None:
    if not _makes_session(ctx):
        return None
    way = SignIn(wanted.remembered, wanted.callback_url, "password", is_first=True, has_room=True)
    opened = await admit(ctx, user, way)
    assert isinstance(opened, OpenedSession), "who is new has no second factor"  # noqa: S101
    return opened


async def _answer_taken_address(ctx: Context, invented: UserRow) -> UserRow:
    owner = await users.hold_by_email(ctx, invented.email)
    if owner is None:
        raise Outdated  # Whoever had the address has left meanwhile.
    audit.user_not_created(ctx, owner.id, errors.UserAlreadyExistsUseAnotherEmail)
    if _makes_session(ctx):
        raise errors.UserAlreadyExistsUseAnotherEmail
    if ctx.policy.sign_up_notify_existing and await limits.may_mail(ctx, "links", owner.email):
        mails.existing_account(ctx, owner)
    return invented


def _row(ctx: Context, wanted: SignUp, names: users.Names) -> UserRow:
    return UserRow(
        id=secrets.token(),
        name=wanted.name,
        email=wanted.email.lower(),
        email_verified=False,
        image=wanted.image or None,
        two_factor_enabled=False,
        role="user",
        banned=False,
        ban_reason=None,
        ban_expires=None,
        username=names.username,
        display_username=names.display_username,
        created_at=ctx.now,
        updated_at=ctx.now,
    )


async def sign_in_by_email(
    ctx: Context, email: str, password: str, wanted: SignIn
) -> OpenedSession | Pending:
    """Sign in with an address.

    Raises EmailPasswordDisabled, InvalidEmail, InvalidEmailOrPassword, Limited and the refusals of the gate.
    """
    if not ctx.policy.email_password_enabled:
        raise errors.EmailPasswordDisabled
    address = identifiers.email(email)
    return await _sign_in(ctx, "email", address, password, wanted, errors.InvalidEmailOrPassword)


async def sign_in_by_username(
    ctx: Context, username: str, password: str, wanted: SignIn
) -> OpenedSession | Pending:
    """Sign in with a username.

    Raises EmailPasswordDisabled, the 422 refusals of a username, InvalidUsernameOrPassword, Limited and those of the
    gate.
    """
    if not ctx.policy.email_password_enabled:
        raise errors.EmailPasswordDisabled
    name = identifiers.wanted_username(username)
    return await _sign_in(ctx, "username", name, password, wanted, errors.InvalidUsernameOrPassword)


async def _sign_in(
    ctx: Context,
    column: Literal["email", "username"],
    identifier: str,
    password: str,
    wanted: SignIn,
    refusal: type[errors.Refusal],
) -> OpenedSession | Pending:
    async with ctx.hasher.entrance():
        found = await ctx.reads.one(candidate_by(column, ctx.policy.session.few), identifier)
        stored = found.hash if found is not None else None
        whose = limits.Whose(found and found.user.id, identifier)
        await limits.check(ctx, whose)
    if not await ctx.hasher.verify(password, stored) or found is None or stored is None:
        await limits.count_failure(ctx, whose)
        audit.sign_in_failed(ctx, found and found.user.id, identifier, wanted.method, refusal)
        raise refusal
    await limits.check(ctx, whose)
    newer = await ctx.hasher.hash(password) if ctx.hasher.needs_rehash(stored) else None
    # The password, or what the gate goes by, may have changed while it was being checked.
    users.demand_as_seen(ctx, found)
    if newer is not None:
        await accounts.replace_hash(ctx, found.user.id, stored, newer)
        audit.password_rehashed(ctx, found.user.id)
    return await admit(ctx, found.user, replace(wanted, has_room=found.has_room))


async def admit(ctx: Context, user: User | UserRow, wanted: SignIn) -> OpenedSession | Pending:
    """Let a proven user in: the gate that every sign-in passes, whatever the proof was (behaviour 5.1, steps 6 to 9).

    `user` is the locked row, one that is demanded to be as it was seen, or a new one that is stored. Who has a second
    factor gets a session only on a device they trust, otherwise a challenge. Raises BannedUser, and EmailNotVerified (a
    fresh link may be under way).
    """
    if user.is_banned(ctx.now):
        audit.sign_in_banned(ctx, user.id, wanted.method, errors.BannedUser)
        raise errors.BannedUser
    if user.banned and (row := await users.lock(ctx, user.id)):
        lift_ban(ctx, row)
    needs_verified = ctx.policy.verification_required or wanted.needs_verified_email
    if needs_verified and not user.email_verified:
        if ctx.policy.verification_enabled and ctx.policy.verification_on_sign_in:
            await emails.mail_verification(ctx, user, wanted.callback_url)
        audit.sign_in_unverified(ctx, user.id, wanted.method, errors.EmailNotVerified)
        raise errors.EmailNotVerified
    device = None
    if user.two_factor_enabled and wanted.asks_second_factor:
        device = await trusted_devices.rotate(ctx, user.id)
        if device is None:
            audit.sign_in_pending(ctx, user.id, wanted.method)
            return await challenges.make(ctx, user, remembered=wanted.remembered)
        audit.trusted_device_used(ctx, user.id)
    opened = await sessions.create(
        ctx, user, remembered=wanted.remembered, method=wanted.method, has_room=wanted.has_room
    )
    await limits.signed_in(ctx, user.id, is_first=wanted.is_first)
    audit.sign_in_succeeded(ctx, user.id, opened.session.id, wanted.method)
    forget_device = device is None and await trusted_devices.is_dead(ctx)
    return replace(opened, device=device, forget_device=forget_device)


def lift_ban(ctx: Context, user: User, *, by_operator: bool = False) -> None:
    """Let a user in again whose ban has ended, or is ended by the operator."""
    user.banned = False
    user.ban_reason = user.ban_expires = None
    user.updated_at = ctx.now
    audit.user_updated(ctx, user.id, BAN, by_operator=by_operator)
