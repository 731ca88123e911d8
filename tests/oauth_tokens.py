"""Tokens of OAuth clients in tests, issued as the token endpoint does, without the way to an authorization code."""

from domain.context import Context
from domain.oauth import access, grants, tokens
from domain.oauth.tokens import Issue, TokenResponse
from domain.oauth_clients import clients
from domain.sessions import sessions
from models.oauth_client import ClientRow
from tests.conftest import Headers
from tests.handlers.steps import token_of
from tests.oauth import OAuthTestClient
from tests.service import Service

SCOPES = "openid profile email"


async def issue(
    service: Service,
    client: OAuthTestClient,
    session: Headers,
    *,
    scopes: str = SCOPES,
    resources: str = "",
    resource: str | None = None,
) -> TokenResponse:
    """Return the tokens that the user of a session grants a client; offline if `scopes` says so."""

    async def job(ctx: Context) -> TokenResponse:
        found = await sessions.find(ctx.reads, token_of(session))
        assert found is not None
        row = await _row(ctx, client)
        wanted = access.select(
            ctx, row, [] if resource is None else [resource], scopes=scopes, resources=resources.split()
        )
        grant = await grants.add(ctx, row, found[0], scopes=scopes, resources=resources)
        issued = Issue(
            "authorization_code", grant, found[1], scopes, wanted, session_expires_at=found[0].expires_at
        )
        return await tokens.issue(ctx, row, issued)

    return await service.services.unit_of_work.run(job)


async def issue_to_client(
    service: Service, client: OAuthTestClient, scopes: str, *, resource: str | None = None
) -> TokenResponse:
    """Return an access token that acts for a client itself."""

    async def job(ctx: Context) -> TokenResponse:
        row = await _row(ctx, client)
        resources = row.metadata["resources"]
        wanted = access.select(
            ctx, row, [] if resource is None else [resource], scopes=scopes, resources=resources
        )
        return await tokens.issue_to_client(ctx, row, wanted, grant_type="client_credentials")

    return await service.services.unit_of_work.run(job)


async def _row(ctx: Context, client: OAuthTestClient) -> ClientRow:
    row = await clients.find(ctx, client.client_id)
    assert row is not None
    return row


async def introspect(service: Service, client: OAuthTestClient, token: str) -> dict[str, object]:
    """Return what a client with a secret sees of a token."""
    answer = await service.client.post("/oauth2/introspect", data={"token": token}, headers=client.basic)
    assert answer.status_code == 200, answer.text
    seen: dict[str, object] = answer.json()
    return seen


async def is_active(service: Service, client: OAuthTestClient, token: str) -> bool:
    """Return whether introspection says that a token can be used."""
    return (await introspect(service, client, token))["active"] is True
