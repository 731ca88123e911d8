"""The password, and the link that replaces a forgotten one."""

from models import Account, OneTimeToken, Purpose
from tests.handlers import steps
from tests.handlers.steps import NEW_PASSWORD
from tests.security.matrix.cells import Way
from tests.security.matrix.subject import Subject


async def _password(subject: Subject) -> str:
    return subject.password


async def _by_password(subject: Subject, password: str) -> bool:
    return subject.is_let_in(await subject.by_password(password))


async def _link(subject: Subject) -> str:
    return await steps.reset_token(subject.service, subject.email)


async def _by_link(subject: Subject, token: str) -> bool:
    answer = await subject.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})
    return answer.status_code == 200


WAYS = [
    Way("password", _password, _by_password, Account, is_read_only=True),
    Way("reset link", _link, _by_link, OneTimeToken, Purpose.RESET),
]

OTHER_OPERATIONS = {
    "authentication.sign_up_email": "opens the first session of a new user",
    "authentication.sign_in_username": "the same password by another name, checked by the same rule",
    "passwords.change": "replaces the session of its caller",
}
