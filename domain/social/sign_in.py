"""Sign-in through a provider: find or create the user of a verified identity, then complete the sign-in."""

from dataclasses import dataclass
from functools import partial

from domain import errors, identifiers
from domain.accounts import accounts
from domain.authentication import gate
from domain.authentication.gate import SignInOptions
from domain.authentication.policy import SignUpPolicy
from domain.context import Context, StaleRead
from domain.emails import emails
from domain.emails import events as email_events
from domain.emails.policy import EmailVerificationPolicy
from domain.identity_provider import Identity, IdTokenCredential, ProviderTraits, VerifiedIdentity
from domain.sessions import events as session_events
from domain.sessions.sessions import OpenedSession
from domain.social import events, id_token_replay
from domain.social import identity as social_identity
from domain.social.errors import OauthLinkError, ProviderUnavailable, SignUpDisabled
from domain.social.policy import LinkingPolicy
from domain.two_factor.challenges import PendingSignIn
from domain.two_factor.policy import TwoFactorPolicy
from domain.users import events as user_events
from domain.users import locking, profile
from models.account import AccountRow
from models.user import UserRow


@dataclass(frozen=True, slots=True)
class SocialSignIn:
    """A sign-in through a provider."""

    traits: ProviderTraits
    method: str
    """The method in sessions and audit records: `oauth:<provider id>` or `id_token:<provider id>`."""
    request_sign_up: bool
    callback_url: str | None
    """The redirect URL of the link in a verification email."""
    requested_scopes: tuple[str, ...] = ()
    only_user_id: str | None = None
    """The only user who may sign in, who must have linked the identity before; None for any user."""


class UserMismatch(Exception):
    """The identity belongs to another user than the only one who may sign in (`only_user_id`)."""


@dataclass(frozen=True, slots=True)
class SocialSignInResult:
    """The session or pending sign-in, and whether the user is new."""

    opened: OpenedSession | PendingSignIn
    is_new: bool


async def by_id_token(
    ctx: Context,
    provider_id: str,
    direct: IdTokenCredential,
    *,
    request_sign_up: bool,
    callback_url: str | None,
) -> OpenedSession | PendingSignIn:
    """Sign in with an ID token that the application obtained itself.

    `request_sign_up` permits creating a user at providers that do not do so by default. `callback_url` is for the link
    in a verification email. Raises ProviderNotFound, ProviderUnavailable, IdTokenNotSupported, InvalidToken,
    FailedToGetUserInfo, UserEmailNotFound, OauthLinkError, SignUpDisabled, BannedUser, SsoRequired, EmailNotVerified.
    """
    provider = social_identity.provider_of(ctx, provider_id)
    method = f"{events.ID_TOKEN.name}:{provider_id}"
    attempt = SocialSignIn(provider.traits, method, request_sign_up, callback_url)
    try:
        proof = await social_identity.by_id_token(ctx, provider, direct)
        return (await ctx.in_new_transaction(partial(sign_in, attempt=attempt, proof=proof))).opened
    except (errors.Unauthenticated, ProviderUnavailable) as refused:
        session_events.provider_sign_in_failed(ctx, method, refused.code)  # defence: V70 turned-away
        raise


async def sign_in(ctx: Context, attempt: SocialSignIn, proof: VerifiedIdentity) -> SocialSignInResult:
    """Sign in the user of a verified identity, and create the user if no user has the identity or its address.

    BannedUser, SsoRequired and EmailNotVerified are audited when they are raised; the caller must audit InvalidToken,
    UserEmailNotFound, UserMismatch, OauthLinkError and SignUpDisabled. Runs within one transaction.
    """
    await id_token_replay.use(ctx, proof)
    address = social_identity.address_of(proof.identity)
    known = await _known(ctx, proof.identity)
    # The browser may be signed in to another account at the provider.
    # defence: H16 same-user
    if attempt.only_user_id is not None and (known is None or known[0].id != attempt.only_user_id):
        raise UserMismatch
    if known is not None:
        user, account = known
        await accounts.keep_tokens(ctx, account, proof.tokens, attempt.requested_scopes)
        user = await _sync_profile(ctx, user, proof.identity, syncs=attempt.traits.sync_profile)
        is_new = False
    else:
        user, is_new = await _find_or_create_user(ctx, attempt, proof, address)
    if user.email == address and proof.identity.email_verified and not user.email_verified:
        user = await profile.change(ctx, user, email_verified=True)
        email_events.email_verified(ctx, user.id)
    return SocialSignInResult(await gate.complete_sign_in(ctx, user, _options(ctx, attempt)), is_new)


async def _known(ctx: Context, identity: Identity) -> tuple[UserRow, AccountRow] | None:
    """Return the user of an identity, locked, and its account; None if no account has it.

    If it is unlinked before the lock is acquired, the job is run again.
    """
    seen = await accounts.by_identity(ctx, identity)
    if seen is None:
        return None
    user = await locking.lock(ctx, seen.user_id)
    account = await accounts.by_identity(ctx, identity)
    if user is None or account is None or account.user_id != user.id:
        raise StaleRead
    return user, account


async def _find_or_create_user(
    ctx: Context, attempt: SocialSignIn, proof: VerifiedIdentity, address: str
) -> tuple[UserRow, bool]:
    """Return the user that owns the identity after this sign-in, and whether the user was created for it."""
    owner = await locking.lock_by_email(ctx, address)
    if owner is not None:
        _refuse_join(ctx, owner, proof.identity)
        await accounts.add_identity(ctx, owner.id, proof.identity, proof.tokens, attempt.requested_scopes)
        events.account_linked(ctx, owner.id, attempt.traits.id)
        return owner, False
    if not _may_sign_up(ctx, attempt):
        raise SignUpDisabled
    user = _new_user(ctx, proof.identity, address)
    await profile.add(ctx, user)
    user_events.user_created(ctx, user.id, attempt.method)
    await accounts.add_identity(ctx, user.id, proof.identity, proof.tokens, attempt.requested_scopes)
    events.account_linked(ctx, user.id, attempt.traits.id)
    await _mail_verification(ctx, user, attempt)
    return user, True


def _may_sign_up(ctx: Context, attempt: SocialSignIn) -> bool:
    """Return whether a new user may be created: by the service, by this provider, and by this request."""
    traits = attempt.traits
    if not ctx.policy[SignUpPolicy].enabled or traits.disable_sign_up:
        return False
    return attempt.request_sign_up or not traits.disable_implicit_sign_up


def _refuse_join(ctx: Context, owner: UserRow, identity: Identity) -> None:
    """Check that an identity may be linked to the user with its email: both sides must have verified the address.

    Otherwise an attacker could sign up with another person's address and share the account once its owner signs in, or
    take over an account through a provider that does not verify addresses. Raises OauthLinkError.
    """
    rules = ctx.policy[LinkingPolicy]
    # defence: V15 V32 vouched-email
    proven = identity.email_verified or identity.provider_id in rules.trusted_providers
    expected = owner.email_verified or not rules.require_local_verified  # defence: V15 V32 verified-owner
    if not (rules.enabled and rules.implicit and proven and expected):
        events.link_refused(ctx, owner.id, identity.provider_id, OauthLinkError.code)
        raise OauthLinkError


def _new_user(ctx: Context, identity: Identity, address: str) -> UserRow:
    return profile.new_user(
        ctx,
        name=identifiers.clean_name(identity.name),
        email=address,
        email_verified=identity.email_verified,  # defence: V32 provider-verified
        image=identifiers.image_or_none(identity.image),
    )


async def _mail_verification(ctx: Context, user: UserRow, attempt: SocialSignIn) -> None:
    """Send a new user the verification link, unless the email is verified or `complete_sign_in` will send the link."""
    verification = ctx.policy[EmailVerificationPolicy]
    needs_verified = verification.required or attempt.traits.require_verified_email
    is_sent_by_gate = needs_verified and verification.send_on_sign_in
    is_wanted = verification.enabled and verification.send_on_sign_up and not user.email_verified
    if is_wanted and not is_sent_by_gate:
        await emails.mail_verification(ctx, user, attempt.callback_url)


async def _sync_profile(ctx: Context, user: UserRow, identity: Identity, *, syncs: bool) -> UserRow:
    """Copy name and image from the provider if present and enabled by the policy; return the updated user."""
    if not syncs:
        return user
    name = identifiers.clean_name(identity.name) or user.name
    image = user.image if identity.image is None else identifiers.image_or_none(identity.image)
    follows = {"name": name != user.name, "image": image != user.image}
    if not any(follows.values()):
        return user
    user_events.user_updated(ctx, user.id, [field for field, differs in follows.items() if differs])
    return await profile.change(ctx, user, name=name, image=image)


def _options(ctx: Context, attempt: SocialSignIn) -> SignInOptions:
    return SignInOptions(
        remembered=True,
        callback_url=attempt.callback_url,
        method=attempt.method,
        asks_second_factor=ctx.policy[TwoFactorPolicy].enforce_for_social,
        needs_verified_email=attempt.traits.require_verified_email,
    )
