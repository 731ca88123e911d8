"""How the provider issues: Authlib's grants over the memory of `state.py`, and the ID tokens they carry."""

import json
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9207 import IssuerParameter
from authlib.oidc.core.grants import OpenIDCode, OpenIDToken
from flask import Flask
from joserfc import jws
from joserfc.jwk import KeySet
from joserfc.util import to_bytes

from tests.labs.provider.keys import sign
from tests.labs.provider.state import CLIENT, Claims, Client, Code, State, Token


def tampered(values: Claims, changes: Claims) -> Claims:
    """Return values with changes; None removes one."""
    return {name: value for name, value in {**values, **changes}.items() if value is not None}


def make_issuing(app: Flask, state: State) -> AuthorizationServer:
    """Return the authorization server of Authlib with all that this provider grants."""

    def save_token(token: dict[str, Any], request: Any) -> None:
        state.tokens.append(
            Token(token["access_token"], token.get("refresh_token"), token.get("scope", ""), request.user)
        )

    app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True
    server = AuthorizationServer(app, {CLIENT.client_id: CLIENT}.get, save_token)
    server.register_grant(_code_grant(state), [CodeChallenge(required=True), _IdTokens(state)])
    server.register_grant(_refresh_grant(state), [_RefreshedIdTokens(state)])
    server.register_extension(_Issuer(state))
    return server


def with_expiry(state: State, token: Claims) -> Claims:
    """Return a token answer with the expiries and omissions that the controls ask for."""
    controls = state.controls
    changes: Claims = {"expires_in": controls.expires_in}
    if controls.refresh_expires_in is not None:
        changes |= dict.fromkeys(
            ("refresh_expires_in", "refresh_token_expires_in"), controls.refresh_expires_in
        )
    if controls.omit_refresh_token:
        changes["refresh_token"] = None
    return tampered(token, changes)


def _code_grant(state: State) -> type[AuthorizationCodeGrant]:
    class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
        def save_authorization_code(self, code: str, request: Any) -> None:
            asked = request.payload.data
            state.codes[code] = Code(
                code,
                redirect_uri=request.payload.redirect_uri,
                scope=request.scope,
                user=request.user,
                nonce=asked.get("nonce"),
                code_challenge=asked.get("code_challenge"),
                code_challenge_method=asked.get("code_challenge_method"),
                auth_time=state.now(),
            )

        def query_authorization_code(self, code: str, client: Client) -> Code | None:
            return state.codes.get(code)

        def delete_authorization_code(self, authorization_code: Code) -> None:
            del state.codes[authorization_code.code]

        def authenticate_user(self, authorization_code: Code) -> Claims:
            return authorization_code.user

    return CodeGrant


def _refresh_grant(state: State) -> type[RefreshTokenGrant]:
    class RefreshGrant(RefreshTokenGrant):  # type: ignore[misc]
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post")
        INCLUDE_NEW_REFRESH_TOKEN = True

        def authenticate_refresh_token(self, refresh_token: str) -> Token | None:
            found = [one for one in state.tokens if one.refresh_token == refresh_token and not one.revoked]
            return found[0] if found else None

        def authenticate_user(self, refresh_token: Token) -> Claims:
            return refresh_token.user

        def revoke_old_credential(self, refresh_token: Token) -> None:
            refresh_token.revoked = True

    return RefreshGrant


class _Issuer(IssuerParameter):  # type: ignore[misc]
    """The parameter `iss` of redirects (RFC 9207), when it is switched on."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get_issuer(self) -> str | None:
        sent = self._state.controls.send_iss
        return sent if isinstance(sent, str) else self._state.issuer if sent else None


class _Signing:
    """ID tokens as Authlib makes them; what a test wants otherwise is changed afterwards."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get_client_algorithm(self, client: Client) -> str:
        return self._state.controls.algorithm

    def get_encode_header(self, client: Client) -> dict[str, Any]:
        algorithm = self.get_client_algorithm(client)
        return {"alg": algorithm, "kid": self._state.keys().of(algorithm).kid}

    def resolve_client_private_key(self, client: Client) -> KeySet:
        return KeySet([self._state.keys().of(self.get_client_algorithm(client))])

    def get_client_claims(self, client: Client) -> Claims:
        now = self._state.now()
        return {"iss": self._state.issuer, "aud": client.client_id, "iat": now, "exp": now + 3600}

    def exists_nonce(self, nonce: str, request: Any) -> bool:
        return any(code.nonce == nonce for code in self._state.codes.values())

    def generate_user_info(self, user: Claims, scope: str) -> Claims:
        return tampered(user, {})

    def encode_id_token(self, token: dict[str, Any], request: Any) -> str:
        honest: str = super().encode_id_token(token, request)  # type: ignore[misc]
        controls = self._state.controls
        if not controls.id_token and not controls.id_token_header and controls.sign_with == "own":
            return honest
        content = jws.extract_compact(to_bytes(honest))
        claims = tampered(json.loads(content.payload), controls.id_token)
        header = tampered(dict(content.headers()), controls.id_token_header)
        return sign(self._state.keys(), header, claims, controls.sign_with)


class _IdTokens(_Signing, OpenIDCode):  # type: ignore[misc]
    """ID tokens beside the tokens for a code."""

    require_nonce = False


class _RefreshedIdTokens(_Signing, OpenIDToken):  # type: ignore[misc]
    """ID tokens beside renewed tokens."""
