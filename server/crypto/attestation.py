"""Checks of the encoding of authenticator responses, before a library decodes them.

Attestations are in CBOR (RFC 8949). A decoder accepts far more than authenticators write (CTAP2, section 8): tags for
dates and regular expressions, items of indefinite length, nesting, and trailing bytes. These checks refuse all of that,
and attestations with certificates, before the library is called.
"""

from domain.authenticators import ResponseRefused

ES256, EDDSA, RS256 = -7, -8, -257
ALGORITHMS = (EDDSA, ES256, RS256)
"""Accepted key algorithms by COSE number (RFC 8152, RFC 8812), in order of preference."""
DEPTH = 4
"""Most levels of nested arrays and maps in an attestation."""

_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _SIMPLE = range(8)
_FALSE, _NULL = 20, 22
_RP_ID_HASH, _HEAD = 32, 37
"""Bytes of authenticator data: the hash of the RP ID, and everything before the credential (Web Authentication Level 3,
section 6.1).
"""
_HAS_CREDENTIAL, _HAS_EXTENSIONS = 0x40, 0x80


def check(attestation_object: bytes) -> None:
    """Check that an attestation has the format `none`, or `packed` without certificates. Raises ResponseRefused."""
    check_item(attestation_object)
    members = dict(_text_members(attestation_object))
    if set(members) != {"fmt", "attStmt", "authData"}:
        raise ResponseRefused("the attestation object has other members")
    form = _content(members["fmt"], _TEXT)
    statement = {name for name, _ in _text_members(members["attStmt"])}
    # The service does not evaluate certificates, so formats that contain them would be parsed for nothing.
    # defence: P13 format
    if (form, statement) not in ((b"none", set()), (b"packed", {"alg", "sig"})):
        raise ResponseRefused("the format of the attestation is not accepted")
    check_authenticator_data(_content(members["authData"], _BYTES))


def check_authenticator_data(data: bytes) -> None:
    """Check that authenticator data has the parts that its flags announce, and no more. Raises ResponseRefused."""
    if len(data) < _HEAD:
        raise ResponseRefused("the authenticator data is too short")
    flags, position = data[_RP_ID_HASH], _HEAD
    if flags & _HAS_CREDENTIAL:
        # After the AAGUID (16 bytes): the length of the credential id, the id, then the public key as CBOR.
        length = int.from_bytes(data[position + 16 : position + 18], "big")
        position = _end(data, position + 18 + length, DEPTH)
    if flags & _HAS_EXTENSIONS:
        position = _end(data, position, DEPTH)
    if position != len(data):
        raise ResponseRefused("the authenticator data has something after its end")


def check_item(data: bytes) -> None:
    """Check that bytes are exactly one CBOR item without trailing bytes. Raises ResponseRefused."""
    if _end(data, 0, DEPTH) != len(data):  # defence: P13 trailing
        raise ResponseRefused("there is something after the end")


def _head(data: bytes, position: int) -> tuple[int, int, int]:
    """Return the major type of an item, its argument, and the offset of its content."""
    if position >= len(data):
        raise ResponseRefused("an item is missing")
    major, short = data[position] >> 5, data[position] & 0x1F
    if short < 24:
        return major, short, position + 1
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(short, 0)
    if not size or position + 1 + size > len(data):
        raise ResponseRefused("an item has no end")
    start = position + 1
    return major, int.from_bytes(data[start : start + size], "big"), start + size


def _end(data: bytes, position: int, depth: int) -> int:
    """Return the offset of the end of an item."""
    major, argument, start = _head(data, position)
    if major in (_UNSIGNED, _NEGATIVE):
        return start
    if major in (_BYTES, _TEXT):
        if argument > len(data) - start:
            raise ResponseRefused("a string has no end")
        return start + argument
    if major in (_ARRAY, _MAP) and depth:
        for _ in range(argument * (1 if major == _ARRAY else 2)):
            start = _end(data, start, depth - 1)
        return start
    if major == _SIMPLE and _FALSE <= argument <= _NULL and start == position + 1:
        return start
    raise ResponseRefused("an item is of a type that attestations do not have")


def _text_members(data: bytes) -> list[tuple[str, bytes]]:
    """Return the members of a map whose keys are short text, each with its encoded value."""
    major, number, position = _head(data, 0)
    if major != _MAP:
        raise ResponseRefused("a map is missing")
    members = []
    for _ in range(number):
        end_of_key = _end(data, position, 0)
        key = _content(data[position:end_of_key], _TEXT)
        end = _end(data, end_of_key, DEPTH)
        members.append((key.decode("utf-8", "replace"), data[end_of_key:end]))
        position = end
    if len({name for name, _ in members}) != number:
        raise ResponseRefused("a member occurs twice")
    return members


def _content(data: bytes, tag: int) -> bytes:
    """Return the content of a string."""
    major, _, start = _head(data, 0)
    if major != tag:
        raise ResponseRefused("a string is missing")
    return data[start:]
