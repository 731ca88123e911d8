"""Parsing and validation of the passkeys of an imported user."""

import base64
from datetime import datetime

from domain.authenticators import ResponseRefused
from domain.data_import.eligibility import Field, ImportedPasskey, Problem
from domain.passkeys import client_data
from domain.passkeys.registration import CREDENTIAL_ID_BYTES, TRANSPORTS
from models.passkey import MULTI_DEVICE, SINGLE_DEVICE
from server.crypto import webauthn
from server.importers import values
from server.importers.values import Fields

PASSKEY_NAMES = frozenset(
    {
        "name", "credentialID", "publicKey", "counter", "deviceType", "backedUp", "transports", "aaguid", "rpId",
        "userHandle", "lastUsedAt", "createdAt",
    }
)  # fmt: skip
PASSKEYS_AT_MOST = 100
# The counter has 32 bits, and the handle at most 64 bytes (Web Authentication Level 3, 6.1 and 5.4.3).
LARGEST_COUNTER = 2**32 - 1
LONGEST_NAME = 64
LONGEST_KEY = 16_384
LONGEST_TEXT = 253
USER_HANDLE_BYTES = 64


def read(fields: Fields, rp_id: str, now: datetime) -> tuple[ImportedPasskey, ...]:
    """Return the passkeys in a user's fields. Raises Problem for an invalid passkey.

    `rp_id` is the relying party id of a passkey that has none of its own.
    """
    tables = values.tables(fields, "passkeys", PASSKEYS_AT_MOST, PASSKEY_NAMES, Field.PASSKEYS)
    passkeys = tuple(_passkey(table, rp_id, now) for table in tables)
    if len({each.credential_id for each in passkeys}) < len(passkeys):
        raise _problem("contains a credential twice")
    return passkeys


def _passkey(table: Fields, rp_id: str, now: datetime) -> ImportedPasskey:
    device_type = _text(table, "deviceType", LONGEST_TEXT) or SINGLE_DEVICE
    if device_type not in (SINGLE_DEVICE, MULTI_DEVICE):
        raise _problem(f"deviceType must be {SINGLE_DEVICE} or {MULTI_DEVICE}")
    public_key, algorithm = _public_key(table)
    handle = _text(table, "userHandle", LONGEST_TEXT)
    return ImportedPasskey(
        credential_id=_credential_id(table),
        public_key=public_key,
        algorithm=algorithm,
        counter=_counter(table),
        device_type=device_type,
        backed_up=values.flag(table, "backedUp"),
        name=values.line(table, "name", LONGEST_NAME) or None,
        transports=_transports(table),
        aaguid=_text(table, "aaguid", LONGEST_TEXT) or None,
        rp_id=_text(table, "rpId", LONGEST_TEXT) or rp_id,
        user_handle=None
        if handle is None
        else _decoded(handle, "userHandle", range(1, USER_HANDLE_BYTES + 1)),
        last_used_at=values.past(table, "lastUsedAt", now),
        created_at=values.past(table, "createdAt", now),
    )


def _credential_id(table: Fields) -> bytes:
    text = _text(table, "credentialID", 2 * CREDENTIAL_ID_BYTES.stop) or ""
    return _decoded(text.rstrip("="), "credentialID", CREDENTIAL_ID_BYTES)


def _decoded(text: str, name: str, lengths: range) -> bytes:
    decoded = client_data.decode(text)
    if decoded is None or len(decoded) not in lengths:
        raise _problem(f"{name} must be {lengths.start} to {lengths.stop - 1} bytes in base64url")
    return decoded


def _public_key(table: Fields) -> tuple[bytes, int]:
    """Return a key in COSE form, written in base64, and its algorithm."""
    text = _text(table, "publicKey", LONGEST_KEY) or ""
    try:
        public_key = base64.b64decode(text, validate=True)
        return public_key, webauthn.algorithm_of(public_key)
    except (ValueError, ResponseRefused):
        raise _problem("publicKey must be a COSE key of ES256, EdDSA or RS256 in base64") from None


def _counter(table: Fields) -> int:
    value = values.present(table, "counter")
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_COUNTER:
        raise _problem(f"counter must be a whole number up to {LARGEST_COUNTER}")
    return value


def _transports(table: Fields) -> str | None:
    """Return the known words of a text with commas."""
    text = _text(table, "transports", LONGEST_TEXT) or ""
    written = {word.strip() for word in text.split(",")}
    return ",".join(word for word in TRANSPORTS if word in written) or None


def _text(table: Fields, name: str, longest: int) -> str | None:
    return values.text(table, name, longest, Field.PASSKEYS)


def _problem(reason: str) -> Problem:
    return Problem("passkeys", reason, Field.PASSKEYS)
