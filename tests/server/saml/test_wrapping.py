"""Signature wrapping: whatever surrounds a valid signature, only the element that it covers is read."""

from copy import deepcopy

import pytest
from lxml import etree

from domain.sso.saml import SamlRefusal
from tests.server.saml.provider import ACS, NAMESPACES, Answer, answer, encrypted, own, read, refused, signed
from tests.server.saml.wrapping import EVIL, FORMS, wrapped

MOVES_THE_RESPONSE = {"1", "2"}
BOTH = ("assertion", "response")


@pytest.mark.parametrize("is_whole_signed", [False, True], ids=["one signature", "both signatures"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.threat("SSO1")
def test_each_published_form_is_refused(form: str, is_whole_signed: bool) -> None:
    moved = "response" if form in MOVES_THE_RESPONSE else "assertion"
    sign = BOTH if is_whole_signed else (moved,)

    assert refused(wrapped(form, answer(sign=sign))) in {
        SamlRefusal.UNEXPECTED,
        SamlRefusal.DUPLICATE_ID,
        SamlRefusal.SIGNATURE_MISPLACED,
    }


@pytest.mark.threat("SSO1")
def test_the_forms_contain_another_person_and_a_signature() -> None:
    for form in FORMS:
        root = etree.fromstring(wrapped(form, answer(sign=BOTH)))

        assert EVIL in {one.text for one in root.iter("{*}NameID")} | {
            one.text for one in root.iter("{*}AttributeValue")
        }
        assert root.findall(".//ds:Signature", NAMESPACES)


def _twice(xml: str, part: str) -> str:
    """Return a document in which a part of the signature is there twice."""
    root = etree.fromstring(xml)
    element = root.find(f".//ds:{part}", NAMESPACES)
    element.addnext(deepcopy(element))
    return str(etree.tostring(root), "ascii")


class TestStructure:
    @pytest.mark.threat("SSO1")
    def test_a_response_has_one_assertion(self) -> None:
        two = Answer().response_xml(
            signed(Answer().assertion_xml()) + signed(Answer(assertion="_assertion2").assertion_xml())
        )

        assert refused(two) == SamlRefusal.UNEXPECTED
        assert refused(Answer().response_xml("")) == SamlRefusal.UNEXPECTED

    @pytest.mark.threat("SSO1")
    def test_an_encrypted_assertion_is_not_beside_another(self) -> None:
        assertion = signed(Answer().assertion_xml())

        assert refused(Answer().response_xml(assertion + encrypted(assertion))) == SamlRefusal.UNEXPECTED

    @pytest.mark.threat("SSO1")
    @pytest.mark.parametrize("name", ["ID", "Id", "id", "xml:id"])
    def test_an_id_is_there_once(self, name: str) -> None:
        extra = f'<samlp:Extensions {name}="_assertion1"/>'

        assert refused(answer(extra=extra)) == SamlRefusal.DUPLICATE_ID

    @pytest.mark.threat("SSO1")
    @pytest.mark.parametrize("place", ["samlp:Status", "saml:Assertion/saml:Subject", "."])
    def test_a_signature_is_a_child_of_what_it_signs(self, place: str) -> None:
        root = etree.fromstring(answer(sign=BOTH))
        signature = deepcopy(root.find("saml:Assertion/ds:Signature", NAMESPACES))
        root.find(place, NAMESPACES).append(signature)

        assert refused(etree.tostring(root).decode()) == SamlRefusal.SIGNATURE_MISPLACED

    @pytest.mark.threat("SSO1")
    @pytest.mark.parametrize("name", ["samlp:Response", "saml:Assertion", "saml:EncryptedAssertion"])
    def test_no_second_one_is_deeper(self, name: str) -> None:
        extra = f"<samlp:Extensions><{name}/></samlp:Extensions>"

        assert refused(answer(extra=extra)) == SamlRefusal.UNEXPECTED

    @pytest.mark.threat("SSO1")
    def test_the_root_is_a_response(self) -> None:
        assertion = signed(Answer().assertion_xml())

        assert refused(assertion) == SamlRefusal.UNEXPECTED
        assert refused(answer().replace("samlp:Response", "samlp:ArtifactResponse")) == SamlRefusal.UNEXPECTED
        assert refused(answer().replace('Version="2.0"', 'Version="1.1"', 1)) == SamlRefusal.UNEXPECTED


class TestReferences:
    """What a signature says that it covers."""

    @pytest.mark.threat("SSO1")
    @pytest.mark.parametrize(
        "uri", ["", "#_response1", "#xpointer(/)", "#xpointer(id('_assertion1'))", ACS, "#", "#_ASSERTION1"]
    )
    def test_name_the_very_element(self, uri: str) -> None:
        changed = answer().replace('URI="#_assertion1"', f'URI="{uri}"')

        assert refused(changed) == SamlRefusal.SIGNATURE_FORM

    @pytest.mark.threat("SSO1")
    def test_are_there_once(self) -> None:
        assert refused(_twice(answer(), "Reference")) == SamlRefusal.SIGNATURE_FORM

    @pytest.mark.threat("SSO1")
    @pytest.mark.parametrize(
        "part", ["SignedInfo", "SignatureValue", "SignatureMethod", "Transforms", "DigestValue"]
    )
    def test_have_each_part_once(self, part: str) -> None:
        for changed in (answer().replace(f"ds:{part}", f"ds:{part}2"), _twice(answer(), part)):
            assert refused(changed) == SamlRefusal.SIGNATURE_FORM

    @pytest.mark.threat("SSO1")
    def test_do_not_cover_an_element_that_was_changed(self) -> None:
        assert refused(answer().replace("ada@example.com", EVIL)) == SamlRefusal.SIGNATURE_INVALID
        assert refused(answer(sign=("response",)).replace("ada@", "eve@")) == SamlRefusal.SIGNATURE_INVALID

    @pytest.mark.threat("SSO1")
    def test_a_changed_response_around_a_signed_assertion_gives_it_no_other_meaning(self) -> None:
        changed = answer().replace("_response1", "_response2")

        assert read(changed) == read(answer())

    @pytest.mark.threat("SSO1")
    def test_every_signature_counts(self) -> None:
        broken = signed(Answer().assertion_xml()).replace("ada-4711", "eve-4711")

        assert refused(signed(Answer().response_xml(broken))) == SamlRefusal.SIGNATURE_INVALID

    @pytest.mark.threat("SSO1")
    def test_an_encrypted_assertion_is_checked_alike(self) -> None:
        inner = signed(Answer().assertion_xml()).replace("ada-4711", "eve-4711")
        wrapping = Answer().response_xml(encrypted(answer()))

        assert refused(Answer().response_xml(encrypted(inner))) == SamlRefusal.ENCRYPTION
        assert refused(wrapping, service=own()) == SamlRefusal.ENCRYPTION
