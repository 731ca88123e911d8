"""Sign a user in by Authlib's client for httpx; verify tokens by joserfc with nothing but the keys of the service."""

import json
import os
import secrets
import sys
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from authlib.integrations.httpx_client import OAuth2Client, OAuthError
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from authlib.oauth2.rfc7523.assertion import private_key_jwt_sign
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

TOLD = json.loads(os.environ["APPLICATION"])
SCOPE = "openid profile email offline_access"


def ask(question: dict[str, Any]) -> Any:
    """Have the user do something; return the result."""
    print(json.dumps(question), flush=True)
    return json.loads(sys.stdin.readline())


class ShortLived(PrivateKeyJWT):  # type: ignore[misc]
    """Authentication by assertions that expire after a minute; those of Authlib live an hour, longer than allowed."""

    def sign(self, auth: Any, token_endpoint: str) -> Any:
        """Return the assertion."""
        return private_key_jwt_sign(
            auth.client_secret,
            auth.client_id,
            token_endpoint,
            alg=self.alg,
            header=self.headers,
            expires_in=60,
        )


class Application:
    """A client that knows nothing but its registration and the issuer."""

    def __init__(self) -> None:
        method, secret = TOLD["method"], TOLD["secret"]
        is_by_key = method == "private_key_jwt"
        self.client = OAuth2Client(
            TOLD["client_id"],
            ECKey.import_key(TOLD["private_key"]) if is_by_key else secret,
            scope=SCOPE,
            redirect_uri=TOLD["redirect_uri"],
            token_endpoint_auth_method=method,
            revocation_endpoint_auth_method=method,
            code_challenge_method="S256",
            trust_env=False,
        )
        found = self.client.request(
            "GET", f"{TOLD['issuer']}/.well-known/openid-configuration", withhold_token=True
        )
        self.server = found.raise_for_status().json()
        assert self.server["issuer"] == TOLD["issuer"]
        if is_by_key:
            made = ShortLived if TOLD.get("lifetime") is None else PrivateKeyJWT
            self.client.register_client_auth_method(
                made(self.server["token_endpoint"], headers={"kid": TOLD["private_key"]["kid"]}, alg="ES256")
            )

    @property
    def keys(self) -> KeySet:
        """The keys of the service."""
        found = self.client.request("GET", self.server["jwks_uri"], withhold_token=True)
        return KeySet.import_key_set(found.raise_for_status().json())

    def authorize(self, scope: str, resource: str | None = None, **more: str) -> dict[str, Any]:
        """Send the user through the service; return the tokens, with the claims of the ID token."""
        verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(16)
        target = {} if resource is None else {"resource": resource}
        url, state = self.client.create_authorization_url(
            self.server["authorization_endpoint"],
            code_verifier=verifier,
            nonce=nonce,
            scope=scope,
            **target,
            **more,
        )
        self.callback, self.verifier = ask({"open": url}), verifier
        response = dict(parse_qsl(urlsplit(self.callback).query))
        assert response["iss"] == TOLD["issuer"]
        # Authlib only looks for a code.
        if "error" in response:
            raise OAuthError(response["error"], response["error_description"])
        tokens = self.fetch(state=state, **target)
        return {**tokens, "claims": self.claims(tokens, nonce)}

    def fetch(self, **more: str) -> dict[str, Any]:
        """Redeem the code of the last authorization response."""
        return dict(
            self.client.fetch_token(
                self.server["token_endpoint"],
                authorization_response=self.callback,
                code_verifier=self.verifier,
                **more,
            )
        )

    def claims(self, tokens: dict[str, Any], nonce: str | None) -> dict[str, Any]:
        """Verify an ID token; return its claims."""
        token = jwt.decode(tokens["id_token"], self.keys, algorithms=[TOLD["id_token_alg"]])
        expected = {"iss": {"value": TOLD["issuer"]}, "aud": {"value": TOLD["client_id"]}}
        parameters = {
            "nonce": nonce, "client_id": TOLD["client_id"], "access_token": tokens["access_token"],
        }  # fmt: skip
        CodeIDToken(token.claims, token.header, expected, parameters).validate()
        return dict(token.claims)

    def access(self, token: str) -> dict[str, Any]:
        """Verify an access token as its resource server does; return its claims."""
        decoded = jwt.decode(token, self.keys, algorithms=["RS256", "ES256"])
        assert decoded.header["typ"] == "at+jwt"
        registry = jwt.JWTClaimsRegistry(
            iss={"essential": True, "value": TOLD["issuer"]},
            aud={"essential": True, "value": TOLD["api"]},
            exp={"essential": True},
            jti={"essential": True},
        )
        registry.validate(decoded.claims)
        return dict(decoded.claims)

    def is_active(self, token: str) -> bool:
        """Ask the service for the state of a token."""
        found = self.client.introspect_token(self.server["introspection_endpoint"], token=token)
        return bool(found.raise_for_status().json()["active"])

    def refusal(self, call: Any, *arguments: Any, **more: Any) -> str | None:
        """Return the error code that a call fails with."""
        try:
            call(*arguments, **more)
        except OAuthError as error:
            return str(error.error)
        return None


def journey() -> dict[str, Any]:
    """Go from discovery to logout; return what was seen."""
    application = Application()
    client, server = application.client, application.server
    seen: dict[str, Any] = {}
    tokens = application.authorize(SCOPE)
    seen["claims"] = tokens["claims"]
    seen["user"] = client.get(server["userinfo_endpoint"]).raise_for_status().json()
    seen["replay"] = application.refusal(application.fetch)

    client.token = tokens
    refreshed = dict(client.refresh_token(server["token_endpoint"]))
    seen["rotated"] = refreshed["refresh_token"] != tokens["refresh_token"]
    seen["refreshed"] = application.claims(refreshed, None)["sub"]
    if TOLD["method"] != "none":
        seen["active"] = application.is_active(refreshed["access_token"])
        own = client.fetch_token(
            server["token_endpoint"],
            grant_type="client_credentials",
            scope="orders:read",
            resource=TOLD["api"],
        )
        seen["own"] = application.access(own["access_token"])

    orders = application.authorize("openid orders:read", resource=TOLD["api"])
    seen["api"] = application.access(orders["access_token"])

    client.revoke_token(
        server["revocation_endpoint"], token=refreshed["refresh_token"], token_type_hint="refresh_token"
    ).raise_for_status()
    seen["revoked"] = application.refusal(
        client.refresh_token, server["token_endpoint"], refresh_token=refreshed["refresh_token"]
    )
    if TOLD["method"] != "none":
        seen["inactive"] = application.is_active(refreshed["access_token"])

    leave = {
        "id_token_hint": refreshed["id_token"],
        "post_logout_redirect_uri": TOLD["post_logout_redirect_uri"],
        "state": "bye",
    }
    seen["left"] = ask({"open": f"{server['end_session_endpoint']}?{urlencode(leave)}"})
    seen["silent"] = application.refusal(application.authorize, "openid", prompt="none")
    return seen


def assertion_of_an_hour() -> dict[str, Any]:
    """Return the error for the assertions that Authlib makes by itself."""
    application = Application()
    call = application.client.fetch_token
    token_endpoint = application.server["token_endpoint"]
    return {
        "error": application.refusal(
            call, token_endpoint, grant_type="client_credentials", scope="orders:read"
        )
    }


print(json.dumps({"done": assertion_of_an_hour() if TOLD.get("lifetime") else journey()}), flush=True)
