"""Single logout: only a signed message of the provider, to this service, of the last minutes, is read."""

import zlib
from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from lxml import etree

from domain.sso.saml import (
    UNSPECIFIED,
    LogoutMessage,
    NameId,
    SamlIdentityProvider,
    SamlLogoutRequest,
    SamlLogoutResponse,
    SamlRefusal,
    SamlRefused,
    SamlServiceProvider,
)
from server.crypto import certificates
from server.saml import names
from tests.server.saml.provider import (
    EXPECTED,
    ISSUER,
    LOGOUT,
    NAMESPACES,
    NOW,
    REQUEST_ID,
    SAML,
    SLO,
    at,
    encoded,
    key,
    own,
    provider,
    self_signed,
    signed,
)

THEIRS = SamlServiceProvider(ISSUER, "", LOGOUT, (key(),))
"""The provider as a sender of messages: both sides write them alike."""
US = SamlIdentityProvider(own().entity_id, "", (key("own").certificate,), SLO)
REQUEST = SamlLogoutRequest("_logout1", NameId("ada"), ("_session1", "_session2"), "state")


def request_xml(**changes: str) -> str:
    parts = {
        "attributes": f'ID="_logout1" Version="2.0" IssueInstant="{at(0)}" Destination="{SLO}"',
        "issuer": f"<saml:Issuer>{ISSUER}</saml:Issuer>",
        "name_id": "<saml:NameID>ada</saml:NameID>",
        "kind": "LogoutRequest",
        **changes,
    }
    return (
        f'<samlp:{parts["kind"]} xmlns:samlp="{names.SAMLP}" xmlns:saml="{names.SAML}" {parts["attributes"]}>'
        f"{parts['issuer']}{parts['name_id']}<samlp:SessionIndex>_session1</samlp:SessionIndex></samlp:{parts['kind']}>"
    )


def form(xml: str, name: str = "SAMLRequest") -> LogoutMessage:
    return LogoutMessage(form={name: encoded(xml), "RelayState": "state"})


def query_of(document: bytes, name: str = "SAMLRequest", algorithm: str = names.RSA_SHA256) -> str:
    """Return a query that the provider has signed."""
    squeeze = zlib.compressobj(9, wbits=-15)
    message = b64encode(squeeze.compress(document) + squeeze.flush()).decode()
    signed_part = f"{name}={quote(message, safe='')}&SigAlg={quote(algorithm, safe='')}"
    signature = certificates.sign_rsa_sha256(key().private_key, signed_part.encode())
    return f"{signed_part}&Signature={quote(b64encode(signature).decode(), safe='')}"


def read(message: LogoutMessage, seconds: float = 0) -> SamlLogoutRequest:
    return SAML.read_logout(message, own(), provider(), EXPECTED, NOW + timedelta(seconds=seconds))


def refused(message: LogoutMessage, seconds: float = 0) -> SamlRefusal:
    with pytest.raises(SamlRefused) as caught:
        read(message, seconds)
    return caught.value.code


class TestRequests:
    def test_in_a_query_are_read(self) -> None:
        query = urlsplit(SAML.request_logout(THEIRS, US, REQUEST, NOW)).query

        assert read(LogoutMessage(query)) == replace(REQUEST, replay_until=NOW + timedelta(seconds=660))

    def test_in_a_form_are_read(self) -> None:
        found = read(form(signed(request_xml())))

        assert (found.id, found.name_id, found.relay_state) == (
            "_logout1",
            NameId("ada", UNSPECIFIED),
            "state",
        )
        assert found.session_indexes == ("_session1",)

    def test_are_written_with_a_signature(self) -> None:
        url = SAML.request_logout(own(), provider(), REQUEST, NOW)

        parameters = parse_qs(urlsplit(url).query)
        message = etree.fromstring(zlib.decompress(b64decode(parameters["SAMLRequest"][0]), -15))
        assert url.startswith(f"{LOGOUT}?")
        assert (message.get("Destination"), message.findtext("saml:NameID", None, NAMESPACES)) == (
            LOGOUT,
            "ada",
        )
        assert [one.text for one in message.findall("samlp:SessionIndex", NAMESPACES)] == [
            "_session1",
            "_session2",
        ]
        assert parameters.keys() == {"SAMLRequest", "RelayState", "SigAlg", "Signature"}

    def test_need_an_address_and_a_key(self) -> None:
        with pytest.raises(ValueError, match="logout URL"):
            SAML.request_logout(own(), replace(provider(), logout_url=None), REQUEST, NOW)
        with pytest.raises(ValueError, match="key"):
            SAML.request_logout(replace(own(), keys=()), provider(), REQUEST, NOW)


class TestResponses:
    def test_are_verified_and_answer_no_request(self) -> None:
        for is_success in (True, False):
            sent = SamlLogoutResponse(REQUEST_ID, is_success, None)
            query = urlsplit(SAML.respond_to_logout(THEIRS, US, sent, "_response1", NOW)).query

            assert refused(LogoutMessage(query)) == SamlRefusal.IN_RESPONSE_TO
            changed = query.replace("SAMLResponse=", "SAMLResponse=A")
            assert refused(LogoutMessage(changed)) == SamlRefusal.SIGNATURE_INVALID

    def test_report_whether_every_session_has_ended(self) -> None:
        for is_success, status in ((True, names.SUCCESS), (False, f"{names.STATUS}Responder")):
            sent = SamlLogoutResponse("_logout1", is_success, None)
            query = parse_qs(urlsplit(SAML.respond_to_logout(own(), provider(), sent, "_1", NOW)).query)

            message = zlib.decompress(b64decode(query["SAMLResponse"][0]), -15).decode()
            assert f'StatusCode Value="{status}"' in message

    def test_go_to_the_address_for_responses(self) -> None:
        elsewhere = replace(provider(), logout_response_url="https://idp.example.com/done")
        sent = SamlLogoutResponse("_logout1", True, "state")

        assert SAML.respond_to_logout(own(), elsewhere, sent, "_1", NOW).startswith(
            "https://idp.example.com/done?"
        )


@pytest.mark.threat("SSO15")
class TestForgeries:
    def test_unsigned_messages_are_refused(self) -> None:
        query = query_of(request_xml().encode())
        bare = query.partition("&SigAlg")[0]

        assert read(LogoutMessage(query))
        assert refused(LogoutMessage(bare)) == SamlRefusal.SIGNATURE_MISSING
        assert refused(LogoutMessage(query.partition("&Signature")[0])) == SamlRefusal.SIGNATURE_MISSING
        assert refused(form(request_xml())) == SamlRefusal.SIGNATURE_MISSING
        # A signature inside of the XML is none of the query.
        inside = query_of(signed(request_xml()).encode()).partition("&SigAlg")[0]
        assert refused(LogoutMessage(inside)) == SamlRefusal.SIGNATURE_MISSING

    def test_changed_messages_are_refused(self) -> None:
        query = urlsplit(SAML.request_logout(THEIRS, US, REQUEST, NOW)).query
        other = query_of(request_xml(name_id="<saml:NameID>eve</saml:NameID>").encode())

        mixed = f"{other.partition('&')[0]}&{query.partition('&')[2]}"
        assert refused(LogoutMessage(mixed)) == SamlRefusal.SIGNATURE_INVALID
        for changed in (
            query.replace("RelayState=state", "RelayState=other"),
            query.replace("RelayState=state&", ""),
            query.replace("RelayState=state", "RelayState=%73tate"),
        ):
            assert refused(LogoutMessage(changed)) == SamlRefusal.SIGNATURE_INVALID
        assert refused(form(signed(request_xml()).replace(">ada<", ">eve<"))) == SamlRefusal.SIGNATURE_INVALID

    def test_of_another_key_are_refused(self) -> None:
        foreign = replace(THEIRS, keys=(key("another connection"),))
        query = urlsplit(SAML.request_logout(foreign, US, REQUEST, NOW)).query

        assert refused(LogoutMessage(query)) == SamlRefusal.SIGNATURE_INVALID
        theirs = signed(request_xml(), key("another connection"))
        assert refused(form(theirs)) == SamlRefusal.SIGNATURE_INVALID
        curve = self_signed(ec.generate_private_key(ec.SECP256R1())).certificate
        with pytest.raises(SamlRefused, match="signature_invalid"):
            SAML.read_logout(LogoutMessage(query), own(), provider(curve), EXPECTED, NOW)

    def test_of_another_algorithm_are_refused(self) -> None:
        for algorithm in ("http://www.w3.org/2000/09/xmldsig#rsa-sha1", "none", ""):
            query = query_of(request_xml().encode(), algorithm=algorithm)

            assert refused(LogoutMessage(query)) == SamlRefusal.SIGNATURE_ALGORITHM
        ecdsa = query_of(request_xml().encode(), algorithm=names.RSA_SHA256.replace("rsa-", "ecdsa-"))
        assert refused(LogoutMessage(ecdsa)) == SamlRefusal.SIGNATURE_INVALID

    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            ({"attributes": f'ID="_1" Version="2.0" IssueInstant="{at(0)}"'}, SamlRefusal.DESTINATION),
            ({"issuer": "<saml:Issuer>https://evil.test</saml:Issuer>"}, SamlRefusal.ISSUER),
            ({"issuer": ""}, SamlRefusal.ISSUER),
            ({"name_id": ""}, SamlRefusal.NAME_ID),
            ({"name_id": "<saml:EncryptedID/>"}, SamlRefusal.NAME_ID),
            ({"name_id": "<saml:NameID>ada\u200b</saml:NameID>"}, SamlRefusal.NAME_ID),
            ({"kind": "LogoutResponse"}, SamlRefusal.UNEXPECTED),
            ({"kind": "AuthnRequest"}, SamlRefusal.UNEXPECTED),
            (
                {"attributes": f'ID="_1" Version="2.0" IssueInstant="{at(0)}" Destination="{SLO}2"'},
                SamlRefusal.DESTINATION,
            ),
            ({"attributes": f'ID="_1" Version="2.0" Destination="{SLO}"'}, SamlRefusal.MALFORMED),
            ({"attributes": f'ID="_1" Version="1.1" Destination="{SLO}"'}, SamlRefusal.UNEXPECTED),
            (
                {
                    "attributes": f'ID="_1" Version="2.0" IssueInstant="{at(0)}" Destination="{SLO}"'
                    f' NotOnOrAfter="{at(-60)}"'
                },
                SamlRefusal.EXPIRED,
            ),
        ],
    )
    def test_of_others_are_refused(self, changes: dict[str, str], code: SamlRefusal) -> None:
        xml = request_xml(**changes)

        assert refused(LogoutMessage(query_of(xml.encode()))) == code
        assert refused(form(signed(xml))) == code

    def test_are_accepted_for_as_long_as_their_id_is_kept(self) -> None:
        message = form(signed(request_xml()))
        found = read(message)
        assert found.replay_until == NOW + timedelta(seconds=660)

        assert read(message, 659)
        assert refused(message, 660) == SamlRefusal.EXPIRED
        assert refused(message, -61) == SamlRefusal.NOT_YET_VALID

    def test_a_service_without_logout_reads_none(self) -> None:
        without = replace(own(), logout_url=None)

        with pytest.raises(SamlRefused, match="destination"):
            SAML.read_logout(form(signed(request_xml())), without, provider(), EXPECTED, NOW)

    def test_a_parameter_is_there_once(self) -> None:
        query = query_of(request_xml().encode())

        for more in ("SAMLRequest=x", "SigAlg=x", "Signature=x", "SAMLResponse=x", "SAMLEncoding=x"):
            assert refused(LogoutMessage(f"{query}&{more}")) == SamlRefusal.ENCODING
        for none in ("", "a=b", "RelayState=x"):
            assert refused(LogoutMessage(none)) == SamlRefusal.ENCODING
        assert refused(LogoutMessage(form={})) == SamlRefusal.ENCODING
        both = {"SAMLRequest": encoded(request_xml()), "SAMLResponse": encoded(request_xml())}
        assert refused(LogoutMessage(form=both)) == SamlRefusal.ENCODING


@pytest.mark.threat("SSO2")
class TestSizes:
    def test_a_bomb_is_not_inflated(self) -> None:
        query = query_of(b"<a>" + b" " * 20_000_000 + b"</a>")

        assert len(query) < 40_000
        assert refused(LogoutMessage(query)) == SamlRefusal.TOO_LARGE

    def test_a_long_query_and_a_long_form_are_not_read(self) -> None:
        assert refused(LogoutMessage("SAMLRequest=" + "A" * 70_000)) == SamlRefusal.TOO_LARGE
        assert refused(form(request_xml() + " " * 70_000)) == SamlRefusal.TOO_LARGE

    def test_what_is_no_whole_stream_is_refused(self) -> None:
        document = request_xml().encode()
        squeeze = zlib.compressobj(9, wbits=-15)
        stream = squeeze.compress(document) + squeeze.flush()

        for broken in (stream[:-4], stream + b"x", b"\xff\xff", document):
            signed_part = (
                f"SAMLRequest={quote(b64encode(broken), safe='')}&SigAlg={quote(names.RSA_SHA256, safe='')}"
            )
            signature = b64encode(certificates.sign_rsa_sha256(key().private_key, signed_part.encode()))
            query = f"{signed_part}&Signature={quote(signature, safe='')}"
            assert refused(LogoutMessage(query)) == SamlRefusal.ENCODING

    def test_types_and_comments_are_refused(self) -> None:
        for xml in ("<!DOCTYPE a>" + request_xml(), request_xml().replace(">ada", "><!-- -->ada")):
            assert refused(LogoutMessage(query_of(xml.encode()))) == SamlRefusal.FORBIDDEN_XML
