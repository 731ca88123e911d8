"""No operation of users accepts an OAuth token, and no endpoint of the OAuth protocol accepts a session token (O14)."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from codegen.walk import Operation
from tests.conftest import Headers, MakeService
from tests.contract.reading import DOCUMENT, JSON_OPERATIONS, bodies
from tests.handlers.steps import bearer, join, token_of, works
from tests.oauth import OAuthTestClient, add_client, basic
from tests.oauth_codes import API, EVERYTHING, SETTINGS
from tests.oauth_tokens import is_active, issue
from tests.security.second_factor import SESSION, cookie
from tests.service import Service

SCOPES = "openid profile email offline_access read"
FORM = "application/x-www-form-urlencoded"

PROTOCOL = {"oauthClientAuth", "oauthTokenAuth"}
"""The security schemes of the protocol."""


def schemes(operation: Operation) -> set[str]:
    """Return the names of the security schemes that an operation accepts; the empty one if it needs none."""
    stated: Any = operation.spec.get("security", DOCUMENT["security"])
    return {name for requirement in stated for name in (requirement or {"": []})} or {""}


OURS = {name: each for name, each in JSON_OPERATIONS.items() if not schemes(each) & {*PROTOCOL, ""}}
"""The operations that need a session, an API key or a token of ours."""

ENDPOINTS = {name: each for name, each in JSON_OPERATIONS.items() if schemes(each) & PROTOCOL}
"""The operations that authenticate by the protocol."""

CREDENTIALS = (
    "token", "code", "refresh_token", "device_code", "client_secret", "client_assertion", "code_verifier",
    "access_token", "request_uri",
)  # fmt: skip
"""The parameters in which a request of the protocol carries something secret."""


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(SETTINGS)


@pytest.fixture
async def client(service: Service) -> OAuthTestClient:
    return await add_client(service, **EVERYTHING)


async def call(
    service: Service, operation: Operation, headers: Headers, form: Mapping[str, str] | None = None
) -> httpx.Response:
    """Send a request; with a form by that, else with an empty body."""
    service.client.cookies.clear()
    path = operation.path.replace("{", "").replace("}", "")
    if operation.method == "get":
        return await service.client.get(path, headers=headers, params=form)
    if form is not None and FORM in bodies(operation):
        return await service.client.post(path, headers=headers, data=form)
    return await service.client.request(operation.method, path, headers=headers, json={**(form or {})})


@pytest.mark.threat("O14")
class TestOperationsOfUsers:
    async def test_accept_no_token_of_the_protocol(self, service: Service, client: OAuthTestClient) -> None:
        assert len(OURS) > 100
        ada = await join(service)
        opaque = await issue(service, client, ada, scopes=SCOPES)
        signed = await issue(service, client, ada, scopes=SCOPES, resources=API)
        access = opaque["access_token"]
        bare = access.removeprefix("gwa_")
        sent = [
            bearer(access),
            bearer(signed["access_token"]),
            bearer(bare),
            cookie(SESSION, bare),
            {"x-api-key": access},
        ]
        for name, operation in OURS.items():
            for headers in sent:
                answer = await call(service, operation, headers)
                assert answer.status_code == 401, f"{name}: {answer.text}"


@pytest.mark.threat("O14")
class TestEndpointsOfTheProtocol:
    async def test_accept_no_token_of_a_session(self, service: Service, client: OAuthTestClient) -> None:
        assert len(ENDPOINTS) >= 8
        ada = await join(service)
        access = (await issue(service, client, ada, scopes=SCOPES))["access_token"]
        of_session = (await service.get("/token", headers=ada)).json()["token"]
        form = {"token": access, "grant_type": "client_credentials"}
        for token in (token_of(ada), of_session):
            for name, operation in ENDPOINTS.items():
                for headers in (bearer(token), cookie(SESSION, token), basic(client.client_id, token)):
                    answer = await call(service, operation, headers, form)
                    assert answer.status_code in (400, 401), f"{name}: {answer.text}"
                for parameter in CREDENTIALS:
                    answer = await call(
                        service, operation, {}, {"client_id": client.client_id, parameter: token}
                    )
                    assert answer.status_code in (400, 401), f"{name} {parameter}: {answer.text}"
                    await check_by_client(service, client, operation, parameter, token)

        assert await works(service, ada)
        assert await is_active(service, client, access)


async def check_by_client(
    service: Service, client: OAuthTestClient, operation: Operation, parameter: str, token: str
) -> None:
    """Check that an authenticated client gets nothing for a token of a session."""
    for grant_type in ("authorization_code", "refresh_token"):
        form = {"grant_type": grant_type, parameter: token}
        answer = await call(service, operation, client.basic, form)
        is_refused = answer.status_code in (400, 401)
        assert is_refused or answer.json() in ({"active": False}, {}), f"{operation.path}: {answer.text}"
