"""Test vectors of Web Authentication Level 3 (W3C), sections 16.2 and 16.3: ES256, with the formats none and packed.

Their pages are at https://example.org, and their authenticators do not always verify the user.
"""

from typing import NamedTuple

RP_ID, ORIGIN = "example.org", "https://example.org"


class Registration(NamedTuple):
    """A response of `navigator.credentials.create`, and its challenge."""

    challenge: bytes
    credential_id: bytes
    client_data: bytes
    attestation_object: bytes


class SignIn(NamedTuple):
    """A response of `navigator.credentials.get` of the same authenticator, and its challenge."""

    challenge: bytes
    authenticator_data: bytes
    client_data: bytes
    signature: bytes


NONE = Registration(
    bytes.fromhex("00c30fb78531c464d2b6771dab8d7b603c01162f2fa486bea70f283ae556e130"),
    bytes.fromhex("f91f391db4c9b2fde0ea70189cba3fb63f579ba6122b33ad94ff3ec330084be4"),
    (
        b'{"type":"webauthn.create","challenge":"AMMPt4UxxGTStncdq417YDwBFi8vpIa-pw8oOuVW4TA","origi'
        b'n":"https://example.org","crossOrigin":false,"extraData":"clientDataJSON may be extended '
        b'with additional fields in the future, such as this: BkQeDjdcTBrXBiAwJTLE5Q"}'
    ),
    bytes.fromhex(
        "a363666d74646e6f6e656761747453746d74a068617574684461746158a4bfabc37432958b063360d3ad6461c9c4735a"
        "e7f8edd46592a5e0f01452b2e4b559000000008446ccb9ab1db374750b2367ff6f3a1f0020f91f391db4c9b2fde0ea70"
        "189cba3fb63f579ba6122b33ad94ff3ec330084be4a5010203262001215820afefa16f97ca9b2d23eb86ccb64098d20d"
        "b90856062eb249c33a9b672f26df61225820930a56b87a2fca66334b03458abf879717c12cc68ed73290af2e2664796b"
        "9220"
    ),
)

NONE_SIGN_IN = SignIn(
    bytes.fromhex("39c0e7521417ba54d43e8dc95174f423dee9bf3cd804ff6d65c857c9abf4d408"),
    bytes.fromhex("bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b51900000000"),
    (
        b'{"type":"webauthn.get","challenge":"OcDnUhQXulTUPo3JUXT0I97pvzzYBP9tZchXyav01Ag","origin":'
        b'"https://example.org","crossOrigin":false}'
    ),
    bytes.fromhex(
        "3046022100f50a4e2e4409249c4a853ba361282f09841df4dd4547a13a87780218deffcd380221008480ac0f0b935381"
        "74f575bf11a1dd5d78c6e486013f937295ea13653e331e87"
    ),
)

PACKED = Registration(
    bytes.fromhex("7869c2b772d4b58eba9378cf8f29e26cf935aa77df0da89fa99c0bdc0a76f7e5"),
    bytes.fromhex("455ef34e2043a87db3d4afeb39bbcb6cc32df9347c789a865ecdca129cbef58c"),
    (
        b'{"type":"webauthn.create","challenge":"eGnCt3LUtY66k3jPjynibPk1qnffDaifqZwL3Ap29-U","origi'
        b'n":"https://example.org","crossOrigin":false,"extraData":"clientDataJSON may be extended '
        b'with additional fields in the future, such as this: U9hTXvKE2URkMnb_0xYHVg"}'
    ),
    bytes.fromhex(
        "a363666d74667061636b65646761747453746d74a263616c672663736967584630440220067a20754ab925005dbf3780"
        "97c92120031581c73228d1fb4f5b881bcd7da98302207fc7b147558c7c0eba3af18bd9d121fa3d3a26d17fe3f2202721"
        "78f473b6006d68617574684461746158a4bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4"
        "b55d00000000df850e09db6afbdfab51697791506cfc0020455ef34e2043a87db3d4afeb39bbcb6cc32df9347c789a86"
        "5ecdca129cbef58ca5010203262001215820eb151c8176b225cc651559fecf07af450fd85802046656b34c18f6cf1938"
        "43c5225820927b8aa427a2be1b8834d233a2d34f61f13bfd44119c325d5896e183fee484f2"
    ),
)

PACKED_SIGN_IN = SignIn(
    bytes.fromhex("4478a10b1352348dd160c1353b0d469b5db19eb91c27f7dfa6fed39fe26af20b"),
    bytes.fromhex("bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b50900000000"),
    (
        b'{"type":"webauthn.get","challenge":"RHihCxNSNI3RYME1Ow1Gm12xnrkcJ_ffpv7Tn-Jq8gs","origin":'
        b'"https://example.org","crossOrigin":false,"extraData":"clientDataJSON may be extended with'
        b' additional fields in the future, such as this: gTb53rz6EhSWomXGzimC1Q"}'
    ),
    bytes.fromhex(
        "304402203310b9431903c401f1be2bdc8d23a4007682dbbddcf846994947b7f465daf84002204e94dd00047b316061b3"
        "b99772b7efd95994a83ef584b3b6b825ea3550251b66"
    ),
)
