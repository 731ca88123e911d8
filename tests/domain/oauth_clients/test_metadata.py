"""Client metadata: what is accepted, what is added, and what is wrong."""

import re
from dataclasses import replace
from typing import Any

import pytest
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from domain.oauth_clients import metadata
from domain.oauth_clients.metadata import DEVICE_CODE, InvalidMetadata
from domain.oauth_clients.policy import ClientPolicy, Resource
from models.oauth_client import ClientSource

POLICY = ClientPolicy(
    scopes={"orders:read": "Read your orders"},
    resources={"https://api.shop.example": Resource("Orders", ("orders:read",), "jwt", None)},
    registration="off",
    client_documents=False,
    client_document_hosts=(),
    client_management="off",
    configured={},
    algorithms=("ES256", "RS256"),
    audiences=(),
    is_development=False,
)
SHOP = {"client_name": "Shop", "redirect_uris": ["https://shop.example/callback"]}
PUBLIC = ECKey.generate_key("P-256").as_dict(private=False)


def complete(**members: Any) -> dict[str, Any]:
    """Return the metadata of the shop with these members."""
    return metadata.complete({**SHOP, **members}, POLICY)


def test_defaults() -> None:
    assert complete() == {
        "client_name": "Shop",
        "application_type": "web",
        "redirect_uris": ["https://shop.example/callback"],
        "post_logout_redirect_uris": [],
        "token_endpoint_auth_method": "client_secret_basic",
        "grant_types": ["authorization_code"],
        "scope": "openid profile email",
        "resources": [],
        "client_credentials_scopes": [],
        "id_token_signed_response_alg": "RS256",
        "skip_consent": False,
        "session_sign_in": False,
        "resource_server": [],
    }


def test_complete_metadata_stays_as_it_is() -> None:
    sent = {
        **SHOP,
        "application_type": "native",
        "post_logout_redirect_uris": ["com.example.shop:/bye"],
        "token_endpoint_auth_method": "private_key_jwt",
        "jwks": {"keys": [{**PUBLIC, "kid": "1"}]},
        "grant_types": ["authorization_code", "refresh_token", "client_credentials", DEVICE_CODE],
        "scope": "openid offline_access orders:read",
        "resources": ["https://api.shop.example"],
        "client_credentials_scopes": ["orders:read"],
        "id_token_signed_response_alg": "ES256",
        "backchannel_logout_uri": "https://shop.example/logout",
        "client_uri": "https://shop.example",
        "logo_uri": "https://shop.example/logo.png",
        "tos_uri": "https://shop.example/terms",
        "policy_uri": "https://shop.example/privacy",
        "contacts": ["ops@shop.example"],
        "skip_consent": True,
        "session_sign_in": True,
        "resource_server": ["https://api.shop.example"],
    }

    assert metadata.complete(sent, POLICY) == sent
    assert metadata.complete({**sent, "unknown": 1, "tos_uri": None}, POLICY) == {
        name: value for name, value in sent.items() if name != "tos_uri"
    }


def test_a_client_without_the_code_grant_needs_no_redirect_uri() -> None:
    device = {"client_name": "Television", "grant_types": [DEVICE_CODE], "token_endpoint_auth_method": "none"}

    assert metadata.complete(device, POLICY)["redirect_uris"] == []


def test_without_rs256_the_first_algorithm_is_the_default() -> None:
    policy = replace(POLICY, algorithms=("EdDSA", "ES256"))

    assert metadata.complete(SHOP, policy)["id_token_signed_response_alg"] == "EdDSA"


@pytest.mark.parametrize(
    ("members", "member"),
    [
        ({"client_name": None}, "client_name"),
        ({"client_name": ""}, "client_name"),
        ({"client_name": "  "}, "client_name"),
        ({"client_name": "x" * 65}, "client_name"),
        ({"client_name": "Shop\u202egro"}, "client_name"),
        ({"client_name": "Shop\n"}, "client_name"),
        ({"client_name": 7}, "client_name"),
        ({"application_type": "mobile"}, "application_type"),
        ({"application_type": []}, "application_type"),
        ({"redirect_uris": []}, "redirect_uris"),
        ({"redirect_uris": None}, "redirect_uris"),
        ({"redirect_uris": "https://shop.example/callback"}, "redirect_uris"),
        ({"redirect_uris": [7]}, "redirect_uris"),
        ({"redirect_uris": {"a": 1}}, "redirect_uris"),
        ({"redirect_uris": ["http://shop.example/callback"]}, "redirect_uris"),
        ({"redirect_uris": ["http://127.0.0.1/callback"]}, "redirect_uris"),
        ({"redirect_uris": [f"https://shop.example/{n}" for n in range(21)]}, "redirect_uris"),
        ({"post_logout_redirect_uris": ["javascript:alert(1)"]}, "post_logout_redirect_uris"),
        (
            {"post_logout_redirect_uris": [f"https://shop.example/{n}" for n in range(21)]},
            "post_logout_redirect_uris",
        ),
        ({"token_endpoint_auth_method": "client_secret_jwt"}, "token_endpoint_auth_method"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "jwks"),
        ({"jwks": {"keys": [PUBLIC]}}, "jwks"),
        ({"jwks_uri": "https://169.254.169.254/keys"}, "jwks_uri"),
        ({"software_statement": "x.y.z"}, "software_statement"),
        ({"response_types": ["token"]}, "response_types"),
        ({"response_types": ["code", "id_token"]}, "response_types"),
        ({"grant_types": []}, "grant_types"),
        ({"grant_types": ["implicit"]}, "grant_types"),
        ({"grant_types": ["password"]}, "grant_types"),
        ({"grant_types": ["client_credentials"], "token_endpoint_auth_method": "none"}, "grant_types"),
        ({"grant_types": ["refresh_token"]}, "grant_types"),
        ({"scope": ""}, "scope"),
        ({"scope": "openid  email"}, "scope"),
        ({"scope": "openid unknown"}, "scope"),
        ({"scope": "openid offline_access"}, "scope"),
        ({"scope": ["openid"]}, "scope"),
        ({"resources": ["https://other.example"]}, "resources"),
        ({"client_credentials_scopes": ["openid"]}, "client_credentials_scopes"),
        ({"client_credentials_scopes": ["unknown"]}, "client_credentials_scopes"),
        ({"id_token_signed_response_alg": "HS256"}, "id_token_signed_response_alg"),
        ({"id_token_signed_response_alg": "none"}, "id_token_signed_response_alg"),
        ({"client_uri": "http://shop.example"}, "client_uri"),
        ({"logo_uri": "javascript:alert(1)"}, "logo_uri"),
        ({"logo_uri": "data:image/png;base64,x"}, "logo_uri"),
        ({"tos_uri": "https://shop.example/" + "x" * 2048}, "tos_uri"),
        ({"policy_uri": 7}, "policy_uri"),
        ({"contacts": ["x" * 255]}, "contacts"),
        ({"contacts": [""]}, "contacts"),
        ({"contacts": [f"{n}@shop.example" for n in range(11)]}, "contacts"),
        ({"skip_consent": "yes"}, "skip_consent"),
        ({"session_sign_in": 1}, "session_sign_in"),
        ({"resource_server": ["https://other.example"]}, "resource_server"),
        (
            {"resource_server": ["https://api.shop.example"], "token_endpoint_auth_method": "none"},
            "resource_server",
        ),
    ],
)
@pytest.mark.threat("O1", "O11", "O13")
def test_what_is_wrong_is_named(members: dict[str, Any], member: str) -> None:
    with pytest.raises(InvalidMetadata) as raised:
        complete(**members)

    assert raised.value.member == member
    assert str(raised.value).startswith(f"{member} ")


@pytest.mark.parametrize(
    ("members", "rule"),
    [
        ({"redirect_uris": ["http://shop.example/"]}, "an https URL of another machine"),
        ({"redirect_uris": ["http://localhost/"], "application_type": "native"}, "http://127.0.0.1"),
        ({"post_logout_redirect_uris": ["https://shop.example/#x"]}, "without a fragment"),
        ({"grant_types": ["password"]}, "authorization_code, refresh_token, client_credentials"),
        ({"resources": ["https://other.example"]}, "oauth.resources"),
        ({"resource_server": ["https://other.example"]}, "oauth.resources"),
        ({"client_credentials_scopes": ["openid"]}, "oauth.scopes"),
        ({"scope": "openid,email"}, "separated by spaces"),
    ],
)
def test_what_is_allowed_is_said(members: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidMetadata, match=re.escape(rule)):
        complete(**members)


def test_http_urls_of_this_machine_are_allowed_in_development_only() -> None:
    with pytest.raises(InvalidMetadata) as raised:
        complete(redirect_uris=["http://shop.example/"])
    assert "http URL of this machine" not in str(raised.value)

    with pytest.raises(InvalidMetadata, match="or an http URL of this machine"):
        metadata.complete(
            {"client_name": "Shop", "redirect_uris": ["http://shop.example/"]},
            replace(POLICY, is_development=True),
        )


@pytest.mark.parametrize(
    "key",
    [
        ECKey.generate_key("P-256").as_dict(private=False),
        OKPKey.generate_key("Ed25519").as_dict(private=False),
        RSAKey.generate_key(2048).as_dict(private=False),
    ],
    ids=["EC", "OKP", "RSA"],
)
def test_a_public_key_of_each_type(key: dict[str, Any]) -> None:
    kept = complete(
        token_endpoint_auth_method="private_key_jwt",
        jwks={"keys": [{**key, "use": "sig", "x5u": "https://evil.example"}], "more": 1},
    )

    assert kept["jwks"] == {"keys": [{name: key[name] for name in key if name in _KEPT}]}


_KEPT = ("kty", "crv", "kid", "x", "y", "n", "e")


@pytest.mark.parametrize(
    "jwks",
    [
        None,
        [],
        {},
        {"keys": []},
        {"keys": {}},
        {"keys": [7]},
        {"keys": [PUBLIC] * 6},
        {"keys": [{}]},
        {"keys": [ECKey.generate_key("P-256").as_dict(private=True)]},
        {"keys": [OctKey.generate_key().as_dict(private=True)]},
        {"keys": [ECKey.generate_key("P-384").as_dict(private=False)]},
        {"keys": [OKPKey.generate_key("X25519").as_dict(private=False)]},
        {"keys": [{"kty": "RSA", "n": "x" * 171, "e": "AQAB"}]},
        {"keys": [{**PUBLIC, "alg": "HS256"}]},
        {"keys": [{**PUBLIC, "alg": ["ES256"]}]},
        {"keys": [{**PUBLIC, "use": "enc"}]},
        {"keys": [{**PUBLIC, "kid": 7}]},
        {"keys": [{**PUBLIC, "kid": "x" * 257}]},
        {"keys": [{**PUBLIC, "x": "short"}]},
        {"keys": [{**PUBLIC, "x": f"{PUBLIC['x']}"[:-1] + "!"}]},
        {"keys": [{**PUBLIC, "y": None}]},
    ],
)
@pytest.mark.threat("O12")
def test_other_keys_are_refused(jwks: Any) -> None:
    with pytest.raises(InvalidMetadata) as raised:
        complete(token_endpoint_auth_method="private_key_jwt", jwks=jwks)

    assert raised.value.member == "jwks"


@pytest.mark.parametrize(
    ("member", "sources"),
    [
        ("skip_consent", {"cli", "config"}),
        ("session_sign_in", {"cli", "config"}),
        ("resource_server", {"cli", "config"}),
        ("backchannel_logout_uri", {"cli", "config", "admin"}),
        ("client_credentials_scopes", {"cli", "config", "admin", "dynamic"}),
    ],
)
@pytest.mark.threat("O13")
def test_privileged_members(member: str, sources: set[str]) -> None:
    for source in ClientSource:
        kept = metadata.permitted({member: True, "client_name": "Shop"}, source)
        assert kept == ({member: True} if source in sources else {}) | {"client_name": "Shop"}
        if source in sources:
            metadata.check_permitted({member: True}, source)
        else:
            with pytest.raises(InvalidMetadata, match=member):
                metadata.check_permitted({member: True}, source)
            metadata.check_permitted({member: None}, source)
