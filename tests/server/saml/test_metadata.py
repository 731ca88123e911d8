"""Metadata: that of identity providers is read, that of the service is written; and certificates."""

from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from lxml import etree

from domain.sso.saml import EMAIL_ADDRESS, MetadataRefused
from server.crypto import certificates
from server.saml import names
from tests.processor import processor_seconds
from tests.server.saml.provider import (
    ACS,
    ENTITY_ID,
    ISSUER,
    LOGOUT,
    NOW,
    SAML,
    SIGN_IN,
    SLO,
    at,
    key,
    own,
    self_signed,
)

NAMESPACES = {"md": names.MD, "ds": names.DS}


def bare(certificate: str) -> str:
    """Return a certificate as metadata has it."""
    return "\n".join(certificate.strip().splitlines()[1:-1])


def descriptor(certificate: str, use: str = 'use="signing"') -> str:
    return (
        f"<md:KeyDescriptor {use}><ds:KeyInfo><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate>"
        "</ds:X509Data></ds:KeyInfo></md:KeyDescriptor>"
    )


def metadata(**changes: str) -> bytes:
    parts = {
        "prolog": '<?xml version="1.0" encoding="UTF-8"?>',
        "root": "",
        "role": f'WantAuthnRequestsSigned="true" protocolSupportEnumeration="{names.SAMLP}"',
        "keys": descriptor(bare(key().certificate)),
        "logout": f'<md:SingleLogoutService Binding="{names.REDIRECT}" Location="{LOGOUT}"/>',
        "sign_in": f'<md:SingleSignOnService Binding="{names.POST}" Location="https://idp.example.com/post"/>'
        f'<md:SingleSignOnService Binding="{names.REDIRECT}" Location="{SIGN_IN}"/>',
        "id": ISSUER,
        **changes,
    }
    return (
        f'{parts["prolog"]}<md:EntityDescriptor xmlns:md="{names.MD}" xmlns:ds="{names.DS}" entityID="{parts["id"]}"'
        f" {parts['root']}><md:IDPSSODescriptor {parts['role']}>{parts['keys']}{parts['logout']}"
        f"<md:NameIDFormat>{EMAIL_ADDRESS}</md:NameIDFormat>{parts['sign_in']}</md:IDPSSODescriptor>"
        "</md:EntityDescriptor>"
    ).encode()


class TestReading:
    def test_everything_that_a_connection_needs(self) -> None:
        found = SAML.read_metadata(metadata(), NOW)

        assert found == (
            ISSUER, SIGN_IN, LOGOUT, None, [SAML.certificate_facts(key().certificate)], True
        )  # fmt: skip

    def test_optional_parts(self) -> None:
        answers = f'<md:SingleLogoutService Binding="{names.REDIRECT}" Location="{LOGOUT}" ResponseLocation="{SLO}"/>'

        without = SAML.read_metadata(
            metadata(logout="", role=f'protocolSupportEnumeration="{names.SAMLP}"'), NOW
        )
        assert (without.logout_url, without.logout_response_url, without.wants_signed_requests) == (
            None,
            None,
            False,
        )
        assert SAML.read_metadata(metadata(logout=answers), NOW).logout_response_url == SLO

    def test_several_certificates_and_each_once(self) -> None:
        keys = [
            descriptor(bare(key().certificate)),
            descriptor(bare(key().certificate), ""),
            descriptor(bare(key("next").certificate), ""),
            descriptor(bare(key("own").certificate), 'use="encryption"'),
        ]

        found = SAML.read_metadata(metadata(keys="".join(keys)), NOW).certificates
        assert [one.pem for one in found] == [key().certificate, key("next").certificate]

    def test_comments_and_a_group_of_one(self) -> None:
        inner = metadata(prolog="").decode()
        group = (
            f'<!-- exported --><md:EntitiesDescriptor xmlns:md="{names.MD}">{inner}</md:EntitiesDescriptor>'
        )

        assert SAML.read_metadata(group.encode(), NOW) == SAML.read_metadata(metadata(), NOW)

    def test_an_expired_certificate_is_read(self) -> None:
        old = certificates.generate("old", NOW - 2 * certificates.LIFETIME)

        (found,) = SAML.read_metadata(metadata(keys=descriptor(bare(old.certificate))), NOW).certificates
        assert found.not_after < NOW

    @pytest.mark.parametrize(
        ("document", "named"),
        [
            (metadata(id=""), "entityID"),
            (metadata(id="x" * 2_049), "entityID"),
            (metadata(keys=""), "KeyDescriptor"),
            (metadata(keys=descriptor("none")), "X509Certificate"),
            (metadata(keys=descriptor("")), "X509Certificate"),
            (metadata(keys=descriptor("AAAA" * 10_000)), "X509Certificate"),
            (
                metadata(role='protocolSupportEnumeration="urn:oasis:names:tc:SAML:1.1:protocol"'),
                "protocolSupport",
            ),
            (metadata(sign_in=""), "SingleSignOnService"),
            (
                metadata(
                    sign_in=f'<md:SingleSignOnService Binding="{names.POST}" Location="https://x.test"/>'
                ),
                "Redirect",
            ),
            (metadata(root=f'validUntil="{at(0)}"'), "validUntil"),
            (metadata(root='validUntil="never"'), "malformed"),
            (b"<html/>", "0 identity providers"),
            (b"{}", "malformed"),
            (b"", "malformed"),
            (metadata().replace(b"IDPSSODescriptor", b"SPSSODescriptor"), "application"),
        ],
    )
    def test_what_is_wrong_is_named(self, document: bytes, named: str) -> None:
        with pytest.raises(MetadataRefused, match=named):
            SAML.read_metadata(document, NOW)

    def test_two_providers_are_refused(self) -> None:
        inner = metadata(prolog="").decode()

        with pytest.raises(MetadataRefused, match="2 identity providers"):
            SAML.read_metadata(f"<a>{inner}{inner}</a>".encode(), NOW)

    def test_many_certificates_are_refused(self) -> None:
        made = [key(f"number {number % 3}").certificate for number in range(3)]
        keys = [
            self_signed(rsa.generate_private_key(public_exponent=65537, key_size=2_048)) for _ in range(8)
        ]
        every = [*made, *(one.certificate for one in keys)]

        with pytest.raises(MetadataRefused, match="more than 10"):
            SAML.read_metadata(metadata(keys="".join(descriptor(bare(one)) for one in every)), NOW)

    @pytest.mark.threat("SSO2")
    @pytest.mark.parametrize("prolog", ["<!DOCTYPE a>", '<!DOCTYPE a [<!ENTITY b "c">]>', "<?php a?>"])
    def test_types_and_instructions_are_refused(self, prolog: str) -> None:
        with pytest.raises(MetadataRefused, match="forbidden_xml"):
            SAML.read_metadata(metadata(prolog=prolog), NOW)

    @pytest.mark.threat("SSO2")
    def test_more_than_a_mebibyte_is_refused(self) -> None:
        with pytest.raises(MetadataRefused, match="1 MiB"):
            SAML.read_metadata(metadata() + b" " * 1_048_576, NOW)

    @pytest.mark.parametrize(
        "location",
        [
            "javascript:alert(1)", "//evil.test", "", "/sso", "https://", "https://a:b@idp.test/", "https://[",
            "https://idp.test/#a", "https://idp.test/ a", "ftp://idp.test/", "https://\u0430.test/",
            f"https://idp.test/{'a' * 2_048}",
        ],
    )  # fmt: skip
    def test_addresses_are_urls(self, location: str) -> None:
        sign_in = f'<md:SingleSignOnService Binding="{names.REDIRECT}" Location="{location}"/>'

        with pytest.raises(MetadataRefused, match="SingleSignOnService"):
            SAML.read_metadata(metadata(sign_in=sign_in), NOW)
        with pytest.raises(MetadataRefused, match="SingleLogoutService"):
            SAML.read_metadata(metadata(logout=sign_in.replace("SignOn", "Logout")), NOW)


class TestWriting:
    def test_names_the_endpoints_and_the_keys(self) -> None:
        rotated = replace(own(), keys=(key("newer"), key("own")))

        root = etree.fromstring(SAML.write_metadata(rotated, signs_requests=True))
        role = root.find("md:SPSSODescriptor", NAMESPACES)
        assert root.get("entityID") == ENTITY_ID
        assert (role.get("WantAssertionsSigned"), role.get("AuthnRequestsSigned")) == ("true", "true")
        acs = role.find("md:AssertionConsumerService", NAMESPACES)
        assert (acs.get("Location"), acs.get("Binding")) == (ACS, names.POST)
        logout = role.findall("md:SingleLogoutService", NAMESPACES)
        assert {(one.get("Location"), one.get("Binding")) for one in logout} == {
            (SLO, names.REDIRECT),
            (SLO, names.POST),
        }
        certificate = "ds:KeyInfo/ds:X509Data/ds:X509Certificate"
        assert [
            (one.get("use"), one.findtext(certificate, None, NAMESPACES))
            for one in role.findall("md:KeyDescriptor", NAMESPACES)
        ] == [
            (use, bare(key(name).certificate).replace("\n", ""))
            for use, name in (("signing", "newer"), ("encryption", "newer"), ("signing", "own"))
        ]

    def test_without_keys_and_logout(self) -> None:
        written = SAML.write_metadata(replace(own(), keys=(), logout_url=None), signs_requests=False)

        assert b'AuthnRequestsSigned="false"' in written
        assert b"KeyDescriptor" not in written
        assert b"SingleLogoutService" not in written


class TestCertificates:
    def test_facts_are_those_of_the_certificate(self) -> None:
        made = SAML.generate_key("Acme <&> Söhne" + "x" * 80, NOW)

        found = SAML.certificate_facts(f"\n{made.certificate} ")
        assert found == SAML.certificate_facts(bare(made.certificate))
        assert found.subject.startswith("CN=Acme \\<&\\> Söhne")
        assert found.not_before == NOW - timedelta(hours=1)
        assert found.not_after == NOW + certificates.LIFETIME
        assert found.pem == made.certificate
        assert len(found.fingerprint) == 64
        public = x509.load_pem_x509_certificate(made.certificate.encode()).public_key()
        assert isinstance(public, rsa.RSAPublicKey)
        assert public.key_size == 2_048

    @pytest.mark.threat("SSO4")
    def test_weak_keys_are_refused(self) -> None:
        weak = self_signed(rsa.generate_private_key(public_exponent=65537, key_size=1_024))

        with pytest.raises(MetadataRefused, match="2048"):
            SAML.certificate_facts(weak.certificate)

    @pytest.mark.parametrize(
        "text",
        ["", "x", b64encode(b"certificate").decode(), "-----BEGIN PRIVATE KEY-----\nAAAA\n", "A" * 20_000],
    )
    def test_other_texts_are_refused(self, text: str) -> None:
        with pytest.raises(MetadataRefused, match="X509Certificate"):
            SAML.certificate_facts(text)

    def test_another_version_is_refused(self) -> None:
        der = b64decode(bare(key().certificate)).replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x17", 1)

        with pytest.raises(MetadataRefused, match="X509Certificate"):
            SAML.certificate_facts(b64encode(der).decode())

    @pytest.mark.threat("SSO2")
    def test_much_white_space_is_refused_in_little_time(self) -> None:
        with processor_seconds() as spent:
            with pytest.raises(MetadataRefused, match="X509Certificate"):
                SAML.certificate_facts(" " * 1_500 + "!")
            assert spent() < 0.5
