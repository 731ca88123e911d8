"""Check and read an assertion (Core 2, Profiles 4.1.4) whose signature was verified."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from domain.sso.saml import UNSPECIFIED, NameId, SamlRefusal, SamlRefused, VerifiedAssertion
from server.saml import names
from server.saml.names import saml
from server.saml.signatures import Signed
from server.saml.xml import Element, child, text_of, time_attribute

MOST_IDENTIFIER = 1_024
"""The most characters of a name identifier; the standard allows 256 for persistent ones."""
_KNOWN_CONDITIONS = frozenset({saml("AudienceRestriction"), saml("OneTimeUse"), saml("ProxyRestriction")})


class Facts(NamedTuple):
    """The values of this service, the provider and the request that an assertion must match."""

    issuer: str
    audience: str
    recipient: str
    in_response_to: str | None
    skew: timedelta
    now: datetime


def read(signed: Signed, facts: Facts) -> VerifiedAssertion:
    """Check that an assertion is valid now and for this service; return its contents. Raises SamlRefused."""
    assertion = signed.element
    if assertion.get("Version") != "2.0":
        raise SamlRefused(SamlRefusal.UNEXPECTED)
    issuer = text_of(child(assertion, saml("Issuer")))
    if issuer != facts.issuer:  # defence: SSO5 assertion-issuer
        raise SamlRefused(SamlRefusal.ISSUER)
    past_time(assertion, "IssueInstant", facts.skew, facts.now)
    ends = [*_check_conditions(child(assertion, saml("Conditions")), facts)]
    subject = child(assertion, saml("Subject"))
    if subject is None:
        raise SamlRefused(SamlRefusal.SUBJECT_CONFIRMATION)
    ends.append(_confirmed_until(subject, facts))
    statement = _authentication(assertion, facts)
    return VerifiedAssertion(
        id=assertion.get("ID"),
        issuer=facts.issuer,
        name_id=name_id_of(subject),
        attributes=_attributes(assertion),
        authenticated_at=statement.at,
        session_index=statement.session_index,
        session_ends_at=statement.session_ends_at,
        in_response_to=facts.in_response_to,
        replay_until=min(ends) + facts.skew,
    )


def past_time(element: Element, name: str, skew: timedelta, now: datetime) -> datetime:
    """Return the time in the attribute `name`. Raises SamlRefused if it is missing, or in the future beyond `skew`."""
    time = time_attribute(element, name)
    if time is None:
        raise SamlRefused(SamlRefusal.MALFORMED)
    if time > now + skew:  # defence: SSO6 past
        raise SamlRefused(SamlRefusal.NOT_YET_VALID)
    return time


def check_period(element: Element, skew: timedelta, now: datetime) -> datetime | None:
    """Check that now, give or take `skew`, is in the period of an element; return its end (`NotOnOrAfter`) or None.

    Raises SamlRefused.
    """
    not_before, end = time_attribute(element, "NotBefore"), time_attribute(element, "NotOnOrAfter")
    if not_before is not None and now + skew < not_before:  # defence: SSO6 not-before
        raise SamlRefused(SamlRefusal.NOT_YET_VALID)
    if end is not None and now - skew >= end:  # defence: SSO6 end
        raise SamlRefused(SamlRefusal.EXPIRED)
    return end


def _check_conditions(conditions: Element | None, facts: Facts) -> Iterator[datetime]:
    """Yield the end of the conditions, if they have one. Raises SamlRefused unless they are met."""
    if conditions is None:  # defence: SSO6 conditions
        raise SamlRefused(SamlRefusal.CONDITIONS)
    end = check_period(conditions, facts.skew, facts.now)
    if any(one.tag not in _KNOWN_CONDITIONS for one in conditions):
        # A condition that is not understood makes the assertion neither valid nor invalid (Core 2.5.1.1).
        raise SamlRefused(SamlRefusal.CONDITIONS)
    restrictions = conditions.findall(saml("AudienceRestriction"))
    audiences = [{text_of(one) for one in each.findall(saml("Audience"))} for each in restrictions]
    if not audiences or any(facts.audience not in each for each in audiences):  # defence: SSO5 audience
        raise SamlRefused(SamlRefusal.AUDIENCE)
    if end is not None:
        yield end


def _confirmed_until(subject: Element, facts: Facts) -> datetime:
    """Return the end of a bearer confirmation for this endpoint and this request. Raises SamlRefused without one."""
    refused = SamlRefused(SamlRefusal.SUBJECT_CONFIRMATION)
    for confirmation in subject.findall(saml("SubjectConfirmation")):
        data = child(confirmation, saml("SubjectConfirmationData"))
        if confirmation.get("Method") != names.BEARER or data is None:  # defence: SSO5 bearer
            continue
        if data.get("Recipient") != facts.recipient:  # defence: SSO5 recipient
            continue
        if data.get("InResponseTo") != facts.in_response_to:  # defence: SSO5 confirmed-request
            continue
        try:
            end = check_period(data, facts.skew, facts.now)
        except SamlRefused as out_of_time:
            refused = out_of_time
            continue
        if end is not None:
            return end
    raise refused


def name_id_of(parent: Element) -> NameId | None:
    """Return the name identifier in an element, or None without one. Raises SamlRefused."""
    if parent.find(saml("EncryptedID")) is not None or parent.find(saml("BaseID")) is not None:
        raise SamlRefused(SamlRefusal.NAME_ID)
    element = child(parent, saml("NameID"))
    if element is None:
        return None
    value = text_of(element)
    if value is None or len(value) > MOST_IDENTIFIER or not _is_plain(value):  # defence: SSO3 name-id
        raise SamlRefused(SamlRefusal.NAME_ID)
    return NameId(value, element.get("Format", UNSPECIFIED))


def _is_plain(value: str) -> bool:
    """Return whether a value has no control, format or unassigned characters, and no space but the common one."""
    return all(one == " " or unicodedata.category(one)[0] not in "CZ" for one in value)


class _Authentication(NamedTuple):
    at: datetime
    session_index: str | None
    session_ends_at: datetime | None


def _authentication(assertion: Element, facts: Facts) -> _Authentication:
    """Return what the only authentication statement says. Raises SamlRefused."""
    statement = child(assertion, saml("AuthnStatement"))
    if statement is None:
        raise SamlRefused(SamlRefusal.AUTHENTICATION_MISSING)
    at = past_time(statement, "AuthnInstant", facts.skew, facts.now)
    session_end = time_attribute(statement, "SessionNotOnOrAfter")
    if session_end is not None and facts.now - facts.skew >= session_end:  # defence: SSO6 session
        raise SamlRefused(SamlRefusal.SESSION_EXPIRED)
    return _Authentication(at, statement.get("SessionIndex"), session_end)


def _attributes(assertion: Element) -> Mapping[str, Sequence[str]]:
    """Return the values of each attribute that are text; an attribute may be given in parts."""
    found: dict[str, list[str]] = {}
    for attribute in assertion.iterfind(f"{saml('AttributeStatement')}/{saml('Attribute')}"):
        values = map(text_of, attribute.findall(saml("AttributeValue")))
        found.setdefault(attribute.get("Name", ""), []).extend(one for one in values if one is not None)
    return {name: tuple(values) for name, values in found.items() if name}
