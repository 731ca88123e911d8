"""Errors about stored requests."""

from domain.errors import BadRequest, NotFound


class RequestNotFound(NotFound):
    """There is no request with this handle, or it has expired, was answered or can no longer be made."""

    message = "Request not found"


class InvalidConsentScope(BadRequest):
    """A chosen scope is not among those of the request or consent, or `openid` was left out of a request for it."""

    code = "INVALID_SCOPE"
    message = "Invalid scope"
