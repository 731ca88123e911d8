"""Fast hashes of other programs: MD5, SHA-1 and SHA-2, with or without a salt, and phpass.

Graphics cards try billions of passwords a second against them, so they are never stored. At import, argon2id hashes the
digest, and `$wrapped$SCHEME$argon2id$…` is stored. A check computes the digest of the password first. The scheme names
the algorithm and its public parameters: `md5`, `sha1,before=c2FsdA` with a salt before the password in base64,
`sha256,after=c2FsdA` with one after it, or `phpass,ln=13,salt=IQRaTwmf` with the base-2 logarithm of the rounds.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any

from passlib.hash import argon2, phpass

from domain.data_import.eligibility import WeakHash

PREFIX = "$wrapped$"
"""The prefix of stored hashes."""

_PHPASS_DIGITS = 22
"""Characters of the digest of phpass."""
_ALGORITHMS = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}
"""The algorithms, by the number of hexadecimal digits of the digest."""
_SALT = "[A-Za-z0-9+/]{1,342}"
"""Pattern of a salt: at most 256 bytes in base64 without padding."""
_PLAIN = rf"(?:md5|sha1|sha256|sha512)(?:,before={_SALT})?(?:,after={_SALT})?"
_SCHEME = rf"{_PLAIN}|phpass,ln=(?:[7-9]|[12][0-9]|30),salt=[./0-9A-Za-z]{{8}}"
_WRAPPED = re.compile(rf"\$wrapped\$(?P<scheme>{_SCHEME})(?P<outer>\$argon2id\$.+)")
_DIGEST = re.compile(rf"\$digest\$(?P<scheme>{_PLAIN})\$(?P<digest>[0-9a-fA-F]+)")
_DJANGO = re.compile(r"(?P<algorithm>md5|sha1)\$(?P<salt>[^$]*)\$(?P<digest>[0-9a-fA-F]+)")
_LDAP = re.compile(r"\{(?P<salted>S?)(?P<algorithm>MD5|SHA|SHA256|SHA512)\}(?P<octets>.+)", re.IGNORECASE)
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}|[0-9a-fA-F]{128}")
_PREFIXES = ("$digest$", "md5$", "sha1$", "{", "$P$", "$H$")


def parse(hashed: str) -> WeakHash | None:
    """Parse a fast hash of another program; return None for a hash in another format.

    The formats are listed in docs/pages/guides/import.md. Raises ValueError for a damaged hash.
    """
    if _HEXADECIMAL.fullmatch(hashed):
        return WeakHash(_ALGORITHMS[len(hashed)], hashed.lower())
    if not hashed.startswith(_PREFIXES):
        return None
    if hashed.startswith(("$P$", "$H$")):
        portable: Any = phpass.from_string(hashed)
        return _checked(f"phpass,ln={portable.rounds},salt={portable.salt}", portable.checksum or "")
    if match := _DJANGO.fullmatch(hashed):
        return _salted(match["algorithm"], bytes.fromhex(match["digest"]), before=match["salt"].encode())
    if match := _LDAP.fullmatch(hashed):
        return _ldap(match["algorithm"].lower(), match["octets"], is_salted=bool(match["salted"]))
    if match := _DIGEST.fullmatch(hashed):
        return _checked(match["scheme"], match["digest"].lower())
    raise ValueError("not a hash in this format")


def wrapped(scheme: str, outer: str) -> str:
    """Return the hash to store: the scheme of a fast hash, and the argon2id hash of its digest."""
    return f"{PREFIX}{scheme}{outer}"


def unwrapped(hashed: str) -> tuple[str, str] | None:
    """Return the scheme and the argon2id hash of a wrapped hash, or None for a hash in another format.

    Raises ValueError for a damaged hash.
    """
    if not hashed.startswith(PREFIX):
        return None
    match = _WRAPPED.fullmatch(hashed)
    if match is None:
        raise ValueError("not a wrapped hash")
    # Only to refuse base64 that cannot be decoded, which the pattern lets through.
    _salts(_settings(match["scheme"])[1])
    return match["scheme"], match["outer"]


def log_rounds(scheme: str) -> int:
    """Return the base-2 logarithm of a scheme's rounds; 0 for a digest, which has one round, unlike phpass."""
    return int(_settings(scheme)[1].get("ln", 0))


def matches(secret: bytes, hashed: str) -> bool:
    """Return whether a password matches a wrapped hash. Raises ValueError for a damaged hash."""
    scheme, outer = unwrapped(hashed) or ("", "")
    return bool(argon2.verify(_digest(scheme, secret), outer))


def _digest(scheme: str, secret: bytes) -> str:
    name, settings = _settings(scheme)
    if name == "phpass":
        hashed: str = phpass.using(rounds=int(settings["ln"]), salt=settings["salt"]).hash(secret)
        return hashed[-_PHPASS_DIGITS:]
    before, after = _salts(settings)
    return hashlib.new(name, before + secret + after, usedforsecurity=False).hexdigest()


def _settings(scheme: str) -> tuple[str, dict[str, str]]:
    name, *pairs = scheme.split(",")
    return name, dict(pair.split("=") for pair in pairs)


def _salts(settings: Mapping[str, str]) -> tuple[bytes, bytes]:
    return _octets(settings.get("before", "")), _octets(settings.get("after", ""))


def _ldap(algorithm: str, encoded: str, *, is_salted: bool) -> WeakHash:
    """Return a hash of RFC 2307 or its successors: the digest, followed by the salt if there is one."""
    name = "sha1" if algorithm == "sha" else algorithm
    octets, size = _octets(encoded.rstrip("=")), hashlib.new(name, usedforsecurity=False).digest_size
    if is_salted != (len(octets) > size):
        raise ValueError("the salt is missing, or not expected")
    return _salted(name, octets[:size], after=octets[size:])


def _salted(algorithm: str, digest: bytes, *, before: bytes = b"", after: bytes = b"") -> WeakHash:
    salts = "".join(f",{side}={_text(salt)}" for side, salt in (("before", before), ("after", after)) if salt)
    return _checked(algorithm + salts, digest.hex())


def _checked(scheme: str, digest: str) -> WeakHash:
    """Return a hash whose digest is as long as its algorithm makes it. Raises ValueError."""
    name, settings = _settings(scheme)
    _salts(settings)
    digits = _PHPASS_DIGITS if name == "phpass" else hashlib.new(name).digest_size * 2
    if re.fullmatch(_SCHEME, scheme) is None or len(digest) != digits:
        raise ValueError("not a digest of this algorithm")
    return WeakHash(scheme, digest)


def _octets(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def _text(octets: bytes) -> str:
    return base64.b64encode(octets).decode().rstrip("=")
