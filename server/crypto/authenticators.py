"""Checks of authenticator responses; the library is loaded at the first response."""

from functools import cache
from typing import TYPE_CHECKING

from domain.authenticators import Assertion, Attestation, NewCredential, RelyingParty, VerifiedAssertion
from server.crypto.attestation import ALGORITHMS

if TYPE_CHECKING:
    from server.crypto.webauthn import WebAuthn


class Authenticators:
    """Verifies the responses of authenticators by `WebAuthn`, which is loaded at the first response. Stores nothing."""

    algorithms: tuple[int, ...] = ALGORITHMS

    def verify_attestation(
        self, response: Attestation, challenge: bytes, expected: RelyingParty
    ) -> NewCredential:
        """Verify a response to this challenge that registers a passkey; return the new credential.

        Raises ResponseRefused.
        """
        return _webauthn().verify_attestation(response, challenge, expected)

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
        return _webauthn().verify_assertion(response, challenge, expected, public_key, algorithm)


@cache
def _webauthn() -> "WebAuthn":
    # py_webauthn costs 300 ms and 9 MB: a fifth of the time of a start, and most services have no passkeys.
    from server.crypto.webauthn import WebAuthn  # noqa: PLC0415 - see above

    return WebAuthn()
