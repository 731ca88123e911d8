"""Return and refresh the tokens that a provider issued, and query the user's profile with them."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from domain import errors
from domain.accounts import accounts
from domain.context import Context
from domain.identity_provider import Identity, IdentityProviders, IdentityRefused, Provider, RefreshRefused
from domain.sessions import sessions
from domain.social import events, token_refresh
from domain.social.errors import (
    FailedToGetAccessToken,
    FailedToGetUserInfo,
    FailedToRefreshAccessToken,
    ProviderNotSupported,
    ProviderUnavailable,
    RefreshTokenNotFound,
    RenewedTokensLost,
    TokenRefreshNotSupported,
)
from domain.social.policy import SocialPolicy
from models.account import AccountRow


@dataclass(frozen=True, slots=True)
class AccountSelector:
    """Selects a linked account of the caller by its provider, its account id, or both.

    `account_id` is the id of the account, or the id of the user at the provider.
    """

    provider_id: str | None
    account_id: str | None
    user_id: str | None = None
    """The user id in the request, which is only compared with the caller's."""
    place: str = "body"
    """The part of the request that names the account, `body` or `query`, for error messages."""


@dataclass(frozen=True, slots=True)
class DecryptedTokens:
    """An account with its decrypted tokens. A token is None if it is not stored or the settings do not expose it."""

    account: AccountRow
    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    id_token: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Profile:
    """An account, and the user's current profile at its provider."""

    account: AccountRow
    identity: Identity


async def get(ctx: Context, choice: AccountSelector) -> DecryptedTokens:
    """Return the tokens of the caller's account, refreshed first if the access token is about to expire.

    Raises Forbidden, ValidationError, AccountNotFound, ProviderNotSupported, FailedToGetAccessToken,
    ProviderUnavailable.
    """
    account, provider = await _chosen(ctx, choice)
    opened = await _valid(ctx, account, provider)
    events.provider_token_read(ctx, account.provider_id)
    return _shown(ctx, opened)


async def refresh(ctx: Context, choice: AccountSelector) -> DecryptedTokens:
    """Refresh the tokens of the caller's account and return them.

    Raises Forbidden, ValidationError, AccountNotFound, ProviderNotSupported, TokenRefreshNotSupported,
    RefreshTokenNotFound, FailedToRefreshAccessToken, ProviderUnavailable.
    """
    account, provider = await _chosen(ctx, choice)
    if not provider.traits.refreshes:
        raise TokenRefreshNotSupported
    if account.refresh_token is None:
        raise RefreshTokenNotFound
    refresh_token = ctx.cipher.decrypt(accounts.REFRESH_TOKEN, account.refresh_token)
    renewed = None
    if refresh_token is not None:
        renewed = await _renewed(ctx, provider, account, refresh_token, FailedToRefreshAccessToken)
    opened = _decrypt(ctx, renewed) if renewed is not None else None
    if opened is None:
        raise FailedToRefreshAccessToken
    return _shown(ctx, opened)


async def profile(ctx: Context, choice: AccountSelector) -> Profile:
    """Return the caller's current profile at the provider.

    Raises Forbidden, ValidationError, AccountNotFound, ProviderNotSupported, FailedToGetAccessToken,
    FailedToGetUserInfo, ProviderUnavailable.
    """
    account, provider = await _chosen(ctx, choice)
    # No lock is held while the provider is called; it may take ten seconds.
    opened = await _valid(ctx, account, provider)  # defence: R14 profile-lock
    try:
        identity = await provider.identify(opened.access_token, opened.id_token, account.account_id)
    except IdentityRefused as refused:
        raise FailedToGetUserInfo from refused
    await _check_session(ctx)
    return Profile(opened.account, identity)  # defence: V31 profile-token


async def _chosen(ctx: Context, choice: AccountSelector) -> tuple[AccountRow, Provider]:
    """Return the account and its provider. A user id in the request is only compared with the caller's."""
    # `userId` is only compared. In Better Auth (CVE-2025-61928) an id in the body was enough to act for that user.
    if choice.user_id is not None and choice.user_id != ctx.signed_in.user.id:  # defence: V14 caller-only
        raise errors.Forbidden
    account = await accounts.find(ctx, choice.provider_id, choice.account_id, choice.place)
    provider = ctx.port[IdentityProviders].get(account.provider_id)
    if provider is None:
        raise ProviderNotSupported
    return account, provider


async def _valid(ctx: Context, account: AccountRow, provider: Provider) -> DecryptedTokens:
    """Return the tokens with a valid access token. Raises FailedToGetAccessToken, ProviderUnavailable."""
    opened = _decrypt(ctx, account)
    refresh_token = opened.refresh_token if opened is not None and provider.traits.refreshes else None
    if refresh_token is not None and _expires_by(account, ctx.now + ctx.policy[SocialPolicy].refresh_skew):
        renewed = await _renewed(ctx, provider, account, refresh_token, FailedToGetAccessToken)
        opened = _decrypt(ctx, renewed)
    if opened is None or _expires_by(opened.account, ctx.now):
        raise FailedToGetAccessToken
    return opened


def _expires_by(account: AccountRow, moment: datetime) -> bool:
    return account.access_token_expires_at is not None and account.access_token_expires_at <= moment


async def _renewed(
    ctx: Context, provider: Provider, account: AccountRow, refresh_token: str, refusal: type[errors.Refusal]
) -> AccountRow:
    try:
        renewed = await token_refresh.renew(ctx, provider, account, refresh_token)
    except RefreshRefused as refused:
        events.provider_token_failed(ctx, account.provider_id, refusal.code)
        raise refusal from refused
    except (ProviderUnavailable, RenewedTokensLost) as unavailable:
        events.provider_token_failed(ctx, account.provider_id, unavailable.code)
        raise
    await _check_session(ctx)
    return renewed


async def _check_session(ctx: Context) -> None:
    """Raise Unauthenticated if the caller's session ended during the call to the provider."""
    row = await sessions.find(ctx.reads, ctx.signed_in.token)
    if row is None or not row[0].is_active(ctx.now) or row[1].is_banned(ctx.now):
        raise errors.Unauthenticated


def _decrypt(ctx: Context, account: AccountRow) -> DecryptedTokens | None:
    """Return an account's tokens; None if there is no access token, or it cannot be decrypted."""
    access_token = _decrypted(ctx, accounts.ACCESS_TOKEN, account.access_token)
    if access_token is None:
        return None
    return DecryptedTokens(
        account=account,
        access_token=access_token,
        refresh_token=_decrypted(ctx, accounts.REFRESH_TOKEN, account.refresh_token),
        id_token=_decrypted(ctx, accounts.ID_TOKEN, account.id_token),
    )


def _decrypted(ctx: Context, purpose: str, ciphertext: bytes | None) -> str | None:
    return None if ciphertext is None else ctx.cipher.decrypt(purpose, ciphertext)


def _shown(ctx: Context, opened: DecryptedTokens) -> DecryptedTokens:
    return opened if ctx.policy[SocialPolicy].expose_refresh_token else replace(opened, refresh_token=None)
