"""Authorization codes of tests, written as the authorization endpoint does, and requests of the token endpoint."""

import json
from datetime import timedelta
from typing import Any

import httpx

from domain import tokens
from domain.context import Context
from domain.oauth.authorization_code import CODE_PREFIX, challenge_of
from models.oauth_code import ADD_CODE, NONCE
from tests.conftest import Headers
from tests.handlers.steps import token_of
from tests.oauth import REDIRECT_URI, OAuthTestClient
from tests.service import Service

VERIFIER = "v" * 43
API = "https://api.example.com"
"""A resource that verifies access tokens by itself."""
FILES = "https://files.example.com"
"""A resource that asks about access tokens."""

SETTINGS = {
    "oauth.scopes": json.dumps({"read": "Read", "write": "Write", "list": "List"}),
    "oauth.resources": json.dumps(
        {
            API: {"name": "API", "scopes": ["read", "write"]},
            FILES: {"name": "Files", "scopes": ["list"], "format": "opaque", "expires_in": "5m"},
        }
    ),
}
EVERYTHING: dict[str, Any] = {
    "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
    "scope": "openid profile email offline_access read write list",
    "resources": [API, FILES],
    "client_credentials_scopes": ["read", "list"],
    "id_token_signed_response_alg": "ES256",
}
"""Metadata of a client that may do everything."""
OFFLINE: dict[str, Any] = {
    "grant_types": ["authorization_code", "refresh_token"],
    "scope": "openid offline_access",
    "id_token_signed_response_alg": "ES256",
}
"""Metadata of a client that gets refresh tokens."""


async def add_code(
    service: Service,
    client: OAuthTestClient,
    session: Headers,
    *,
    scopes: str = "openid",
    resources: str = "",
    verifier: str = VERIFIER,
    redirect_uri: str = REDIRECT_URI,
    nonce: str | None = None,
) -> str:
    """Return a code that the user of a session has authorized just now."""
    code = CODE_PREFIX + tokens.token()
    [row] = await service.rows(
        "SELECT id, user_id FROM session WHERE token_digest = :digest",
        digest=tokens.digest(token_of(session)),
    )

    async def job(ctx: Context) -> None:
        await ctx.db.execute(
            ADD_CODE,
            code=tokens.digest(code),
            client_id=client.client_id,
            user_id=row.user_id,
            session_id=row.id,
            redirect_uri=redirect_uri,
            code_challenge=challenge_of(verifier),
            nonce=None if nonce is None else ctx.cipher.encrypt(NONCE, nonce),
            scopes=scopes,
            resources=resources,
            expires_at=ctx.now + timedelta(minutes=1),
            created_at=ctx.now,
            updated_at=ctx.now,
        )

    await service.services.unit_of_work.run(job)
    return code


async def ask(
    service: Service, client: OAuthTestClient | None, grant_type: str, **parameters: Any
) -> httpx.Response:
    """Request tokens, with the client's credentials in the form; a parameter that is None is not sent."""
    credentials = {} if client is None else client.form
    form = {"grant_type": grant_type, **credentials, **parameters}
    sent = {name: value for name, value in form.items() if value is not None}
    return await service.client.post("/oauth2/token", data=sent)


async def redeem(
    service: Service, client: OAuthTestClient, code: str, *, verifier: str | None = VERIFIER, **more: Any
) -> httpx.Response:
    """Redeem a code."""
    return await ask(service, client, "authorization_code", code=code, code_verifier=verifier, **more)


async def refresh(service: Service, client: OAuthTestClient, token: str, **more: Any) -> httpx.Response:
    """Refresh tokens."""
    return await ask(service, client, "refresh_token", refresh_token=token, **more)


async def first_tokens(
    service: Service,
    client: OAuthTestClient,
    session: Headers,
    scopes: str = "openid offline_access",
    **more: Any,
) -> dict[str, Any]:
    """Return the tokens for a new code."""
    answer = await redeem(service, client, await add_code(service, client, session, scopes=scopes, **more))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def error(answer: httpx.Response) -> str:
    """Return status and name of an error of the protocol, such as `400 invalid_grant`; of a success only the status."""
    if answer.status_code < 400:
        return str(answer.status_code)
    body = answer.json()
    assert list(body) == ["error", "error_description"], body
    return f"{answer.status_code} {body['error']}"
