"""A sign-in that waits for the second factor, and what passes it."""

from typing import NamedTuple

from models import BackupCode, OneTimeToken, Purpose, TwoFactor
from tests.handlers.steps import bearer
from tests.security.matrix.cells import WITH_TWO_FACTOR, Way
from tests.security.matrix.subject import Subject

WHY = "without a second factor, no sign-in waits for one"


class EmailedCode(NamedTuple):
    """The token of a challenge, and the code that was emailed for it."""

    token: str
    code: str


async def _challenge(subject: Subject) -> str:
    _, token = await subject.first_factor()
    assert token is not None
    return token


async def _enter(subject: Subject, method: str, code: str, token: str) -> bool:
    answer = await subject.post(f"/two-factor/verify-{method}", {"code": code}, bearer(token))
    return answer.status_code == 200


async def _pass_challenge(subject: Subject, token: str) -> bool:
    return await _enter(subject, "totp", subject.code(), token)


async def _emailed(subject: Subject) -> EmailedCode:
    token = await _challenge(subject)
    await subject.do("/two-factor/send-otp", headers=bearer(token))
    return EmailedCode(token, (await subject.mailed("otp"))["code"])


async def _by_emailed(subject: Subject, emailed: EmailedCode) -> bool:
    return await _enter(subject, "otp", emailed.code, emailed.token)


async def _authenticator(subject: Subject) -> str:
    assert subject.owner is not None
    return subject.owner.secret


async def _by_authenticator(subject: Subject, secret: str) -> bool:
    _, token = await subject.first_factor()
    return token is not None and await _enter(subject, "totp", subject.code(secret), token)


async def _backup_code(subject: Subject) -> str:
    assert subject.owner is not None
    return subject.owner.backup_codes.pop()


async def _by_backup_code(subject: Subject, code: str) -> bool:
    _, token = await subject.first_factor()
    return token is not None and await _enter(subject, "backup-code", code, token)


WAYS = [
    Way("challenge", _challenge, _pass_challenge, OneTimeToken, Purpose.CHALLENGE, WITH_TWO_FACTOR, WHY),
    Way(
        "code emailed for a challenge",
        _emailed,
        _by_emailed,
        OneTimeToken,
        Purpose.MAIL_CODE,
        WITH_TWO_FACTOR,
        WHY,
    ),
    Way("authenticator", _authenticator, _by_authenticator, TwoFactor, None, WITH_TWO_FACTOR, WHY),
    Way("backup code", _backup_code, _by_backup_code, BackupCode, None, WITH_TWO_FACTOR, WHY),
]
