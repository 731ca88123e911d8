"""Sign-in through a provider: whose account a proven identity is, and the gate (behaviour 5.1, 7.5)."""

from dataclasses import dataclass
from functools import partial

from domain import (
    accounts,
    audit,
    authentication,
    emails,
    errors,
    id_tokens,
    identifiers,
    proving,
    secrets,
    users,
)
from domain.authentication import SignIn
from domain.challenges import Pending
from domain.context import Context, Outdated
from domain.providers import DirectProof, Habits, Identity, Proof
from domain.sessions import OpenedSession
from models import Account, User


@dataclass(frozen=True, slots=True)
class Entrance:
    """How somebody comes in through a provider."""

    habits: Habits
    method: str
    """`oauth:<id>` or `id_token:<id>`."""
    request_sign_up: bool
    callback_url: str | None
    """Where the link of a verification mail leads."""
    asked: tuple[str, ...] = ()
    """The scopes the provider was asked for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What came of it, and whether the user was made by it."""

    opened: OpenedSession | Pending
    is_new: bool


async def by_id_token(
    ctx: Context, provider_id: str, direct: DirectProof, *, request_sign_up: bool, callback_url: str | None
) -> OpenedSession | Pending:
    """Sign in with an ID token that the application got by itself.

    Raises ProviderNotFound, the refusals of `proving.by_id_token` and those of `enter`.
    """
    provider = proving.provider_of(ctx, provider_id)
    method = f"id_token:{provider_id}"
    entrance = Entrance(provider.habits, method, request_sign_up, callback_url)
    try:
        proof = await proving.by_id_token(ctx, provider, direct)
        return (await ctx.apart(partial(enter, entrance=entrance, proof=proof))).opened
    except (errors.Unauthenticated, errors.ProviderUnavailable) as refused:
        audit.sign_in_turned_away(ctx, method, refused.code)
        raise


async def enter(ctx: Context, entrance: Entrance, proof: Proof) -> Entry:
    """Sign in whom a provider has proven, as the user it belongs to or as a new one; in one transaction.

    Who is not known is put on record by the caller, whom the gate stops by the gate. Raises the refusals of
    `id_tokens.use`, UserEmailNotFound, OauthLinkError, SignUpDisabled and the refusals of the gate.
    """
    await id_tokens.use(ctx, proof)
    address = proving.address_of(proof.identity)
    found = await _known(ctx, proof.identity)
    if found is not None:
        user, account = found
        accounts.keep_tokens(ctx, account, proof.tokens, entrance.asked)
        _follow(ctx, user, proof.identity, syncs=entrance.habits.sync_profile)
        is_new = False
    else:
        user, is_new = await _acquaint(ctx, entrance, proof, address)
    if user.email == address and proof.identity.email_verified and not user.email_verified:
        user.email_verified, user.updated_at = True, ctx.now
        audit.email_verified(ctx, user.id)
    return Entry(await authentication.admit(ctx, user, _wanted(ctx, entrance)), is_new)


async def _known(ctx: Context, identity: Identity) -> tuple[User, Account] | None:
    """Give the user of an identity, locked, and its account. It may be unlinked until the lock is there."""
    seen = await accounts.by_identity(ctx, identity)
    if seen is None:
        return None
    user = await users.lock(ctx, seen.user_id)
    account = await accounts.by_identity(ctx, identity)
    if user is None or account is None or account.user_id != user.id:
        raise Outdated
    return user, account


async def _acquaint(ctx: Context, entrance: Entrance, proof: Proof, address: str) -> tuple[User, bool]:
    """Give the user whom an identity belongs to from now on, and whether they were made for it."""
    owner = await users.lock_by_email(ctx, address)
    if owner is not None:
        _refuse_join(ctx, owner, proof.identity)
        await accounts.add_identity(ctx, owner.id, proof.identity, proof.tokens, entrance.asked)
        audit.account_linked(ctx, owner.id, entrance.habits.id)
        return owner, False
    if not _may_sign_up(ctx, entrance):
        raise errors.SignUpDisabled
    user = _new_user(ctx, proof.identity, address)
    ctx.db.add(user)
    await users.flush(ctx)
    audit.user_created(ctx, user.id, entrance.method)
    await accounts.add_identity(ctx, user.id, proof.identity, proof.tokens, entrance.asked)
    audit.account_linked(ctx, user.id, entrance.habits.id)
    await _mail_verification(ctx, user, entrance)
    return user, True


def _may_sign_up(ctx: Context, entrance: Entrance) -> bool:
    """Whether strangers may come in at all, through this provider, and without having asked to."""
    habits = entrance.habits
    if not ctx.policy.sign_up_enabled or habits.disable_sign_up:
        return False
    return entrance.request_sign_up or not habits.disable_implicit_sign_up


def _refuse_join(ctx: Context, owner: User, identity: Identity) -> None:
    """Let an identity be joined to the user with its address only where both sides have proven the address.

    Otherwise a stranger who signed up with somebody's address would share the account its owner then comes into, and
    somebody who says so at a careless provider would come into another's. Raises OauthLinkError.
    """
    rules = ctx.policy.linking
    proven = identity.email_verified or identity.provider_id in rules.trusted_providers
    expected = owner.email_verified or not rules.require_local_verified
    if not (rules.enabled and rules.implicit and proven and expected):
        audit.link_refused(ctx, owner.id, identity.provider_id, errors.OauthLinkError.code)
        raise errors.OauthLinkError


def _new_user(ctx: Context, identity: Identity, address: str) -> User:
    return User(
        id=secrets.token(),
        name=identifiers.clean_name(identity.name),
        email=address,
        email_verified=identity.email_verified,
        image=identifiers.image_or_none(identity.image),
        created_at=ctx.now,
        updated_at=ctx.now,
    )


async def _mail_verification(ctx: Context, user: User, entrance: Entrance) -> None:
    """Send a new user the link, unless the address is proven, or the gate is about to send it."""
    policy = ctx.policy
    needs_verified = policy.verification_required or entrance.habits.require_verified_email
    is_sent_by_gate = needs_verified and policy.verification_on_sign_in
    is_wanted = policy.verification_enabled and policy.verification_on_sign_up and not user.email_verified
    if is_wanted and not is_sent_by_gate:
        await emails.mail_verification(ctx, user, entrance.callback_url)


def _follow(ctx: Context, user: User, identity: Identity, *, syncs: bool) -> None:
    """Take over name and image where the provider names them and the operator wants it."""
    if not syncs:
        return
    name = identifiers.clean_name(identity.name) or user.name
    image = user.image if identity.image is None else identifiers.image_or_none(identity.image)
    follows = {"name": name != user.name, "image": image != user.image}
    if any(follows.values()):
        user.name, user.image, user.updated_at = name, image, ctx.now
        audit.user_updated(ctx, user.id, [field for field, differs in follows.items() if differs])


def _wanted(ctx: Context, entrance: Entrance) -> SignIn:
    return SignIn(
        remembered=True,
        callback_url=entrance.callback_url,
        method=entrance.method,
        asks_second_factor=ctx.policy.two_factor.enforce_for_social,
        needs_verified_email=entrance.habits.require_verified_email,
    )
