"""The user that an identity provider has identified, in one form for OpenID Connect and SAML."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from domain import identifiers
from domain.identifiers import InvalidEmail
from domain.identity_provider import Identity
from domain.social.errors import UserEmailNotFound
from domain.sso.configuration import AttributeNames
from domain.sso_sign_in.errors import DomainNotAllowed
from models.base import from_milliseconds, to_milliseconds

MOST_GROUPS = 1000
"""The most groups of a user that are read; further ones are ignored."""

_GROUPS = "groups"
_AMR = re.compile(r"[a-z0-9_-]{1,32}")
_MOST_AMR = 8
_LATEST = 253_402_300_800
"""The year 10,000, in seconds since 1970."""
_TIMES = ("authenticated_at", "not_after")


@dataclass(frozen=True, slots=True)
class Person:
    """A user as the identity provider of a connection describes them, and their session there."""

    subject: str
    issuer: str
    """The issuer of the subject; for a SAML NameID its format."""
    email: str
    """The email address in lower case."""
    name: str
    image: str | None
    groups: Sequence[str] = ()
    session_index: str | None = field(default=None, repr=False)
    """The provider's identifier of its session; None if it sent none."""
    name_id: str | None = field(default=None, repr=False)
    """The name identifier for a SAML logout request, as JSON; None for OpenID Connect."""
    amr: str | None = None
    not_after: datetime | None = None
    authenticated_at: datetime | None = None
    """When the user has authenticated at the identity provider; None if it does not say so."""
    signed_out_as: str | None = field(default=None, repr=False)
    """The name of the user in logout messages of the provider; None for the subject."""

    def serialize(self) -> dict[str, Any]:
        """Return the values in a form for JSON."""
        times = {name: getattr(self, name) for name in _TIMES}
        return {**asdict(self), **{name: time and to_milliseconds(time) for name, time in times.items()}}

    @classmethod
    def deserialize(cls, values: Mapping[str, Any]) -> "Person":
        """Return the person from the result of `serialize`."""
        times = {name: values[name] for name in _TIMES}
        known = {name: None if time is None else from_milliseconds(time) for name, time in times.items()}
        return cls(**{**values, **known})


def of_claims(identity: Identity, names: AttributeNames) -> Person:
    """Return the user whom the claims of an OpenID provider describe; `names` are the names of the claims.

    Raises UserEmailNotFound, and DomainNotAllowed if there are several email addresses.
    """
    claims = identity.profile
    session_id = claims.get("sid")
    return Person(
        subject=identity.subject,
        issuer=identity.issuer,
        email=address_of(values_of(claims, names.email or "email")),
        name=identity.name or _full_name(claims, names),
        image=identity.image,
        groups=values_of(claims, names.groups or _GROUPS)[:MOST_GROUPS],
        session_index=session_id if isinstance(session_id, str) else None,
        amr=_amr(claims.get("amr")),
        authenticated_at=_time(claims.get("auth_time")),
    )


def address_of(values: Sequence[str]) -> str:
    """Return the only email address among the values of an attribute, in lower case.

    Raises UserEmailNotFound; DomainNotAllowed if there are several.
    """
    addresses = {value.lower() for value in values}
    if len(addresses) > 1:  # defence: SSO8 one-address
        raise DomainNotAllowed
    try:
        return identifiers.email("".join(addresses))
    except InvalidEmail as malformed:
        raise UserEmailNotFound from malformed


def values_of(claims: Mapping[str, Any], name: str) -> Sequence[str]:
    """Return the text values of a claim, which may be one value or a list."""
    value = claims.get(name)
    listed = value if isinstance(value, list) else [value]
    return [text for text in listed if isinstance(text, str)]


def _full_name(claims: Mapping[str, Any], names: AttributeNames) -> str:
    parts = (names.first_name or "given_name", names.last_name or "family_name")
    return identifiers.clean_name(" ".join(text for part in parts for text in values_of(claims, part)[:1]))


def _time(value: object) -> datetime | None:
    """Return a time in seconds since 1970; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LATEST:
        return None
    return from_milliseconds(int(value * 1000))


def _amr(value: object) -> str | None:
    """Return the methods that the provider names, after `fed`; None if it names none."""
    named = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    usable = [each for each in named if _AMR.fullmatch(each)][:_MOST_AMR]
    return " ".join(dict.fromkeys(("fed", *usable))) if usable else None
