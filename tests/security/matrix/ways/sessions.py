"""Sessions, by both ways in which a client presents them."""

from models import Session
from tests.conftest import Headers
from tests.handlers.steps import token_of
from tests.security.matrix.cells import Way
from tests.security.matrix.subject import Subject
from tests.security.second_factor import SESSION, cookie


async def _sign_in(subject: Subject) -> Headers:
    return await subject.sign_in()


async def _sign_in_browser(subject: Subject) -> Headers:
    return cookie(SESSION, token_of(await subject.sign_in()))


async def _caller(subject: Subject) -> Headers:
    return subject.caller


WAYS = [
    Way(name, open_, Subject.is_session, Session, is_read_only=True)
    for name, open_ in (
        ("session", _sign_in),
        ("session by cookie", _sign_in_browser),
        ("session of the caller", _caller),
    )
]
