"""Responses: what is read from a good one, and everything that a response must match."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from domain.sso.saml import (
    PERSISTENT,
    UNSPECIFIED,
    ExpectedResponse,
    NameId,
    SamlRefusal,
    SamlRefused,
)
from server.crypto import certificates
from server.saml import names
from tests.processor import processor_seconds
from tests.server.saml.provider import (
    ACS,
    CBC_256,
    ENTITY_ID,
    EXPECTED,
    GCM_256,
    ISSUER,
    MGF1P,
    MORE,
    NOW,
    OAEP_11,
    PSS_OF,
    REQUEST_ID,
    RSA_1_5,
    SAML,
    Answer,
    answer,
    at,
    encoded,
    encrypted,
    key,
    own,
    provider,
    read,
    refused,
    self_signed,
    signed,
)

UNSOLICITED = ExpectedResponse(live_requests=(), allows_unsolicited=True)
NOTHING_ASKED = {
    "in_response_to": "",
    "confirmation": f'<saml:SubjectConfirmationData NotOnOrAfter="{at(300)}" Recipient="{ACS}"/>',
}


def named(value: str) -> str:
    return f"<saml:NameID>{value}</saml:NameID>"


def email(value: str) -> str:
    return f'<saml:Attribute Name="email"><saml:AttributeValue>{value}</saml:AttributeValue></saml:Attribute>'


class TestContents:
    @pytest.mark.parametrize("sign", [("assertion",), ("response",), ("assertion", "response")], ids="+".join)
    def test_are_read_whichever_element_is_signed(self, sign: tuple[str, ...]) -> None:
        found = read(answer(sign=sign))

        assert (found.id, found.issuer, found.in_response_to) == ("_assertion1", ISSUER, REQUEST_ID)
        assert found.name_id == NameId("ada-4711", PERSISTENT)
        assert found.attributes == {"email": ("ada@example.com",), "groups": ("staff", "admins")}
        assert found.authenticated_at == NOW - timedelta(seconds=60)
        assert (found.session_index, found.session_ends_at) == ("_session1", NOW + timedelta(hours=1))
        assert found.replay_until == NOW + timedelta(seconds=360)

    def test_a_format_is_optional_and_so_is_the_name_id(self) -> None:
        assert read(answer(name_id=named("ada"))).name_id == NameId("ada", UNSPECIFIED)
        assert read(answer(name_id="")).name_id is None

    def test_an_attribute_in_parts_is_one_and_values_with_elements_are_left_out(self) -> None:
        more = '<saml:Attribute Name="email"><saml:AttributeValue><b/></saml:AttributeValue></saml:Attribute>'

        found = read(
            answer(attributes=email(" ada@example.com\n") + more + email("a@example.com") + email(""))
        )

        assert found.attributes == {"email": ("ada@example.com", "a@example.com")}

    def test_times_may_have_fractions_and_offsets(self) -> None:
        session = 'AuthnInstant="2026-11-28T12:59:30.1234567+01:00"'

        found = read(answer(session=session))

        assert found.authenticated_at == NOW - timedelta(seconds=30) + timedelta(microseconds=123456)
        assert (found.session_index, found.session_ends_at) == (None, None)

    def test_a_field_may_be_broken_into_lines_and_begin_with_a_declaration(self) -> None:
        text = encoded('<?xml version="1.0" encoding="UTF-8"?>\n' + answer())
        broken = "\r\n".join(text[start : start + 76] for start in range(0, len(text), 76))

        assert SAML.read_response(broken, own(), provider(), EXPECTED, NOW).id == "_assertion1"

    def test_a_failure_is_named_from_a_list(self) -> None:
        below = f'<samlp:StatusCode Value="{names.STATUS}AuthnFailed"/>'
        known = f'<samlp:StatusCode Value="{names.STATUS}Responder">{below}</samlp:StatusCode>'
        details = []
        for status in (known, '<samlp:StatusCode Value="&lt;script&gt;"/>', ""):
            with pytest.raises(SamlRefused) as caught:
                read(answer(sign=(), status=status))
            details.append((caught.value.code, caught.value.detail))

        assert details == [(SamlRefusal.STATUS, one) for one in ("AuthnFailed", "", "")]

    def test_nothing_personal_is_shown_by_repr(self) -> None:
        shown = repr(read(answer(name_id=named("ada@example.com")))) + repr(own())

        assert "ada@example.com" not in shown
        assert "PRIVATE KEY" not in shown


@pytest.mark.threat("SSO2")
class TestXml:
    @pytest.mark.parametrize(
        "prolog",
        [
            "<!DOCTYPE r>",
            '<!DOCTYPE r [<!ENTITY a "b">]>',
            '<!DOCTYPE r SYSTEM "http://127.0.0.1:1/x.dtd">',
            '<!DOCTYPE r [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]>',
            '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY l "lol"><!ENTITY m "&l;&l;&l;">]>',
            "<?php x?>",
            '<?xml-stylesheet href="x.xsl"?>',
            "<!-- a -->",
        ],
    )
    def test_without_types_entities_instructions_and_comments(self, prolog: str) -> None:
        assert refused(prolog + answer()) == SamlRefusal.FORBIDDEN_XML

    @pytest.mark.parametrize(
        "document",
        [
            b"",
            b"\x00",
            b"not xml",
            b"<a>&nbsp;</a>",
            b"<a>&#0;</a>",
            b"\xff\xfe<\x00a\x00/\x00>\x00",
            '<?xml version="1.0" encoding="UTF-16"?><a/>'.encode("utf-16"),
            b"<a>\xff</a>",
        ],
    )
    def test_that_cannot_be_read(self, document: bytes) -> None:
        assert refused(document) == SamlRefusal.MALFORMED

    def test_of_another_declared_encoding(self) -> None:
        assert refused('<?xml version="1.0" encoding="UTF-7"?>' + answer()) == SamlRefusal.FORBIDDEN_XML

    def test_with_a_declaration_somewhere_else(self) -> None:
        assert refused(answer(extra='<?xml version="1.0"?>')) == SamlRefusal.FORBIDDEN_XML

    def test_with_much_white_space_is_read_in_little_time(self) -> None:
        with processor_seconds() as spent:
            read(answer(extra=" " * 60_000))
            assert spent() < 0.5

    @pytest.mark.parametrize(
        "extra",
        [
            "<a>" * 60 + "</a>" * 60,
            "<a/>" * 20_000,
            "<a " + " ".join(f'a{number}="x"' for number in range(100)) + "/>",
            "<a " + " ".join(f'xmlns:a{number}="x"' for number in range(2_000)) + "/>",
        ],
        ids=["deep", "many", "wide", "namespaces"],
    )
    def test_that_is_too_complex(self, extra: str) -> None:
        assert refused(answer(extra=extra)) == SamlRefusal.TOO_COMPLEX

    def test_with_names_in_other_letters(self) -> None:
        whole = answer()

        assert (
            refused(whole.replace("<saml:Subject>", '<saml:Subject \u0430="">'))
            == SamlRefusal.SIGNATURE_INVALID
        )
        assert read(whole.replace("<samlp:Status>", '<samlp:Status \u0430="">')).id == "_assertion1"

    def test_that_is_too_large_is_not_decoded(self) -> None:
        exactly = replace(EXPECTED, most_characters=len(encoded(answer())))

        assert read(answer(), exactly).id == "_assertion1"
        assert refused(answer() + " " * 3, exactly) == SamlRefusal.TOO_LARGE
        assert refused("x" * 10_000_000) == SamlRefusal.TOO_LARGE

    def test_in_something_else_than_base64(self) -> None:
        for text in ("%%%", "PHhtbD4", "\u0430" * 8, "a"):
            with pytest.raises(SamlRefused) as caught:
                SAML.read_response(text, own(), provider(), EXPECTED, NOW)
            assert caught.value.code == SamlRefusal.ENCODING

    def test_includes_are_content_like_any_other(self) -> None:
        include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/hostname" parse="text"/>'

        assert read(answer(attributes=email(include))).attributes == {"email": ()}

    @pytest.mark.parametrize(
        "algorithm",
        [
            "http://www.w3.org/TR/1999/REC-xslt-19991116",
            "http://www.w3.org/TR/1999/REC-xpath-19991116",
            "http://www.w3.org/2002/06/xmldsig-filter2",
            "http://www.w3.org/2000/09/xmldsig#base64",
            "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
            "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
        ],
    )
    def test_transforms_are_two(self, algorithm: str) -> None:
        exclusive = f'<ds:Transform Algorithm="{names.EXCLUSIVE}"/>'
        other = f'<ds:Transform Algorithm="{algorithm}"/>'
        whole = answer()

        assert exclusive in whole
        assert refused(whole.replace(exclusive, other)) == SamlRefusal.SIGNATURE_FORM
        assert refused(whole.replace(exclusive, exclusive + other)) == SamlRefusal.SIGNATURE_FORM

    def test_a_list_of_prefixes_is_short_and_there_once(self) -> None:
        one = f'<ec:InclusiveNamespaces xmlns:ec="{names.EXCLUSIVE}" PrefixList="saml"/>'
        short, long = (signed(ASSERTION, prefixes=" ".join(["saml"] * number)) for number in (50, 60))

        assert read(in_response(short)).id == "_assertion1"
        assert refused(in_response(long)) == SamlRefusal.SIGNATURE_FORM
        two = signed(ASSERTION, prefixes="saml").replace(one, one * 2)
        assert refused(in_response(two)) == SamlRefusal.SIGNATURE_FORM

    def test_a_signature_holds_no_objects_and_canonicalizes_exclusively(self) -> None:
        inclusive = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
        method = '<ds:CanonicalizationMethod Algorithm="{}"/>'

        assert (
            refused(answer().replace("</ds:Signature>", "<ds:Object/></ds:Signature>"))
            == SamlRefusal.SIGNATURE_FORM
        )
        assert (
            refused(answer().replace(method.format(names.EXCLUSIVE), method.format(inclusive)))
            == SamlRefusal.SIGNATURE_FORM
        )


@pytest.mark.threat("SSO3")
class TestIdentifiers:
    @pytest.mark.parametrize("inside", ["<!---->", "<!-- x -->", "<?x?>"])
    def test_have_no_comments_inside(self, inside: str) -> None:
        broken = f"ada@example.com{inside}.evil.test"

        assert refused(answer().replace("ada-4711", broken)) == SamlRefusal.FORBIDDEN_XML
        assert refused(answer().replace("ada@example.com", broken)) == SamlRefusal.FORBIDDEN_XML

    def test_in_a_cdata_section_are_equal_to_text(self) -> None:
        unchanged = answer(name_id=named("ada-4711"))

        found = read(
            unchanged.replace("ada-4711", "<![CDATA[ada-]]>4711").replace("ada@e", "<![CDATA[ada@e]]>")
        )

        assert (found.name_id, found.attributes["email"]) == (NameId("ada-4711"), ("ada@example.com",))

    @pytest.mark.parametrize(
        "value",
        [
            "ada\u00a0",
            "\u00a0",
            "a\u200bda",
            "ada\u202e",
            "\ufeffada",
            "a\u00adda",
            "ada\u2028",
            "a\nda",
            "ada\ue000",
            "",
        ],
    )
    def test_without_invisible_characters(self, value: str) -> None:
        assert refused(answer(name_id=named(value))) == SamlRefusal.NAME_ID

    def test_white_space_around_is_not_part_of_them(self) -> None:
        assert read(answer(name_id=named("\n  ada \t"))).name_id == NameId("ada")

    def test_are_as_given(self) -> None:
        assert read(answer(name_id=named("Ada L"))).name_id == NameId("Ada L")
        assert read(answer(name_id=named("Ада"))).name_id == NameId("Ада")

    def test_are_not_encrypted_not_long_and_have_no_elements(self) -> None:
        for bad in ("<saml:EncryptedID/>", "<saml:BaseID/>", named("x" * 1_025), named("ada<b/>")):
            assert refused(answer(name_id=bad)) == SamlRefusal.NAME_ID
        assert refused(answer(name_id=named("ada") * 2)) == SamlRefusal.UNEXPECTED


class TestMatch:
    """Rows of other audiences: each part that names somebody is compared."""

    @pytest.mark.threat("SSO5")
    @pytest.mark.parametrize("sign", [("assertion",), ("response",)], ids="".join)
    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            (
                {"destination": 'Destination="https://auth.example.com/sso/saml2/sp/acs/other"'},
                SamlRefusal.DESTINATION,
            ),
            ({"destination": f'Destination="{ACS}/"'}, SamlRefusal.DESTINATION),
            ({"destination": 'Destination=""'}, SamlRefusal.DESTINATION),
            ({"issuer": "<saml:Issuer>https://evil.test</saml:Issuer>"}, SamlRefusal.ISSUER),
            ({"issuer": f"<saml:Issuer>{ISSUER.upper()}</saml:Issuer>"}, SamlRefusal.ISSUER),
            ({"assertion_issuer": "https://evil.test"}, SamlRefusal.ISSUER),
            ({"in_response_to": 'InResponseTo="_foreign"'}, SamlRefusal.IN_RESPONSE_TO),
            ({"in_response_to": 'InResponseTo=""'}, SamlRefusal.IN_RESPONSE_TO),
            ({"in_response_to": ""}, SamlRefusal.UNSOLICITED),
            ({"in_response_to": 'InResponseTo="_request2"'}, SamlRefusal.SUBJECT_CONFIRMATION),
            ({"audience": ""}, SamlRefusal.AUDIENCE),
            ({"audience": "<saml:AudienceRestriction/>"}, SamlRefusal.AUDIENCE),
            (
                {"audience": Answer.audience.replace(ENTITY_ID, "https://other.example.com")},
                SamlRefusal.AUDIENCE,
            ),
            (
                {
                    "audience": Answer.audience
                    + Answer.audience.replace(ENTITY_ID, "https://other.example.com")
                },
                SamlRefusal.AUDIENCE,
            ),
            (
                {"confirmation": Answer.confirmation.replace(ACS, f"{ACS}2")},
                SamlRefusal.SUBJECT_CONFIRMATION,
            ),
            (
                {"confirmation": Answer.confirmation.replace(REQUEST_ID, "_request2")},
                SamlRefusal.SUBJECT_CONFIRMATION,
            ),
            ({"confirmation": NOTHING_ASKED["confirmation"]}, SamlRefusal.SUBJECT_CONFIRMATION),
            ({"confirmation": ""}, SamlRefusal.SUBJECT_CONFIRMATION),
            ({"method": "urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"}, SamlRefusal.SUBJECT_CONFIRMATION),
            (
                {
                    "confirmation": f'<saml:SubjectConfirmationData Recipient="{ACS}" InResponseTo="{REQUEST_ID}"/>'
                },
                SamlRefusal.SUBJECT_CONFIRMATION,
            ),
        ],
    )
    def test_of_others_is_refused(
        self, changes: dict[str, str], code: SamlRefusal, sign: tuple[str, ...]
    ) -> None:
        assert refused(answer(sign=sign, **changes)) == code

    @pytest.mark.threat("SSO5")
    def test_a_response_of_another_connection_is_refused(self) -> None:
        other = replace(
            own(), entity_id="https://auth.example.com/other", acs_url="https://auth.example.com/acs/other"
        )

        assert refused(answer(), service=other) == SamlRefusal.DESTINATION
        assert refused(answer(destination=""), service=other) == SamlRefusal.AUDIENCE
        assert (
            refused(answer(destination=""), service=replace(other, entity_id=ENTITY_ID))
            == SamlRefusal.SUBJECT_CONFIRMATION
        )

    @pytest.mark.threat("SSO5")
    def test_an_unsolicited_response_is_read_where_it_is_allowed(self) -> None:
        assert read(answer(**NOTHING_ASKED), UNSOLICITED).in_response_to is None
        assert refused(answer(**NOTHING_ASKED)) == SamlRefusal.UNSOLICITED

    @pytest.mark.threat("SSO5")
    def test_where_it_is_allowed_a_request_must_be_live_all_the_same(self) -> None:
        assert refused(answer(), UNSOLICITED) == SamlRefusal.IN_RESPONSE_TO
        # The response was stripped of what binds it to a request, but its assertion is not.
        assert refused(answer(in_response_to=""), UNSOLICITED) == SamlRefusal.SUBJECT_CONFIRMATION

    @pytest.mark.threat("SSO5")
    def test_a_used_request_is_not_live(self) -> None:
        assert refused(answer(), replace(EXPECTED, live_requests=())) == SamlRefusal.IN_RESPONSE_TO

    def test_destination_and_issuer_of_the_response_are_optional(self) -> None:
        assert read(answer(destination="", issuer="")).id == "_assertion1"

    def test_one_of_several_confirmations_and_audiences_is_enough(self) -> None:
        other = Answer.confirmation.replace(ACS, "https://x.test")
        expired = Answer.confirmation.replace(at(300), at(-60))
        between = f'</saml:SubjectConfirmation><saml:SubjectConfirmation Method="{names.BEARER}">'
        audience = Answer.audience.replace(
            "<saml:Audience>", "<saml:Audience>https://x.test</saml:Audience><saml:Audience>", 1
        )

        assert (
            read(
                answer(
                    confirmation=other + between + expired + between + Answer.confirmation, audience=audience
                )
            ).id
            == "_assertion1"
        )


@pytest.mark.threat("SSO6")
class TestTime:
    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            ({"period": f'NotBefore="{at(61)}"'}, SamlRefusal.NOT_YET_VALID),
            ({"period": f'NotOnOrAfter="{at(-60)}"'}, SamlRefusal.EXPIRED),
            ({"issued": at(61)}, SamlRefusal.NOT_YET_VALID),
            ({"confirmation": Answer.confirmation.replace(at(300), at(-60))}, SamlRefusal.EXPIRED),
            (
                {"confirmation": Answer.confirmation.replace("NotOn", f'NotBefore="{at(61)}" NotOn')},
                SamlRefusal.NOT_YET_VALID,
            ),
            ({"conditions": ""}, SamlRefusal.CONDITIONS),
            (
                {"conditions": Answer.conditions.replace("{audience}", "{audience}<saml:Condition/>")},
                SamlRefusal.CONDITIONS,
            ),
            ({"session": f'AuthnInstant="{at(61)}"'}, SamlRefusal.NOT_YET_VALID),
            (
                {"session": f'AuthnInstant="{at(0)}" SessionNotOnOrAfter="{at(-60)}"'},
                SamlRefusal.SESSION_EXPIRED,
            ),
        ],
    )
    def test_beyond_the_skew_is_refused(self, changes: dict[str, str], code: SamlRefusal) -> None:
        assert refused(answer(**changes)) == code

    @pytest.mark.parametrize(
        "changes",
        [
            {"period": f'NotBefore="{at(60)}"'},
            {"period": f'NotOnOrAfter="{at(-59)}"'},
            {"issued": at(60)},
            {"period": ""},
            {"confirmation": Answer.confirmation.replace(at(300), at(-59))},
            {"session": f'AuthnInstant="{at(60)}" SessionNotOnOrAfter="{at(-59)}"'},
        ],
    )
    def test_within_the_skew_is_read(self, changes: dict[str, str]) -> None:
        assert read(answer(**changes)).id == "_assertion1"

    def test_a_clock_that_was_set_back_accepts_nothing_from_its_future(self) -> None:
        assert refused(answer(), now=NOW - timedelta(hours=1)) == SamlRefusal.NOT_YET_VALID
        assert refused(answer(), now=NOW + timedelta(hours=1)) == SamlRefusal.EXPIRED

    def test_an_id_is_kept_as_long_as_its_assertion_is_accepted(self) -> None:
        until = read(answer()).replay_until

        assert read(answer(), now=until - timedelta(seconds=1)).replay_until == until
        assert refused(answer(), now=until) == SamlRefusal.EXPIRED

    @pytest.mark.parametrize(
        "time",
        [
            "", "now", "2026-11-28", "9999-12-31T23:59:59Z", "2026-13-01T00:00:00Z", "2026-11-28T12:00:61Z",
            "\u0662026-11-28T12:00:00Z", "2026-11-28 12:00:00Z", "-2026-11-28T12:00:00Z", "20261128T120000Z",
        ],
    )  # fmt: skip
    def test_of_another_form_is_refused(self, time: str) -> None:
        for changes in (
            {"issued": time},
            {"period": f'NotBefore="{time}"'},
            {"session": f'AuthnInstant="{time}"'},
        ):
            assert refused(answer(**changes)) == SamlRefusal.MALFORMED

    def test_of_the_authentication_is_needed_once(self) -> None:
        statement = "<saml:AuthnStatement"
        without = (
            answer(sign=()).replace(statement, "<saml:Other").replace("</saml:AuthnStatement", "</saml:Other")
        )

        assert refused(signed(without)) == SamlRefusal.AUTHENTICATION_MISSING
        assert refused(answer(session='SessionIndex="_1"')) == SamlRefusal.MALFORMED


ASSERTION = Answer().assertion_xml()


def in_response(assertion: str) -> str:
    return Answer().response_xml(assertion)


class TestSignatures:
    @pytest.mark.threat("SSO4")
    def test_are_made_by_a_pinned_key(self) -> None:
        foreign = key("another connection")
        theirs = Answer().response_xml(signed(Answer().assertion_xml(), foreign))

        assert refused(theirs) == SamlRefusal.SIGNATURE_INVALID
        assert read(theirs, pinned=(key().certificate, foreign.certificate)).id == "_assertion1"
        assert refused(answer(), pinned=(foreign.certificate,)) == SamlRefusal.SIGNATURE_INVALID

    @pytest.mark.threat("SSO4")
    def test_do_not_need_key_information(self) -> None:
        bare = signed(Answer().assertion_xml(), key_info=False)

        assert read(Answer().response_xml(bare)).id == "_assertion1"
        foreign = signed(Answer().assertion_xml(), key("another connection"), key_info=False)
        assert refused(Answer().response_xml(foreign)) == SamlRefusal.SIGNATURE_INVALID

    @pytest.mark.threat("SSO4")
    def test_of_an_expired_certificate_are_read(self) -> None:
        old = certificates.generate("old", NOW - 2 * certificates.LIFETIME)

        found = read(in_response(signed(ASSERTION, old)), pinned=(old.certificate,))

        assert found.id == "_assertion1"

    @pytest.mark.threat("SSO4")
    @pytest.mark.parametrize(
        ("method", "digest"),
        [
            (f"{names.DS}rsa-sha1", "sha256"),
            (f"{MORE}rsa-sha224", "sha256"),
            (names.RSA_SHA256, "sha1"),
            (names.RSA_SHA256, "sha3-256"),
        ],
    )
    def test_with_another_hash_are_refused(self, method: str, digest: str) -> None:
        weak = signed(Answer().assertion_xml(), method=method, digest=digest)

        assert refused(Answer().response_xml(weak)) == SamlRefusal.SIGNATURE_ALGORITHM

    @pytest.mark.threat("SSO4")
    @pytest.mark.parametrize("fragment", ["hmac-sha256", "dsa-sha256", "none", ""])
    def test_of_another_kind_are_refused(self, fragment: str) -> None:
        other = f'SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#{fragment}"'
        whole = answer()

        assert f'SignatureMethod Algorithm="{names.RSA_SHA256}"' in whole
        changed = whole.replace(f'SignatureMethod Algorithm="{names.RSA_SHA256}"', other)
        assert refused(changed) == SamlRefusal.SIGNATURE_ALGORITHM

    @pytest.mark.threat("SSO4")
    def test_that_are_empty_or_absent_are_refused(self) -> None:
        whole = answer()
        value = whole[whole.index("<ds:SignatureValue>") : whole.index("</ds:SignatureValue>")]
        signature = whole[
            whole.index("<ds:Signature") : whole.index("</ds:Signature>") + len("</ds:Signature>")
        ]

        assert refused(answer(sign=())) == SamlRefusal.SIGNATURE_MISSING
        assert refused(whole.replace(value, "<ds:SignatureValue>")) == SamlRefusal.SIGNATURE_INVALID
        assert refused(whole.replace(value, "<ds:SignatureValue>AAAA")) == SamlRefusal.SIGNATURE_INVALID
        assert refused(whole.replace(signature, "<ds:Signature/>")) == SamlRefusal.SIGNATURE_FORM

    @pytest.mark.threat("SSO4")
    def test_by_weak_keys_are_refused(self) -> None:
        weak = self_signed(rsa.generate_private_key(public_exponent=65537, key_size=1_024))

        theirs = in_response(signed(ASSERTION, weak))
        assert refused(theirs, pinned=(weak.certificate,)) == SamlRefusal.SIGNATURE_INVALID
        assert refused(theirs, pinned=("no certificate",)) == SamlRefusal.SIGNATURE_INVALID

    @pytest.mark.parametrize("bits", [256, 384])
    def test_by_elliptic_curves_are_read(self, bits: int) -> None:
        curve = self_signed(ec.generate_private_key(ec.SECP256R1() if bits == 256 else ec.SECP384R1()))

        theirs = in_response(signed(ASSERTION, curve, method=f"{MORE}ecdsa-sha{bits}"))
        assert read(theirs, pinned=(key().certificate, curve.certificate)).id == "_assertion1"

    @pytest.mark.parametrize(
        "method",
        [f"{MORE}rsa-sha384", f"{MORE}rsa-sha512", f"{PSS_OF}sha256-rsa-MGF1", f"{PSS_OF}sha512-rsa-MGF1"],
    )
    def test_with_other_strong_methods_are_read(self, method: str) -> None:
        strong = signed(Answer().assertion_xml(), method=method, digest="sha512")

        assert read(Answer().response_xml(strong)).id == "_assertion1"

    def test_declarations_around_the_assertion_may_be_part_of_it(self) -> None:
        """Okta names prefixes in the transform; they may be declared by the response alone."""
        declared = ' xmlns:xs="http://www.w3.org/2001/XMLSchema"'
        assertion = signed(ASSERTION.replace(" ID=", f"{declared} ID="), prefixes="xs")

        assert 'PrefixList="xs"' in assertion
        assert refused(in_response(assertion.replace(declared, ""))) == SamlRefusal.SIGNATURE_INVALID
        outside = in_response(assertion.replace(declared, "")).replace(" ID=", f"{declared} ID=", 1)
        assert read(outside).id == "_assertion1"


SHA256 = '<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>'
MASK256 = f'<xenc11:MGF xmlns:xenc11="{names.XENC11}" Algorithm="{names.XENC11}mgf1sha256"/>'


class TestEncryption:
    @pytest.mark.parametrize(
        ("algorithm", "bits"),
        [
            (GCM_256, 256),
            (f"{names.XENC11}aes128-gcm", 128),
            (CBC_256, 256),
            (f"{names.XENC}aes128-cbc", 128),
        ],
    )
    @pytest.mark.parametrize("beside", [False, True], ids=["inside", "beside"])
    def test_an_encrypted_assertion_is_read(self, algorithm: str, bits: int, beside: bool) -> None:
        found = read(in_response(encrypted(signed(ASSERTION), algorithm, bits=bits, beside=beside)))

        assert found.name_id == NameId("ada-4711", PERSISTENT)

    @pytest.mark.parametrize(
        ("transport", "methods", "hashing"),
        [
            (OAEP_11, SHA256 + MASK256, (hashes.SHA256, hashes.SHA256)),
            (OAEP_11, SHA256, (hashes.SHA256, hashes.SHA1)),
            (MGF1P, SHA256, (hashes.SHA256, hashes.SHA1)),
        ],
    )
    def test_its_key_is_wrapped_by_oaep(self, transport: str, methods: str, hashing: tuple[Any, Any]) -> None:
        sealed = encrypted(signed(ASSERTION), transport=transport, methods=methods, hashing=hashing)

        assert read(in_response(sealed)).id == "_assertion1"

    def test_an_older_key_still_decrypts(self) -> None:
        rotated = replace(own(), keys=(key("newer"), key("own")))
        sealed = in_response(encrypted(signed(ASSERTION)))

        assert read(sealed, service=rotated).id == "_assertion1"
        assert refused(sealed, service=replace(own(), keys=(key("newer"),))) == SamlRefusal.ENCRYPTION
        assert refused(sealed, service=replace(own(), keys=())) == SamlRefusal.ENCRYPTION

    @pytest.mark.threat("SSO4")
    def test_other_algorithms_are_refused(self) -> None:
        old = encrypted(signed(ASSERTION), transport=RSA_1_5)
        triple = encrypted(signed(ASSERTION)).replace(GCM_256, f"{names.XENC}tripledes-cbc")
        md5 = encrypted(signed(ASSERTION), methods='<ds:DigestMethod Algorithm="md5"/>')
        label = encrypted(signed(ASSERTION), methods="<xenc:OAEPparams>eA==</xenc:OAEPparams>")

        assert {refused(in_response(one)) for one in (old, triple, md5, label)} == {
            SamlRefusal.ENCRYPTION_ALGORITHM
        }

    @pytest.mark.threat("SSO4")
    def test_encryption_is_no_signature(self) -> None:
        unsigned = encrypted(ASSERTION)

        assert refused(in_response(unsigned)) == SamlRefusal.ENCRYPTION
        assert refused(signed(in_response(unsigned))) == SamlRefusal.ENCRYPTION
        theirs = encrypted(signed(ASSERTION, key("another connection")))
        assert refused(in_response(theirs)) == SamlRefusal.ENCRYPTION

    @pytest.mark.threat("SSO4")
    def test_changes_of_a_ciphertext_teach_nothing(self) -> None:
        """Padding, characters, elements, values: whatever a change breaks, the refusal is the same."""
        codes = {
            refused(in_response(encrypted(signed(ASSERTION), CBC_256, change={place: 1})))
            for place in (*range(0, 400, 37), -1, -17, -20)
        }

        assert codes == {SamlRefusal.ENCRYPTION}

    @pytest.mark.threat("SSO4")
    def test_content_of_another_kind_teaches_nothing(self) -> None:
        for content in ("", "<a/>", "x", "<!DOCTYPE a><a/>", "<a>" * 100, answer()):
            assert refused(in_response(encrypted(content))) == SamlRefusal.ENCRYPTION

    def test_parts_that_are_missing_are_refused(self) -> None:
        whole = encrypted(signed(ASSERTION))
        wrapped = whole[whole.index("<ds:KeyInfo>") + 12 : whole.index("</ds:KeyInfo>")]

        assert refused(in_response(whole.replace(wrapped, ""))) == SamlRefusal.ENCRYPTION
        assert refused(in_response(whole.replace(wrapped, wrapped * 2))) == SamlRefusal.ENCRYPTION
        assert (
            refused(in_response(f'<saml:EncryptedAssertion xmlns:saml="{names.SAML}"/>'))
            == SamlRefusal.ENCRYPTION
        )
        assert (
            refused(in_response(whole.replace(f'<xenc:EncryptionMethod Algorithm="{GCM_256}"/>', "")))
            == SamlRefusal.ENCRYPTION_ALGORITHM
        )
