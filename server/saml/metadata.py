"""Read the SAML 2.0 metadata of identity providers, and write that of this service (saml-metadata-2.0-os).

Signatures of metadata are not verified, because a manager provides the document, or an https URL of it.
"""

from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit

from lxml import etree
from lxml.builder import ElementMaker

from domain.sso.saml import (
    EMAIL_ADDRESS,
    PERSISTENT,
    UNSPECIFIED,
    CertificateFacts,
    MetadataRefused,
    SamlMetadata,
    SamlRefused,
    SamlServiceProvider,
)
from server.crypto import certificates
from server.saml import names, xml
from server.saml.certificates import MOST
from server.saml.names import ds, md
from server.saml.xml import Element, time_attribute

MOST_BYTES = 1_048_576
MOST_URL = 2_048
_MD = ElementMaker(namespace=names.MD, nsmap={"md": names.MD, "ds": names.DS})
_DS = ElementMaker(namespace=names.DS)
_FORMATS = (PERSISTENT, EMAIL_ADDRESS, UNSPECIFIED)
_ENCRYPTION = (
    f"{names.XENC11}aes256-gcm",
    f"{names.XENC11}aes128-gcm",
    f"{names.XENC}aes256-cbc",
    f"{names.XENC}rsa-oaep-mgf1p",
)
"""What providers are asked to encrypt with, the best first."""


def read(document: bytes, now: datetime) -> SamlMetadata:
    """Parse the metadata of an identity provider; return its contents. Raises MetadataRefused."""
    if len(document) > MOST_BYTES:  # defence: SSO2 metadata
        raise MetadataRefused("The metadata is larger than 1 MiB: export that of one identity provider.")
    try:
        root = xml.parse(document, xml.METADATA)
        return _of_entity(_entity(root), now)
    except SamlRefused as refused:
        raise MetadataRefused(
            f"The metadata is not XML that can be read ({refused.code.value}): download it from the provider again."
        ) from None


def _entity(root: Element) -> Element:
    """Return the only entity that is an identity provider. Raises MetadataRefused."""
    found = [one for one in root.iter(md("EntityDescriptor")) if one.find(md("IDPSSODescriptor")) is not None]
    if len(found) != 1:
        raise MetadataRefused(
            f"IDPSSODescriptor: there are {len(found)} identity providers, and exactly one is needed."
            " Check that this is the metadata of the provider, not that of an application."
        )
    return found[0]


def _of_entity(entity: Element, now: datetime) -> SamlMetadata:
    entity_id = (entity.get("entityID") or "").strip(xml.WHITESPACE)
    if not entity_id or len(entity_id) > MOST_URL:
        raise MetadataRefused("entityID of EntityDescriptor is missing or has more than 2,048 characters.")
    roles = entity.findall(md("IDPSSODescriptor"))
    role = next(
        (one for one in roles if names.SAMLP in one.get("protocolSupportEnumeration", "").split()), None
    )
    if role is None:
        raise MetadataRefused("protocolSupportEnumeration of IDPSSODescriptor does not name SAML 2.0.")
    # The end of a collection of entities holds for each of them, too (saml-metadata-2.0-os, 2.3.1).
    for each in (entity.getparent(), entity, role):
        end = None if each is None else time_attribute(each, "validUntil")
        if end is not None and end <= now:
            raise MetadataRefused("validUntil has passed: download the metadata from the provider again.")
    sign_in = _service(role, "SingleSignOnService")
    if sign_in is None:
        raise MetadataRefused(
            "SingleSignOnService with the binding HTTP-Redirect is missing: enable it at the provider."
        )
    logout = _service(role, "SingleLogoutService")
    responds_at = None if logout is None else logout.get("ResponseLocation")
    return SamlMetadata(
        entity_id,
        _url(sign_in.get("Location"), "Location of SingleSignOnService"),
        None if logout is None else _url(logout.get("Location"), "Location of SingleLogoutService"),
        None if responds_at is None else _url(responds_at, "ResponseLocation of SingleLogoutService"),
        _certificates(role),
        role.get("WantAuthnRequestsSigned", "").strip() in {"true", "1"},
    )


def _service(role: Element, name: str) -> Element | None:
    """Return the first endpoint with the redirect binding."""
    return next((one for one in role.findall(md(name)) if one.get("Binding") == names.REDIRECT), None)


def _url(location: str | None, name: str) -> str:
    """Return a URL of HTTP. Raises MetadataRefused for other ones, such as scripts."""
    try:
        parts = urlsplit(location or "")
        is_url = (
            parts.scheme in {"https", "http"} and parts.hostname and not parts.username and not parts.fragment
        )
    except ValueError:
        is_url = False
    if not location or not is_url or len(location) > MOST_URL or not location.isascii() or " " in location:
        raise MetadataRefused(f"{name} is not an https URL of at most 2,048 characters.")
    return location


def _certificates(role: Element) -> Sequence[CertificateFacts]:
    """Return the certificates that sign, each once. Raises MetadataRefused for none, and for weak ones."""
    found: dict[str, CertificateFacts] = {}
    for descriptor in role.findall(md("KeyDescriptor")):
        # Without `use` a key is for signing and for encryption (saml-metadata-2.0-os, 2.4.1.1).
        if descriptor.get("use", "signing") != "signing":
            continue
        for element in descriptor.iterfind(f"{ds('KeyInfo')}/{ds('X509Data')}/{ds('X509Certificate')}"):
            each = certificates.facts(element.text or "")
            found[each.fingerprint] = each
    if not found:
        raise MetadataRefused("KeyDescriptor: there is no X509Certificate for signing.")
    if len(found) > MOST:
        raise MetadataRefused(f"KeyDescriptor: there are more than {MOST} certificates for signing.")
    return [*found.values()]


def write(own: SamlServiceProvider, *, signs_requests: bool) -> bytes:
    """Return the metadata of this service as XML. `signs_requests`: whether it signs authentication requests."""
    role = _MD.SPSSODescriptor(
        AuthnRequestsSigned="true" if signs_requests else "false",
        WantAssertionsSigned="true",
        protocolSupportEnumeration=names.SAMLP,
    )
    for number, key in enumerate(own.keys):
        # All keys may sign while one replaces another, but nothing new is encrypted for an old one.
        for use in ("signing", "encryption") if number == 0 else ("signing",):
            role.append(_key_descriptor(use, key.certificate))
    if own.logout_url is not None:
        for binding in (names.REDIRECT, names.POST):
            role.append(_MD.SingleLogoutService(Binding=binding, Location=own.logout_url))
    role.extend(_MD.NameIDFormat(one) for one in _FORMATS)
    acs = {"Binding": names.POST, "Location": own.acs_url, "index": "0", "isDefault": "true"}
    role.append(_MD.AssertionConsumerService(**acs))
    document = _MD.EntityDescriptor(role, entityID=own.entity_id)
    written: bytes = etree.tostring(document, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return written


def _key_descriptor(use: str, certificate: str) -> Element:
    encoded = b64encode(certificates.der(certificate)).decode()
    descriptor = _MD.KeyDescriptor(_DS.KeyInfo(_DS.X509Data(_DS.X509Certificate(encoded))), use=use)
    if use == "encryption":
        descriptor.extend(_MD.EncryptionMethod(Algorithm=one) for one in _ENCRYPTION)
    return descriptor
