"""Errors of the sign-in through a connection."""

from domain.errors import BadRequest, NotFound


class ConnectionNotFound(NotFound):
    """The request names no active connection that has a verified domain."""

    code = "SSO_PROVIDER_NOT_FOUND"
    message = "No provider found for the issuer"


class InvalidLogoutToken(BadRequest):
    """The logout token is not valid, was used before, or belongs to another connection."""

    message = "Invalid logout token"


class DomainNotAllowed(Exception):
    """The email address from the provider, or the current one of the user, is not in a domain of the connection."""


class DisabledByDirectory(Exception):
    """The directory of the connection has disabled the user."""


class ConnectionChanged(Exception):
    """The connection was changed or paused while its user signed in."""
