"""Connections of organizations as rows, and the way through their OpenID provider without a browser."""

from collections.abc import Sequence
from typing import Any

import httpx

from domain import tokens
from domain.sso.configuration import Config, OidcConfig, encrypt_config
from models.sso_connection import ADD_CONNECTION, ConnectionState, ConnectionType
from models.sso_domain import SsoDomain
from models.statements import insert
from tests.conftest import Headers
from tests.labs.provider import steps
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.state import CLIENT_ID, CLIENT_SECRET
from tests.service import Service

ADA = "ada@acme.example"


def oidc(provider: ProviderProcess, **more: Any) -> OidcConfig:
    """Return the configuration of the test provider."""
    return OidcConfig(CLIENT_ID, CLIENT_SECRET, **more)


async def connect(
    service: Service,
    config: Config,
    issuer: str,
    provider_id: str = "acme",
    *,
    domains: Sequence[str] = ("acme.example",),
    verified: bool = True,
    required: bool = False,
    **columns: Any,
) -> str:
    """Store an active connection with its domains; return its id."""
    now, connection_id = service.clock(), tokens.token()
    kind = ConnectionType.OIDC if isinstance(config, OidcConfig) else ConnectionType.SAML
    values: dict[str, Any] = {
        "id": connection_id,
        "provider_id": provider_id,
        "organization_id": None,
        "type": kind.value,
        "issuer": issuer,
        "config": encrypt_config(service.services.cipher, config),
        "name": provider_id.title(),
        "state": ConnectionState.ACTIVE.value,
        "sign_up": True,
        "second_factor": "provider",
        "default_role": "member",
        "group_roles": "{}",
        "idp_initiated": False,
        "source": "operation",
        "created_at": now,
        "updated_at": now,
        **columns,
    }
    async with service.services.database.begin() as db:
        await db.execute(ADD_CONNECTION, **values)
        for domain in domains:
            await db.execute(
                insert(SsoDomain),
                id=tokens.token(),
                connection_id=connection_id,
                domain=domain,
                required=required,
                token=tokens.token(),
                verified_at=now if verified else None,
                created_at=now,
                updated_at=now,
            )
        await db.commit()
    return connection_id


async def ask(service: Service, **body: Any) -> httpx.Response:
    """Begin a sign-in, for the answer as it comes."""
    known = {"callbackURL": steps.WELCOME, "errorCallbackURL": steps.OOPS}
    chosen = body or {"providerId": "acme"}
    return await service.post("/sign-in/sso", {**known, **chosen})


async def begin(service: Service, **body: Any) -> steps.Flow:
    """Begin a sign-in."""
    return steps.begun(await ask(service, **body))


async def visit(flow: steps.Flow) -> str:
    """Open the page of the provider; give where it sends the browser."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as browser:
        answer = await browser.get(flow.url)
    assert answer.status_code == 302, answer.text
    return str(answer.headers["location"]).removeprefix("http://localhost:8000")


async def sign_in(service: Service, **body: Any) -> httpx.Response:
    """Sign in through a connection; give the answer of the callback."""
    flow = await begin(service, **body)
    return await steps.deliver(service, await visit(flow), flow)


async def enter(service: Service, **body: Any) -> Headers:
    """Sign in through a connection; give the headers of the session."""
    return steps.session_of(await sign_in(service, **body))
