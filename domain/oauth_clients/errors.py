"""Errors of the OAuth protocol, named as in its RFCs, and other errors about clients.

A protocol error is the JSON object `{"error": …, "error_description": …}`. The descriptions are for developers of
clients. They are fixed sentences, which repeat nothing of the request except names of known parameters.
"""

from typing import ClassVar

from domain.errors import BadRequest, Conflict, NotFound, Refusal


class OAuthError(Refusal):
    """An error of the protocol (RFC 6749, 5.2)."""

    is_protocol = True
    status = 400
    message = "The request cannot be processed"
    error: ClassVar[str]
    """The value of the member `error`."""
    challenge: ClassVar[str | None] = None
    """The scheme and parameters of the header WWW-Authenticate."""


class InvalidRequest(OAuthError):
    """A parameter is missing, malformed or given twice."""

    error = "invalid_request"
    message = "A parameter is missing, malformed or given twice"


class InvalidClient(OAuthError):
    """The client is unknown or disabled, or its authentication failed; the text does not say which."""

    status = 401
    error = "invalid_client"
    message = "The client is unknown, or its authentication failed"
    challenge = 'Basic realm="gatewright"'


class InvalidGrant(OAuthError):
    """The authorization code, refresh token or device code cannot be redeemed; the text does not say why."""

    error = "invalid_grant"
    message = "The grant is invalid, expired or revoked, or was issued to another client"


class GrantRevoked(InvalidGrant):
    """An `InvalidGrant` after which the grant was revoked, because a code or refresh token was used twice."""

    keeps_writes = True


class UnauthorizedClient(OAuthError):
    """The client may not use this grant type."""

    error = "unauthorized_client"
    message = "The client may not use this grant type"


class UnsupportedGrantType(OAuthError):
    """The token endpoint does not know the grant type."""

    error = "unsupported_grant_type"
    message = "The grant type is not supported"


class InvalidScope(OAuthError):
    """A scope is unknown, not allowed to the client or not granted, or no scope is left."""

    error = "invalid_scope"
    message = "A scope is unknown or not allowed for this client, or none is given"


class InvalidTarget(OAuthError):
    """A resource is unknown or not allowed (RFC 8707)."""

    error = "invalid_target"
    message = "A resource is unknown or not allowed for this client, or one must be chosen"


class InvalidAccessToken(OAuthError):
    """The access token is unknown, expired, revoked, or not for this operation (RFC 6750, 3.1)."""

    status = 401
    error = "invalid_token"
    message = "The access token is unknown, expired or revoked"
    challenge = 'Bearer error="invalid_token"'


class MissingAccessToken(InvalidAccessToken):
    """The request has no access token. The header WWW-Authenticate names no error then (RFC 6750, 3.1)."""

    error = "invalid_token"
    message = "The request has no access token"
    challenge = "Bearer"


class InsufficientScope(OAuthError):
    """The access token lacks the scope `openid` (RFC 6750, 3.1)."""

    status = 403
    error = "insufficient_scope"
    message = "The access token lacks the scope openid"
    challenge = 'Bearer error="insufficient_scope", scope="openid"'


class AccessDenied(OAuthError):
    """The user has refused the request, or cannot grant access (for example while impersonated)."""

    error = "access_denied"
    message = "The user or the service has refused the request"


class UnusableMetadata(OAuthError):
    """Client metadata of a registration cannot be used (RFC 7591, 3.2.2); the message names the member."""

    error = "invalid_client_metadata"
    message = "A member of the client metadata cannot be used"


class UnusableRedirectUri(OAuthError):
    """A redirect URI of a registration cannot be used (RFC 7591, 3.2.2)."""

    error = "invalid_redirect_uri"
    message = "redirect_uris has an entry that is not allowed"


class InvalidInitialToken(OAuthError):
    """The initial access token is missing, unknown, expired or used up (RFC 7591, 3; RFC 6750, 3.1)."""

    status = 401
    error = "invalid_token"
    message = "The initial access token is missing, unknown, expired or used up"
    challenge = 'Bearer error="invalid_token"'


class InvalidClientMetadata(BadRequest):
    """A member of the client metadata cannot be used; the message names it."""

    message = "Invalid client metadata"
    member: str | None = None
    """The member that cannot be used."""


class InvalidRedirectUri(BadRequest):
    """A redirect URI cannot be registered."""

    message = "Invalid redirect URI"


class StaleClient(Conflict):
    """The client was changed after its form was shown, or a form that creates a client was sent twice."""

    message = "The client was changed meanwhile"


class ClientReadOnly(BadRequest):
    """The client cannot be changed here: it comes from the configuration, or from a metadata document."""

    message = "Client cannot be changed here"


class ClientOrUserRequired(BadRequest):
    """An operation on the grants of a client or of a user names neither a client nor a user."""

    message = "Client or user is required"


class ClientNotFound(NotFound):
    """There is no such client, or it belongs to another user."""

    message = "Client not found"
