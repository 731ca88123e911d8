"""Sign users in with the service as the OpenID provider: authorization code flow with PKCE."""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from .errors import ApiError, Forbidden, Unauthenticated, Unavailable, unavailable
from .keys import keys_of
from .service import Gatewright
from .tokens import TokenVerifier

USER, ID_TOKEN, ATTEMPT = "user", "id_token", "sign_in"
"""Keys in the session of the application."""

Attempt = Mapping[str, str]
"""The secrets of a sign-in that has begun. They stay in the session of the browser that began it."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A user who has signed in: the claims of the ID token, and the tokens."""

    claims: Mapping[str, Any]
    id_token: str
    access_token: str
    refresh_token: str | None

    @property
    def user(self) -> dict[str, Any]:
        """Return the user for the session of the application; `sub` never changes."""
        names = ("sub", "name", "email", "email_verified")
        return {name: self.claims[name] for name in names if name in self.claims}


class SignIn:
    """An application that is registered as an OAuth client; without a secret if it is a public one.

    `redirect_uri` and `after_sign_out` are URLs that are registered for the client.
    """

    def __init__(
        self,
        service: Gatewright,
        client_id: str,
        client_secret: str | None,
        redirect_uri: str,
        *,
        after_sign_out: str | None = None,
        scope: str = "openid profile email",
    ) -> None:
        self._service = service
        self._client_id = client_id
        self._client_secret = client_secret
        self._redirect_uri = redirect_uri
        self._after_sign_out = after_sign_out
        self._scope = scope
        self._verifier = TokenVerifier(service.base_url, client_id, keys_of(service))

    def begin(self, **parameters: str) -> tuple[str, dict[str, str]]:
        """Return the URL to redirect the browser to, and the attempt to store in its session.

        `parameters` are further ones of the authorization request, such as `prompt="login"`.
        """
        attempt = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "code_verifier")}
        challenge = urlsafe_b64encode(sha256(attempt["code_verifier"].encode()).digest()).rstrip(b"=")
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self._redirect_uri,
            "scope": self._scope,
            "state": attempt["state"],
            "nonce": attempt["nonce"],
            "code_challenge": challenge.decode(),
            "code_challenge_method": "S256",
            **parameters,
        }
        return f"{self._service.base_url}/oauth2/authorize?{urlencode(query)}", attempt

    def finish(self, query: Mapping[str, str], attempt: Attempt | None) -> SignedIn:
        """Return the user of a browser that has returned with this query; the attempt is then used up.

        Raises Unauthenticated for a browser that has not begun this sign-in, Forbidden if the user has not allowed it,
        and Unavailable.
        """
        if attempt is None or not secrets.compare_digest(
            query.get("state", "").encode(), attempt["state"].encode()
        ):
            raise Unauthenticated("INVALID_STATE", "This browser has not begun to sign in")
        # RFC 9207: another provider that the application uses could send its own code.
        if query.get("iss", self._service.base_url) != self._service.base_url:
            raise Unauthenticated("INVALID_ISSUER", "The response is from another provider")
        if "error" in query or "code" not in query:
            raise Forbidden(
                query.get("error", "invalid_request"), query.get("error_description", "Not signed in")
            )
        tokens = self._exchange(query["code"], attempt["code_verifier"])
        claims = self._verifier.verify(tokens["id_token"])
        if claims.get("nonce") != attempt["nonce"]:
            raise Unauthenticated("INVALID_NONCE", "The ID token is of another sign-in")
        return SignedIn(claims, tokens["id_token"], tokens["access_token"], tokens.get("refresh_token"))

    def sign_out_url(self, id_token: str) -> str:
        """Return the URL to redirect the browser to, which ends the session at the service too."""
        query = {"id_token_hint": id_token, "client_id": self._client_id}
        if self._after_sign_out is not None:
            query["post_logout_redirect_uri"] = self._after_sign_out
        return f"{self._service.base_url}/oauth2/end-session?{urlencode(query)}"

    def _exchange(self, code: str, code_verifier: str) -> dict[str, str]:
        """Return the tokens for a code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "code_verifier": code_verifier,
        }
        authentication = httpx.Auth()  # adds nothing
        if self._client_secret is None:
            form["client_id"] = self._client_id
        else:  # RFC 6749, 2.3.1
            authentication = httpx.BasicAuth(
                quote(self._client_id, safe=""), quote(self._client_secret, safe="")
            )
        try:
            response = self._service.client.post("/oauth2/token", data=form, auth=authentication)
            tokens: dict[str, str] = response.json()
            return {"id_token": tokens["id_token"], **tokens}
        except Unavailable:
            raise
        except ApiError as error:
            raise Unauthenticated(error.code, error.message) from error
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise unavailable("Users cannot sign in now") from error
