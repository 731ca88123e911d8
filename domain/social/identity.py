"""Find configured providers, verify ID tokens that applications send, and read the email address of an identity."""

from domain import errors, identifiers
from domain.context import Context
from domain.identifiers import InvalidEmail
from domain.identity_provider import (
    Identity,
    IdentityProviders,
    IdentityRefused,
    IdTokenCredential,
    Provider,
    SubjectMissing,
    VerifiedIdentity,
)
from domain.social.errors import FailedToGetUserInfo, IdTokenNotSupported, ProviderNotFound, UserEmailNotFound


def provider_of(ctx: Context, provider_id: str) -> Provider:
    """Return a configured provider. Raises ProviderNotFound."""
    # No fallback: an unknown name must not lead to any other provider.
    provider = ctx.port[IdentityProviders].get(provider_id)  # defence: V27 known-provider
    if provider is None:
        raise ProviderNotFound
    return provider


async def by_id_token(ctx: Context, provider: Provider, direct: IdTokenCredential) -> VerifiedIdentity:
    """Verify an ID token that an application sent.

    Raises IdTokenNotSupported, InvalidToken, FailedToGetUserInfo (no subject), ProviderUnavailable.
    """
    if not provider.traits.takes_id_tokens:
        raise IdTokenNotSupported
    try:
        return await provider.verify(direct, ctx.now)
    except SubjectMissing as error:
        raise FailedToGetUserInfo from error
    except IdentityRefused as refused:
        raise errors.InvalidToken from refused


def address_of(identity: Identity) -> str:
    """Return the provider's email address in its stored form. Raises UserEmailNotFound if missing or
    invalid."""
    try:
        return identifiers.email(identity.email or "")
    except InvalidEmail as malformed:
        raise UserEmailNotFound from malformed
