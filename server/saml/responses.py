"""Verify responses of identity providers to authentication requests (Profiles 4.1.4.2 and 4.1.4.3)."""

from collections.abc import Sequence
from datetime import datetime

from domain.sso.saml import (
    ExpectedResponse,
    SamlIdentityProvider,
    SamlRefusal,
    SamlRefused,
    SamlServiceProvider,
    VerifiedAssertion,
)
from server.saml import assertions, bindings, encryption, names, signatures, structure, xml
from server.saml.names import saml, samlp
from server.saml.signatures import Signed
from server.saml.xml import Element, child, text_of

_STATUSES = frozenset(
    {
        *("AuthnFailed", "InvalidAttrNameOrValue", "InvalidNameIDPolicy", "NoAuthnContext", "NoAvailableIDP"),
        *("NoPassive", "NoSupportedIDP", "PartialLogout", "RequestDenied", "RequestUnsupported"),
        *("UnknownPrincipal", "UnsupportedBinding", "Requester", "Responder", "VersionMismatch"),
    }
)


def read(
    message: str,
    own: SamlServiceProvider,
    provider: SamlIdentityProvider,
    expected: ExpectedResponse,
    now: datetime,
) -> VerifiedAssertion:
    """Return the verified contents of a response. Raises SamlRefused, whose code names the first check that failed."""
    response = xml.parse(bindings.decode_form(message, expected.most_characters))
    structure.check(response)
    in_response_to = _check_envelope(response, own, provider, expected)
    structure.only_assertion(response)
    whole = None
    if signatures.is_signed(response):
        whole = signatures.verify(response, provider.certificates)
        # From here on only what the signature covers is read.
        response = whole.element
        in_response_to = _check_envelope(response, own, provider, expected)
    signed = _signed_assertion(response, whole, own, provider)
    facts = assertions.Facts(
        provider.entity_id, own.entity_id, own.acs_url, in_response_to, expected.skew, now
    )
    return assertions.read(signed, facts)


def _check_envelope(
    response: Element, own: SamlServiceProvider, provider: SamlIdentityProvider, expected: ExpectedResponse
) -> str | None:
    """Return the id of the live request that a response is for; None if none is needed. Raises SamlRefused."""
    if response.tag != structure.RESPONSE or response.get("Version") != "2.0" or not response.get("ID"):
        raise SamlRefused(SamlRefusal.UNEXPECTED)
    _check_status(response)
    _check_sender(response, own.acs_url, provider)
    in_response_to: str | None = response.get("InResponseTo")
    if in_response_to is None:
        if not expected.allows_unsolicited:  # defence: SSO5 unsolicited
            raise SamlRefused(SamlRefusal.UNSOLICITED)
    elif in_response_to not in expected.live_requests:  # defence: SSO5 live
        raise SamlRefused(SamlRefusal.IN_RESPONSE_TO)
    return in_response_to


def _check_status(response: Element) -> None:
    """Raise SamlRefused if a response reports a failure; `detail` names it."""
    codes = _status_codes(response)
    if not codes or codes[0] != names.SUCCESS:
        known = [one.removeprefix(names.STATUS) for one in reversed(codes)]
        raise SamlRefused(SamlRefusal.STATUS, next((one for one in known if one in _STATUSES), ""))


def _status_codes(response: Element) -> Sequence[str]:
    """Return the status of a response, and the more exact one below it."""
    top = response.find(f"{samlp('Status')}/{samlp('StatusCode')}")
    below = None if top is None else top.find(samlp("StatusCode"))
    return [one.get("Value", "") for one in (top, below) if one is not None]


def _check_sender(message: Element, endpoint: str, provider: SamlIdentityProvider) -> None:
    """Raise SamlRefused if a message names another endpoint, or another issuer."""
    if message.get("Destination", endpoint) != endpoint:  # defence: SSO5 destination
        raise SamlRefused(SamlRefusal.DESTINATION)
    issuer = child(message, saml("Issuer"))
    if issuer is not None and text_of(issuer) != provider.entity_id:  # defence: SSO5 issuer
        raise SamlRefused(SamlRefusal.ISSUER)


def _signed_assertion(
    response: Element, whole: Signed | None, own: SamlServiceProvider, provider: SamlIdentityProvider
) -> Signed:
    """Return the assertion of a response as its own signature covers it, or as that of the response does."""
    assertion = structure.only_assertion(response)
    if assertion.tag == structure.ENCRYPTED:
        return _decrypted(assertion, own, provider)
    if whole is not None and not signatures.is_signed(assertion):
        return Signed(assertion)
    return signatures.verify(assertion, provider.certificates)  # defence: SSO1 SSO4 verify


def _decrypted(encrypted: Element, own: SamlServiceProvider, provider: SamlIdentityProvider) -> Signed:
    """Return an encrypted assertion as its own signature covers it.

    Raises SamlRefused, with one code for all that fails after decryption.
    """
    document = encryption.decrypt(encrypted, own.keys)
    try:
        assertion = xml.parse(document)
        structure.check(assertion)
        if assertion.tag != structure.ASSERTION:
            raise SamlRefused(SamlRefusal.UNEXPECTED)
        return signatures.verify(assertion, provider.certificates)  # defence: SSO4 encrypted
    except SamlRefused:
        raise SamlRefused(SamlRefusal.ENCRYPTION) from None  # defence: SSO4 oracle
