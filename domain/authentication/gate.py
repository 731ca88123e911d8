"""The gate: the one function that completes every sign-in once its first factor is proven.

It checks bans, required single sign-on and verified addresses. It creates a session, or a challenge if a second factor
is required.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from domain.context import Context
from domain.emails import emails
from domain.emails.policy import EmailVerificationPolicy
from domain.rate_limits import limits
from domain.sessions import events as session_events
from domain.sessions import sessions
from domain.sessions.sessions import OpenedSession
from domain.sessions.sso_origin import SsoOrigin
from domain.sso_enforcement import enforcement
from domain.sso_enforcement.errors import SsoRequired
from domain.sso_provisioning import provisioning
from domain.trusted_devices import events as device_events
from domain.trusted_devices import trusted_devices
from domain.two_factor import challenges
from domain.two_factor.challenges import PendingSignIn
from domain.users import events as user_events
from domain.users import locking, profile
from domain.users.errors import BannedUser, EmailNotVerified
from models.user import UserRow

BAN = ("banned", "ban_reason", "ban_expires")
"""The columns of a user that hold a ban."""


@dataclass(frozen=True, slots=True)
class SignInOptions:
    """The options of a sign-in. `callback_url` is where the link of a verification email leads, if one is sent."""

    remembered: bool
    callback_url: str | None
    method: str
    asks_second_factor: bool = True
    """Whether a second factor is required from users who have one; the operator may exempt providers."""
    needs_verified_email: bool = False
    """Whether this sign-in requires a verified email, even if the policy does not."""
    is_first: bool = False
    """Whether the user is created by the same transaction."""
    under_session_limit: bool = False
    """Whether the user is known to have so few sessions that the limit of sessions need not be checked."""
    proves_mailbox: bool = False
    """Whether the first factor is a link or code sent to the user's address."""
    amr: str | None = None
    """The authentication methods used (`amr`, RFC 8176), separated by spaces; by default those of `method`."""
    factors: int = 1
    """How many factors were proved."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Details of the sign-in for the audit record, in addition to `method`."""
    origin: SsoOrigin | None = None
    """The single sign-on connection through which the user signs in, if any."""
    has_passed_enforcement: bool = False
    """Whether the caller of the gate has checked that no single sign-on connection has the domain of the address."""


async def complete_sign_in(
    ctx: Context, user: UserRow, options: SignInOptions
) -> OpenedSession | PendingSignIn:
    """Complete a sign-in whose first factor is proven: return a session, or a challenge for the second factor.

    Every way to sign in ends here. `user` is a locked row, a row that the transaction requires to be unchanged, or a
    new one. A user with a second factor who has proved only one factor gets a session on a trusted device, and a
    challenge on others.

    Raises BannedUser, SsoRequired, EmailNotVerified (a new link may have been queued). With `options.origin` also
    raises OrganizationMembershipLimitReached, YouHaveReachedTheMaximumNumberOfOrganizations and
    UserIsDisabledByTheDirectory.
    """
    # After the proof: the error would otherwise tell anyone that the account exists and is banned.
    if user.is_banned(ctx.now):  # defence: V33 M17 P16 sign-in-ban
        session_events.sign_in_banned(ctx, user.id, options.method, BannedUser)
        raise BannedUser
    if not options.has_passed_enforcement:  # defence: SSO11 gate
        await _check_enforcement(ctx, user, options)
    # `banned` is set but `is_banned` was false: the ban has expired.
    if user.banned and (row := await locking.lock(ctx, user.id)):
        await lift_ban(ctx, row)  # defence: V33 lift-ban
    verification = ctx.policy[EmailVerificationPolicy]
    needs_verified = verification.required or options.needs_verified_email
    origin = options.origin
    is_vouched_for = options.proves_mailbox or (origin is not None and origin.vouches_for(user))
    if needs_verified and not (user.email_verified or is_vouched_for):
        if verification.enabled and verification.send_on_sign_in:
            await emails.mail_verification(ctx, user, options.callback_url)
        session_events.sign_in_refused(ctx, user.id, options.method, EmailNotVerified)
        raise EmailNotVerified  # defence: V32 P16 sign-in-verified
    device = None
    has_proved_both = options.factors > 1
    # defence: V43 M6 second-factor
    if user.two_factor_enabled and options.asks_second_factor and not has_proved_both:
        device = await trusted_devices.rotate(ctx, user.id)
        if device is None:
            session_events.sign_in_pending(ctx, user.id, options.method, **options.details)
            return await challenges.create(
                ctx,
                user,
                remembered=options.remembered,
                mailbox=options.proves_mailbox,
                origin=origin,
            )
        device_events.trusted_device_used(ctx, user.id)
    if origin is not None:
        user = await provisioning.provision(ctx, user, origin)
    opened = await sessions.create(
        ctx,
        user,
        remembered=options.remembered,
        method=options.method,
        amr=options.amr,
        under_session_limit=options.under_session_limit,
        origin=origin,
    )
    await limits.record_success(ctx, user.id, is_first=options.is_first)  # defence: V69 known-network
    session_events.sign_in_succeeded(ctx, user.id, opened.session.id, options.method, **options.details)
    forget_device = device is None and not has_proved_both and await trusted_devices.is_dead(ctx)
    return replace(opened, device=device, forget_device=forget_device)


async def _check_enforcement(ctx: Context, user: UserRow, options: SignInOptions) -> None:
    origin = options.origin
    try:
        await enforcement.check(ctx, user, None if origin is None else origin.connection_id)
    except SsoRequired as refusal:
        session_events.sign_in_refused(ctx, user.id, options.method, refusal)
        raise


async def end_replaced(ctx: Context, opened: OpenedSession | PendingSignIn) -> None:
    """End the caller's session if `opened` is a new session; keep it if `opened` waits for a second factor."""
    replaced = ctx.signed_in.session.id
    if isinstance(opened, OpenedSession) and await sessions.end(ctx, opened.user, replaced):
        session_events.session_revoked(ctx, opened.user.id, replaced, session_events.EndReason.REPLACED)


async def lift_ban(ctx: Context, user: UserRow, *, by_operator: bool = False) -> None:
    """Remove a ban that has expired, or that the operator lifts."""
    await profile.change(ctx, user, banned=False, ban_reason=None, ban_expires=None)
    user_events.user_updated(ctx, user.id, BAN, by_operator=by_operator)
