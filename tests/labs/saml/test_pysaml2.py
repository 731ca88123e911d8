"""pysaml2 as the identity provider, and xmlsec1 as what encrypts: independent readers and writers of each message."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from domain.sso.saml import (
    PERSISTENT,
    AuthenticationRequest,
    ExpectedResponse,
    KeyCertificate,
    LogoutMessage,
    NameId,
    SamlIdentityProvider,
    SamlLogoutRequest,
    SamlLogoutResponse,
    SamlRefusal,
    SamlRefused,
    SamlServiceProvider,
)
from server.saml import names
from server.saml.service_provider import ServiceProvider
from tests.packages import installed
from tests.server.saml.provider import ACS, ENTITY_ID, SLO, Answer, encoded, read, signed
from tests.server.saml.provider import key as provider_key
from tests.server.saml.provider import own as own_of_writer

HERE = Path(__file__).with_name("pysaml2")
SAML = ServiceProvider()
PIP = (
    sys.executable,
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--target",
    "packages",
)
MAIL = "urn:oid:0.9.2342.19200300.100.1.3"

pytestmark = pytest.mark.skipif(shutil.which("xmlsec1") is None, reason="xmlsec1 is not installed")


class Pysaml2:
    """A running provider, and both sides as the service knows them."""

    def __init__(
        self, process: "subprocess.Popen[str]", own: SamlServiceProvider, known: SamlIdentityProvider
    ) -> None:
        self._process, self.own, self.known = process, own, known

    def do(self, what: str, **sent: object) -> Any:
        """Return what the provider answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **sent}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@pytest.fixture(scope="module")
def pysaml2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pysaml2]:
    packages = installed("saml-pysaml2", HERE / "requirements.txt", [*PIP, "-r", "requirements.txt"])
    place = tmp_path_factory.mktemp("pysaml2")
    now = datetime.now(UTC)
    theirs, ours = SAML.generate_key("idp", now), SAML.generate_key("sp", now)
    own = SamlServiceProvider(ENTITY_ID, ACS, SLO, (ours,))
    for name, text in (("key.pem", theirs.private_key), ("certificate.pem", theirs.certificate)):
        (place / name).write_text(text)
    (place / "sp.xml").write_bytes(SAML.write_metadata(own, signs_requests=True))
    environment = {
        **os.environ, "PYTHONPATH": str(packages / "packages"), "KEY": str(place / "key.pem"),
        "CERTIFICATE": str(place / "certificate.pem"), "METADATA": str(place / "sp.xml"),
    }  # fmt: skip
    command = [sys.executable, str(HERE / "idp.py")]
    with subprocess.Popen(
        command, cwd=place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        found = SAML.read_metadata((place / "metadata.xml").read_bytes(), now)
        certificates = [one.pem for one in found.certificates]
        known = SamlIdentityProvider(found.entity_id, found.sign_in_url, certificates, found.logout_url)
        assert certificates == [theirs.certificate]
        assert found.wants_signed_requests
        yield Pysaml2(process, own, known)
        process.stdin and process.stdin.close()


def sign_in(pysaml2: Pysaml2, **how: object) -> tuple[str, str]:
    """Return the id of a request that the provider has verified, and its response."""
    request = AuthenticationRequest("_request1", "state & more", force_authentication=True, is_signed=True)
    url = SAML.request_sign_in(pysaml2.own, pysaml2.known, request, datetime.now(UTC))
    answer = pysaml2.do("respond", query=urlsplit(url).query, **how)
    assert (answer["request"], answer["force"]) == ("_request1", "true")
    return "_request1", answer["response"]


@pytest.mark.parametrize(
    "how",
    [
        {"sign_response": False, "sign_assertion": True},
        {"sign_response": True, "sign_assertion": False},
        {"sign_response": True, "sign_assertion": True},
    ],
    ids=["assertion", "response", "both"],
)
def test_a_sign_in(pysaml2: Pysaml2, how: dict[str, bool]) -> None:
    request_id, response = sign_in(pysaml2, **how)

    found = SAML.read_response(
        encoded(response), pysaml2.own, pysaml2.known, ExpectedResponse({request_id}), datetime.now(UTC)
    )
    assert found.name_id == NameId("ada-4711", PERSISTENT)
    assert found.attributes[MAIL] == ("ada@example.com",)
    assert ("Ada <&> L",) in found.attributes.values()


def test_an_unsigned_response_and_old_encryption_are_refused(pysaml2: Pysaml2) -> None:
    refused = []
    for how in ({"sign_assertion": False}, {"sign_assertion": True, "encrypt": True}):
        request_id, response = sign_in(pysaml2, sign_response=False, **how)
        with pytest.raises(SamlRefused) as caught:
            SAML.read_response(
                encoded(response),
                pysaml2.own,
                pysaml2.known,
                ExpectedResponse({request_id}),
                datetime.now(UTC),
            )
        refused.append(caught.value.code)

    # It wraps keys by RSA 1.5.
    assert refused == [SamlRefusal.SIGNATURE_MISSING, SamlRefusal.ENCRYPTION_ALGORITHM]


def test_a_logout_by_the_provider(pysaml2: Pysaml2) -> None:
    now = datetime.now(UTC)
    sent = pysaml2.do("log_out", destination=SLO, entity_id=ENTITY_ID)

    found = SAML.read_logout(
        LogoutMessage(urlsplit(sent["url"]).query), pysaml2.own, pysaml2.known, ExpectedResponse(()), now
    )
    assert (found.id, found.name_id, found.session_indexes) == (
        sent["id"], NameId("ada-4711", PERSISTENT), ("_session1",)
    )  # fmt: skip
    url = SAML.respond_to_logout(
        pysaml2.own, pysaml2.known, SamlLogoutResponse(found.id, True, None), "_1", now
    )
    answer = pysaml2.do("logged_out", query=urlsplit(url).query)
    assert answer == {"in_response_to": sent["id"], "status": names.SUCCESS}


def test_a_logout_by_the_service(pysaml2: Pysaml2) -> None:
    now = datetime.now(UTC)
    request = SamlLogoutRequest("_logout1", NameId("ada-4711", PERSISTENT), ("_session1",), "state")

    url = SAML.request_logout(pysaml2.own, pysaml2.known, request, now)
    answer = pysaml2.do("asked_to_log_out", query=urlsplit(url).query, destination=SLO)

    assert answer["name_id"] == "ada-4711"
    message = LogoutMessage(urlsplit(answer["url"]).query)
    with pytest.raises(SamlRefused) as caught:
        SAML.read_logout(message, pysaml2.own, pysaml2.known, ExpectedResponse(()), now)
    # All other checks come before: its signature is valid.
    assert caught.value.code is SamlRefusal.IN_RESPONSE_TO


TEMPLATE = """<EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#" Type="http://www.w3.org/2001/04/xmlenc#Element">
<EncryptionMethod Algorithm="{content}"/><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><EncryptedKey
xmlns="http://www.w3.org/2001/04/xmlenc#"><EncryptionMethod Algorithm="{transport}"/><CipherData><CipherValue/>
</CipherData></EncryptedKey></KeyInfo><CipherData><CipherValue/></CipherData></EncryptedData>"""


@pytest.mark.parametrize(
    ("content", "bits"), [("2009/xmlenc11#aes256-gcm", 256), ("2001/04/xmlenc#aes128-cbc", 128)]
)
def test_xmlsec1_encrypts(content: str, bits: int, tmp_path: Path) -> None:
    own: KeyCertificate = own_of_writer().keys[0]
    files = {
        "template.xml": TEMPLATE.format(
            content=f"http://www.w3.org/{content}", transport=f"{names.XENC}rsa-oaep-mgf1p"
        ),
        "assertion.xml": signed(Answer().assertion_xml(), provider_key()),
        "certificate.pem": own.certificate,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    command = ["xmlsec1", "--encrypt", "--pubkey-cert-pem", "certificate.pem", "--session-key", f"aes-{bits}"]

    done = subprocess.run(
        [*command, "--xml-data", "assertion.xml", "template.xml"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    sealed = done.stdout.partition("?>")[2]
    whole = f'<saml:EncryptedAssertion xmlns:saml="{names.SAML}">{sealed}</saml:EncryptedAssertion>'
    assert read(Answer().response_xml(whole)).name_id == NameId("ada-4711", PERSISTENT)
