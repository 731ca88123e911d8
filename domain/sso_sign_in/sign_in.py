"""Sign in a user whom the identity provider of a connection has identified: find, link or create them."""

import json
from dataclasses import dataclass

from domain import identifiers, tokens
from domain.accounts import accounts
from domain.authentication import gate
from domain.authentication.gate import SignInOptions
from domain.context import ConnectionActor, Context, StaleRead
from domain.emails import events as email_events
from domain.identifiers import domain_of
from domain.identity_provider import Identity
from domain.organizations import access, memberships
from domain.organizations.policy import OrganizationPolicy
from domain.sessions import events as session_events
from domain.sessions import sso_origin
from domain.sessions.sso_origin import NewIdentity, Provisioning, SsoOrigin
from domain.social.errors import SignUpDisabled
from domain.social.sign_in import SocialSignInResult
from domain.sso.configuration import config_of
from domain.sso_enforcement import enforcement
from domain.sso_sign_in import connections, events, membership
from domain.sso_sign_in.errors import ConnectionChanged, DisabledByDirectory, DomainNotAllowed
from domain.sso_sign_in.person import Person
from domain.users import events as user_events
from domain.users import locking, profile, unproven
from models.scim_link import DISABLED_LINK
from models.sso_connection import SHARE_CONNECTION, ConnectionRow, SecondFactor, account_provider
from models.user import UserRow

NAME_ID = "sso_session.name_id"
"""The purpose under which the name identifier of a SAML session is encrypted."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The user of a person, locked or new."""

    user: UserRow
    is_new: bool = False
    is_known: bool = False
    """Whether the identity is the user's already."""


async def sign_in(
    ctx: Context, row: ConnectionRow, person: Person, *, request_sign_up: bool
) -> SocialSignInResult:
    """Sign in a verified person, and create the user if no user has the identity or the email address.

    BannedUser, SsoRequired and EmailNotVerified are audited when they are raised; the caller must audit
    DomainNotAllowed, DisabledByDirectory, SignUpDisabled, ConnectionChanged, OrganizationMembershipLimitReached and
    YouHaveReachedTheMaximumNumberOfOrganizations. Runs within one transaction.
    """
    if domain_of(person.email) not in await connections.domains_of(ctx, row.id):  # defence: SSO8 own-domain
        raise DomainNotAllowed
    ctx.connection_actor = ConnectionActor("connection", row.id)
    found = await _find(ctx, row, person, request_sign_up=request_sign_up)
    # The user may have left the organization with their account since the identity was linked.
    # defence: SSO8 current-domain
    if found.is_known and not await enforcement.may_open(ctx, row, found.user):
        raise DomainNotAllowed
    # Otherwise the sign-in would give back the membership that the directory has ended.
    if await ctx.db.execute(DISABLED_LINK, connection_id=row.id, user_id=found.user.id):
        raise DisabledByDirectory  # defence: SSO13 stays-disabled
    await _require_unchanged(ctx, row)
    organization_id = await _organization_of(ctx, row, found.user)
    options = _options(ctx, row, person, found, organization_id)
    events.signed_in(ctx, row, found.user.id, is_new=found.is_new)
    # The connection has done its part: the session is opened as after any other proof of who the user is.
    ctx.connection_actor = None
    return SocialSignInResult(await gate.complete_sign_in(ctx, found.user, options), found.is_new)


async def _find(ctx: Context, row: ConnectionRow, person: Person, *, request_sign_up: bool) -> _Found:
    identity = identity_of(row, person)
    seen = await accounts.by_identity(ctx, identity)
    if seen is not None:
        user = await locking.lock(ctx, seen.user_id)
        account = await accounts.by_identity(ctx, identity)
        if user is None or account is None or account.user_id != user.id:
            raise StaleRead  # It was unlinked before the lock was acquired.
        return _Found(user, is_known=True)
    # The owner of the domain vouches for the address.
    owner = await locking.lock_by_email(ctx, person.email)
    if owner is not None:
        return _Found(await _secured(ctx, owner))
    if not (row.sign_up or request_sign_up):
        raise SignUpDisabled
    new = profile.new_user(
        ctx,
        name=identifiers.clean_name(person.name),
        email=person.email,
        email_verified=True,
        image=identifiers.image_or_none(person.image),
    )
    await profile.add(ctx, new)
    user_events.user_created(ctx, new.id, events.method_of(row.provider_id))
    return _Found(new, is_new=True)


async def _secured(ctx: Context, owner: UserRow) -> UserRow:
    """Return the user of an address that is proven now, without the access that a stranger may have prepared."""
    if not unproven.is_unproven(owner) or owner.is_banned(ctx.now):
        return owner
    user = await profile.change(ctx, owner, email_verified=True)
    email_events.email_verified(ctx, user.id)
    removed = await unproven.remove_access(ctx, user)  # defence: SSO8 unproven
    session_events.sessions_removed(ctx, user.id, removed)
    return user


async def _require_unchanged(ctx: Context, row: ConnectionRow) -> None:
    """Raise ConnectionChanged unless the connection is still the one that has identified the user.

    The identities of a connection end when its provider changes. One that is in flight must not be added afterwards.
    """
    now: ConnectionRow | None = (await ctx.db.execute(SHARE_CONNECTION, connection_id=row.id)).first()
    # defence: SSO10 unchanged
    if now is None or not now.is_active or (now.issuer, now.config) != (row.issuer, row.config):
        raise ConnectionChanged


async def _organization_of(ctx: Context, row: ConnectionRow, user: UserRow) -> str | None:
    """Return the organization of a connection, of which its users become members."""
    organization_id = row.organization_id
    if organization_id is None or not ctx.policy[OrganizationPolicy].enabled:
        return None
    # A full organization refuses a user before they enter a code that would be in vain.
    if user.two_factor_enabled and await access.find_member(ctx, organization_id, user.id) is None:
        await memberships.check_limits(ctx, organization_id, user.id)
    return organization_id


def identity_of(row: ConnectionRow, person: Person) -> Identity:
    """Return the identity of a person at a connection, in the form in which accounts store it."""
    return Identity(
        provider_id=account_provider(row.id),
        issuer=person.issuer,
        subject=person.subject,
        email=person.email,
        email_verified=True,
        name=person.name,
        image=person.image,
        profile={},
    )


def _options(
    ctx: Context, row: ConnectionRow, person: Person, found: _Found, organization_id: str | None
) -> SignInOptions:
    amr = person.amr or events.SSO.amr
    new = NewIdentity(
        account_provider(row.id),
        person.issuer,
        person.subject,
        row.provider_id,
        row.name,
        is_linked=not found.is_new,
    )
    origin = SsoOrigin(
        connection_id=row.id,
        # By it, a sign-out at the provider finds the session.
        subject=tokens.digest(person.signed_out_as or person.subject),
        session_index=None if person.session_index is None else tokens.digest(person.session_index),
        name_id=None if person.name_id is None else ctx.cipher.encrypt(NAME_ID, person.name_id),
        organization_id=organization_id,
        authenticated_at=person.authenticated_at,
        amr=amr,
        not_after=person.not_after,
        identity=None if found.is_known else new,
        provisioning=_provisioning(ctx, row, person),
    )
    return SignInOptions(
        remembered=True,
        callback_url=None,
        method=events.method_of(row.provider_id),
        # A user who was there before passes their second factor once, before the organization can open the account.
        # defence: SSO8 factor-once
        asks_second_factor=row.second_factor == SecondFactor.LOCAL or not found.is_known,
        is_first=found.is_new,
        amr=amr,
        origin=origin,
    )


def _provisioning(ctx: Context, row: ConnectionRow, person: Person) -> Provisioning:
    config, profile = config_of(ctx.cipher, row), dict[str, str]()
    if config is not None and config.override_user_info:
        followed = {
            "name": identifiers.clean_name(person.name),
            "image": identifiers.image_or_none(person.image),
        }
        profile = {key: value for key, value in followed.items() if value}
    return Provisioning(
        email=person.email,
        profile=profile,
        roles=membership.rule_for(ctx.policy, row, person.groups).roles,
        replaces_roles=bool(json.loads(row.group_roles)),
        fingerprint=sso_origin.fingerprint_of(row),
    )
