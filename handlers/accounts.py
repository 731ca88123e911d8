"""The operations of openapi/paths/accounts.yaml."""

from domain import errors
from domain.context import Context
from handlers import shapes
from handlers.reply import Redirect


async def link_social(ctx: Context, body: shapes.LinkSocialRequest) -> shapes.SocialLink:
    """Begin linking an external account."""
    raise errors.NotImplementedYet


async def list_linked(ctx: Context) -> list[shapes.LinkedAccount]:
    """Give the ways the caller may sign in."""
    raise errors.NotImplementedYet


async def unlink(ctx: Context, body: shapes.UnlinkAccountRequest) -> shapes.Status:
    """Remove one of them."""
    raise errors.NotImplementedYet


async def refresh_token(ctx: Context, body: shapes.ProviderTokenRequest) -> shapes.ProviderTokens:
    """Renew the provider's tokens."""
    raise errors.NotImplementedYet


async def get_access_token(ctx: Context, body: shapes.ProviderTokenRequest) -> shapes.ProviderTokens:
    """Give the provider's tokens, renewed if need be."""
    raise errors.NotImplementedYet


async def get_profile(
    ctx: Context, account_id: str | None = None, provider_id: str | None = None
) -> shapes.AccountProfile:
    """Give what the provider says about the user."""
    raise errors.NotImplementedYet


async def receive_callback(
    ctx: Context,
    provider: str,
    code: str | None = None,
    state: str | None = None,
    error: str | None = None,
    error_description: str | None = None,
    iss: str | None = None,
    user: str | None = None,
) -> Redirect:
    """Finish what sign-in/social or link-social began."""
    raise errors.NotImplementedYet


async def relay_callback(ctx: Context, provider: str, body: shapes.ProviderCallbackForm) -> Redirect:
    """Turn a form_post answer into its own GET form."""
    raise errors.NotImplementedYet
