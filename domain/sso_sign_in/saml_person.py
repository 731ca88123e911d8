"""Read the user from a SAML assertion."""

import json
from collections.abc import Sequence

from domain import identifiers
from domain.identity_provider import SubjectMissing
from domain.sso.configuration import AttributeNames
from domain.sso.saml import EMAIL_ADDRESS, TRANSIENT, VerifiedAssertion
from domain.sso_sign_in.person import MOST_GROUPS, Person, address_of

_CLAIMS = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"
_MICROSOFT = "http://schemas.microsoft.com/"

# The names that Entra ID, Okta, Google, Keycloak and the LDAP profile of SAML use.
_EMAIL = ("email", "mail", f"{_CLAIMS}emailaddress", "urn:oid:0.9.2342.19200300.100.1.3", "Email")
_NAME = (
    "name",
    "displayName",
    f"{_MICROSOFT}identity/claims/displayname",
    "urn:oid:2.16.840.1.113730.3.1.241",
)
_FIRST_NAME = ("firstName", "givenName", f"{_CLAIMS}givenname", "urn:oid:2.5.4.42")
_LAST_NAME = ("lastName", "surname", "sn", f"{_CLAIMS}surname", "urn:oid:2.5.4.4")
_GROUPS = ("groups", "memberOf", f"{_MICROSOFT}ws/2008/06/identity/claims/groups")
_LONGEST_SUBJECT = 255


def of_assertion(assertion: VerifiedAssertion, names: AttributeNames) -> Person:
    """Return the user whom an assertion describes; `names` are the names of its attributes.

    Raises SubjectMissing, UserEmailNotFound, and DomainNotAllowed if there are several email addresses.
    """
    name_id = assertion.name_id
    subject, issuer = _subject(assertion, names.id)
    addresses = _values(assertion, names.email, _EMAIL)
    if not addresses and name_id is not None and name_id.format == EMAIL_ADDRESS:
        addresses = [name_id.value]
    sessions = {"index": assertion.session_index}
    return Person(
        subject=subject,
        issuer=issuer,
        email=address_of(addresses),
        name=_name(assertion, names),
        image=identifiers.image_or_none("".join(_values(assertion, names.image, ("picture",))[:1]) or None),
        groups=_values(assertion, names.groups, _GROUPS)[:MOST_GROUPS],
        session_index=assertion.session_index,
        name_id=None if name_id is None else json.dumps({**name_id._asdict(), **sessions}),
        amr="fed",
        authenticated_at=assertion.authenticated_at,
        not_after=assertion.session_ends_at,
        signed_out_as=None if name_id is None else name_id.value,
    )


def _subject(assertion: VerifiedAssertion, attribute: str | None) -> tuple[str, str]:
    """Return the lasting identifier of a user, and the format of a NameID. Raises SubjectMissing."""
    if attribute is not None:
        values, issuer = assertion.attributes.get(attribute, ()), ""
        subject = values[0] if len(values) == 1 else ""
    elif assertion.name_id is not None and assertion.name_id.format != TRANSIENT:
        subject, issuer = assertion.name_id
    else:
        raise SubjectMissing  # A transient identifier is another one at every sign-in.
    if not subject.strip() or len(subject) > _LONGEST_SUBJECT or not subject.isprintable():
        raise SubjectMissing
    return subject, issuer


def _name(assertion: VerifiedAssertion, names: AttributeNames) -> str:
    parts = _values(assertion, names.name, _NAME)[:1] or [
        *_values(assertion, names.first_name, _FIRST_NAME)[:1],
        *_values(assertion, names.last_name, _LAST_NAME)[:1],
    ]
    return identifiers.clean_name(" ".join(parts))


def _values(assertion: VerifiedAssertion, own: str | None, usual: Sequence[str]) -> Sequence[str]:
    """Return the values of the attribute that the connection names, else of the first usual one that is there."""
    found = (assertion.attributes.get(name) for name in ((own,) if own else usual))
    return next((list(values) for values in found if values), [])
