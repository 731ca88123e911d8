"""An authenticator and the browser around it, in software: it makes good responses, and bad ones on request."""

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import NameOID

ORIGIN = "https://app.example.com"
RP_ID = "example.com"
ES256, EDDSA, RS256 = -7, -8, -257
UP, UV, BE, BS, AT, ED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80

Json = dict[str, Any]


def base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


@dataclass
class Authenticator:
    """One credential, and the page that uses it. Tests change fields to make it lie."""

    algorithm: int = ES256
    flags: int = UP | UV
    """The flags of its next response."""
    counter: int = 0
    """The counter of its next response; 0 does not count."""
    origin: str = ORIGIN
    rp_id: str = RP_ID
    attestation: str = "none"
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    user_handle: bytes | None = None
    page: Json = field(default_factory=dict)
    """Further members of the client data, or other values of them."""
    rsa_bits: int = 2048

    def __post_init__(self) -> None:
        """Make the private key."""
        self.key: Any = self._new_key()

    def _new_key(self) -> Any:
        if self.algorithm == ES256:
            return ec.generate_private_key(ec.SECP256R1())
        if self.algorithm == EDDSA:
            return ed25519.Ed25519PrivateKey.generate()
        return rsa.generate_private_key(65537, self.rsa_bits)

    @property
    def cose_key(self) -> dict[int, Any]:
        """The public key by the numbers of COSE."""
        public: Any = self.key.public_key()
        if self.algorithm == EDDSA:
            return {1: 1, 3: EDDSA, -1: 6, -2: public.public_bytes_raw()}
        numbers = public.public_numbers()
        if self.algorithm == ES256:
            x, y = (number.to_bytes(32, "big") for number in (numbers.x, numbers.y))
            return {1: 2, 3: ES256, -1: 1, -2: x, -3: y}
        n, e = (number.to_bytes((number.bit_length() + 7) // 8, "big") for number in (numbers.n, numbers.e))
        return {1: 3, 3: RS256, -1: n, -2: e}

    def sign(self, data: bytes) -> bytes:
        """Sign as the algorithm says."""
        if self.algorithm == EDDSA:
            return bytes(self.key.sign(data))
        if self.algorithm == ES256:
            return bytes(self.key.sign(data, ec.ECDSA(hashes.SHA256())))
        return bytes(self.key.sign(data, padding.PKCS1v15(), hashes.SHA256()))

    def certificate(self) -> bytes:
        """Return a certificate of its own key, signed by itself."""
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authenticator")])
        started = datetime(2020, 1, 1, tzinfo=UTC)
        draft = (
            x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(self.key.public_key())
        )
        draft = (
            draft.serial_number(1).not_valid_before(started).not_valid_after(started + timedelta(days=36_500))
        )
        return draft.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)

    def client_data(self, kind: str, challenge: str) -> bytes:
        """Return what the browser says of the page."""
        members = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        said = {**members, **self.page}
        return json.dumps({name: value for name, value in said.items() if value is not ...}).encode()

    def authenticator_data(self, attested: bytes = b"") -> bytes:
        """Return hash of the RP ID, flags and counter, with what was attested."""
        flags = self.flags | (AT if attested else 0)
        head = hashlib.sha256(self.rp_id.encode()).digest() + bytes([flags])
        return head + self.counter.to_bytes(4, "big") + attested

    def attested(self, key: Any = None) -> bytes:
        """Return model, credential id and public key; `key` in place of its own."""
        encoded = (
            cbor2.dumps(self.cose_key) if key is None else key if isinstance(key, bytes) else cbor2.dumps(key)
        )
        length = len(self.credential_id).to_bytes(2, "big")
        return bytes(16) + length + self.credential_id + encoded

    def create(self, options: Json, *, statement: Json | None = None, key: Any = None) -> Json:
        """Answer `navigator.credentials.create`; remember whom the credential is for."""
        self.user_handle = decoded(options["user"]["id"])
        client_data = self.client_data("webauthn.create", options["challenge"])
        data = self.authenticator_data(self.attested(key))
        if statement is None:
            signed = self.sign(data + hashlib.sha256(client_data).digest())
            statement = {} if self.attestation == "none" else {"alg": self.algorithm, "sig": signed}
        attestation = cbor2.dumps({"fmt": self.attestation, "attStmt": statement, "authData": data})
        return self.registration(client_data, attestation)

    def registration(self, client_data: bytes, attestation: bytes) -> Json:
        """Return the JSON of a new credential."""
        response = {
            "clientDataJSON": base64url(client_data),
            "attestationObject": base64url(attestation),
            "transports": ["internal", "hybrid"],
        }
        return self._credential(response)

    def get(self, options: Json) -> Json:
        """Answer `navigator.credentials.get`."""
        client_data = self.client_data("webauthn.get", options["challenge"])
        data = self.authenticator_data()
        signature = self.sign(data + hashlib.sha256(client_data).digest())
        response = {
            "clientDataJSON": base64url(client_data),
            "authenticatorData": base64url(data),
            "signature": base64url(signature),
        }
        if self.user_handle is not None:
            response["userHandle"] = base64url(self.user_handle)
        return self._credential(response)

    def _credential(self, response: Json) -> Json:
        name = base64url(self.credential_id)
        return {"id": name, "rawId": name, "type": "public-key", "response": response}
