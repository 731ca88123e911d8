"""Delete an account that a stranger created with another person's email address.

The link for this is sent to that unverified address.
"""

from typing import NamedTuple

from domain import identifiers, one_time_tokens
from domain.api_keys import keys
from domain.context import Context
from domain.mail import disown_links
from domain.two_factor import challenges
from domain.two_factor.policy import TwoFactorPolicy
from domain.user_deletion import deletion, events
from domain.user_deletion.errors import InvalidDisownToken
from domain.users import admins, locking
from models import Purpose
from models.scim_token import REMOVE_TOKENS_OF_CREATOR


class Disownable(NamedTuple):
    """The user whom a link would delete: the masked email address, and whether it was verified meanwhile."""

    email: str
    is_verified: bool


async def disown(ctx: Context, token: str) -> None:
    """Delete the user to whom the token of a link belongs, unless their address was verified or changed.

    Raises InvalidDisownToken, LastAdmin.
    """
    live = await one_time_tokens.find_live(ctx, Purpose.DISOWN, token)
    if live is None:
        raise InvalidDisownToken
    row, owner = live
    is_admin = await admins.lock(ctx, owner.id)
    user = await locking.lock(ctx, owner.id)  # defence: N2 lock
    # defence: N1 unproven
    if user is None or user.email_verified or user.email != row.email:
        raise InvalidDisownToken
    await admins.refuse_last(ctx, user, locked=is_admin)  # defence: N1 last-admin
    # defence: N2 used-once
    if not await one_time_tokens.consume(ctx, Purpose.DISOWN, user.id, token):
        raise InvalidDisownToken
    # The person who created the account must keep no way into the organizations that it belonged to.
    await keys.remove_created_for_organizations(ctx, user.id)  # defence: N2 organization-keys
    await ctx.db.execute(REMOVE_TOKENS_OF_CREATOR, creator=user.id)  # defence: N2 directory-tokens
    # The person who created the account must not keep the address by making it the owner of an organization.
    await deletion.remove(ctx, user, hands_over=True)
    events.user_disowned(ctx, user.id)


async def peek(ctx: Context, token: str) -> Disownable | None:
    """Return the user whom a link would delete, without consuming it; None if the link is not valid."""
    row = await one_time_tokens.find_live(ctx, Purpose.DISOWN, token)
    if row is None or row[0].email != row[1].email:
        return None
    return Disownable(identifiers.masked_email(row[1].email), row[1].email_verified)


async def begin(ctx: Context) -> str | None:
    """Return a token for `disown` for the user of a pending sign-in; None if the sign-in does not permit that.

    The sign-in must have begun with a link or code sent to the user's address, and the address must be unverified.
    """
    user = None if ctx.challenge is None else await challenges.proven_user(ctx, ctx.challenge)
    if user is None or user.email_verified:  # defence: N1 unproven-challenge
        return None
    expires_in = ctx.policy[TwoFactorPolicy].challenge_expires_in
    return disown_links.issue(ctx, "second-factor", user.id, user.email, expires_in=expires_in)
