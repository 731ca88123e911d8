"""Sessions in somebody else's name: an administrator's in the name of the user, and the user's in that of another."""

from models import Session
from tests.conftest import Headers
from tests.handlers.steps import bearer
from tests.security.matrix.cells import Way
from tests.security.matrix.subject import Subject


async def _impersonate(subject: Subject, user_id: str, caller: Headers) -> Headers:
    body = await subject.do("/admin/impersonate-user", {"userId": user_id}, caller)
    return bearer(body["session"]["token"])


async def _be_impersonated(subject: Subject) -> Headers:
    return await _impersonate(subject, subject.id, subject.root.headers)


async def _impersonate_another(subject: Subject) -> Headers:
    return await _impersonate(subject, subject.grace.id, subject.caller)


async def _is_another(subject: Subject, session: Headers) -> bool:
    return await subject.is_session(session, subject.grace.id)


WAYS = [
    Way(
        "administrator's session in the user's name",
        _be_impersonated,
        Subject.is_session,
        Session,
        is_read_only=True,
    ),
    Way(
        "user's session in another's name",
        _impersonate_another,
        _is_another,
        Session,
        is_read_only=True,
    ),
]

OTHER_OPERATIONS = {
    "admin.impersonate_user": "opens a session in the user's name for an administrator; that session is a row",
    "admin.stop_impersonating": "gives an administrator's live session back to the browser that holds its token",
}
