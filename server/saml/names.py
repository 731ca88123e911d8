"""Names of elements and algorithms: SAML 2.0, XML Signature 1.1, XML Encryption 1.1."""

from collections.abc import Callable

SAML = "urn:oasis:names:tc:SAML:2.0:assertion"
SAMLP = "urn:oasis:names:tc:SAML:2.0:protocol"
MD = "urn:oasis:names:tc:SAML:2.0:metadata"
DS = "http://www.w3.org/2000/09/xmldsig#"
XENC = "http://www.w3.org/2001/04/xmlenc#"
XENC11 = "http://www.w3.org/2009/xmlenc11#"
EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
ENVELOPED = f"{DS}enveloped-signature"

POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
DEFLATE = "urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE"
BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
STATUS = "urn:oasis:names:tc:SAML:2.0:status:"
SUCCESS = f"{STATUS}Success"
ENTITY = "urn:oasis:names:tc:SAML:2.0:nameid-format:entity"

RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
DETACHED = {
    f"http://www.w3.org/2001/04/xmldsig-more#{family}-sha{bits}": (family, bits)
    for family in ("rsa", "ecdsa")
    for bits in (256, 384, 512)
}
"""The algorithms of signatures over a query."""


def _names_in(namespace: str) -> Callable[[str], str]:
    """Return a function that returns the full name of an element of a namespace."""
    return lambda name: f"{{{namespace}}}{name}"


saml = _names_in(SAML)
samlp = _names_in(SAMLP)
md = _names_in(MD)
ds = _names_in(DS)
xenc = _names_in(XENC)
