"""Errors of the authorization endpoint, and of the operations of its pages."""

from domain.oauth_clients.errors import OAuthError


class InvalidRedirectUri(OAuthError):
    """The redirect URI is missing, or is none of the client's."""

    error = "invalid_redirect_uri"
    message = "redirect_uri is not registered for this client"


class InvalidRequestUri(OAuthError):
    """The stored request is unknown, expired, used, or that of another client (RFC 9126, 2.2)."""

    error = "invalid_request_uri"
    message = "request_uri is unknown or expired, or belongs to another client"


class UnsupportedResponseType(OAuthError):
    """Only the authorization code is offered."""

    error = "unsupported_response_type"
    message = "response_type must be code"


class RequestNotSupported(OAuthError):
    """Request objects are not accepted (OpenID Connect Core 1.0, 6)."""

    error = "request_not_supported"
    message = "The parameter request is not supported"


class RequestUriNotSupported(OAuthError):
    """Request objects of other places are not accepted."""

    error = "request_uri_not_supported"
    message = "request_uri must be that of a pushed authorization request"


class RegistrationNotSupported(OAuthError):
    """Clients cannot register themselves by a parameter (OpenID Connect Core 1.0, 7.2.1)."""

    error = "registration_not_supported"
    message = "The parameter registration is not supported"


class LoginRequired(OAuthError):
    """The user would have to sign in, but no page may be shown."""

    error = "login_required"
    message = "The user has to sign in"


class ConsentRequired(OAuthError):
    """The user would have to consent, but no page may be shown."""

    error = "consent_required"
    message = "The user has to consent"
