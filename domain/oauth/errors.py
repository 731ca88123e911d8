"""Errors about stored requests."""

from domain.errors import BadRequest, NotFound


class RequestNotFound(NotFound):
    """No request with this handle waits for its user."""

    message = "Request not found"


class InvalidConsentScope(BadRequest):
    """The scopes are none of those that the client asks for, or lack openid."""

    code = "INVALID_SCOPE"
    message = "Invalid scope"
