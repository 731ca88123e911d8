"""Checks of the structure of messages: unique ids, and signatures and assertions only where they belong.

They refuse every known form of signature wrapping. They run before any signature is verified.
"""

from domain.sso.saml import SamlRefusal, SamlRefused
from server.saml.names import ds, saml, samlp
from server.saml.xml import Element

ASSERTION = saml("Assertion")
ENCRYPTED = saml("EncryptedAssertion")
RESPONSE = samlp("Response")


def check(root: Element) -> None:
    """Raise SamlRefused for a repeated id, a second response, or a signature or an assertion somewhere else.

    Assertions are children of the root or the root itself. Signatures are children of the root or of an assertion, one
    of each.
    """
    seen: set[str] = set()
    for element in root.iter():
        for own_id in _ids(element):
            if own_id in seen:  # defence: SSO1 duplicates
                raise SamlRefused(SamlRefusal.DUPLICATE_ID)
            seen.add(own_id)
        if element is not root:
            _check_place(element, root)


def only_assertion(response: Element) -> Element:
    """Return the only assertion of a response, encrypted or not. Raises SamlRefused if there is not exactly one."""
    found = [one for one in response if one.tag in {ASSERTION, ENCRYPTED}]
    if len(found) != 1:  # defence: SSO1 one-assertion
        raise SamlRefused(SamlRefusal.UNEXPECTED)
    return found[0]


def _check_place(element: Element, root: Element) -> None:
    parent = element.getparent()
    is_deep = element.tag in {ASSERTION, ENCRYPTED} and parent is not root
    if is_deep or element.tag == RESPONSE:  # defence: SSO1 place
        raise SamlRefused(SamlRefusal.UNEXPECTED)
    if element.tag == ds("Signature"):
        is_in_place = parent is root or (parent.tag == ASSERTION and parent.getparent() is root)
        if not is_in_place or len(parent.findall(element.tag)) != 1:  # defence: SSO1 signature-place
            raise SamlRefused(SamlRefusal.SIGNATURE_MISPLACED)


def _ids(element: Element) -> list[str]:
    """Return the ids of an element: `ID`, `Id`, `id` and `xml:id`, each of which some schema has."""
    return [value for name, value in element.attrib.items() if name.rpartition("}")[2].lower() == "id"]
