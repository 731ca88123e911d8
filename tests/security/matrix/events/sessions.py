"""Sessions are revoked, and their user signs out."""

from tests.handlers.steps import token_of
from tests.security.matrix.cells import Event, column, ends, stays
from tests.security.matrix.groups import (
    ALL,
    BOUND,
    BROWSER,
    CALLER,
    IMPERSONATED,
    IMPERSONATING,
    SESSION,
    SESSIONS,
)
from tests.security.matrix.subject import Subject

KEPT = stays(
    "revoking sessions leaves trusted devices, keys and everything else alone",
    *ALL,
)
BOUND_ENDS = ends("it can be finished only while its session lives", *BOUND)


async def _revoke(subject: Subject) -> None:
    await subject.do("/revoke-session", {"token": token_of(subject.held[SESSION])})


async def _revoke_others(subject: Subject) -> None:
    await subject.do("/revoke-other-sessions")


async def _revoke_all(subject: Subject) -> None:
    await subject.do("/revoke-sessions")


async def _sign_out(subject: Subject) -> None:
    await subject.do("/sign-out")


EVENTS = [
    Event(
        "a session is revoked",
        _revoke,
        ("session.revoked",),
        column(ends("this session is revoked", SESSION), BOUND_ENDS, rest=KEPT),
    ),
    Event(
        "the other sessions are revoked",
        _revoke_others,
        ("session.revoked_others",),
        column(
            ends("every session but the current one ends", SESSION, BROWSER, IMPERSONATED),
            BOUND_ENDS,
            rest=KEPT,
        ),
    ),
    Event(
        "all sessions are revoked",
        _revoke_all,
        ("session.revoked_all",),
        column(
            ends("all sessions end, and impersonations that were started from them", *SESSIONS),
            BOUND_ENDS,
            rest=KEPT,
        ),
    ),
    Event(
        "the user signs out",
        _sign_out,
        ("sign_out",),
        column(
            ends("this session ends, and the impersonation that was started from it", CALLER, IMPERSONATING),
            rest=stays("signing out ends one session only", *ALL),
        ),
    ),
]

OTHER_AUDIT_EVENTS = {
    "sign_in.succeeded": "opens a session and ends none; links and codes that were used for it have columns",
    "sign_in.pending": "opens a challenge",
    "sign_in.failed": "a refusal",
    "sign_in.banned": "a refusal",
}
