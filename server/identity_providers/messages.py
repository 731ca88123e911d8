"""The messages of OAuth 2.0: the authorization URL, token requests and token responses (RFC 6749).

Authlib creates the requests; `http_client.py` says why it does not send them.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from authlib.common.urls import add_params_to_qs, add_params_to_uri
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import ECKey

from domain.identity_provider import AuthorizationParams, Tokens
from server.identity_providers.configuration import Configuration, SigningKey
from server.identity_providers.http_client import ProviderError, Reply

_TOKEN = re.compile(r"[!-~]+", re.ASCII)
_KIND = re.compile(r"[A-Za-z0-9._~+-]{1,64}", re.ASCII)
_SCOPE = re.compile(r"[!#-\[\]-~]{1,255}", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,10}", re.ASCII)
_ERROR = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_LONGEST_LIFE = 10 * 365 * 86400
"""Maximum lifetime of a token in seconds; a longer one counts as this."""
_PASSING = ("server_error", "temporarily_unavailable")
"""Error codes that mean that the provider is at fault, whatever the status (RFC 6749, 4.1.2.1)."""
_SECRET_LIFE = timedelta(minutes=5)
"""Lifetime of a client secret that is created for one call."""


def authorization_url(configuration: Configuration, endpoint: str, question: AuthorizationParams) -> str:
    """Return the authorization URL: `endpoint` with the parameters of the request, percent-encoded."""
    scopes = question.scopes
    if configuration.traits.is_openid and "openid" not in scopes:
        scopes = ("openid", *scopes)
    more = {"login_hint": question.login_hint}
    if question.forces_authentication:
        more["prompt"] = "login"
    if configuration.traits.is_openid and configuration.preset.nonce:
        more["nonce"] = question.nonce
    if configuration.pkce:
        more["code_challenge"] = create_s256_code_challenge(question.verifier)  # defence: V57 code-challenge
        more["code_challenge_method"] = "S256"  # defence: V31 V57 code-challenge-method
    url = prepare_grant_uri(
        endpoint,
        configuration.client_id,
        "code",
        redirect_uri=question.redirect_uri,
        scope=scopes,
        state=question.state,
        **more,
    )
    extra = [(name, value) for name, value in configuration.extra_params.items() if name not in more]
    return str(add_params_to_uri(url, extra))  # defence: V61 encoded-parameters


def code_request(
    configuration: Configuration, redirect_uri: str, code: str, verifier: str, now: datetime
) -> tuple[str, Mapping[str, str]]:
    """Return the form and the headers of the request that exchanges an authorization code for tokens.

    `verifier` is the code verifier of PKCE.
    """
    proof = verifier if configuration.pkce else None
    form = prepare_token_request(
        "authorization_code", redirect_uri=redirect_uri, code=code, code_verifier=proof
    )
    return _authenticated(configuration, form, now)


def refresh_request(
    configuration: Configuration, refresh_token: str, now: datetime
) -> tuple[str, Mapping[str, str]]:
    """Return the form and the headers of the request that refreshes tokens."""
    form = prepare_token_request("refresh_token", refresh_token=refresh_token)
    return _authenticated(configuration, form, now)


def _authenticated(configuration: Configuration, form: str, now: datetime) -> tuple[str, Mapping[str, str]]:
    """Add the client's credentials to the form or to a header (RFC 6749, 2.3.1); a public client has only its id."""
    secret = configuration.secret
    if configuration.signing_key is not None:
        secret = signed_secret(configuration, configuration.signing_key, now)
    if secret is not None and configuration.token_auth == "basic":  # noqa: S105 - the name of a method
        pair = f"{quote(configuration.client_id, safe='')}:{quote(secret, safe='')}"
        return form, {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    own = [("client_id", configuration.client_id)]
    own += [("client_secret", secret)] if secret is not None else []
    return str(add_params_to_qs(form, own)), {}


def signed_secret(configuration: Configuration, key: SigningKey, now: datetime) -> str:
    """Return the JWT that Apple accepts as the client secret; it is valid for five minutes."""
    issued = int(now.timestamp())
    claims = {
        "iss": key.team_id,
        "sub": configuration.client_id,
        "aud": configuration.issuers[0],
        "iat": issued,
        "exp": issued + int(_SECRET_LIFE.total_seconds()),
    }
    return jwt.encode({"alg": "ES256", "kid": key.key_id}, claims, ECKey.import_key(key.pem))


def granted(reply: Reply) -> Mapping[str, Any] | None:
    """Return the members of a token response, or None if the provider refused the request.

    Raises ProviderError if the response is not an object, or reports a fault of the provider.
    """
    answer = reply.members
    if answer.get("error") in _PASSING:
        raise ProviderError("the token endpoint is out of order")
    if not reply.is_success or answer.get("error") or answer.get("ok") is False:
        return None
    return answer


def error_code(reply: Reply) -> str | None:
    """Return the error code of a refusal, such as `invalid_client`, for the log; None if it is not a valid code."""
    error = reply.members.get("error")
    return error if isinstance(error, str) and _ERROR.fullmatch(error) else None


def tokens_of(answer: Mapping[str, Any], now: datetime) -> Tokens:
    """Return the tokens of a token response. Raises ProviderError for a member of the wrong type."""
    access_token = _text(answer, "access_token", _TOKEN)
    if access_token is None:
        raise ProviderError("the token endpoint gave no access token")
    refresh_life = (
        "refresh_token_expires_in" if "refresh_token_expires_in" in answer else "refresh_expires_in"
    )
    return Tokens(
        access_token=access_token,
        refresh_token=_text(answer, "refresh_token", _TOKEN),
        id_token=_text(answer, "id_token", _TOKEN),
        token_type=_text(answer, "token_type", _KIND),
        scopes=_scopes(answer.get("scope")),
        access_token_expires_at=_end(answer, "expires_in", now),
        # Some servers say 0 of a refresh token that does not end.
        refresh_token_expires_at=_end(answer, refresh_life, now) if answer.get(refresh_life) != 0 else None,
    )


def is_sendable(access_token: str) -> bool:
    """Return whether an access token can be sent in a header; one that an application has posted may be any text."""
    return _TOKEN.fullmatch(access_token) is not None


def bearer(access_token: str) -> Mapping[str, str]:
    """Return the Authorization header with an access token."""
    return {"Authorization": f"Bearer {access_token}"}


def _text(answer: Mapping[str, Any], name: str, form: re.Pattern[str]) -> str | None:
    value = answer.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not form.fullmatch(value):  # defence: R15 text-form
        raise ProviderError(f"{name} is not what it should be")
    return value


def _scopes(value: object) -> tuple[str, ...] | None:
    """Return scopes that are separated by spaces, by commas (GitHub), or a list (Twitch)."""
    if value is None:
        return None
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    if not isinstance(value, Sequence) or not all(
        isinstance(scope, str) and _SCOPE.fullmatch(scope) for scope in value
    ):
        raise ProviderError("scope is not what it should be")
    return tuple(dict.fromkeys(value))


def _end(answer: Mapping[str, Any], name: str, now: datetime) -> datetime | None:
    """Return the expiry time for a lifetime in seconds, which some servers send as text."""
    value = answer.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and _SECONDS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ProviderError(f"{name} is not what it should be")
    return now + timedelta(seconds=int(min(value, _LONGEST_LIFE)))
