"""Check responses of authenticators (Web Authentication Level 3, sections 7.1 and 7.2).

The library compares and verifies what is standard. Added here is what it leaves out: pages in frames, attestation
formats, keys that no authenticator makes, and CBOR that is more than an attestation needs. It takes 150 ms to load, so
it is loaded for the first response.
"""

from domain.passkeys.client_data import CREATE, GET, ClientData
from domain.ports import (
    Assertion,
    Attestation,
    NewCredential,
    RelyingParty,
    ResponseRefused,
    VerifiedAssertion,
)

ES256, EDDSA, RS256 = -7, -8, -257
ALGORITHMS = (EDDSA, ES256, RS256)
"""The algorithms of keys that are offered and accepted, by their COSE numbers, the preferred one first."""
