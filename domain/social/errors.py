"""Errors of identity providers and linking."""

from domain.errors import BadRequest, Conflict, NotFound, Unauthenticated, Unavailable


class ProviderUnavailable(Unavailable):
    """The external provider is down, slow or garbled."""

    code = "PROVIDER_UNAVAILABLE"
    message = "Provider unavailable"


class RenewedTokensLost(Unavailable):
    """A provider renewed tokens that could not be stored in time; it may honour neither these nor the old ones."""

    code = "SERVICE_UNAVAILABLE"


class ProviderNotFound(NotFound):
    """No such provider is configured."""

    message = "Provider not found"


class IdTokenNotSupported(NotFound):
    """The provider does not sign in by ID token."""

    message = "id_token not supported"


class FailedToGetUserInfo(Unauthenticated):
    """The provider named no subject."""

    message = "Failed to get user info"


class UserEmailNotFound(Unauthenticated):
    """The provider named no address."""

    message = "User email not found"


class OauthLinkError(Unauthenticated):
    """The identity must not become this account, or any."""

    message = "account not linked"


class SignUpDisabled(OauthLinkError):
    """There is no such user, and this sign-in may not make one."""

    code = "OAUTH_LINK_ERROR"
    message = "signup disabled"


class SocialAccountAlreadyLinked(Conflict):
    """The identity belongs to another user."""

    message = "Social account already linked"


class LinkingNotAllowed(Unauthenticated):
    """Linking is off, or the provider is neither trusted nor sure of the address."""

    message = "Account not linked - linking not allowed"


class LinkingDifferentEmailsNotAllowed(Unauthenticated):
    """The provider names another address than the user's."""

    message = "Account not linked - different emails not allowed"


class ProviderNotSupported(BadRequest):
    """The account's provider has no tokens, or is not configured any more."""

    message = "Provider is not supported"


class FailedToGetAccessToken(BadRequest):
    """None stored, or expired and not renewable."""

    message = "Failed to get a valid access token"


class TokenRefreshNotSupported(BadRequest):
    """The provider cannot refresh tokens."""

    message = "Provider does not support token refreshing"


class RefreshTokenNotFound(BadRequest):
    """The provider gave no refresh token."""

    message = "Refresh token not found"


class FailedToRefreshAccessToken(BadRequest):
    """The provider refused to refresh."""

    message = "Failed to refresh access token"
