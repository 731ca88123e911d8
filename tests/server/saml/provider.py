"""A small identity provider: it writes responses and signs them, well or badly, as a test asks.

Its signatures are made without the library that the service verifies them with."""

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP, PSS, PKCS1v15
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from lxml import etree

from domain.sso.saml import (
    ExpectedResponse,
    KeyCertificate,
    SamlIdentityProvider,
    SamlMessages,
    SamlRefusal,
    SamlRefused,
    SamlServiceProvider,
    VerifiedAssertion,
)
from server.crypto import certificates
from server.saml import names
from server.saml.service_provider import ServiceProvider

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
ISSUER = "https://idp.example.com/metadata"
SIGN_IN = "https://idp.example.com/sso"
LOGOUT = "https://idp.example.com/slo"
ENTITY_ID = "https://auth.example.com/sso/saml2/sp/metadata?providerId=acme"
ACS = "https://auth.example.com/sso/saml2/sp/acs/acme"
SLO = "https://auth.example.com/sso/saml2/sp/slo/acme"
REQUEST_ID = "_request1"
NAMESPACES = {"samlp": names.SAMLP, "saml": names.SAML, "ds": names.DS, "xenc": names.XENC}
SAML: SamlMessages = ServiceProvider()
Element = Any


@cache
def key(name: str = "provider") -> KeyCertificate:
    """Return a key with its certificate, always the same for a name."""
    return certificates.generate(name, NOW)


def self_signed(private: Any) -> KeyCertificate:
    """Return a key of any kind with its certificate."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "provider")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
        .sign(private, hashes.SHA256())
    )
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return KeyCertificate(pem, certificate.public_bytes(Encoding.PEM).decode())


@cache
def own() -> SamlServiceProvider:
    """Return the service provider."""
    return SamlServiceProvider(ENTITY_ID, ACS, SLO, (key("own"),))


def provider(*pinned: str) -> SamlIdentityProvider:
    """Return the identity provider as the service knows it, with its certificate unless others are pinned."""
    return SamlIdentityProvider(ISSUER, SIGN_IN, pinned or (key().certificate,), LOGOUT)


EXPECTED = ExpectedResponse(live_requests={REQUEST_ID, "_request2"})


def at(seconds: float) -> str:
    """Return a time this long after now, as messages have it."""
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass(frozen=True)
class Answer:
    """A response that is to be written; each field is text of the XML."""

    response: str = "_response1"
    assertion: str = "_assertion1"
    destination: str = f'Destination="{ACS}"'
    in_response_to: str = f'InResponseTo="{REQUEST_ID}"'
    issuer: str = f"<saml:Issuer>{ISSUER}</saml:Issuer>"
    status: str = f'<samlp:StatusCode Value="{names.SUCCESS}"/>'
    assertion_issuer: str = ISSUER
    issued: str = at(0)
    name_id: str = (
        '<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">ada-4711</saml:NameID>'
    )
    confirmation: str = (
        f'<saml:SubjectConfirmationData NotOnOrAfter="{at(300)}" Recipient="{ACS}"'
        f' InResponseTo="{REQUEST_ID}"/>'
    )
    method: str = names.BEARER
    period: str = f'NotBefore="{at(-30)}" NotOnOrAfter="{at(300)}"'
    audience: str = (
        f"<saml:AudienceRestriction><saml:Audience>{ENTITY_ID}</saml:Audience></saml:AudienceRestriction>"
    )
    conditions: str = "<saml:Conditions {period}>{audience}</saml:Conditions>"
    session: str = f'AuthnInstant="{at(-60)}" SessionIndex="_session1" SessionNotOnOrAfter="{at(3600)}"'
    attributes: str = (
        '<saml:Attribute Name="email"><saml:AttributeValue>ada@example.com</saml:AttributeValue></saml:Attribute>'
        '<saml:Attribute Name="groups"><saml:AttributeValue>staff</saml:AttributeValue>'
        "<saml:AttributeValue>admins</saml:AttributeValue></saml:Attribute>"
    )
    extra: str = ""
    """More content of the response, at its end."""

    def assertion_xml(self) -> str:
        """Return the assertion, with a placeholder for its signature."""
        conditions = self.conditions.format(period=self.period, audience=self.audience)
        return (
            f'<saml:Assertion xmlns:saml="{names.SAML}" xmlns:ds="{names.DS}" ID="{self.assertion}" Version="2.0"'
            f' IssueInstant="{self.issued}"><saml:Issuer>{self.assertion_issuer}</saml:Issuer>'
            f'<saml:Subject>{self.name_id}<saml:SubjectConfirmation Method="{self.method}">{self.confirmation}'
            f"</saml:SubjectConfirmation></saml:Subject>{conditions}<saml:AuthnStatement {self.session}>"
            "<saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:"
            "PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>"
            f"<saml:AttributeStatement>{self.attributes}</saml:AttributeStatement></saml:Assertion>"
        )

    def response_xml(self, assertions: str) -> str:
        """Return a response around assertions."""
        return (
            f'<samlp:Response xmlns:samlp="{names.SAMLP}" xmlns:saml="{names.SAML}" ID="{self.response}" Version="2.0"'
            f' IssueInstant="{self.issued}" {self.destination} {self.in_response_to}>{self.issuer}'
            f"<samlp:Status>{self.status}</samlp:Status>{assertions}{self.extra}</samlp:Response>"
        )


MORE = "http://www.w3.org/2001/04/xmldsig-more#"
PSS_OF = "http://www.w3.org/2007/05/xmldsig-more#"
HASHES: Mapping[str, tuple[Any, str]] = {
    "sha1": (hashes.SHA1(), f"{names.DS}sha1"),
    "sha224": (hashes.SHA224(), f"{MORE}sha224"),
    "sha256": (hashes.SHA256(), f"{names.XENC}sha256"),
    "sha384": (hashes.SHA384(), f"{MORE}sha384"),
    "sha512": (hashes.SHA512(), f"{names.XENC}sha512"),
    "sha3-256": (hashes.SHA3_256(), f"{PSS_OF}sha3-256"),
}


def signed(
    xml: str | Element,
    by: KeyCertificate | None = None,
    *,
    method: str = names.RSA_SHA256,
    digest: str = "sha256",
    key_info: bool = True,
    prefixes: str = "",
) -> str:
    """Return an element with its signature behind its issuer. `prefixes` are canonicalized inclusively."""
    element = etree.fromstring(xml) if isinstance(xml, str) else xml
    by = by or key()
    algorithm, digest_name = HASHES[digest]
    inclusive = (
        f'<ec:InclusiveNamespaces xmlns:ec="{names.EXCLUSIVE}" PrefixList="{prefixes}"/>' if prefixes else ""
    )
    hashed = hashes.Hash(algorithm)
    hashed.update(
        etree.tostring(element, method="c14n", exclusive=True, inclusive_ns_prefixes=prefixes.split())
    )
    certificate = "".join(by.certificate.splitlines()[1:-1])
    info = f"<ds:KeyInfo><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
    signature = etree.fromstring(
        f'<ds:Signature xmlns:ds="{names.DS}"><ds:SignedInfo><ds:CanonicalizationMethod'
        f' Algorithm="{names.EXCLUSIVE}"/><ds:SignatureMethod Algorithm="{method}"/><ds:Reference'
        f' URI="#{element.get("ID")}"><ds:Transforms><ds:Transform Algorithm="{names.ENVELOPED}"/><ds:Transform'
        f' Algorithm="{names.EXCLUSIVE}">{inclusive}</ds:Transform></ds:Transforms><ds:DigestMethod'
        f' Algorithm="{digest_name}"/><ds:DigestValue>{b64encode(hashed.finalize()).decode()}</ds:DigestValue>'
        f"</ds:Reference></ds:SignedInfo><ds:SignatureValue/>{info if key_info else ''}</ds:Signature>"
    )
    value = _signature_over(etree.tostring(signature[0], method="c14n", exclusive=True), by, method)
    signature[1].text = b64encode(value).decode()
    element.insert(1 if len(element) and element[0].tag.endswith("}Issuer") else 0, signature)
    return str(etree.tostring(element), "ascii")


@cache
def _loaded(private_key: str) -> Any:
    return load_pem_private_key(private_key.encode(), None)


def _signature_over(message: bytes, by: KeyCertificate, method: str) -> bytes:
    """Return the signature of a message by a method of XML Signature, named by its URI."""
    private = _loaded(by.private_key)
    name = method.partition("#")[2]
    algorithm = HASHES[next(one for one in HASHES if one in name)][0]
    if name.startswith("ecdsa"):
        size = (private.key_size + 7) // 8
        numbers = decode_dss_signature(private.sign(message, ec.ECDSA(algorithm)))
        return b"".join(number.to_bytes(size, "big") for number in numbers)
    padding: Any = PSS(MGF1(algorithm), algorithm.digest_size) if name.endswith("MGF1") else PKCS1v15()
    value: bytes = private.sign(message, padding, algorithm)
    return value


def answer(*, sign: Sequence[str] = ("assertion",), **changes: str) -> str:
    """Return the XML of a response, signed where `sign` says: `assertion`, `response`, both or neither."""
    content = Answer(**changes)
    assertion = content.assertion_xml()
    if "assertion" in sign:
        assertion = signed(assertion)
    response = content.response_xml(assertion)
    return signed(response) if "response" in sign else response


def encoded(xml: str | bytes) -> str:
    """Return the field of the form that carries a document."""
    return b64encode(xml.encode() if isinstance(xml, str) else xml).decode()


def read(
    xml: str | bytes,
    expected: ExpectedResponse = EXPECTED,
    *,
    now: datetime = NOW,
    pinned: Sequence[str] = (),
    service: SamlServiceProvider | None = None,
) -> VerifiedAssertion:
    """Return what the service reads from a document."""
    return SAML.read_response(encoded(xml), service or own(), provider(*pinned), expected, now)


def refused(xml: str | bytes, expected: ExpectedResponse = EXPECTED, **more: Any) -> SamlRefusal:
    """Return why a document is refused."""
    with pytest.raises(SamlRefused) as caught:
        read(xml, expected, **more)
    return caught.value.code


CBC_256 = f"{names.XENC}aes256-cbc"
GCM_256 = f"{names.XENC11}aes256-gcm"
MGF1P = f"{names.XENC}rsa-oaep-mgf1p"
OAEP_11 = f"{names.XENC11}rsa-oaep"
RSA_1_5 = f"{names.XENC}rsa-1_5"


def sealed(content_key: bytes, algorithm: str, plaintext: bytes) -> bytes:
    """Return content encrypted by AES."""
    if algorithm.endswith("gcm"):
        nonce = os.urandom(12)
        return nonce + AESGCM(content_key).encrypt(nonce, plaintext, None)
    pad = 16 - len(plaintext) % 16
    vector = os.urandom(16)
    encryptor = Cipher(AES(content_key), CBC(vector)).encryptor()
    return vector + encryptor.update(plaintext + os.urandom(pad - 1) + bytes([pad])) + encryptor.finalize()


def encrypted(
    assertion: str,
    algorithm: str = GCM_256,
    transport: str = MGF1P,
    *,
    bits: int = 256,
    methods: str = "",
    hashing: tuple[Any, Any] = (hashes.SHA1, hashes.SHA1),
    beside: bool = False,
    change: Mapping[int, int] | None = None,
) -> str:
    """Return an encrypted assertion for the service. `change` gives bytes of the ciphertext other values."""
    content_key = os.urandom(bits // 8)
    public: Any = x509.load_pem_x509_certificate(key("own").certificate.encode()).public_key()
    digest, mask = hashing
    padding: Any = PKCS1v15() if transport == RSA_1_5 else OAEP(MGF1(mask()), digest(), None)
    content = bytearray(sealed(content_key, algorithm, assertion.encode()))
    for place, value in (change or {}).items():
        content[place] ^= value
    wrapped = (
        f'<xenc:EncryptedKey><xenc:EncryptionMethod Algorithm="{transport}">{methods}</xenc:EncryptionMethod>'
        f"<xenc:CipherData><xenc:CipherValue>{b64encode(public.encrypt(content_key, padding)).decode()}"
        "</xenc:CipherValue></xenc:CipherData></xenc:EncryptedKey>"
    )
    inside = "" if beside else f"<ds:KeyInfo>{wrapped}</ds:KeyInfo>"
    return (
        f'<saml:EncryptedAssertion xmlns:saml="{names.SAML}" xmlns:xenc="{names.XENC}" xmlns:ds="{names.DS}">'
        f'<xenc:EncryptedData Type="{names.XENC}Element"><xenc:EncryptionMethod Algorithm="{algorithm}"/>{inside}'
        f"<xenc:CipherData><xenc:CipherValue>{b64encode(content).decode()}</xenc:CipherValue></xenc:CipherData>"
        f"</xenc:EncryptedData>{wrapped if beside else ''}</saml:EncryptedAssertion>"
    )
