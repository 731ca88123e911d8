"""The password is changed, or reset with a link."""

from tests.handlers import steps
from tests.handlers.steps import NEW_PASSWORD
from tests.security.matrix.cells import UNPROVEN, Cells, Event, column, ends, stays
from tests.security.matrix.groups import (
    ALL,
    BOUND,
    CHALLENGE,
    DEVICE,
    ENTRANCES,
    MAILED,
    PASSWORD,
    SESSIONS,
    VERIFICATION_LINK,
    but,
)
from tests.security.matrix.subject import Subject

MAILS_END = but(MAILED, VERIFICATION_LINK)
WITH_PASSWORD = ends(
    "an intruder may have obtained them with the old password",
    PASSWORD,
    *CHALLENGE,
    DEVICE,
    *MAILS_END,
)
WITH_SESSIONS = ends("all sessions end, and what can be finished only in one of them", *SESSIONS, *BOUND)
OWN_CREDENTIALS = stays(
    "other credentials and the second factor are unchanged; a verification link opens nothing",
    *ALL,
)
PROOF = ends(
    "a proof of the mailbox ends every way in that a stranger may have prepared",
    *ENTRANCES,
    users=UNPROVEN,
)


def reset_cells() -> tuple[Cells, ...]:
    """Return the cells of a password that is reset by a proof of the mailbox."""
    return proving_cells(WITH_PASSWORD, WITH_SESSIONS, rest=OWN_CREDENTIALS)


def proving_cells(*cells: Cells, rest: Cells) -> tuple[Cells, ...]:
    """Return the cells of an event that proves the mailbox; `cells` are about users from whom nothing is taken."""
    proven = [Cells(each.verdict, each.why, each.names, each.users - UNPROVEN) for each in cells]
    return column(PROOF, *proven, rest=rest)


async def _change(subject: Subject, **more: bool) -> None:
    body = {"currentPassword": subject.password, "newPassword": NEW_PASSWORD, **more}
    await subject.do("/change-password", body)
    subject.password = NEW_PASSWORD


async def _change_and_revoke(subject: Subject) -> None:
    await _change(subject, revokeOtherSessions=True)


async def _reset(subject: Subject) -> None:
    token = await steps.reset_token(subject.service, subject.email)
    await subject.do("/reset-password", {"token": token, "newPassword": NEW_PASSWORD}, {})
    subject.password = NEW_PASSWORD


EVENTS = [
    Event(
        "the password is changed",
        _change,
        ("password.changed",),
        column(WITH_PASSWORD, rest=stays("sessions and other credentials stay", *ALL)),
    ),
    Event(
        "the password is changed and the sessions are revoked",
        _change_and_revoke,
        ("password.changed", "session.revoked_all", "session.created"),
        column(WITH_PASSWORD, WITH_SESSIONS, rest=OWN_CREDENTIALS),
    ),
    Event("the password is reset with a link", _reset, ("password_reset.completed",), reset_cells()),
]

OTHER_AUDIT_EVENTS = {
    "password.check_failed": "a refusal",
    "password.rehashed": "the same password by another hash",
    "password_reset.requested": "opens a reset link; earlier ones stay",
    "password_reset.failed": "a refusal",
}
