"""Link an identity at a provider to a signed-in user, who can then sign in with it."""

from collections.abc import Sequence
from functools import partial

from domain import errors, tokens
from domain.accounts import accounts
from domain.context import Context
from domain.identity_provider import Identity, IdTokenCredential, VerifiedIdentity
from domain.sessions import sessions
from domain.social import events, id_token_replay
from domain.social import identity as social_identity
from domain.social.errors import (
    LinkingDifferentEmailsNotAllowed,
    LinkingNotAllowed,
    ProviderUnavailable,
    SocialAccountAlreadyLinked,
)
from domain.social.policy import LinkingPolicy
from domain.users import locking
from models.user import UserRow


async def by_id_token(ctx: Context, provider_id: str, direct: IdTokenCredential) -> None:
    """Link the identity of an ID token, which the application obtained itself, to the caller.

    Raises ProviderNotFound, ProviderUnavailable, IdTokenNotSupported, InvalidToken, FailedToGetUserInfo,
    UserEmailNotFound, SocialAccountAlreadyLinked, LinkingNotAllowed, LinkingDifferentEmailsNotAllowed, Unauthenticated.
    """
    provider = social_identity.provider_of(ctx, provider_id)
    caller = ctx.signed_in
    try:
        proof = await social_identity.by_id_token(ctx, provider, direct)
        await ctx.in_new_transaction(
            partial(link, user_id=caller.user.id, session_id=caller.session.id, proof=proof)
        )
    except (
        errors.Unauthenticated,
        SocialAccountAlreadyLinked,
        ProviderUnavailable,
    ) as refused:
        events.link_refused(ctx, caller.user.id, provider_id, refused.code)
        raise


async def require_same_user(ctx: Context, user_id: str, presented: Sequence[str]) -> None:
    """Raise Unauthenticated if the browser has an active session of another user than `user_id`.

    `presented` are the values of its session cookie. Too many values to look up are refused, too.
    """
    callers = await sessions.presented(ctx.reads, presented)
    others = [other for other in callers if other.session.is_active(ctx.now) and other.user.id != user_id]
    # defence: V21 V54 presented
    if others or len(list(filter(tokens.is_token, presented))) > tokens.MOST_PRESENTED:
        raise errors.Unauthenticated


async def check_start(ctx: Context, user_id: str, session_id: str) -> None:
    """Raise Unauthenticated if the session that began the flow has ended."""
    await _locked(ctx, user_id, session_id)


async def _locked(ctx: Context, user_id: str, session_id: str) -> UserRow:
    # Minutes may have passed at the provider, and the session may have been revoked since.
    user = await locking.lock_with_session(ctx, user_id, session_id)  # defence: V54 live-session
    if user is None:
        raise errors.Unauthenticated
    return user


async def link(
    ctx: Context,
    user_id: str,
    session_id: str,
    proof: VerifiedIdentity,
    requested_scopes: tuple[str, ...] = (),
) -> None:
    """Link a verified identity to a user whose session is still active, within one transaction.

    The user's profile stays unchanged. If the user already has the identity, its tokens are replaced. The caller audits
    refusals. Raises Unauthenticated, InvalidToken, UserEmailNotFound, SocialAccountAlreadyLinked, LinkingNotAllowed and
    LinkingDifferentEmailsNotAllowed.
    """
    await id_token_replay.use(ctx, proof)  # defence: V18 use-id-token
    identity = proof.identity
    address = social_identity.address_of(identity)
    user = await _locked(ctx, user_id, session_id)
    account = await accounts.by_identity(ctx, identity)
    if account is not None and account.user_id == user.id:
        await accounts.keep_tokens(ctx, account, proof.tokens, requested_scopes)
        return
    refusal = SocialAccountAlreadyLinked if account is not None else _refusal(ctx, user, identity, address)
    if refusal is not None:
        raise refusal
    await accounts.add_identity(ctx, user.id, identity, proof.tokens, requested_scopes)
    events.account_linked(ctx, user.id, identity.provider_id, by_user=True)


def _refusal(ctx: Context, user: UserRow, identity: Identity, address: str) -> type[errors.Refusal] | None:
    rules = ctx.policy[LinkingPolicy]
    # An unverified address at a provider proves nothing about the person.
    # defence: V32 trusted-provider
    if not rules.enabled or not (identity.email_verified or identity.provider_id in rules.trusted_providers):
        return LinkingNotAllowed
    if address != user.email and not rules.allow_different_emails:  # defence: V21 same-email
        return LinkingDifferentEmailsNotAllowed
    return None
