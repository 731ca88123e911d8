"""The users of a directory: create, find, list, change, disable and delete them."""

from collections.abc import Sequence

from domain import identifiers
from domain.context import Context
from domain.emails import emails
from domain.emails import events as email_events
from domain.identifiers import domain_of
from domain.scim import access, directories, events, listing, resources
from domain.scim.errors import ForeignDomain, NoSuchResource, Uniqueness
from domain.scim.protocol import USERS, ScimProtocol, UserAttributes
from domain.scim.request import ScimReply, ScimRequest
from domain.scim.resources import USER
from domain.sessions import events as session_events
from domain.users import events as user_events
from domain.users import locking, lookup, profile, unproven
from models.scim_link import CHANGE_LINK, REMOVE_LINK, REMOVE_LINK_OF_USER, ScimLinkRow
from models.scim_token import Directory
from models.user import UserRow

METHOD = "scim"
"""The method by which directories create users, in audit records."""


async def create(ctx: Context, request: ScimRequest) -> ScimReply:
    """Create a user, or take over the existing user with the same email address.

    Raises InvalidScimToken, InvalidSyntax, InvalidValue, ForeignDomain, Uniqueness, LimitReached and Limited. If an
    existing user is added as inactive, also raises ProtectedUser and DirectoryStopped.
    """
    directory = await directories.enter(ctx, request)
    sent = ctx.port[ScimProtocol].read_user(request.body)
    address = await directories.address_of(ctx, directory, sent.user_name)
    existing = await locking.lock_by_email(ctx, address)
    await access.lock_organization(ctx, directory)
    if existing is not None:
        await _check_take_over(ctx, directory, existing, sent)
        # One of a user who is not the directory's own any more.
        await ctx.db.execute(REMOVE_LINK_OF_USER, connection_id=directory.connection.id, user_id=existing.id)
    await resources.check_external_id(ctx, directory, USER, sent.external_id)
    user = await (_new_user(ctx, address, sent) if existing is None else _vouched(ctx, existing))
    role = await _set_active(ctx, directory, user, sent.active, access.default_role(directory))
    row = await resources.add(
        ctx,
        directory,
        USER,
        (user.id, user.email),
        sent,
        active=sent.active,
        provisioned=existing is None,
        role=role,
    )
    if existing is None:
        events.user_created(ctx, directory, user.id)
    else:
        events.user_linked(ctx, directory, user.id)
        if not sent.active:
            events.user_disabled(ctx, directory, user.id)
    return await resources.reply(ctx, directory, USER, row, request, status=201)


async def get(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return a user. Raises InvalidScimToken, Limited, NoSuchResource."""
    directory = await directories.enter(ctx, request)
    row = await resources.find(ctx, directory, USER, request.id)
    return await resources.reply(ctx, directory, USER, row, request)


async def list_users(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return a page of users, after adding members of the organization who are not in the directory yet.

    A list without a filter adds members at its first page, a filter for an email address only that member. Raises
    InvalidScimToken, InvalidFilter, InvalidValue, InvalidPath, InvalidCursor and Limited.
    """
    directory = await directories.enter(ctx, request)
    page = listing.page_of(ctx, request, USERS)
    if page.looks_up is not None:
        await _take_over(ctx, directory, page.looks_up)
    elif page.is_first:
        await _take_over_members(ctx, directory)
    return await resources.reply_page(ctx, directory, USER, page, request)


async def replace(ctx: Context, request: ScimRequest) -> ScimReply:
    """Replace the attributes of a user, and enable or disable the user if `active` changes.

    Raises InvalidScimToken, InvalidSyntax, InvalidValue, ForeignDomain, Uniqueness, LimitReached, Limited,
    NoSuchResource, VersionMismatch, ProtectedUser and DirectoryStopped.
    """
    directory = await directories.enter(ctx, request)
    sent = ctx.port[ScimProtocol].read_user(request.body)
    user, row = await _locked(ctx, directory, request)
    changed = await _apply(ctx, directory, user, row, sent)
    return await resources.reply(ctx, directory, USER, changed, request)


async def patch(ctx: Context, request: ScimRequest) -> ScimReply:
    """Change parts of a user by PATCH operations.

    Raises InvalidScimToken, InvalidSyntax, InvalidValue, InvalidPath, NoTarget, Mutability, TooMany, ForeignDomain,
    Uniqueness, LimitReached, Limited, NoSuchResource, VersionMismatch, ProtectedUser and DirectoryStopped.
    """
    directory = await directories.enter(ctx, request)
    user, row = await _locked(ctx, directory, request)
    own = {"userName": row.name, "active": row.active, "externalId": row.external_id}
    before = {**resources.document_of(ctx, row), **own}
    sent = ctx.port[ScimProtocol].patch_user(before, request.body)
    changed = await _apply(ctx, directory, user, row, sent)
    return await resources.reply(ctx, directory, USER, changed, request)


async def delete(ctx: Context, request: ScimRequest) -> ScimReply:
    """End the access of a user and remove the user from the directory.

    An account that the directory created is banned or deleted, as `scim.on_delete` says, unless others use it too.
    Raises InvalidScimToken, Limited, NoSuchResource, VersionMismatch, ProtectedUser and DirectoryStopped.
    """
    directory = await directories.enter(ctx, request)
    user, row = await _locked(ctx, directory, request)
    await access.check_protection(ctx, directory, user)
    if row.active:
        await directories.count_disabled(ctx, directory)
    await access.withdraw(ctx, directory, user)  # defence: SSO13 removed-too
    await ctx.db.execute(REMOVE_LINK, link_id=row.id)
    events.user_removed(ctx, directory, user.id)
    if row.provisioned:
        await access.end_account(ctx, directory, user)
    return ScimReply(None, status=204)


async def _apply(
    ctx: Context, directory: Directory, user: UserRow, row: ScimLinkRow, sent: UserAttributes
) -> ScimLinkRow:
    """Write what a directory has changed of a user, who is locked; return the row."""
    address, role = user.email, row.role
    # The account of a user who has left the domains is no longer the company's alone: only access can be withdrawn.
    # defence: SSO12 former-address
    is_inside = domain_of(user.email) in await directories.domains(ctx, directory)
    if sent.active and not row.active and not is_inside:
        raise ForeignDomain
    if is_inside and sent.user_name.lower() != user.email:
        address = await directories.address_of(ctx, directory, sent.user_name)
    if address != user.email or sent.active != row.active:
        await access.check_protection(ctx, directory, user)
    if row.active and not sent.active:
        await directories.count_disabled(ctx, directory)
    await resources.check_external_id(ctx, directory, USER, sent.external_id, user.id)
    changed = await _change_profile(ctx, user, address, sent) if is_inside else ()
    if sent.active != row.active:
        if sent.active:
            # Before the membership: a user whom a directory has disabled cannot be made a member.
            await ctx.db.execute(CHANGE_LINK, link_id=row.id, active=True, updated_at=ctx.now)
        role = await _set_active(ctx, directory, user, sent.active, access.returning_role(directory, role))
        record = events.user_enabled if sent.active else events.user_disabled
        record(ctx, directory, user.id)
    is_same = resources.document_of(ctx, row) == sent.document
    if is_same and not changed and (sent.active, sent.external_id) == (row.active, row.external_id):
        return row
    if changed or not is_same:
        events.user_updated(ctx, directory, user.id, changed or ["attributes"])
    row = await resources.change(ctx, row, sent, active=sent.active, role=role)
    return row._replace(name=address)


async def _set_active(
    ctx: Context, directory: Directory, user: UserRow, active: bool, role: str
) -> str | None:
    """Enable a user with these roles, or disable them; return the roles that the directory keeps for later.

    Raises LimitReached.
    """
    if active:
        await access.grant(ctx, directory, user, role)
        return None
    return await access.withdraw(ctx, directory, user) or role


async def _change_profile(ctx: Context, user: UserRow, address: str, sent: UserAttributes) -> Sequence[str]:
    """Change address, name and picture; return the columns that have changed. Raises Uniqueness."""
    changed = []
    if address != user.email:
        if await lookup.by_email(ctx, address) is not None:
            raise Uniqueness("userName: another user has this address")
        user = await emails.set_address(ctx, user, address, verified=True)
        changed.append("email")
    name = identifiers.clean_name(sent.name) or user.name
    image = identifiers.image_or_none(sent.image) if sent.image else user.image
    columns = {"name": name != user.name, "image": image != user.image}
    differing = [column for column, differs in columns.items() if differs]
    if differing:
        await profile.change(ctx, user, name=name, image=image)
        user_events.user_updated(ctx, user.id, differing)
    return [*changed, *differing]


async def _check_take_over(ctx: Context, directory: Directory, user: UserRow, sent: UserAttributes) -> None:
    """Check that a directory may add an existing user, who is locked with the organization.

    Raises Uniqueness, also for a user with a second factor whose address was never verified: a stranger may have
    prepared both, and a directory cannot pass the factor. If the directory disables them, raises ProtectedUser and
    DirectoryStopped.
    """
    if await resources.find_or_none(ctx, directory, USER, user.id):
        raise Uniqueness("userName: the directory has a user with this address")
    if not (user.email_verified or unproven.is_unproven(user)):  # defence: SSO12 unproven-factor
        raise Uniqueness("userName: the user with this address has not verified it")
    if sent.active:
        return
    await access.check_protection(ctx, directory, user)
    if await access.is_inside(ctx, directory, user):
        await directories.count_disabled(ctx, directory)  # defence: SSO13 added-disabled


async def _new_user(ctx: Context, address: str, sent: UserAttributes) -> UserRow:
    user = profile.new_user(
        ctx,
        name=identifiers.clean_name(sent.name),
        email=address,
        email_verified=True,
        image=identifiers.image_or_none(sent.image),
    )
    await profile.add(ctx, user)
    user_events.user_created(ctx, user.id, METHOD)
    return user


async def _vouched(ctx: Context, user: UserRow) -> UserRow:
    """Return a user whose address the owner of the domain vouches for: what a stranger prepared is removed."""
    if not unproven.is_unproven(user):
        return user
    verified = await profile.change(ctx, user, email_verified=True)
    email_events.email_verified(ctx, user.id)
    removed = await unproven.remove_access(ctx, verified)  # defence: SSO12 unproven
    session_events.sessions_removed(ctx, user.id, removed)
    return verified


async def _take_over(ctx: Context, directory: Directory, name: str) -> None:
    """Take over the user with an address of the directory's domains, if the directory may have them."""
    address = name.lower()
    if domain_of(address) not in await directories.domains(ctx, directory):
        return
    user = await locking.lock_by_email(ctx, address)
    if user is None or not user.email_verified or not await access.is_inside(ctx, directory, user):
        return
    if await resources.find_or_none(ctx, directory, USER, user.id) is None:
        await _link(ctx, directory, user)


async def _take_over_members(ctx: Context, directory: Directory) -> None:
    """Take over the members of the organization whose addresses are in the directory's domains."""
    for domain in sorted(await directories.domains(ctx, directory)):
        for user in await access.members_without_link(ctx, directory, domain):
            await _link(ctx, directory, user)


async def _link(ctx: Context, directory: Directory, user: UserRow) -> None:
    sent = ctx.port[ScimProtocol].read_user({"userName": user.email, "displayName": user.name or None})
    await resources.add(ctx, directory, USER, (user.id, user.email), sent, provisioned=False)
    events.user_linked(ctx, directory, user.id)


async def _locked(ctx: Context, directory: Directory, request: ScimRequest) -> tuple[UserRow, ScimLinkRow]:
    """Return a user and the link, locked with the organization. Raises NoSuchResource, VersionMismatch."""
    await resources.find(ctx, directory, USER, request.id)
    user = await locking.lock(ctx, request.id)
    await access.lock_organization(ctx, directory)
    row = await resources.find(ctx, directory, USER, request.id)
    if user is None:
        raise NoSuchResource
    directories.check_version(request, row.version)
    return user, row
