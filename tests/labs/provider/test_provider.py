"""The provider keeps to the standards, seen through Authlib's own client, and breaks them as told."""

import hmac
import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import OpenIDProviderMetadata
from joserfc import jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet, RSAKey

from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.state import CLIENT_ID, CLIENT_SECRET
from tests.service import START

BACK = "http://localhost:8000/callback/test"
VERIFIER = "v" * 64
ALGORITHMS = ["RS256", "PS256", "ES256", "Ed25519", "EdDSA"]


@pytest.fixture
def oauth() -> Iterator[OAuth2Session]:
    """Authlib's client, as registered at the provider."""
    with OAuth2Session(
        CLIENT_ID,
        CLIENT_SECRET,
        redirect_uri=BACK,
        scope="openid email profile",
        code_challenge_method="S256",
        token_endpoint_auth_method="client_secret_post",
        default_timeout=10,
    ) as session:
        session.trust_env = False
        yield session


def come_back(provider: ProviderProcess, oauth: OAuth2Session, path: str = "/authorize", **more: str) -> str:
    """Ask for a code as the first test user; give the address the provider leads back to."""
    parameters = {"code_verifier": VERIFIER, "nonce": "n-1", "login_hint": "ada@example.com", **more}
    address, _ = oauth.create_authorization_url(provider.issuer + path, **parameters)
    answer = provider.http.get(address)
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


def exchange(
    provider: ProviderProcess, oauth: OAuth2Session, back: str, verifier: str = VERIFIER
) -> dict[str, Any]:
    """Exchange the code of an address the provider led back to."""
    token: dict[str, Any] = oauth.fetch_token(
        f"{provider.issuer}/token", authorization_response=back, code_verifier=verifier
    )
    return token


def keys(provider: ProviderProcess) -> KeySet:
    return KeySet.import_key_set(provider.http.get(f"{provider.issuer}/jwks").json())


def claims_of(provider: ProviderProcess, token: str) -> dict[str, Any]:
    """Verify an ID token by the published keys, and give its claims."""
    return dict(jwt.decode(token, keys(provider), ALGORITHMS).claims)


class TestStandards:
    def test_discovery_is_valid(self, provider: ProviderProcess) -> None:
        metadata = provider.http.get(f"{provider.issuer}/.well-known/openid-configuration").json()

        secure = {name: _as_https(value) for name, value in metadata.items()}
        OpenIDProviderMetadata(secure).validate()
        assert metadata["issuer"] == provider.issuer
        assert provider.http.get(metadata["jwks_uri"]).json()["keys"]

    def test_a_code_becomes_tokens(self, provider: ProviderProcess, oauth: OAuth2Session) -> None:
        token = exchange(provider, oauth, come_back(provider, oauth))

        claims = CodeIDToken(
            claims_of(provider, token["id_token"]),
            {"alg": "RS256"},
            {"iss": {"value": provider.issuer}, "aud": {"value": CLIENT_ID}},
            {"nonce": "n-1", "client_id": CLIENT_ID, "access_token": token["access_token"]},
        )
        claims.validate(now=int(START.timestamp()))
        assert (claims["sub"], claims["email"], claims["email_verified"]) == ("1001", "ada@example.com", True)

    def test_a_wrong_verifier_is_refused(self, provider: ProviderProcess, oauth: OAuth2Session) -> None:
        back = come_back(provider, oauth)

        with pytest.raises(OAuthError, match="invalid_grant"):
            exchange(provider, oauth, back, verifier="w" * 64)

    def test_a_code_works_once(self, provider: ProviderProcess, oauth: OAuth2Session) -> None:
        back = come_back(provider, oauth)
        exchange(provider, oauth, back)

        with pytest.raises(OAuthError, match="invalid_grant"):
            exchange(provider, oauth, back)

    def test_a_wrong_secret_is_refused(self, provider: ProviderProcess, oauth: OAuth2Session) -> None:
        back = come_back(provider, oauth)
        oauth.client_secret = "wrong"

        with pytest.raises(OAuthError, match="invalid_client"):
            exchange(provider, oauth, back)

    def test_only_the_callback_of_a_service_on_the_loopback_is_led_to(
        self, provider: ProviderProcess
    ) -> None:
        address = f"{provider.issuer}/authorize?response_type=code&client_id={CLIENT_ID}&scope=openid"

        answer = provider.http.get(
            f"{address}&redirect_uri=https://evil.test/callback/test&login_hint=a@b.test"
        )

        assert answer.status_code == 400


class TestControl:
    def test_strangers_keys_do_not_verify(self, provider: ProviderProcess) -> None:
        token = provider.mint(sign_with="stranger")

        with pytest.raises(BadSignatureError):
            claims_of(provider, token)

    @pytest.mark.parametrize("algorithm", [None, "HS256", "nOnE", "RS256"])
    def test_any_algorithm_may_be_claimed_for_a_key_taken_as_a_secret(
        self, provider: ProviderProcess, algorithm: str | None
    ) -> None:
        [pem] = [key.as_pem(private=False) for key in keys(provider).keys if isinstance(key, RSAKey)]

        token = provider.mint(header={"alg": algorithm}, sign_with="hmac-public-key")

        content, _, signature = token.rpartition(".")
        assert _decoded(signature) == hmac.digest(pem, content.encode(), "sha256")
        assert json.loads(_decoded(content.split(".")[0])).get("alg") == algorithm

    def test_a_control_that_is_none_is_refused(self, provider: ProviderProcess) -> None:
        with pytest.raises(AssertionError, match="no such control"):
            provider.control(usr={})
        with pytest.raises(AssertionError, match="no such misbehaviour"):
            provider.control(misbehave={"token": {"explode": True}})


def _as_https(value: Any) -> Any:
    """Return an address as it would be on the internet, where the standard wants https."""
    return value.replace("http://", "https://") if isinstance(value, str) else value


def _decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))
