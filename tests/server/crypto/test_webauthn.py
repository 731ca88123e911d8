"""Responses of authenticators: the test vectors of the standard, and how little a bad response costs."""

import tracemalloc

import pytest

from domain.authenticators import Assertion, Attestation, RelyingParty, ResponseRefused
from domain.passkeys import client_data
from server.crypto.webauthn import WebAuthn
from tests.authenticator import ES256, ORIGIN, RP_ID, Authenticator, decoded
from tests.processor import processor_seconds
from tests.server.crypto import webauthn_vectors
from tests.server.crypto.webauthn_vectors import (
    NONE,
    NONE_SIGN_IN,
    PACKED,
    PACKED_SIGN_IN,
    Registration,
    SignIn,
)

THERE = RelyingParty(webauthn_vectors.RP_ID, (webauthn_vectors.ORIGIN,), requires_user_verification=False)
HERE = RelyingParty(RP_ID, (ORIGIN,), requires_user_verification=True)
CHALLENGE = bytes(32)
OPTIONS = {"challenge": client_data.encode(CHALLENGE), "user": {"id": "YWRh"}}


@pytest.mark.parametrize(
    ("registration", "sign_in"), [(NONE, NONE_SIGN_IN), (PACKED, PACKED_SIGN_IN)], ids=["none", "packed"]
)
def test_the_vectors_of_the_standard(registration: Registration, sign_in: SignIn) -> None:
    challenge, *parts = registration
    created = WebAuthn().verify_attestation(Attestation(*parts), challenge, THERE)

    response = Assertion(
        registration.credential_id, sign_in.client_data, sign_in.authenticator_data, sign_in.signature, None
    )
    verified = WebAuthn().verify_assertion(
        response, sign_in.challenge, THERE, created.public_key, created.algorithm
    )

    assert (created.algorithm, created.backup_eligible) == (ES256, True)
    assert (verified.counter, verified.backup_eligible) == (0, True)
    members = client_data.parse(registration.client_data)
    assert members is not None
    assert client_data.challenge_of(members) == challenge


def _attestation(statement: bytes) -> Attestation:
    device = Authenticator()
    sent = device.create(OPTIONS)["response"]
    return Attestation(device.credential_id, decoded(sent["clientDataJSON"]), statement)


@pytest.mark.threat("P13")
@pytest.mark.parametrize(
    "bomb",
    [
        b"\x81" * 12_000 + b"\x00",
        b"\x9f" * 12_000,
        b"\x9b" + b"\xff" * 8,
        b"\xbb\x00\x00\x00\xff\xff\xff\xff\xff",
        b"\x5b\x7f" + b"\xff" * 7,
        b"\x84" * 4 + b"\x9a\x00\x00\x2e\xe0" + b"\x00" * 12_000,
        b"\xc2\x59\x2e\xe0" + b"\xff" * 12_000,
        b"\xd8\x23\x79\x2e\xe0" + b"(" * 12_000,
        b"\xa1\x63fmt" * 2_000,
    ],
)
def test_a_bomb_costs_little(bomb: bytes) -> None:
    response = _attestation(bomb)
    with pytest.raises(ResponseRefused):  # Loads the library.
        WebAuthn().verify_attestation(response, CHALLENGE, HERE)
    tracemalloc.start()

    with processor_seconds() as spent:
        with pytest.raises(ResponseRefused):
            WebAuthn().verify_attestation(response, CHALLENGE, HERE)
        seconds = spent()

    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 0.05
    assert most < 2**20
