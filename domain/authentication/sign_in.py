"""Sign in with an email address or a username, and a password."""

from dataclasses import replace
from functools import partial
from typing import Literal

from domain import errors, identifiers
from domain.accounts import accounts
from domain.authentication import gate
from domain.authentication.errors import (
    EmailPasswordDisabled,
    InvalidEmailOrPassword,
    InvalidUsernameOrPassword,
)
from domain.authentication.policy import EmailPasswordPolicy
from domain.context import Context
from domain.passwords import events as password_events
from domain.rate_limits import limits
from domain.sessions import events as session_events
from domain.sessions.policy import SessionLimitThreshold
from domain.sessions.sessions import OpenedSession
from domain.sso_enforcement import enforcement
from domain.two_factor.challenges import PendingSignIn
from domain.users import locking
from models.sign_in_query import SignInRow, sign_in_row_by
from models.sso_connection import Requirement


async def sign_in_by_email(
    ctx: Context, email: str, password: str, options: gate.SignInOptions
) -> OpenedSession | PendingSignIn:
    """Sign in with an email address and a password; return a session, or a challenge for the second factor.

    Raises EmailPasswordDisabled, InvalidEmail, InvalidEmailOrPassword, Limited (too many failures), BannedUser,
    SsoRequired, EmailNotVerified (a new link may have been queued), Overloaded.
    """
    if not ctx.policy[EmailPasswordPolicy].enabled:
        raise EmailPasswordDisabled
    address = identifiers.email(email)
    return await _sign_in(ctx, "email", address, password, options, InvalidEmailOrPassword)


async def sign_in_by_username(
    ctx: Context, username: str, password: str, options: gate.SignInOptions
) -> OpenedSession | PendingSignIn:
    """Sign in with a username and a password; return a session, or a challenge for the second factor.

    Raises EmailPasswordDisabled, UnprocessableUsernameTooShort, UnprocessableUsernameTooLong, UnprocessableUsername,
    InvalidUsernameOrPassword, Limited (too many failures), BannedUser, SsoRequired, EmailNotVerified (a new link may
    have been queued), Overloaded.
    """
    if not ctx.policy[EmailPasswordPolicy].enabled:
        raise EmailPasswordDisabled
    name = identifiers.username_to_look_up(username)
    return await _sign_in(ctx, "username", name, password, options, InvalidUsernameOrPassword)


async def sign_in_again(ctx: Context, password: str) -> OpenedSession | PendingSignIn:
    """Sign the caller in again with their password; return the new session, which replaces that of the request.

    If a second factor is required, a challenge is returned, and the session of the request stays. Raises
    EmailPasswordDisabled, InvalidEmailOrPassword, Limited (too many failures), BannedUser, SsoRequired,
    EmailNotVerified, Overloaded.
    """
    user, session = ctx.signed_in.user, ctx.signed_in.session
    options = gate.SignInOptions(session.remembered, callback_url=None, method=password_events.PASSWORD.name)
    opened = await sign_in_by_email(ctx, user.email, password, options)
    await gate.end_replaced(ctx, opened)
    return opened


async def _sign_in(
    ctx: Context,
    column: Literal["email", "username"],
    identifier: str,
    password: str,
    options: gate.SignInOptions,
    refusal: type[errors.Refusal],
) -> OpenedSession | PendingSignIn:
    async with ctx.hasher.admission():
        row = await ctx.reads.one(sign_in_row_by(column, ctx.policy[SessionLimitThreshold].few), identifier)
        stored = row.hash if row is not None else None  # defence: V70 stored-hash
        # Unknown identifiers have a budget, too; without one, a limit would show which accounts exist.
        subject = limits.FailureSubject(row and row.user.id, identifier)  # defence: V66 unknown-user
        # Before hashing: refused guesses must not fill the hash queue.
        await limits.check(ctx, subject)  # defence: R42 budget-first
        # By the address as it was typed, so that registered and free addresses of a domain get the same response.
        requirement = await enforcement.find(ctx, identifier) if column == "email" else None
    # Unknown users cost a hash as well, otherwise the time would show who has an account.
    # defence: V70 V71 same-refusal
    is_right = await ctx.hasher.verify(password, stored)
    error: errors.Refusal = refusal()
    if requirement is not None and not (is_right and await _is_exempt(ctx, row, requirement)):
        # The same for wrong and right passwords, which are of no use here.
        error, is_right = enforcement.refusal(ctx, requirement), False  # defence: SSO11 password
    if not is_right or row is None or stored is None:
        await limits.count_failure(ctx, subject)  # defence: V66 wrong-password
        session_events.sign_in_failed(ctx, row and row.user.id, identifier, options.method, error)
        raise error
    await limits.check(ctx, subject)
    newer = await ctx.hasher.hash(password) if ctx.hasher.needs_rehash(stored) else None
    is_connected = await enforcement.has_connection(ctx, row.user.email)
    # The password or a column that the gate reads may have changed while the password was checked.
    locking.require_unchanged(ctx, row)  # defence: V37 as-seen
    if newer is not None:
        await accounts.replace_hash(ctx, row.user.id, stored, newer)
        password_events.password_rehashed(ctx, row.user.id)
    return await gate.complete_sign_in(
        ctx,
        row.user,
        replace(
            options,
            under_session_limit=row.under_session_limit,
            # Otherwise the gate asks again, with the row locked: the domain may have become required meanwhile.
            has_passed_enforcement=not is_connected,  # defence: SSO11 on-its-way
        ),
    )


async def _is_exempt(ctx: Context, row: SignInRow | None, requirement: Requirement) -> bool:
    if row is None:
        return False
    # In a transaction of its own, because the password may have to be hashed again.
    return await ctx.in_new_transaction(
        partial(enforcement.is_exempt, user=row.user, requirement=requirement)
    )
