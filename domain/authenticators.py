"""The interface to a Web Authentication library; `server/crypto` implements it."""

from typing import NamedTuple, Protocol


class ResponseRefused(Exception):
    """The response of an authenticator is malformed, or its verification has failed."""


class RelyingParty(NamedTuple):
    """The relying party for which an authenticator must respond (Web Authentication Level 3, "relying party")."""

    rp_id: str
    origins: tuple[str, ...]
    requires_user_verification: bool


class Attestation(NamedTuple):
    """The response of an authenticator that has created a credential."""

    credential_id: bytes
    client_data: bytes
    attestation_object: bytes


class NewCredential(NamedTuple):
    """A credential that an authenticator has created, with the flags of its response."""

    public_key: bytes
    """In COSE form (RFC 9052)."""
    algorithm: int
    """The COSE number of the signature algorithm."""
    counter: int
    aaguid: str
    """The identifier of the authenticator's model."""
    backup_eligible: bool
    backed_up: bool
    user_verified: bool


class Assertion(NamedTuple):
    """The response of an authenticator that proves a credential."""

    credential_id: bytes
    client_data: bytes
    authenticator_data: bytes
    signature: bytes
    user_handle: bytes | None


class VerifiedAssertion(NamedTuple):
    """The contents of a verified assertion."""

    counter: int
    backup_eligible: bool
    backed_up: bool
    user_verified: bool


class Authenticators(Protocol):
    """Verifies responses of authenticators (Web Authentication Level 3, sections 7.1 and 7.2), without any state.

    The caller uses up the challenge, and compares the counter and the owner of the credential.
    """

    algorithms: tuple[int, ...]
    """The COSE numbers of the algorithms that are accepted, the preferred one first."""

    def verify_attestation(
        self, response: Attestation, challenge: bytes, expected: RelyingParty
    ) -> NewCredential:
        """Verify the response to this challenge; return the new credential. Raises ResponseRefused."""

    def verify_assertion(
        self,
        response: Assertion,
        challenge: bytes,
        expected: RelyingParty,
        public_key: bytes,
        algorithm: int,
    ) -> VerifiedAssertion:
        """Verify the response to this challenge with the public key of the credential; return its contents.

        Raises ResponseRefused.
        """
