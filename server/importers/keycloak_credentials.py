"""The credentials of users of Keycloak: passwords, authenticator apps and passkeys.

Each has two members with JSON, as in
https://github.com/keycloak/keycloak/tree/main/server-spi/src/main/java/org/keycloak/models/credential/dto.
"""

import base64
from collections.abc import Iterator, Sequence

from domain.data_import.eligibility import Field, Problem
from server.importers import metadata
from server.importers.tables import instant
from server.importers.values import Fields

_KEY_BYTES = {"pbkdf2": 20, "pbkdf2-sha256": 32, "pbkdf2-sha512": 64}
_TOTP = ("totp", 6, 30, "HmacSHA1")
"""The only kind of codes that are supported here, which is also the default of Keycloak."""

Credential = tuple[metadata.Metadata, metadata.Metadata, metadata.Metadata]
"""A credential, its data, and its secrets."""


def password(credentials: Sequence[metadata.Metadata]) -> str | Problem | None:
    """Return the password hash in its standard form, or a Problem if it is not supported; None without a password."""
    for _, about, secrets in _of_type(credentials, "password"):
        try:
            return _hash(about, secrets)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError):
            return Problem("passwordHash", "is damaged", Field.PASSWORD)
    return None


def _hash(about: metadata.Metadata, secrets: metadata.Metadata) -> str | Problem:
    algorithm, rounds = str(about["algorithm"]), about["hashIterations"]
    key, salt = (base64.b64decode(str(secrets[name]), validate=True) for name in ("value", "salt"))
    if algorithm == "argon2":
        parameters = metadata.parse(about["additionalParameters"])
        more = {name: str(metadata.parse_list(value)[0]) for name, value in parameters.items()}
        cost = f"m={more['memory']},t={rounds},p={more['parallelism']}"
        if more["version"] == "1.3":
            return f"$argon2{more['type']}$v=19${cost}${_text(salt)}${_text(key)}"
        return Problem("passwordHash", f"has version {more['version'][:8]} of argon2", Field.PASSWORD)
    if algorithm not in _KEY_BYTES:
        return Problem(
            "passwordHash", f"has the algorithm {algorithm[:32]}, which is not supported", Field.PASSWORD
        )
    # Keycloak derives 64 bytes. PBKDF2 derives blocks, and the first block alone is the hash in the standard form.
    salt_text, key_text = (_text(part).replace("+", ".") for part in (salt, key[: _KEY_BYTES[algorithm]]))
    return f"${algorithm}${rounds}${salt_text}${key_text}"


def second_factor(credentials: Sequence[metadata.Metadata]) -> Fields | Problem | None:
    """Return the first supported authenticator app as a second factor, or a Problem if none is supported.

    A user who has only security keys gets codes by email; without a second factor, return None.
    """
    secrets = [_secret(about, secret) for _, about, secret in _of_type(credentials, "otp")]
    if any(secrets):
        return {"secret": next(secret for secret in secrets if secret)}
    if secrets:
        reason = "is no authenticator app with SHA-1, six digits and 30 seconds"
        return Problem("twoFactor", reason, Field.TWO_FACTOR)
    return {} if any(_of_type(credentials, "webauthn")) else None


def _secret(about: metadata.Metadata, secrets: metadata.Metadata) -> str | None:
    """Return a secret in base32; without an encoding, Keycloak uses the bytes of the text."""
    value = secrets.get("value")
    if tuple(about.get(name) for name in ("subType", "digits", "period", "algorithm")) != _TOTP:
        return None
    if not isinstance(value, str):
        return None
    return value if about.get("secretEncoding") else base64.b32encode(value.encode()).decode().rstrip("=")


def passkeys(credentials: Sequence[metadata.Metadata], user_id: object) -> list[Fields]:
    """Return the passkeys among `credentials` with which a user can sign in without a password."""
    # Keycloak registers passkeys with the id of the user as handle.
    handle = base64.urlsafe_b64encode(str(user_id).encode()).decode().rstrip("=")
    return [
        {
            "credentialID": _alphabet(about.get("credentialId"), "+/", "-_"),
            "publicKey": _padded(_alphabet(about.get("credentialPublicKey"), "-_", "+/")),
            "counter": about.get("counter"),
            "name": credential.get("userLabel"),
            "transports": ",".join(str(each) for each in metadata.parse_list(about.get("transports")))
            or None,
            "aaguid": about.get("aaguid"),
            "userHandle": handle,
            "createdAt": instant(credential.get("createdDate")),
        }
        for credential, about, _ in _of_type(credentials, "webauthn-passwordless")
    ]


def _of_type(credentials: Sequence[metadata.Metadata], kind: str) -> Iterator[Credential]:
    for each in credentials:
        if each.get("type") == kind:
            yield each, metadata.parse(each.get("credentialData")), metadata.parse(each.get("secretData"))


def _alphabet(value: object, old: str, new: str) -> str | None:
    return value.translate(str.maketrans(old, new)) if isinstance(value, str) else None


def _padded(text: str | None) -> str | None:
    return None if text is None else text + "=" * (-len(text) % 4)


def _text(octets: bytes) -> str:
    return base64.b64encode(octets).decode().rstrip("=")
