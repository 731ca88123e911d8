"""Checks of authenticator responses; the library is loaded at the first response."""

from functools import cache
from typing import TYPE_CHECKING

from domain.authenticators import Assertion, Attestation, NewCredential, RelyingParty, VerifiedAssertion
from server.crypto.attestation import ALGORITHMS

if TYPE_CHECKING:
    from server.crypto.webauthn import WebAuthn


class Authenticators:
    """The checks of responses, which are done by `WebAuthn`. Nothing is stored."""

    algorithms: tuple[int, ...] = ALGORITHMS

    def verify_attestation(
        self, response: Attestation, challenge: bytes, expected: RelyingParty
    ) -> NewCredential:
        """Return the credential of a response to this challenge. Raises ResponseRefused."""
        return _webauthn().verify_attestation(response, challenge, expected)

    def verify_assertion(
        self,
        response: Assertion,
        challenge: bytes,
        expected: RelyingParty,
        public_key: bytes,
        algorithm: int,
    ) -> VerifiedAssertion:
        """Return the verified content of a response to this challenge, signed by this key. Raises ResponseRefused."""
        return _webauthn().verify_assertion(response, challenge, expected, public_key, algorithm)


@cache
def _webauthn() -> "WebAuthn":
    # py_webauthn costs 300 ms and 9 MB: a fifth of the time of a start, and most services have no passkeys.
    from server.crypto.webauthn import WebAuthn  # noqa: PLC0415 - see above

    return WebAuthn()
