"""Linking: an identity becomes one more way for a signed-in user to sign in (behaviour 5.5, 7.5)."""

from functools import partial

from domain import accounts, audit, errors, id_tokens, proving, sessions, users
from domain.context import Context
from domain.providers import DirectProof, Identity, Proof
from models import User


async def by_id_token(ctx: Context, provider_id: str, direct: DirectProof) -> None:
    """Link the identity of an ID token to the caller.

    Raises ProviderNotFound, the refusals of `proving.by_id_token` and those of `link`.
    """
    provider = proving.provider_of(ctx, provider_id)
    caller = ctx.signed_in
    try:
        proof = await proving.by_id_token(ctx, provider, direct)
        await ctx.apart(partial(link, user_id=caller.user.id, session_id=caller.session.id, proof=proof))
    except (
        errors.Unauthenticated,
        errors.SocialAccountAlreadyLinked,
        errors.ProviderUnavailable,
    ) as refused:
        audit.link_refused(ctx, caller.user.id, provider_id, refused.code)
        raise


async def refuse_stranger(ctx: Context, user_id: str, presented: str | None) -> None:
    """Raise Unauthenticated when the browser that is back is signed in as somebody else (behaviour 7.5).

    `presented` is its session cookie. Two that differ could be anybody's, so they are refused, too.
    """
    if presented is None:
        return
    found = await sessions.find(ctx.reads, presented)
    if presented == "" or (found is not None and found[0].is_active(ctx.now) and found[1].id != user_id):
        raise errors.Unauthenticated


async def check_start(ctx: Context, user_id: str, session_id: str) -> None:
    """Raise Unauthenticated when the session that began the flow has ended."""
    await users.lock_with_session(ctx, user_id, session_id)


async def link(
    ctx: Context, user_id: str, session_id: str, proof: Proof, asked: tuple[str, ...] = ()
) -> None:
    """Link a proven identity to a user whose session is still live; in one transaction.

    The user's profile stays as it is. An identity that is the user's already gets the new tokens. `asked` are the
    scopes the provider was asked for. Refusals are put on record by the caller. Raises Unauthenticated, the refusals
    of `id_tokens.use`, UserEmailNotFound, SocialAccountAlreadyLinked, LinkingNotAllowed,
    LinkingDifferentEmailsNotAllowed.
    """
    await id_tokens.use(ctx, proof)
    identity = proof.identity
    address = proving.address_of(identity)
    user = await users.lock_with_session(ctx, user_id, session_id)
    account = await accounts.by_identity(ctx, identity)
    if account is not None and account.user_id == user.id:
        accounts.keep_tokens(ctx, account, proof.tokens, asked)
        return
    refusal = (
        errors.SocialAccountAlreadyLinked if account is not None else _refusal(ctx, user, identity, address)
    )
    if refusal is not None:
        raise refusal
    await accounts.add_identity(ctx, user.id, identity, proof.tokens, asked)
    audit.account_linked(ctx, user.id, identity.provider_id)


def _refusal(ctx: Context, user: User, identity: Identity, address: str) -> type[errors.Refusal] | None:
    rules = ctx.policy.linking
    if not rules.enabled or not (identity.email_verified or identity.provider_id in rules.trusted_providers):
        return errors.LinkingNotAllowed
    if address != user.email and not rules.allow_different_emails:
        return errors.LinkingDifferentEmailsNotAllowed
    return None
