"""Conversion of a provider's profile to an identity: subject, email address, name and picture."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from domain import identifiers
from domain.identity_provider import Identity, IdentityRefused, SubjectMissing
from server.identity_providers.configuration import Configuration

_LONGEST_SUBJECT = 255
_LONGEST_NAME_READ = 4096
"""Number of characters of a name that are processed; the rest is ignored."""
_LONGEST_ADDRESS = 65_536
"""The longest email address that is accepted, in characters; mail is only sent to addresses of up to 254 (RFC 5321)."""
_WORD = re.compile(r"[A-Za-z0-9_]{1,128}", re.ASCII)

Profile = Mapping[str, Any]


def identity_of(configuration: Configuration, issuer: str, profile: Profile) -> Identity:
    """Convert a provider's profile to an identity. Raises SubjectMissing if the profile has no subject."""
    subject = subject_of(_named(configuration, profile, "id"))
    return Identity(
        provider_id=configuration.traits.id,
        issuer=issuer,
        subject=subject,
        email=_address(_named(configuration, profile, "email")),
        email_verified=_is_verified(configuration, profile),
        name=_name(configuration, profile),
        image=_image(configuration, profile, subject),
        profile=profile,
    )


def completed(configuration: Configuration, claims: Profile, userinfo: Profile) -> Profile:
    """Return the claims of an ID token, with those that are missing in it taken from userinfo.

    `email_verified` is only taken from the source that the email address is from. Raises IdentityRefused if the
    subjects differ, and SubjectMissing.
    """
    if subject_of(userinfo.get("sub")) != subject_of(claims.get("sub")):  # defence: V18 userinfo-subject
        raise IdentityRefused
    marks = configuration.names["email_verified"]
    own, other = (_named(configuration, said, "email") for said in (claims, userinfo))
    if own is not None and own != other:
        userinfo = {name: value for name, value in userinfo.items() if name not in marks}
    if own is None and other is not None:
        claims = {name: value for name, value in claims.items() if name not in marks}
    return {**userinfo, **{name: value for name, value in claims.items() if value is not None}}


def subject_of(value: object) -> str:
    """Return a subject as text: a string that is not blank, or a number other than 0. Raises SubjectMissing."""
    if isinstance(value, int) and not isinstance(value, bool) and value != 0:  # defence: V20 numeric-subject
        return str(value)
    # defence: V20 text-subject
    if isinstance(value, str) and value.strip() and len(value) <= _LONGEST_SUBJECT and value.isprintable():
        return value
    raise SubjectMissing  # defence: V20 no-subject


def found(profile: Profile, name: str) -> object:
    """Return the member `name` of a profile, or the value at that dotted path; None if there is none."""
    if name in profile:
        return profile[name]
    here: object = profile
    for step in name.split("."):
        if isinstance(here, Mapping):
            here = here.get(step)
        elif isinstance(here, Sequence) and not isinstance(here, str) and step.isdecimal():
            here = here[int(step)] if int(step) < len(here) else None
        else:
            return None
    return here


def _named(configuration: Configuration, profile: Profile, meaning: str) -> object:
    """Return the first value under the possible names of a claim."""
    said = (found(profile, name) for name in configuration.names[meaning])
    return next((value for value in said if value is not None), None)


def _is_verified(configuration: Configuration, profile: Profile) -> bool:
    marks = [found(profile, name) for name in configuration.names["email_verified"]]
    # defence: V15 V18 verified-mark
    return any(mark is True or (configuration.preset.text_verifies and mark == "true") for mark in marks)


def _address(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST_ADDRESS else None


def _name(configuration: Configuration, profile: Profile) -> str:
    said = (found(profile, name) for name in configuration.names["name"])
    cleaned = (identifiers.clean_name(text[:_LONGEST_NAME_READ]) for text in said if isinstance(text, str))
    return next((name for name in cleaned if name), "")


def _image(configuration: Configuration, profile: Profile, subject: str) -> str | None:
    said = _named(configuration, profile, "image")
    if not isinstance(said, str):
        return None
    if configuration.preset.image_address and _WORD.fullmatch(said):
        said = configuration.preset.image_address.format(subject=subject, image=said)
    return identifiers.image_or_none(said)
