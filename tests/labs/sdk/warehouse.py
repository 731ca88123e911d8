"""An application that calls the API of an example with access tokens: for itself and for a user."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from domain.oauth.authorization_code import challenge_of
from tests.service import NO_TLS

STOCK, PRICES = "https://stock.example.com", "https://prices.example.com"
"""The API of the examples, and another one."""
CALLBACK = "https://warehouse.example.com/callback"
VERIFIER = "v" * 43

SETTINGS = {
    "oauth.scopes": json.dumps({"stock:read": "Stock", "stock:write": "Stock", "prices:read": "Prices"}),
    "oauth.resources": json.dumps(
        {
            STOCK: {"name": "Stock", "scopes": ["stock:read", "stock:write"]},
            PRICES: {"name": "Prices", "scopes": ["prices:read"]},
        }
    ),
}
"""The settings of the service."""

CREATE = (
    "clients", "create", "Warehouse", "--json", "--skip-consent", "--redirect-uri", CALLBACK,
    "--grant-type", "authorization_code", "--grant-type", "client_credentials",
    "--scope", "openid stock:read stock:write prices:read", "--resource", STOCK, "--resource", PRICES,
    "--client-credentials-scope", "stock:read", "--client-credentials-scope", "prices:read",
)  # fmt: skip
"""The command that registers the application."""

Call = Callable[[str, str, dict[str, str]], httpx.Response]
"""Sends a request to the API: by a method, to a path, with these headers."""


@dataclass(frozen=True, slots=True)
class Warehouse:
    """The application, and the service that it gets tokens from."""

    service: str
    client_id: str
    secret: str

    def for_itself(self, resource: str, scope: str) -> str:
        """Return an access token without a user."""
        form = {"grant_type": "client_credentials", "resource": resource, "scope": scope}
        return str(self._tokens(form)["access_token"])

    def for_user(self, session: str, scope: str) -> dict[str, Any]:
        """Return the tokens for the user of a session."""
        sent = {
            "response_type": "code", "client_id": self.client_id, "redirect_uri": CALLBACK, "scope": scope,
            "resource": STOCK, "state": "s" * 16, "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
        }  # fmt: skip
        url = f"{self.service}/oauth2/authorize?{urlencode(sent)}"
        headers = {"Cookie": f"service.session-token={session}"}
        returned = httpx.get(url, headers=headers, verify=NO_TLS, trust_env=False).headers["location"]
        [code] = parse_qs(urlsplit(returned).query)["code"]
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": VERIFIER,
            "resource": STOCK,
        }  # fmt: skip
        return self._tokens(form)

    def _tokens(self, form: dict[str, str]) -> dict[str, Any]:
        answer = httpx.post(
            f"{self.service}/oauth2/token",
            data=form,
            auth=(self.client_id, self.secret),
            verify=NO_TLS,
            trust_env=False,
        )
        return dict(answer.raise_for_status().json())

    def check(self, call: Call, session: str, user_id: str, session_token: str) -> None:
        """Check that an API lets access tokens in by audience and scope, and nothing else.

        `session_token` is a JWT of the session.
        """

        def refused(method: str, path: str, token: str) -> tuple[int, str, str]:
            response = call(method, path, {"Authorization": f"Bearer {token}"} if token else {})
            body = response.json()
            code = body.get("detail", body)["code"]
            return response.status_code, code, response.headers["www-authenticate"]

        reads = self.for_itself(STOCK, "stock:read")
        of_user = self.for_user(session, "openid stock:read stock:write")
        for token, user in ((reads, None), (of_user["access_token"], user_id)):
            let_in = call("GET", "/stock", {"Authorization": f"Bearer {token}"})
            assert (let_in.status_code, let_in.json()) == (200, {"by": self.client_id, "for": user})
        changed = call("POST", "/stock/change", {"Authorization": f"Bearer {of_user['access_token']}"})
        assert changed.status_code == 200

        assert refused("GET", "/stock", "") == (401, "UNAUTHORIZED", "Bearer")
        wrong = {
            "for another API": self.for_itself(PRICES, "prices:read"),
            "an ID token": of_user["id_token"],
            "a session": session,
            "a token of the session": session_token,
            "another signature": reads[:-4] + "AAAA",
        }
        answers = {name: refused("GET", "/stock", token) for name, token in wrong.items()}
        assert answers == dict.fromkeys(wrong, (401, "INVALID_TOKEN", 'Bearer error="invalid_token"'))
        challenge = 'Bearer error="insufficient_scope", scope="stock:write"'
        assert refused("POST", "/stock/change", reads) == (403, "INSUFFICIENT_SCOPE", challenge)


def registered(service: str, printed: str) -> Warehouse:
    """Return the application that the command has registered, by what it has printed."""
    created = json.loads(printed)
    return Warehouse(service, created["client_id"], created["client_secret"])
