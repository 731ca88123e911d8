"""The operations of openapi/paths/discovery.yaml: metadata documents for clients of OAuth 2.1 and OpenID Connect."""

from domain.context import Context
from domain.oauth.discovery import MAX_AGE
from domain.oauth.policy import ProviderMetadata
from handlers.responses.reply import Document


# discovery.openid
async def openid(ctx: Context) -> Document:
    """Return the metadata of the OpenID provider."""
    metadata = ctx.policy[ProviderMetadata]
    return Document(metadata.body, metadata.etag, max_age=int(MAX_AGE.total_seconds()))


# discovery.oauth
async def oauth(ctx: Context) -> Document:
    """Return the metadata of the OAuth authorization server, the same document as that of the OpenID provider."""
    return await openid(ctx)
