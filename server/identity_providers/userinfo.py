"""Requests to a provider with a user's access token: the profile, and the list of email addresses."""

from typing import Any

from domain.identity_provider import IdentityRefused
from server.identity_providers import messages
from server.identity_providers.http_client import Calls, ProviderError, Reply


async def fetch_profile(calls: Calls, endpoint: str, access_token: str | None) -> dict[str, Any]:
    """Return the profile of an access token's user.

    Raises IdentityRefused if there is no token or the provider does not accept it, and ProviderError.
    """
    return (await _asked(calls, endpoint, access_token)).members


async def primary_address(calls: Calls, endpoint: str, access_token: str | None) -> tuple[str | None, bool]:
    """Return the primary email address of an access token's user, and whether it is verified.

    The address is None if the user did not grant access to the list. Raises ProviderError.
    """
    try:
        listed = (await _asked(calls, endpoint, access_token)).body
    except IdentityRefused:
        return None, False
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise ProviderError("the addresses are no list")
    for entry in listed:
        if entry.get("primary") is True and isinstance(entry.get("email"), str):
            return entry["email"], entry.get("verified") is True
    return None, False


async def _asked(calls: Calls, endpoint: str, access_token: str | None) -> Reply:
    if access_token is None or not messages.is_sendable(access_token):
        raise IdentityRefused
    reply = await calls.get(endpoint, messages.bearer(access_token))
    if not reply.is_success or (isinstance(reply.body, dict) and reply.body.get("ok") is False):
        raise IdentityRefused
    return reply
