"""Authentication of clients (RFC 6749, 2.3): by their secret, by a signed assertion, or by their id alone."""

import base64
import binascii
import hmac
from dataclasses import dataclass
from urllib.parse import unquote_plus

from domain import tokens
from domain.context import Context
from domain.oauth_clients import clients
from domain.oauth_clients.errors import InvalidClient, InvalidRequest
from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_client import ClientRow


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a client has sent to authenticate itself; without a secret and an assertion its id alone."""

    client_id: str
    secret: str | None = None
    assertion: str | None = None


async def authenticate(ctx: Context, parameters: OAuthParameters, *, allows_public: bool = True) -> ClientRow:
    """Return the client that has sent a request; checks the form of the parameters as well.

    Raises InvalidRequest for two ways at once or ids that differ, and InvalidClient for everything else.
    """
    parameters.check()
    sent = credentials_of(parameters)
    client = await clients.find(ctx, sent.client_id)
    if client is None:
        raise InvalidClient
    method = client.metadata["token_endpoint_auth_method"]
    if method == "none":
        if sent.secret is not None or not allows_public:
            raise InvalidClient
        return client
    if not method.startswith("client_secret") or not _is_secret(ctx, client, sent.secret):
        raise InvalidClient
    return client


def credentials_of(parameters: OAuthParameters) -> Credentials:
    """Return what a request authenticates its client by. Raises InvalidRequest, InvalidClient."""
    client_id, secret = parameters.get("client_id"), parameters.get("client_secret")
    assertion = parameters.get("client_assertion")
    ways = [way for way in (parameters.authorization, secret, assertion) if way is not None]
    if len(ways) > 1:
        raise InvalidRequest("The client authenticates in two ways")
    if parameters.authorization is not None:
        basic_id, basic_secret = _basic(parameters.authorization)
        if client_id is not None and client_id != basic_id:
            raise InvalidRequest("client_id differs from that of the Authorization header")
        return Credentials(basic_id, basic_secret)
    if client_id is None:
        raise InvalidClient
    return Credentials(client_id, secret, assertion)


def _basic(header: str) -> tuple[str, str]:
    """Return id and secret of an Authorization header, both of them form-encoded. Raises InvalidClient."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        raise InvalidClient
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        raise InvalidClient from None
    client_id, colon, secret = decoded.partition(":")
    if not colon or not client_id or "\0" in decoded:
        raise InvalidClient
    return unquote_plus(client_id), unquote_plus(secret)


def _is_secret(ctx: Context, client: ClientRow, secret: str | None) -> bool:
    """Return whether a secret is the client's, or its previous one while that is accepted."""
    if secret is None or client.secret is None:
        return False
    digest = tokens.digest(secret)
    is_current = hmac.compare_digest(digest, client.secret)
    previous, until = client.previous_secret, client.previous_until
    is_previous = (
        previous is not None
        and until is not None
        and ctx.now < until
        and hmac.compare_digest(digest, previous)
    )
    return is_current or is_previous
