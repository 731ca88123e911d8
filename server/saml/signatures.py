"""Verification of XML signatures by signxml, after a check that a signature has the only form that SAML needs.

signxml gets a copy of the signed element alone, without the rest of the message and without KeyInfo. So it cannot
verify another element with the same id, or use a key from the message. Only the element that it returns is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lxml.etree import LxmlError
from signxml.algorithms import CanonicalizationMethod, DigestAlgorithm, SignatureMethod
from signxml.exceptions import SignXMLException
from signxml.verifier import SignatureConfiguration, XMLVerifier

from domain.sso.saml import SamlRefusal, SamlRefused
from server.saml import names
from server.saml.certificates import load_pinned
from server.saml.names import ds
from server.saml.xml import Element, child, document_of, parser

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_METHODS = frozenset(
    {
        *(SignatureMethod.RSA_SHA256, SignatureMethod.RSA_SHA384, SignatureMethod.RSA_SHA512),
        *(SignatureMethod.ECDSA_SHA256, SignatureMethod.ECDSA_SHA384, SignatureMethod.ECDSA_SHA512),
        *(SignatureMethod.SHA256_RSA_MGF1, SignatureMethod.SHA384_RSA_MGF1, SignatureMethod.SHA512_RSA_MGF1),
    }
)
_DIGESTS = frozenset({DigestAlgorithm.SHA256, DigestAlgorithm.SHA384, DigestAlgorithm.SHA512})
_METHOD_NAMES = frozenset(method.value for method in _METHODS)
_DIGEST_NAMES = frozenset(digest.value for digest in _DIGESTS)
_STEPS = [names.ENVELOPED, names.EXCLUSIVE, names.EXCLUSIVE]
"""The transforms of the element, and the canonicalization of the signature itself."""
_PREFIXES = f"{{{names.EXCLUSIVE}}}InclusiveNamespaces"
MOST_PREFIXES = 256
"""The most characters of a list of namespace prefixes, which has one to four prefixes in practice."""


@dataclass(frozen=True, slots=True)
class Signed:
    """The element that a verified signature covers, parsed again from the signed bytes."""

    element: Element


def is_signed(element: Element) -> bool:
    """Return whether an element contains its own signature."""
    return element.find(ds("Signature")) is not None


def verify(element: Element, pinned: Sequence[str]) -> Signed:
    """Verify that the key of a pinned certificate has signed the whole element; return the signed element.

    Raises SamlRefused.
    """
    alone = document_of(element)
    signature = child(alone, ds("Signature"))
    if signature is None:
        raise SamlRefused(SamlRefusal.SIGNATURE_MISSING)
    for key_info in signature.findall(ds("KeyInfo")):
        signature.remove(key_info)
    _check_form(signature, alone)
    for certificate in load_pinned(pinned):
        verified = _verified(alone, certificate)
        if verified is not None:
            return Signed(verified)
    raise SamlRefused(SamlRefusal.SIGNATURE_INVALID)


def _verified(alone: Element, certificate: "Certificate") -> Element | None:
    """Return the element that the signature covers, or None if this certificate has not made it."""
    configuration = SignatureConfiguration(
        location="./",
        expect_references=1,
        signature_methods=_METHODS,
        digest_algorithms=_DIGESTS,
        ignore_ambiguous_key_info=True,
        default_reference_c14n_method=CanonicalizationMethod.EXCLUSIVE_XML_CANONICALIZATION_1_0,
        # The key is pinned, so the period of its certificate decides nothing; operators are warned of its end.
        verification_time=certificate.not_valid_before_utc,
    )
    try:
        result = XMLVerifier().verify(
            alone,
            x509_cert=certificate,
            parser=parser(),
            id_attribute="ID",
            expect_config=configuration,
            # Its form was checked; the schema forbids lists of prefixes where some providers have them.
            validate_schema=False,
        )
    # Malformed input causes its own errors, those of lxml, ValueError for other things than base64, and TypeError for
    # an empty value.
    except (SignXMLException, LxmlError, ValueError, TypeError):
        return None
    covered = None if isinstance(result, list) else result.signed_xml
    if covered is None or covered.tag != alone.tag or covered.get("ID") != alone.get("ID"):
        return None
    return covered


def _check_form(signature: Element, element: Element) -> None:
    """Raise SamlRefused unless the signature is over exactly this element, with the accepted algorithms alone.

    This is narrower than the schema of XML Signature: a message has no use for the rest.
    """
    info, _ = _parts(signature, "SignedInfo", "SignatureValue")
    canonicalization, method, reference = _parts(
        info, "CanonicalizationMethod", "SignatureMethod", "Reference"
    )
    own_id = element.get("ID")
    if not own_id or reference.get("URI") != f"#{own_id}":  # defence: SSO1 reference
        raise SamlRefused(SamlRefusal.SIGNATURE_FORM)
    transforms, digest, _ = _parts(reference, "Transforms", "DigestMethod", "DigestValue")
    steps = [*_parts(transforms, "Transform", "Transform"), canonicalization]
    if [_algorithm(one) for one in steps] != _STEPS:  # defence: SSO2 transforms
        raise SamlRefused(SamlRefusal.SIGNATURE_FORM)
    algorithms = method.get("Algorithm"), digest.get("Algorithm")
    if algorithms[0] not in _METHOD_NAMES or algorithms[1] not in _DIGEST_NAMES:  # defence: SSO4 algorithms
        raise SamlRefused(SamlRefusal.SIGNATURE_ALGORITHM)


def _parts(parent: Element, *expected: str) -> list[Element]:
    """Return the children of an element, which have exactly these names. Raises SamlRefused."""
    children = [*parent]
    if [one.tag for one in children] != [ds(name) for name in expected]:  # defence: SSO1 parts
        raise SamlRefused(SamlRefusal.SIGNATURE_FORM)
    return children


def _algorithm(step: Element) -> str | None:
    """Return the algorithm of a transform, or None if it has parameters other than one short list of prefixes."""
    algorithm: str | None = step.get("Algorithm")
    if any(one.tag != _PREFIXES for one in step):
        return None
    # Canonicalization looks up every prefix at every element.
    is_short = len(step) < 2 and all(len(one.get("PrefixList", "")) <= MOST_PREFIXES for one in step)
    return algorithm if is_short else None  # defence: SSO2 prefixes
