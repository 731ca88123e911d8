"""Errors of the sign-in through a connection."""

from domain.errors import BadRequest, NotFound


class ConnectionNotFound(NotFound):
    """There is no active connection with a verified domain for the request."""

    code = "SSO_PROVIDER_NOT_FOUND"
    message = "No provider found for the issuer"


class InvalidLogoutToken(BadRequest):
    """The logout token is not valid, was used before, or belongs to another connection."""

    message = "Invalid logout token"


class DomainNotAllowed(Exception):
    """The address is in no verified domain of the connection, or that of a known user is not any more."""


class DisabledByDirectory(Exception):
    """The directory of the connection has disabled the user."""


class ConnectionChanged(Exception):
    """The connection was changed or paused while its user signed in."""
