"""Audit and webhook events about identity providers."""

from domain.audit.record import Event, error_detail, record
from domain.authentication_methods import AuthenticationMethod
from domain.context import Context
from domain.identity_provider import IdentityProviders
from domain.localization import N_
from domain.webhooks.publication import EventType, publish
from models import Outcome

ACCOUNT_LINKED = Event("account.linked", N_("An account of a provider was connected"))
ACCOUNT_LINK_REFUSED = Event(
    "account.link_refused", N_("An account of a provider was not connected"), in_history=False
)
PROVIDER_TOKEN_READ = Event("provider_token.read", N_("The tokens of a provider were read"), in_history=False)
PROVIDER_TOKEN_REFRESHED = Event(
    "provider_token.refreshed", N_("The tokens of a provider were refreshed"), in_history=False
)
PROVIDER_TOKEN_FAILED = Event(
    "provider_token.failed", N_("The tokens of a provider could not be refreshed"), in_history=False
)
OAUTH_STATE_REFUSED = Event(
    "oauth_state.refused", N_("A response of a provider was not accepted"), in_history=False, unbounded=True
)

OAUTH = AuthenticationMethod("oauth", label=None, amr="fed")
ID_TOKEN = AuthenticationMethod("id_token", label=None, amr="fed")

WEBHOOK_LINKED = EventType("account.linked")


def account_linked(ctx: Context, user_id: str, provider_id: str, *, by_user: bool = False) -> None:
    """Record and publish that an identity was linked to a user: with `by_user` at their request, otherwise by a
    sign-in."""
    record(ctx, ACCOUNT_LINKED, user_id=user_id, provider=provider_id)
    # A flow that comes back from the provider has no caller, but its user is signed in.
    actor_id = user_id if by_user else None
    publish(ctx, WEBHOOK_LINKED, user_id=user_id, actor_id=actor_id, providerId=provider_id)


def link_refused(ctx: Context, user_id: str, provider_id: str, code: str, *, said: str | None = None) -> None:
    """Record that an identity was not linked to a user; `said` is the provider's error code."""
    record(
        ctx,
        ACCOUNT_LINK_REFUSED,
        user_id=user_id,
        outcome=Outcome.REFUSED,
        code=code,
        provider=provider_id,
        **error_detail(said),
    )


def provider_token_read(ctx: Context, provider_id: str) -> None:
    """Record that the caller read a provider's tokens."""
    record(ctx, PROVIDER_TOKEN_READ, provider=provider_id)


def provider_token_refreshed(ctx: Context, provider_id: str) -> None:
    """Record that a provider refreshed the caller's tokens."""
    record(ctx, PROVIDER_TOKEN_REFRESHED, provider=provider_id)


def provider_token_failed(ctx: Context, provider_id: str, code: str) -> None:
    """Record that a provider did not refresh the caller's tokens; `code` is the code of the error for the caller."""
    record(ctx, PROVIDER_TOKEN_FAILED, outcome=Outcome.FAILURE, code=code, provider=provider_id)


def oauth_state_refused(ctx: Context, provider_id: str, code: str) -> None:
    """Record that a browser returned with a `state` that this browser did not receive, or that has expired.

    The provider id comes from the URL, which anyone can make up, so only that of a configured provider is recorded.
    """
    known = provider_id if provider_id in ctx.port[IdentityProviders] else None
    record(ctx, OAUTH_STATE_REFUSED, outcome=Outcome.REFUSED, code=code, provider=known)
