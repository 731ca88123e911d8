"""Test sign-ins: a manager of a connection sees what its identity provider sends, and what a sign-in would do.

A test runs like a sign-in, but opens no session and changes no user, identity or member. Draft connections can be
tested, too. The flow has the id of the session that began the test. The result is stored encrypted, and only that
session can read it, once.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import bindparam, delete
from sqlmodel import col

from domain import tokens, urls
from domain.context import Context
from domain.identity_provider import SubjectMissing, VerifiedIdentity
from domain.social.authorization_request import OAuthState
from domain.social.callback import CallbackResult
from domain.social.errors import UserEmailNotFound
from domain.sso.configuration import AttributeNames, config_of
from domain.sso.saml import VerifiedAssertion
from domain.sso_sign_in import person as persons
from domain.sso_sign_in import saml_person
from domain.sso_sign_in.errors import DomainNotAllowed
from domain.sso_sign_in.flows import SSO_FAILURES
from domain.sso_sign_in.person import Person
from domain.sso_sign_in.preview import Outcome, preview
from models import OneTimeToken, Purpose
from models.base import Instant
from models.sso_connection import ConnectionRow
from models.statements import insert

LIFE = timedelta(minutes=10)
"""How long a result is stored."""
_PAYLOAD = "sso_test.result"
_MOST_ATTRIBUTES, _MOST_VALUES, _LONGEST_VALUE = 100, 50, 1024

_TAKE = (
    delete(OneTimeToken)
    .where(
        col(OneTimeToken.digest) == bindparam("token"),
        col(OneTimeToken.purpose) == Purpose.SSO_TEST.value,
        col(OneTimeToken.binding) == bindparam("session"),  # defence: SSO17 own-result
        col(OneTimeToken.expires_at) > bindparam("now", type_=Instant()),  # defence: SSO17 result-life
    )
    .returning(col(OneTimeToken.payload))
)


@dataclass(frozen=True, slots=True)
class Received:
    """What an identity provider has sent, after its message passed all checks."""

    subject: str
    attributes: Mapping[str, Sequence[str]] = field(repr=False)
    """The attributes of an assertion, or the claims of an ID token."""
    person: Person | None
    code: str | None = None
    """The error code if no user could be read; otherwise None."""

    def serialize(self) -> dict[str, Any]:
        """Return the values in a form for JSON."""
        person = None if self.person is None else self.person.serialize()
        return {"subject": self.subject, "attributes": self.attributes, "person": person, "code": self.code}

    @classmethod
    def deserialize(cls, values: Mapping[str, Any]) -> "Received":
        """Return the object from the result of `serialize`."""
        person = values["person"]
        return cls(**{**values, "person": None if person is None else Person.deserialize(person)})


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of a test: what the identity provider sent, and what a sign-in would do."""

    connection_id: str
    outcome: str
    code: str | None
    """Why the sign-in would be refused, as in `error` of a redirect; None if it would not be refused."""
    subject: str
    email: str | None
    name: str | None
    groups: Sequence[str]
    attributes: Mapping[str, Sequence[str]]
    roles: Sequence[str]
    role_source: str | None
    group: str | None


def of_assertion(assertion: VerifiedAssertion, names: AttributeNames) -> Received:
    """Return the contents of a verified SAML assertion for a test; `names` are the attributes that are read."""
    subject = "" if assertion.name_id is None else assertion.name_id.value
    read = partial(saml_person.of_assertion, assertion, names)
    return _received(subject, assertion.attributes, read)


def of_claims(ctx: Context, row: ConnectionRow, proof: VerifiedIdentity) -> Received:
    """Return the contents of a verified identity of an OpenID provider for a test."""
    config, identity = config_of(ctx.cipher, row), proof.identity
    claims = {name: _texts(value) for name, value in identity.profile.items()}
    names = AttributeNames() if config is None else config.names
    return _received(identity.subject, claims, partial(persons.of_claims, identity, names))


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in values]


def _received(subject: str, attributes: Mapping[str, Sequence[str]], read: Callable[[], Person]) -> Received:
    bounded = {
        name[:_LONGEST_VALUE]: [value[:_LONGEST_VALUE] for value in values[:_MOST_VALUES]]
        for name, values in list(attributes.items())[:_MOST_ATTRIBUTES]
    }
    try:
        person = read()
    except (SubjectMissing, UserEmailNotFound, DomainNotAllowed) as unusable:
        return Received(subject, bounded, None, _code_of(unusable))
    return Received(person.subject, bounded, person)


def _code_of(fault: Exception) -> str:
    return next(SSO_FAILURES[kind] for kind in type(fault).__mro__ if kind in SSO_FAILURES)


async def finish(ctx: Context, row: ConnectionRow, flow: OAuthState, received: Received) -> CallbackResult:
    """Store the result of a test for the session that began it; return the redirect, whose URL has a token for it."""
    token = await ctx.in_new_transaction(partial(_store, row=row, flow=flow, received=received))
    return CallbackResult(urls.with_parameters(flow.callback_url or "/", result=token))


async def _store(ctx: Context, row: ConnectionRow, flow: OAuthState, received: Received) -> str:
    token, result = tokens.token(), await _result(ctx, row, received)
    await ctx.db.execute(
        insert(OneTimeToken),
        digest=tokens.digest(token),
        purpose=Purpose.SSO_TEST.value,
        binding=tokens.digest(flow.tested_by or ""),
        payload=ctx.cipher.encrypt(_PAYLOAD, json.dumps(asdict(result), ensure_ascii=False)),
        attempts=0,
        expires_at=ctx.now + LIFE,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    return token


async def _result(ctx: Context, row: ConnectionRow, received: Received) -> TestResult:
    person, code, found = received.person, received.code, None
    if person is not None:
        try:
            found = await preview(ctx, row, person)
        except tuple(SSO_FAILURES) as refused:
            code = _code_of(refused)
    return TestResult(
        connection_id=row.id,
        outcome=Outcome.REFUSED if found is None else found.outcome,
        code=code,
        subject=received.subject,
        email=None if person is None else person.email,
        name=None if person is None else person.name,
        groups=() if person is None else person.groups,
        attributes=received.attributes,
        roles=() if found is None else found.roles,
        role_source=None if found is None else found.source,
        group=None if found is None else found.group,
    )


async def take(ctx: Context, token: str) -> TestResult | None:
    """Delete and return the result of a test that the caller's session began; None if there is none."""
    session = tokens.digest(ctx.signed_in.session.id)
    found = await ctx.db.execute(_TAKE, token=tokens.digest(token), session=session, now=ctx.now)
    payload = found.scalar()
    text = None if payload is None else ctx.cipher.decrypt(_PAYLOAD, payload)
    return None if text is None else TestResult(**json.loads(text))
