"""The SAML 2.0 bindings in which a browser carries messages: in a form (POST) and in a query (redirect).

In the redirect binding the message is compressed, and the signature is not in the XML, but covers the characters of the
query (Bindings 3.4.4). They are therefore used as they were sent.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote, urlencode, urlsplit

from lxml import etree

from domain.sso.saml import SamlRefusal, SamlRefused
from server.crypto import certificates
from server.saml import names
from server.saml.certificates import load_pinned
from server.saml.xml import WHITESPACE, Element

MOST_RELAY_STATE = 1_024
_SIGNED = ("RelayState", "SigAlg")


class QueryMessage(NamedTuple):
    """A message of the redirect binding, whose signature is verified."""

    name: str
    document: bytes
    relay_state: str | None


def decode_form(message: str, most_characters: int) -> bytes:
    """Decode the base64 of a form field; return the XML document. Raises SamlRefused, also if it is too large."""
    if len(message) > most_characters:  # defence: SSO2 form
        raise SamlRefused(SamlRefusal.TOO_LARGE)
    return _from_base64(message)


def redirect_url(
    location: str,
    name: str,
    message: Element,
    *,
    relay_state: str | None,
    private_key: str | None,
    **more: str,
) -> str:
    """Return a URL that carries a message in the parameter `name`, signed if there is a private key.

    `more` are further parameters, which the signature does not cover.
    """
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    deflated = compressor.compress(etree.tostring(message)) + compressor.flush()
    pairs = [(name, b64encode(deflated).decode())]
    if relay_state is not None:
        pairs.append(("RelayState", relay_state))
    if private_key is not None:
        pairs.append(("SigAlg", names.RSA_SHA256))
        signature = certificates.sign_rsa_sha256(private_key, urlencode(pairs).encode())
        pairs.append(("Signature", b64encode(signature).decode()))
    pairs += more.items()
    return f"{location}{'&' if urlsplit(location).query else '?'}{urlencode(pairs)}"


def read_query(query: str, pinned: Sequence[str], most_bytes: int) -> QueryMessage:
    """Return the message in a query, after verifying its signature by a pinned certificate. Raises SamlRefused."""
    parameters = _parameters(query, most_bytes)
    name = next((one for one in ("SAMLRequest", "SAMLResponse") if one in parameters), None)
    if name is None or ("SAMLRequest" in parameters and "SAMLResponse" in parameters):
        raise SamlRefused(SamlRefusal.ENCODING)
    if unquote(parameters.get("SAMLEncoding", names.DEFLATE)) != names.DEFLATE:
        raise SamlRefused(SamlRefusal.ENCODING)
    _verify(name, parameters, pinned)  # defence: SSO15 query-signature
    document = _inflate(_from_base64(_decoded(parameters[name])), most_bytes)
    relay_state = parameters.get("RelayState")
    return QueryMessage(name, document, None if relay_state is None else _decoded(relay_state))


def _verify(name: str, parameters: Mapping[str, str], pinned: Sequence[str]) -> None:
    """Raise SamlRefused unless a pinned certificate has signed the parameters."""
    if "Signature" not in parameters or "SigAlg" not in parameters:
        raise SamlRefused(SamlRefusal.SIGNATURE_MISSING)
    algorithm = names.DETACHED.get(_decoded(parameters["SigAlg"]))
    if algorithm is None:  # defence: SSO15 query-algorithm
        raise SamlRefused(SamlRefusal.SIGNATURE_ALGORITHM)
    # As sent: another spelling of the same characters would have another signature.
    signed = "&".join(f"{one}={parameters[one]}" for one in (name, *_SIGNED) if one in parameters)
    signature = _from_base64(_decoded(parameters["Signature"]))
    for certificate in load_pinned(pinned):
        if certificates.has_signed(certificate, *algorithm, signed.encode(), signature):
            return
    raise SamlRefused(SamlRefusal.SIGNATURE_INVALID)


def _parameters(query: str, most_bytes: int) -> Mapping[str, str]:
    """Return the encoded parameters of a query, each at most once. Raises SamlRefused."""
    if len(query) > most_bytes:  # defence: SSO2 query
        raise SamlRefused(SamlRefusal.TOO_LARGE)
    found: dict[str, str] = {}
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if name in found:  # defence: SSO15 repeated
            raise SamlRefused(SamlRefusal.ENCODING)
        found[name] = value
    return found


def _inflate(deflated: bytes, most_bytes: int) -> bytes:
    """Return the content of a DEFLATE stream, which is bounded while it is inflated. Raises SamlRefused."""
    decompressor = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    try:
        document = decompressor.decompress(deflated, most_bytes + 1)
    except zlib.error:
        raise SamlRefused(SamlRefusal.ENCODING) from None
    if len(document) > most_bytes:  # defence: SSO2 bomb
        raise SamlRefused(SamlRefusal.TOO_LARGE)
    if not decompressor.eof or decompressor.unused_data:
        raise SamlRefused(SamlRefusal.ENCODING)
    return document


def _from_base64(text: str) -> bytes:
    """Return the bytes of base64, which may be broken into lines. Raises SamlRefused."""
    try:
        return b64decode(
            text.translate({ord(one): None for one in WHITESPACE}).encode("ascii"), validate=True
        )
    except ValueError:
        raise SamlRefused(SamlRefusal.ENCODING) from None


def _decoded(value: str) -> str:
    """Return the characters of a parameter. Raises SamlRefused."""
    try:
        return unquote(value.replace("+", " "), errors="strict")
    except UnicodeDecodeError:
        raise SamlRefused(SamlRefusal.ENCODING) from None
