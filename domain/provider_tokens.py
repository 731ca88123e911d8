"""What a provider gave for later calls: show it, renew it, ask with it who the user is (behaviour 5.5, 7.6)."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from domain import accounts, audit, errors, renewal, sessions
from domain.context import Context
from domain.providers import Identity, IdentityRefused, Provider, RefreshRefused
from models.queries import AccountRow


@dataclass(frozen=True, slots=True)
class Choice:
    """The account that is meant: by its provider, by its own id or that at the provider, or by both."""

    provider_id: str | None
    account_id: str | None
    user_id: str | None = None
    """Whose it is said to be."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An account with its tokens in the clear; None is what is not stored, or may not be shown."""

    account: AccountRow
    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    id_token: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Profile:
    """An account, and what its provider says about the user now."""

    account: AccountRow
    identity: Identity


async def get(ctx: Context, choice: Choice) -> Opened:
    """Give the tokens of the caller's account, renewed first if the access token is about to end.

    Raises Forbidden, ValidationError, AccountNotFound, ProviderNotSupported, FailedToGetAccessToken,
    ProviderUnavailable.
    """
    account, provider = await _chosen(ctx, choice)
    opened = await _valid(ctx, account, provider)
    audit.provider_token_read(ctx, account.provider_id)
    return _shown(ctx, opened)


async def refresh(ctx: Context, choice: Choice) -> Opened:
    """Give the tokens of the caller's account, renewed in any case.

    Raises Forbidden, ValidationError, AccountNotFound, ProviderNotSupported, TokenRefreshNotSupported,
    RefreshTokenNotFound, FailedToRefreshAccessToken, ProviderUnavailable.
    """
    account, provider = await _chosen(ctx, choice)
    if not provider.habits.refreshes:
        raise errors.TokenRefreshNotSupported(
            f"Provider {account.provider_id} does not support token refreshing."
        )
    if account.refresh_token is None:
        raise errors.RefreshTokenNotFound
    refresh_token = ctx.cipher.decrypt(accounts.REFRESH_TOKEN, account.refresh_token)
    renewed = None
    if refresh_token is not None:
        renewed = await _renewed(ctx, provider, account, refresh_token, errors.FailedToRefreshAccessToken)
    opened = _opened(ctx, renewed) if renewed is not None else None
    if opened is None:
        raise errors.FailedToRefreshAccessToken
    return _shown(ctx, opened)


async def profile(ctx: Context, choice: Choice) -> Profile:
    """Give what the provider says about the caller now.

    Raises ValidationError, AccountNotFound, ProviderNotSupported, FailedToGetAccessToken, FailedToGetUserInfo,
    ProviderUnavailable.
    """
    account, provider = await _chosen(ctx, choice)
    opened = await _valid(ctx, account, provider)
    try:
        identity = await provider.identify(opened.access_token, opened.id_token, account.account_id)
    except IdentityRefused as refused:
        raise errors.FailedToGetUserInfo from refused
    await _check_session(ctx)
    return Profile(opened.account, identity)


async def _chosen(ctx: Context, choice: Choice) -> tuple[AccountRow, Provider]:
    """Give the account and its provider. Whose it is said to be has no other effect than to be compared."""
    if choice.user_id is not None and choice.user_id != ctx.signed_in.user.id:
        raise errors.Forbidden
    account = await accounts.find(ctx, choice.provider_id, choice.account_id)
    provider = ctx.providers.get(account.provider_id)
    if provider is None:
        raise errors.ProviderNotSupported(f"Provider {account.provider_id} is not supported.")
    return account, provider


async def _valid(ctx: Context, account: AccountRow, provider: Provider) -> Opened:
    """Give the tokens with an access token that is not over. Raises FailedToGetAccessToken, ProviderUnavailable."""
    opened = _opened(ctx, account)
    refresh_token = opened.refresh_token if opened is not None and provider.habits.refreshes else None
    if refresh_token is not None and _ends_by(account, ctx.now + ctx.policy.providers.refresh_skew):
        renewed = await _renewed(ctx, provider, account, refresh_token, errors.FailedToGetAccessToken)
        opened = _opened(ctx, renewed)
    if opened is None or _ends_by(opened.account, ctx.now):
        raise errors.FailedToGetAccessToken
    return opened


def _ends_by(account: AccountRow, moment: datetime) -> bool:
    return account.access_token_expires_at is not None and account.access_token_expires_at <= moment


async def _renewed(
    ctx: Context, provider: Provider, account: AccountRow, refresh_token: str, refusal: type[errors.Refusal]
) -> AccountRow:
    try:
        renewed = await renewal.renew(ctx, provider, account, refresh_token)
    except RefreshRefused as refused:
        audit.provider_token_failed(ctx, account.provider_id, refusal.code)
        raise refusal from refused
    except (errors.ProviderUnavailable, errors.RenewedTokensLost) as unavailable:
        audit.provider_token_failed(ctx, account.provider_id, unavailable.code)
        raise
    await _check_session(ctx)
    return renewed


async def _check_session(ctx: Context) -> None:
    """Raise Unauthenticated when the caller's session has ended while the provider was asked."""
    found = await sessions.find(ctx.reads, ctx.signed_in.token)
    if found is None or not found[0].is_active(ctx.now) or found[1].is_banned(ctx.now):
        raise errors.Unauthenticated


def _opened(ctx: Context, account: AccountRow) -> Opened | None:
    """Give an account's tokens; None without an access token, or when no secret opens it any more."""
    access_token = _decrypted(ctx, accounts.ACCESS_TOKEN, account.access_token)
    if access_token is None:
        return None
    return Opened(
        account=account,
        access_token=access_token,
        refresh_token=_decrypted(ctx, accounts.REFRESH_TOKEN, account.refresh_token),
        id_token=_decrypted(ctx, accounts.ID_TOKEN, account.id_token),
    )


def _decrypted(ctx: Context, purpose: str, sealed: bytes | None) -> str | None:
    return None if sealed is None else ctx.cipher.decrypt(purpose, sealed)


def _shown(ctx: Context, opened: Opened) -> Opened:
    return opened if ctx.policy.providers.expose_refresh_token else replace(opened, refresh_token=None)
