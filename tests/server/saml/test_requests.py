"""Authentication requests: what a browser carries to the identity provider."""

import zlib
from base64 import b64decode
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from lxml import etree

from domain.sso.saml import PERSISTENT, AuthenticationRequest
from tests.server.saml.provider import (
    ACS,
    ENTITY_ID,
    NAMESPACES,
    NOW,
    SAML,
    SIGN_IN,
    Element,
    key,
    own,
    provider,
)

REQUEST = AuthenticationRequest("_request1", "state & more")


def sent(url: str) -> tuple[Element, dict[str, list[str]]]:
    """Return the message in a URL, and all parameters."""
    parameters = parse_qs(urlsplit(url).query, strict_parsing=True)
    return etree.fromstring(zlib.decompress(b64decode(parameters["SAMLRequest"][0]), -15)), parameters


def test_a_request_names_both_sides_and_where_to_respond() -> None:
    url = SAML.request_sign_in(own(), provider(), REQUEST, NOW)

    message, parameters = sent(url)
    assert url.startswith(f"{SIGN_IN}?SAMLRequest=")
    assert dict(message.attrib) == {
        "ID": "_request1",
        "Version": "2.0",
        "IssueInstant": "2026-11-28T12:00:00Z",
        "Destination": SIGN_IN,
        "AssertionConsumerServiceURL": ACS,
        "ProtocolBinding": "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
    }
    assert message.findtext("saml:Issuer", None, NAMESPACES) == ENTITY_ID
    assert parameters.keys() == {"SAMLRequest", "RelayState"}
    assert parameters["RelayState"] == ["state & more"]


def test_a_request_can_force_authentication_and_ask_for_a_format() -> None:
    request = replace(
        REQUEST, force_authentication=True, name_id_format=PERSISTENT, login_hint="ada@example.com"
    )

    message, parameters = sent(SAML.request_sign_in(own(), provider(), request, NOW))
    assert message.get("ForceAuthn") == "true"
    policy = message.find("samlp:NameIDPolicy", NAMESPACES)
    assert dict(policy.attrib) == {"AllowCreate": "true", "Format": PERSISTENT}
    assert parameters["login_hint"] == ["ada@example.com"]


def test_a_query_of_the_provider_is_kept() -> None:
    url = SAML.request_sign_in(own(), replace(provider(), sign_in_url=f"{SIGN_IN}?idpid=C01"), REQUEST, NOW)

    assert parse_qs(urlsplit(url).query)["idpid"] == ["C01"]


def test_a_signature_covers_the_query_as_sent() -> None:
    url = SAML.request_sign_in(own(), provider(), replace(REQUEST, is_signed=True), NOW)

    signed, _, signature = urlsplit(url).query.partition("&Signature=")
    assert [pair.partition("=")[0] for pair in signed.split("&")] == ["SAMLRequest", "RelayState", "SigAlg"]
    public: Any = x509.load_pem_x509_certificate(key("own").certificate.encode()).public_key()
    value = b64decode(parse_qs(f"Signature={signature}")["Signature"][0])
    public.verify(value, signed.encode(), PKCS1v15(), hashes.SHA256())


def test_a_signature_needs_a_key() -> None:
    with pytest.raises(ValueError, match="key"):
        SAML.request_sign_in(replace(own(), keys=()), provider(), replace(REQUEST, is_signed=True), NOW)
