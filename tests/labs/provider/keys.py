"""The provider's signing keys, and ID tokens forged in every way a test may want."""

import hmac
import json
from dataclasses import dataclass
from typing import Any

from joserfc.jwa import JWS_ALGORITHMS
from joserfc.jwk import ECKey, Key, KeySet, OKPKey, RSAKey
from joserfc.util import to_bytes, urlsafe_b64encode

SIGNING = ("RS256", "PS256", "ES256", "Ed25519", "EdDSA")
_ALGORITHMS = {algorithm.name: algorithm for algorithm in JWS_ALGORITHMS}


@dataclass(frozen=True)
class Keys:
    """One key of each type, and a stranger's of the same ids whose public half is published nowhere."""

    rsa: RSAKey
    ec: ECKey
    okp: OKPKey
    stranger: RSAKey

    @classmethod
    def generate(cls, name: str) -> "Keys":
        """Make new keys; `name` begins their ids."""
        return cls(
            RSAKey.generate_key(2048, {"kid": f"{name}-rsa", "use": "sig"}),
            ECKey.generate_key("P-256", {"kid": f"{name}-ec", "use": "sig", "alg": "ES256"}),
            OKPKey.generate_key("Ed25519", {"kid": f"{name}-okp", "use": "sig"}),
            RSAKey.generate_key(2048, {"kid": f"{name}-rsa", "use": "sig"}),
        )

    def public(self) -> dict[str, Any]:
        """Return the key set that is published."""
        return dict(KeySet([self.rsa, self.ec, self.okp]).as_dict(private=False))

    def of(self, algorithm: str) -> Key:
        """Return the key that signs by an algorithm."""
        if algorithm in {"EdDSA", "Ed25519"}:
            return self.okp
        return self.ec if algorithm == "ES256" else self.rsa


def sign(keys: Keys, header: dict[str, Any], claims: dict[str, Any], how: str) -> str:
    """Sign claims as nobody honest would check: the header is written as given, `how` picks the key.

    `own` is the published key, `stranger` one that is not, `hmac-public-key` takes the published RSA key for a shared
    secret, `none` leaves the signature empty.
    """
    algorithm = str(header.get("alg"))
    content = b".".join(urlsafe_b64encode(to_bytes(json.dumps(part))) for part in (header, claims))
    return (content + b"." + urlsafe_b64encode(_signature(keys, algorithm, content, how))).decode()


def _signature(keys: Keys, algorithm: str, content: bytes, how: str) -> bytes:
    if how == "none":
        return b""
    if how == "hmac-public-key":
        return hmac.digest(keys.rsa.as_pem(private=False), content, "sha256")
    key = keys.stranger if how == "stranger" else keys.of(algorithm)
    return _ALGORITHMS[algorithm if algorithm in SIGNING else "RS256"].sign(content, key)
