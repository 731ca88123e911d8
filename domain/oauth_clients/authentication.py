"""Authentication of clients (RFC 6749, 2.3) by a secret or by a signed assertion; public clients send only their id."""

import base64
import binascii
import hmac
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from domain import tokens
from domain.context import Context
from domain.oauth_clients import assertions, documents, events
from domain.oauth_clients.errors import InvalidClient, InvalidRequest
from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_client import ClientRow


@dataclass(slots=True)
class Credentials:
    """What a client has sent to authenticate itself: its id, and at most one of a secret and an assertion."""

    client_id: str
    secret: str | None = field(default=None, repr=False)
    assertion: str | None = field(default=None, repr=False)


async def authenticate(ctx: Context, parameters: OAuthParameters) -> ClientRow:
    """Authenticate the client that has sent a request, and return it.

    Call it before `ctx.db` is used. Raises InvalidRequest if a parameter is malformed or given twice, or if the request
    has two kinds of credentials or two client ids; InvalidClient if the authentication fails; Unavailable.
    """
    sent = credentials_of(parameters)
    return await verify(ctx, await documents.read(ctx, sent.client_id), sent)


async def verify(
    ctx: Context, client: ClientRow | None, sent: Credentials, *, allows_public: bool = True
) -> ClientRow:
    """Return `client` if the credentials that it has sent are right.

    `client` is the client with the id in `sent`, None if there is none. Raises InvalidClient if it is None or disabled,
    or the credentials are wrong; without `allows_public` also for a client that has no credentials.
    """
    failure = "unknown" if client is None else _failure(ctx, client, sent, allows_public=allows_public)
    if client is not None and failure is None and sent.assertion is not None and _has_key(client):
        failure = None if await assertions.is_valid(ctx, client, sent.assertion) else "assertion"
    if client is None or failure is not None:
        events.authentication_failed(ctx, failure or "unknown", None if client is None else client.client_id)
        raise InvalidClient
    return client


def _failure(
    ctx: Context, client: ClientRow, sent: Credentials, *, allows_public: bool
) -> events.Failure | None:
    """Return why a client has not authenticated as it must, or None; its assertion is still to be verified."""
    if client.disabled_at is not None:  # defence: O11 disabled
        return "disabled"
    method = client.metadata["token_endpoint_auth_method"]
    if method == "none":  # defence: O11 public
        is_alone = sent.secret is None and sent.assertion is None
        return None if is_alone and allows_public else "method"
    if _has_key(client):
        if sent.assertion is None:  # defence: O11 key-client
            return "method"
        return None
    if sent.secret is None:
        return "method"
    return None if _is_secret(ctx, client, sent.secret) else "secret"


def _has_key(client: ClientRow) -> bool:
    method: str = client.metadata["token_endpoint_auth_method"]
    return method == "private_key_jwt"


def credentials_of(parameters: OAuthParameters) -> Credentials:
    """Return the credentials in a request, without verifying them.

    Raises InvalidRequest if a parameter is malformed or given twice, or if the request has two kinds of credentials or
    two client ids; InvalidClient if it names no client.
    """
    parameters.check()
    client_id, secret = parameters.get("client_id"), parameters.get("client_secret")
    assertion, authorization = parameters.get("client_assertion"), parameters.authorization
    ways = (authorization is not None) + (secret is not None) + (assertion is not None)
    if ways > 1:  # defence: O11 one-way
        raise InvalidRequest("The client authenticates in two ways")
    if authorization is not None:
        basic_id, basic_secret = _basic(authorization)
        if client_id is not None and client_id != basic_id:  # defence: O11 same-id
            raise InvalidRequest("client_id differs from that of the Authorization header")
        return Credentials(basic_id, basic_secret)
    if assertion is not None:
        if parameters.get("client_assertion_type") != assertions.TYPE:
            raise InvalidRequest(f"client_assertion_type must be {assertions.TYPE}")
        subject = assertions.subject(assertion)
        if client_id is not None and subject is not None and client_id != subject:
            raise InvalidRequest("client_id differs from the subject of client_assertion")
        client_id = client_id or subject
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
    if "%" in decoded or "+" in decoded:
        client_id, secret = unquote_plus(client_id), unquote_plus(secret)
    if not colon or not client_id:
        raise InvalidClient
    return client_id, secret


def _is_secret(ctx: Context, client: ClientRow, secret: str) -> bool:
    """Return whether a secret is the client's, or its previous one while that is accepted."""
    if client.secret is None:
        return False
    digest, previous = tokens.digest(secret), client.previous_secret
    is_current = hmac.compare_digest(digest, client.secret)
    is_previous = previous is not None and hmac.compare_digest(digest, previous)
    is_accepted = client.previous_until is not None and ctx.now < client.previous_until
    return is_current or (is_previous and is_accepted)  # defence: O11 previous-until
