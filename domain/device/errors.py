"""Errors about devices: those of the protocol (RFC 8628, 3.5), and those of pages that ask for a code."""

from collections.abc import Mapping
from types import MappingProxyType

from domain.errors import BadRequest
from domain.oauth_clients.errors import OAuthError


class AuthorizationPending(OAuthError):
    """The user has not decided yet. The time of the poll is stored."""

    error = "authorization_pending"
    message = "The user has not decided yet"
    keeps_writes = True


class SlowDown(OAuthError):
    """The device polls too fast. Its interval is 5 seconds longer from now on."""

    error = "slow_down"
    message = "The device polls too fast; its interval is 5 seconds longer from now on"
    keeps_writes = True  # defence: O19 slower-for-good


class ExpiredToken(OAuthError):
    """The device code has expired."""

    error = "expired_token"
    message = "The device code has expired"


def _members(error: str, description: str) -> Mapping[str, str]:
    """Return the members of the body that pages with the official client read, in addition to ours."""
    return MappingProxyType({"error": error, "error_description": description})


class InvalidUserCode(BadRequest):
    """No device has this code. It counts as a failure of the client's network."""

    message = "Invalid user code"
    details = _members("invalid_request", message)
    keeps_writes = True  # defence: O19 code-refusal


class ExpiredUserCode(BadRequest):
    """The code of the device has expired."""

    message = "User code has expired"
    details = _members("expired_token", message)


class DeviceCodeAlreadyProcessed(BadRequest):
    """A user has decided about the device already."""

    message = "Device code already processed"
    details = _members("invalid_request", message)
