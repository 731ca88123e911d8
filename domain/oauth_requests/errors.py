"""Errors of the authorization endpoint, and of the operations of its pages."""

from domain.oauth_clients.errors import OAuthError


class InvalidRedirectUri(OAuthError):
    """The redirect URI is missing, or the client has not registered it."""

    error = "invalid_redirect_uri"
    message = "redirect_uri is not registered for this client"


class InvalidRequestUri(OAuthError):
    """The stored request is unknown, expired, used, or belongs to another client (RFC 9126, 2.2)."""

    error = "invalid_request_uri"
    message = "request_uri is unknown or expired, or belongs to another client"


class UnsupportedResponseType(OAuthError):
    """`response_type` is not `code`, the only supported value."""

    error = "unsupported_response_type"
    message = "response_type must be code"


class RequestNotSupported(OAuthError):
    """The request has the parameter `request`; request objects are not supported (OpenID Connect Core 1.0, 6)."""

    error = "request_not_supported"
    message = "The parameter request is not supported"


class RequestUriNotSupported(OAuthError):
    """`request_uri` is not the URI of a pushed request; request objects at other URLs are not supported."""

    error = "request_uri_not_supported"
    message = "request_uri must be that of a pushed authorization request"


class RegistrationNotSupported(OAuthError):
    """The request has the parameter `registration`, which is not supported (OpenID Connect Core 1.0, 7.2.1)."""

    error = "registration_not_supported"
    message = "The parameter registration is not supported"


class LoginRequired(OAuthError):
    """The user would have to sign in, but the client allows no page (`prompt=none`)."""

    error = "login_required"
    message = "The user has to sign in"


class ConsentRequired(OAuthError):
    """The user would have to consent, but the client allows no page (`prompt=none`)."""

    error = "consent_required"
    message = "The user has to consent"
