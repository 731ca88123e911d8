"""Errors of identity providers and linking."""

from domain.errors import BadRequest, Conflict, NotFound, Unauthenticated, Unavailable


class ProviderUnavailable(Unavailable):
    """The identity provider is down, slow, or its response is malformed."""

    code = "PROVIDER_UNAVAILABLE"
    message = "Provider unavailable"


class RenewedTokensLost(Unavailable):
    """Refreshed tokens could not be stored in time; the provider may accept neither them nor the old ones."""

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
    """The identity must not be linked to this account, or to any."""

    message = "account not linked"


class SignUpDisabled(OauthLinkError):
    """There is no such user, and this sign-in may not create one."""

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
    """The account's provider has no tokens, or is not configured any more."""

    message = "Provider is not supported"


class FailedToGetAccessToken(BadRequest):
    """None is stored, or it has expired and cannot be refreshed."""

    message = "Failed to get a valid access token"


class TokenRefreshNotSupported(BadRequest):
    """The provider cannot refresh tokens."""

    message = "Provider does not support token refreshing"


class RefreshTokenNotFound(BadRequest):
    """The provider sent no refresh token."""

    message = "Refresh token not found"


class FailedToRefreshAccessToken(BadRequest):
    """The provider refused the refresh."""

    message = "Failed to refresh access token"
