"""The eight published forms of XML signature wrapping (Somorovsky and others, "On Breaking SAML", 2012), generated.

Each keeps a valid signature somewhere in the document, and puts an altered element where a careless reader looks.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from lxml import etree

from tests.server.saml.provider import NAMESPACES

Element = Any
EVIL = "mallory@example.com"


def _find(root: Element, path: str) -> Element:
    return root.find(path, NAMESPACES)


def _evil(element: Element, *, keeps_id: bool = False) -> Element:
    """Return a copy of an element without its signature, for another person."""
    copy = deepcopy(element)
    _drop_signature(copy)
    if not keeps_id:
        copy.set("ID", "_evil")
    for name in copy.iter("{*}NameID"):
        name.text = EVIL
    for value in copy.iter("{*}AttributeValue"):
        value.text = EVIL
    return copy


def _drop_signature(element: Element) -> Element:
    """Remove the signature of an element, and return it."""
    signature = _find(element, "ds:Signature")
    element.remove(signature)
    return signature


def _object(content: Element) -> Element:
    wrapper = etree.Element(f"{{{NAMESPACES['ds']}}}Object")
    wrapper.append(content)
    return wrapper


def _response_in_signature(root: Element) -> Element:
    """1: an altered response has the signature of the real one, which is inside of that signature."""
    evil = deepcopy(root)
    signature = _drop_signature(evil)
    original = deepcopy(root)
    _drop_signature(original)
    signature.append(original)
    evil.set("ID", "_evil")
    for name in evil.iterfind("saml:Assertion/saml:Subject/saml:NameID", NAMESPACES):
        name.text = EVIL
    evil.insert(1, signature)
    return evil


def _response_before_signature(root: Element) -> Element:
    """2: the real response is in the altered one, before the signature."""
    evil = _response_in_signature(root)
    signature = _find(evil, "ds:Signature")
    original = _find(signature, "samlp:Response")
    signature.remove(original)
    evil.insert(1, original)
    return evil


def _assertion_before(root: Element) -> Element:
    """3: an altered assertion is before the real one."""
    real = _find(root, "saml:Assertion")
    real.addprevious(_evil(real))
    return root


def _assertion_around(root: Element) -> Element:
    """4: the real assertion is in the altered one."""
    real = _find(root, "saml:Assertion")
    evil = _evil(real)
    real.addprevious(evil)
    evil.append(real)
    return root


def _signature_moved(root: Element) -> Element:
    """5: an altered assertion has the signature of the real one, which is at the end."""
    real = _find(root, "saml:Assertion")
    evil = _evil(real)
    evil.insert(1, _drop_signature(real))
    real.addprevious(evil)
    root.append(real)
    return root


def _assertion_in_moved_signature(root: Element) -> Element:
    """6: like 5, and the real assertion is in the signature."""
    _signature_moved(root)
    evil, real = root.findall("saml:Assertion", NAMESPACES)
    _find(evil, "ds:Signature").append(real)
    return root


def _assertion_in_extensions(root: Element) -> Element:
    """7: an altered assertion is in an element whose content the schema leaves open."""
    real = _find(root, "saml:Assertion")
    extensions = etree.Element(f"{{{NAMESPACES['samlp']}}}Extensions")
    extensions.append(_evil(real, keeps_id=True))
    root.insert(1, extensions)
    return root


def _assertion_in_object(root: Element) -> Element:
    """8: an altered assertion has the signature of the real one, which is in an object of that signature."""
    real = _find(root, "saml:Assertion")
    evil = _evil(real)
    signature = _drop_signature(real)
    evil.insert(1, signature)
    real.addprevious(evil)
    signature.append(_object(real))
    return root


FORMS: Mapping[str, Callable[[Element], Element]] = {
    "1": _response_in_signature,
    "2": _response_before_signature,
    "3": _assertion_before,
    "4": _assertion_around,
    "5": _signature_moved,
    "6": _assertion_in_moved_signature,
    "7": _assertion_in_extensions,
    "8": _assertion_in_object,
}


def wrapped(form: str, response: str) -> str:
    """Return a response in one of the forms."""
    return str(etree.tostring(FORMS[form](etree.fromstring(response))), "ascii")
