"""Check responses of authenticators (Web Authentication Level 3, sections 7.1 and 7.2), by py_webauthn.

The library does the checks of the standard. This module adds those that it leaves to its caller: attestation formats,
keys that no authenticator creates, and CBOR beyond what an attestation needs. `authenticators.py` loads this module
at the first response.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from webauthn import verify_authentication_response, verify_registration_response
from webauthn.helpers import (
    bytes_to_base64url,
    decode_credential_public_key,
    decoded_public_key_to_cryptography,
    parse_attestation_object,
    parse_authenticator_data,
)
from webauthn.helpers.cose import COSEAlgorithmIdentifier
from webauthn.helpers.structs import (
    AuthenticationCredential,
    AuthenticatorAssertionResponse,
    AuthenticatorAttestationResponse,
    RegistrationCredential,
)

from domain.authenticators import (
    Assertion,
    Attestation,
    NewCredential,
    RelyingParty,
    ResponseRefused,
    VerifiedAssertion,
)
from server.crypto import attestation
from server.crypto.attestation import ALGORITHMS, EDDSA, ES256, RS256

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_EC2, _OKP, _RSA = 2, 1, 3
_FAMILIES: Mapping[int, tuple[int, int | None]] = {ES256: (_EC2, 1), EDDSA: (_OKP, 6), RS256: (_RSA, None)}
"""The key type of each algorithm, and its curve: P-256 or Ed25519."""
RSA_BITS = range(2048, 8193)
RSA_EXPONENT_BITS = 32


def _refusing(check: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the check, wrapped so that it raises ResponseRefused instead of any other error."""

    @wraps(check)
    def refusing(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return check(*arguments, **named)
        except ResponseRefused:
            raise
        except Exception as fault:
            # On malformed input the library raises its own errors, and KeyError, TypeError, ValueError and others.
            raise ResponseRefused(type(fault).__name__) from fault

    return refusing


class WebAuthn:
    """Verifies the responses of authenticators. Stores nothing."""

    @_refusing
    def verify_attestation(
        self, response: Attestation, challenge: bytes, expected: RelyingParty
    ) -> NewCredential:
        """Verify a response to this challenge that registers a passkey; return the new credential.

        Raises ResponseRefused.
        """
        attestation.check(response.attestation_object)
        verified = verify_registration_response(
            credential=RegistrationCredential(
                id=bytes_to_base64url(response.credential_id),
                raw_id=response.credential_id,
                response=AuthenticatorAttestationResponse(
                    client_data_json=response.client_data, attestation_object=response.attestation_object
                ),
            ),
            expected_challenge=challenge,
            expected_rp_id=expected.rp_id,  # defence: P1 registration
            # The configured origins, never the Origin header of the request, which the page of an attacker also
            # sends.
            expected_origin=list(expected.origins),  # defence: P2 registration
            require_user_verification=expected.requires_user_verification,  # defence: P4 registration
            supported_pub_key_algs=[COSEAlgorithmIdentifier(number) for number in ALGORITHMS],
        )
        if verified.credential_id != response.credential_id:
            raise ResponseRefused("the response is about another credential")
        flags = parse_attestation_object(response.attestation_object).auth_data.flags
        return NewCredential(
            public_key=verified.credential_public_key,
            algorithm=_check_key(verified.credential_public_key),  # defence: P12 key
            counter=verified.sign_count,
            aaguid=verified.aaguid,
            backup_eligible=flags.be,
            backed_up=flags.bs,
            user_verified=flags.uv,
        )

    @_refusing
    def verify_assertion(
        self,
        response: Assertion,
        challenge: bytes,
        expected: RelyingParty,
        public_key: bytes,
        algorithm: int,
    ) -> VerifiedAssertion:
        """Verify a response to this challenge that signs in with a passkey; return its verified content.

        Raises ResponseRefused, also if `public_key` has not signed it.
        """
        if _check_key(public_key) != algorithm:  # defence: P12 stored-algorithm
            raise ResponseRefused("the key is for another algorithm")
        attestation.check_authenticator_data(response.authenticator_data)
        # defence: P14 signature
        verified = verify_authentication_response(
            credential=AuthenticationCredential(
                id=bytes_to_base64url(response.credential_id),
                raw_id=response.credential_id,
                response=AuthenticatorAssertionResponse(
                    client_data_json=response.client_data,
                    authenticator_data=response.authenticator_data,
                    signature=response.signature,
                ),
            ),
            expected_challenge=challenge,
            expected_rp_id=expected.rp_id,  # defence: P1 sign-in
            expected_origin=list(expected.origins),  # defence: P2 sign-in
            credential_public_key=public_key,
            # The stored counter is compared by one statement of the caller, so that simultaneous uses cannot both pass.
            credential_current_sign_count=0,
            require_user_verification=expected.requires_user_verification,  # defence: P4 sign-in
        )
        flags = parse_authenticator_data(response.authenticator_data).flags
        return VerifiedAssertion(verified.new_sign_count, flags.be, flags.bs, flags.uv)


@_refusing
def algorithm_of(public_key: bytes) -> int:
    """Return the COSE number of a key's algorithm, for a key in COSE form. Raises ResponseRefused for a key that is not
    accepted."""
    return _check_key(public_key)


def _check_key(public_key: bytes) -> int:
    """Return the algorithm of a key if its type, curve and strength are acceptable. Raises ResponseRefused."""
    attestation.check_item(public_key)
    decoded: Any = decode_credential_public_key(public_key)
    family = _FAMILIES.get(decoded.alg)
    if family is None or family != (decoded.kty, getattr(decoded, "crv", None)):
        raise ResponseRefused("the key is not of the type of its algorithm")
    # This raises ValueError for a point that is not on the curve.
    key = decoded_public_key_to_cryptography(decoded)
    is_weak = isinstance(key, RSAPublicKey) and (
        key.key_size not in RSA_BITS or key.public_numbers().e.bit_length() > RSA_EXPONENT_BITS
    )
    if is_weak:  # defence: P12 weak
        raise ResponseRefused("the key is too short or too long")
    return int(decoded.alg)
