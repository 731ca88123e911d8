"""Errors of identity providers and linking."""

from domain.errors import BadRequest, Conflict, NotFound, Unauthenticated, Unavailable


class ProviderUnavailable(Unavailable):
    """The identity provider is down, slow, or its response is malformed."""

    code = "PROVIDER_UNAVAILABLE"
    message = "Provider unavailable"


class RenewedTokensLost(Unavailable):
    """The provider has refreshed the tokens, but they could not be stored. The stored old tokens may be invalid now."""

    code = "SERVICE_UNAVAILABLE"


class ProviderNotFound(NotFound):
    """The provider is not configured."""

    message = "Provider not found"


class IdTokenNotSupported(NotFound):
    """The provider does not support sign-in by ID token."""

    message = "id_token not supported"


class FailedToGetUserInfo(Unauthenticated):
    """The provider sent no subject."""

    message = "Failed to get user info"


class UserEmailNotFound(Unauthenticated):
    """The provider sent no email address."""

    message = "User email not found"


class OauthLinkError(Unauthenticated):
    """The identity may not be linked to the user who has its email address."""

    message = "account not linked"


class SignUpDisabled(OauthLinkError):
    """No user has this identity or its email address, and this sign-in may not create one."""

    code = "OAUTH_LINK_ERROR"
    message = "signup disabled"


class SocialAccountAlreadyLinked(Conflict):
    """The identity belongs to another user."""

    message = "Social account already linked"


class LinkingNotAllowed(Unauthenticated):
    """Linking is disabled, or the provider is neither trusted nor has verified the address."""

    message = "Account not linked - linking not allowed"


class LinkingDifferentEmailsNotAllowed(Unauthenticated):
    """The provider's email address is not the user's."""

    message = "Account not linked - different emails not allowed"


class ProviderNotSupported(BadRequest):
    """The provider of the account issues no tokens, or is not configured any more."""

    message = "Provider is not supported"


class FailedToGetAccessToken(BadRequest):
    """No access token is stored, or it has expired and cannot be refreshed."""

    message = "Failed to get a valid access token"


class TokenRefreshNotSupported(BadRequest):
    """The provider cannot refresh tokens."""

    message = "Provider does not support token refreshing"


class RefreshTokenNotFound(BadRequest):
    """No refresh token is stored for the account."""

    message = "Refresh token not found"


class FailedToRefreshAccessToken(BadRequest):
    """The provider refused the refresh."""

    message = "Failed to refresh access token"
