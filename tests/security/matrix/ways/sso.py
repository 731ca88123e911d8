"""An identity at a connection, a session that was opened through one, and a SAML response on its way."""

from typing import NamedTuple

from models import Account, OneTimeToken, Purpose, Session
from tests.conftest import Headers
from tests.handlers import sso_saml_steps as saml
from tests.handlers import sso_steps
from tests.handlers.steps import bearer
from tests.security.matrix.cells import VERIFIED, Way, column, ends, stays
from tests.security.matrix.groups import CALLER_ENDS, CALLER_STAYS, SIGN_INS_BY_MAIL, but
from tests.security.matrix.subject import EMAIL, Subject
from tests.security.second_factor import PENDING, SESSION, set_cookies
from tests.server.saml import provider as idp

IDENTITY, OPENED, KEPT = (
    "identity at a connection",
    "session through a connection",
    "SAML response for a browser",
)
NOT_VERIFIED = "a sign-in through a connection proves the address"

_GONE = (
    "the user is deleted",
    "an administrator removes the user",
    "the user is disowned",
    "the user is banned",
)
_OF_OTHERS = ("an application revokes its refresh token", "the user disconnects the applications")
_EVENTS = (*CALLER_ENDS, *CALLER_STAYS, *SIGN_INS_BY_MAIL, *_OF_OTHERS)


class _Kept(NamedTuple):
    location: str
    headers: Headers


async def _respond(subject: Subject) -> _Kept:
    subject.service.client.cookies.clear()
    flow = await sso_steps.begin(subject.service)
    later = (subject.service.clock.now - idp.NOW).total_seconds()
    request, state = saml.request_in(flow), saml.state_of(flow)
    message = saml.answer_to(request, later, attributes=saml.attributes(EMAIL), assertion=f"_{state}")
    posted = await saml.post(subject.service, message, state)
    return _Kept(posted.headers["location"], flow.headers)


async def _connect(subject: Subject) -> Headers:
    """Sign in through a new connection, which links the identity; return the session."""
    await sso_steps.connect(subject.service, saml.config(), idp.ISSUER, domains=["example.com"])
    given = await _return(subject, await _respond(subject))
    if given.get(PENDING):
        return bearer((await subject.use_backup_code(given[PENDING]))["token"])
    return bearer(given[SESSION])


async def _return(subject: Subject, kept: _Kept) -> dict[str, str]:
    subject.service.client.cookies.clear()
    answer = await subject.service.get(kept.location, headers=kept.headers)
    return set_cookies(answer)


async def _by_identity(subject: Subject, held: Headers) -> bool:
    return await _by_response(subject, await _respond(subject))


async def _by_response(subject: Subject, kept: _Kept) -> bool:
    given = await _return(subject, kept)
    return bool(given.get(SESSION)) and await subject.is_session(bearer(given[SESSION]))


async def _keep(subject: Subject) -> _Kept:
    await subject.open(WAYS[0])
    return await _respond(subject)


async def _open(subject: Subject) -> Headers:
    await subject.open(WAYS[0])
    given = await _return(subject, await _respond(subject))
    return bearer(given[SESSION])


_IDENTITY_CELLS = column(
    ends("a user who is gone or banned signs in no more", *_GONE),
    rest=stays("the organization decides who signs in through its connection", *_EVENTS),
)

WAYS = [
    Way(IDENTITY, _connect, _by_identity, Account, users=VERIFIED, why=NOT_VERIFIED, cells=_IDENTITY_CELLS),
    Way(
        OPENED,
        _open,
        Subject.is_session,
        Session,
        users=VERIFIED,
        why=NOT_VERIFIED,
        is_read_only=True,
        cells=column(
            ends(
                "it is a session like others",
                *but(CALLER_ENDS, "the user signs out"),
                "the other sessions are revoked",
            ),
            rest=stays("it is not the session that ends", *_EVENTS),
        ),
    ),
    Way(
        KEPT,
        _keep,
        _by_response,
        OneTimeToken,
        Purpose.SSO_RESPONSE,
        users=VERIFIED,
        why=NOT_VERIFIED,
        cells=_IDENTITY_CELLS,
    ),
]
OTHER_PURPOSES = {
    Purpose.SSO_TEST: "the result of a test sign-in: only the session that began it reads it, and it opens nothing"
}
