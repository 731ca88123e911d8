"""Single logout (Core 3.7, Profiles 4.4): write and verify logout requests and responses."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from domain.sso.saml import (
    ExpectedResponse,
    LogoutMessage,
    SamlIdentityProvider,
    SamlLogoutRequest,
    SamlLogoutResponse,
    SamlRefusal,
    SamlRefused,
    SamlServiceProvider,
)
from server.saml import assertions, bindings, names, signatures, structure, xml
from server.saml.names import saml, samlp
from server.saml.requests import SAML, SAMLP, signing_key
from server.saml.xml import Element, child, format_time, text_of

LIFETIME = timedelta(minutes=10)
"""The greatest age of a logout request, during which the caller stores its id against replay."""
MOST_BYTES = 65_536
"""The largest message in bytes, before and after decompression. Real ones have about 2,000 bytes."""


class _Received(NamedTuple):
    """A logout message whose signature is verified."""

    element: Element
    relay_state: str | None


def read(
    message: LogoutMessage,
    own: SamlServiceProvider,
    provider: SamlIdentityProvider,
    expected: ExpectedResponse,
    now: datetime,
) -> SamlLogoutRequest:
    """Verify a logout message; return the logout request.

    Raises SamlRefused. A verified logout response is refused, too, with the code IN_RESPONSE_TO.
    """
    received = (
        _from_query(message.query, provider) if message.form is None else _from_form(message.form, provider)
    )
    element = received.element
    if own.logout_url is None or element.get("Destination") != own.logout_url:  # defence: SSO15 destination
        raise SamlRefused(SamlRefusal.DESTINATION)
    if text_of(child(element, saml("Issuer"))) != provider.entity_id:  # defence: SSO15 issuer
        raise SamlRefused(SamlRefusal.ISSUER)
    replay_until = _fresh_until(element, expected.skew, now)
    if element.tag == samlp("LogoutResponse"):
        raise SamlRefused(SamlRefusal.IN_RESPONSE_TO)
    name_id = assertions.name_id_of(element)
    if name_id is None:
        raise SamlRefused(SamlRefusal.NAME_ID)
    indexes = tuple(text for one in element.findall(samlp("SessionIndex")) if (text := text_of(one)))
    return SamlLogoutRequest(element.get("ID"), name_id, indexes, received.relay_state, replay_until)


def request_url(
    own: SamlServiceProvider, provider: SamlIdentityProvider, request: SamlLogoutRequest, now: datetime
) -> str:
    """Return the URL that carries a signed logout request. Raises ValueError without a logout URL or a key."""
    message = SAMLP.LogoutRequest(
        SAML.Issuer(own.entity_id),
        SAML.NameID(request.name_id.value, Format=request.name_id.format),
        *(SAMLP.SessionIndex(one) for one in request.session_indexes),
        ID=request.id,
        Version="2.0",
        IssueInstant=format_time(now),
        Destination=_location(provider.logout_url),
    )
    return bindings.redirect_url(
        _location(provider.logout_url), "SAMLRequest", message,
        relay_state=request.relay_state, private_key=signing_key(own),
    )  # fmt: skip


def response_url(
    own: SamlServiceProvider,
    provider: SamlIdentityProvider,
    response: SamlLogoutResponse,
    message_id: str,
    now: datetime,
) -> str:
    """Return the URL that carries a signed logout response. Raises ValueError without a logout URL or a key."""
    location = _location(provider.logout_response_url or provider.logout_url)
    status = names.SUCCESS if response.is_success else f"{names.STATUS}Responder"
    message = SAMLP.LogoutResponse(
        SAML.Issuer(own.entity_id),
        SAMLP.Status(SAMLP.StatusCode(Value=status)),
        ID=message_id,
        Version="2.0",
        IssueInstant=format_time(now),
        Destination=location,
        InResponseTo=response.in_response_to,
    )
    return bindings.redirect_url(
        location, "SAMLResponse", message,
        relay_state=response.relay_state, private_key=signing_key(own),
    )  # fmt: skip


def _location(url: str | None) -> str:
    if url is None:
        raise ValueError("the identity provider has no logout URL")
    return url


def _from_query(query: str | None, provider: SamlIdentityProvider) -> _Received:
    message = bindings.read_query(query or "", provider.certificates, MOST_BYTES)
    root = xml.parse(message.document)
    _check_kind(root, message.name)
    return _Received(root, message.relay_state)


def _from_form(form: Mapping[str, str], provider: SamlIdentityProvider) -> _Received:
    sent = [name for name in ("SAMLRequest", "SAMLResponse") if name in form]
    if len(sent) != 1:
        raise SamlRefused(SamlRefusal.ENCODING)
    root = xml.parse(bindings.decode_form(form[sent[0]], MOST_BYTES))
    _check_kind(root, sent[0])
    signed = signatures.verify(root, provider.certificates)  # defence: SSO15 form-signature
    return _Received(signed.element, form.get("RelayState"))


def _check_kind(root: Element, parameter: str) -> None:
    """Raise SamlRefused unless a message is what its parameter says."""
    structure.check(root)
    kind = samlp("LogoutRequest" if parameter == "SAMLRequest" else "LogoutResponse")
    if root.tag != kind or root.get("Version") != "2.0" or not root.get("ID"):
        raise SamlRefused(SamlRefusal.UNEXPECTED)


def _fresh_until(message: Element, skew: timedelta, now: datetime) -> datetime:
    """Return until when a message is accepted. Raises SamlRefused if it is too old, or from the future."""
    issued_at = assertions.past_time(message, "IssueInstant", skew, now)
    if now - skew - LIFETIME >= issued_at:  # defence: SSO15 age
        raise SamlRefused(SamlRefusal.EXPIRED)
    assertions.check_period(message, skew, now)
    return issued_at + LIFETIME + skew
