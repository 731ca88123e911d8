"""The token endpoint beside a server of Authlib as it comes: they differ only where they are meant to."""

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from authlib.oauth2 import OAuth2Request
from authlib.oauth2.rfc6749 import AuthorizationServer, OAuth2Payload, grants
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7636 import CodeChallenge

from domain.oauth.authorization_code import challenge_of
from tests.conftest import Headers, MakeService, SignIn
from tests.oauth import REDIRECT_URI, OAuthTestClient, add_client
from tests.oauth_codes import EVERYTHING, SETTINGS, VERIFIER, add_code, error, first_tokens
from tests.service import Service

SAMPLES = [100, pytest.param(1000, marks=pytest.mark.long)]
SCOPES = "openid email read offline_access"
OWN_SCOPES = EVERYTHING["client_credentials_scopes"]
POST = ("client_secret_post",)
LIMITLESS = {"limits.enabled": "false"}


@dataclass(frozen=True)
class Stored:
    """A client, a code or a refresh token of Authlib's server, with the methods that it asks for."""

    client_id: str
    secret: str | None = None
    scopes: str = SCOPES
    redirect_uri: str | None = REDIRECT_URI
    code_challenge: str = challenge_of(VERIFIER)
    code_challenge_method: str = "S256"

    def check_client_secret(self, secret: str) -> bool:
        return secret == self.secret

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_post"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in EVERYTHING["grant_types"]

    def get_allowed_scope(self, scope: str | None) -> str | None:
        return " ".join(OWN_SCOPES) if scope is None else scope or None

    def check_client(self, client: "Stored") -> bool:
        return client.client_id == self.client_id

    def get_redirect_uri(self) -> str:
        return self.redirect_uri or ""

    def get_scope(self) -> str:
        return self.scopes


class Payload(OAuth2Payload):  # type: ignore[misc]  # Authlib has no types
    """The form of a request."""

    data: Any = None
    datalist: Any = None

    def __init__(self, form: Mapping[str, str]) -> None:
        self.data = form
        self.datalist = defaultdict(list, {name: [value] for name, value in form.items()})


class Request(OAuth2Request):  # type: ignore[misc]  # Authlib has no types
    """A request with a form."""

    def __init__(self, form: Mapping[str, str]) -> None:
        super().__init__("POST", "https://stock.example/token")
        self.payload = Payload(form)

    @property
    def form(self) -> Mapping[str, str]:
        form: Mapping[str, str] = self.payload.data
        return form


class CodeGrant(grants.AuthorizationCodeGrant):  # type: ignore[misc]  # Authlib has no types
    TOKEN_ENDPOINT_AUTH_METHODS = POST

    def query_authorization_code(self, code: str, client: Stored) -> Stored | None:
        found = self.server.codes.get(code)
        return found if found is not None and found.check_client(client) else None

    def authenticate_user(self, code: Stored) -> Stored:
        return code

    def delete_authorization_code(self, code: Stored) -> None:
        self.server.codes.clear()


class RefreshGrant(grants.RefreshTokenGrant):  # type: ignore[misc]  # Authlib has no types
    TOKEN_ENDPOINT_AUTH_METHODS = POST
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, token: str) -> Stored | None:
        found: Stored | None = self.server.refresh.get(token)
        return found

    def authenticate_user(self, token: Stored) -> Stored:
        return token

    def revoke_old_credential(self, token: Stored) -> None:
        self.server.refresh.clear()


class ClientGrant(grants.ClientCredentialsGrant):  # type: ignore[misc]  # Authlib has no types
    TOKEN_ENDPOINT_AUTH_METHODS = POST


class Stock(AuthorizationServer):  # type: ignore[misc]  # Authlib has no types
    """Authlib's server over dictionaries."""

    def __init__(self, clients: Mapping[str, Stored]) -> None:
        super().__init__([*SCOPES.split(), *OWN_SCOPES])
        self.clients = clients
        self.codes: dict[str, Stored] = {}
        self.refresh: dict[str, Stored] = {}
        self.register_grant(CodeGrant, [CodeChallenge()])
        self.register_grant(RefreshGrant)
        self.register_grant(ClientGrant)
        self.register_token_generator("default", BearerTokenGenerator(lambda **_: "a", lambda **_: "r"))

    def query_client(self, client_id: str) -> Stored | None:
        return self.clients.get(client_id)

    def save_token(self, token: object, request: object) -> None:
        """Store nothing."""

    def send_signal(self, name: str, *args: object, **kwargs: object) -> None:
        """Send nothing."""

    def create_oauth2_request(self, request: Any) -> Request:
        return Request(request)

    def handle_response(self, status: int, body: Any, headers: object) -> tuple[int, Any]:
        return status, body


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({**SETTINGS, **LIMITLESS})


@pytest.mark.parametrize("samples", SAMPLES)
async def test_random_requests(service: Service, sign_up: SignIn, samples: int) -> None:
    ada, chance = await sign_up(), random.Random(samples)
    own, other = [await add_client(service, **EVERYTHING) for _ in range(2)]
    outcomes: set[str] = set()
    for number in range(samples):
        code, refresh = await credentials(service, own, ada)
        stock = Stock({each.client_id: Stored(each.client_id, each.secret) for each in (own, other)})
        form = random_form(chance, own, other, code, refresh)
        # OAuth 2.1 does not ask for the redirect URI at this place.
        stock.codes[code] = Stored(
            own.client_id, redirect_uri=REDIRECT_URI if "redirect_uri" in form else None
        )
        stock.refresh[refresh] = Stored(own.client_id)

        ours = await service.client.post("/oauth2/token", data=form)
        status, body = stock.create_token_response(form)

        theirs = dict(body)
        expected = meant(
            form, theirs.get("error"), {own.client_id: own.secret, other.client_id: other.secret}
        )
        assert (ours.json().get("error")) == expected, (number, form, theirs, ours.text)
        if expected is None and status == 200:
            assert set(ours.json()["scope"].split()) == set(theirs["scope"].split()), form
        outcomes.add(error(ours))
    assert len(outcomes) >= 6


async def credentials(service: Service, client: OAuthTestClient, session: Headers) -> tuple[str, str]:
    """Return a code and a refresh token of a client."""
    code = await add_code(service, client, session, scopes=SCOPES)
    issued = await first_tokens(service, client, session, SCOPES)
    return code, issued["refresh_token"]


def random_form(
    chance: random.Random, own: OAuthTestClient, other: OAuthTestClient, code: str, refresh: str
) -> dict[str, str]:
    """Return a request, of which most parameters are right."""
    pick = partial(_pick, chance)
    grant_type = chance.choice([*EVERYTHING["grant_types"], *EVERYTHING["grant_types"], "password", None])
    form = {
        "grant_type": grant_type,
        "client_id": pick(own.client_id, other.client_id, "app_" + "x" * 24),
        "client_secret": pick(own.secret, other.secret, "gws_" + "x" * 32),
        "code": pick(code, "gwc_" + "x" * 32, refresh),
        "code_verifier": pick(VERIFIER, "w" * 43, "short", "w" * 129),
        "redirect_uri": pick(REDIRECT_URI, REDIRECT_URI + "/", "https://evil.example/"),
        "refresh_token": pick(refresh, "gwr_" + "x" * 32, code),
        "scope": chance.choice([None, None, "read", "read list", "openid email", "openid admin", "list"]),
    }
    return {name: value for name, value in form.items() if value is not None}


def _pick(chance: random.Random, right: str | None, *wrong: str | None) -> str | None:
    return right if chance.random() < 0.85 else chance.choice([None, *wrong])


def meant(form: Mapping[str, str], theirs: str | None, clients: Mapping[str, str | None]) -> str | None:
    """Return the error that the service is meant to have where Authlib has `theirs`; None for tokens.

    `clients` are the secrets by client id.
    """
    sent: defaultdict[str, str] = defaultdict(str, form)
    grant_type, is_refused = sent["grant_type"], theirs == "invalid_grant"
    is_client = sent["client_secret"] and clients.get(sent["client_id"]) == sent["client_secret"]
    asked = set(sent["scope"].split())
    has_form = 43 <= len(sent["code_verifier"]) <= 128
    differences = (
        # The client comes first: nobody else learns what is wrong with the rest.
        (not is_client, "invalid_client"),
        (not grant_type, "invalid_request"),
        # A client has scopes for itself that differ from those of its users.
        (grant_type == "client_credentials" and not asked <= set(OWN_SCOPES), "invalid_scope"),
        # The form of the request comes before the code.
        (
            grant_type == "authorization_code" and is_refused and "code" in form and not has_form,
            "invalid_request",
        ),
    )
    return next((outcome for is_so, outcome in differences if is_so), theirs)
