"""Emailed codes, of each purpose."""

from typing import NamedTuple

from models import OneTimeToken, Purpose
from tests.handlers.steps import NEW_PASSWORD
from tests.security.matrix.cells import UNVERIFIED, Way
from tests.security.matrix.subject import Subject

NEW = "ada.code@example.com"
TEMPLATES = {
    "sign-in": "sign-in-code",
    "email-verification": "verify-email-code",
    "forget-password": "reset-password-code",
}


class Sent(NamedTuple):
    """A code, and the address it was sent to."""

    email: str
    otp: str


async def send(subject: Subject, kind: str) -> Sent:
    """Have a code sent to the user."""
    email = subject.email
    await subject.do("/email-otp/send-verification-otp", {"email": email, "type": kind}, {})
    return Sent(email, (await subject.mailed(TEMPLATES[kind]))["code"])


async def send_change(subject: Subject, new: str) -> Sent:
    """Have a code sent to the address that the user wants to have."""
    await subject.do("/email-otp/request-email-change", {"newEmail": new})
    return Sent(new, (await subject.mailed("change-email-code", new))["code"])


async def _sign_in_code(subject: Subject) -> Sent:
    return await send(subject, "sign-in")


async def _sign_in(subject: Subject, sent: Sent) -> bool:
    return subject.is_let_in(await subject.post("/sign-in/email-otp", sent._asdict()))


async def _verification_code(subject: Subject) -> Sent:
    return await send(subject, "email-verification")


async def _verify(subject: Subject, sent: Sent) -> bool:
    answer = await subject.post("/email-otp/verify-email", sent._asdict())
    return answer.status_code == 200 and answer.json()["user"]["id"] == subject.id


async def _reset_code(subject: Subject) -> Sent:
    return await send(subject, "forget-password")


async def _reset(subject: Subject, sent: Sent) -> bool:
    body = {**sent._asdict(), "password": NEW_PASSWORD}
    return (await subject.post("/email-otp/reset-password", body)).status_code == 200


async def _change_code(subject: Subject) -> Sent:
    return await send_change(subject, NEW)


async def _change(subject: Subject, sent: Sent) -> bool:
    session = await subject.any_session()
    body = {"newEmail": sent.email, "otp": sent.otp}
    if session is None:
        return False
    return (await subject.post("/email-otp/change-email", body, session)).status_code == 200


WAYS = [
    Way("sign-in code", _sign_in_code, _sign_in, OneTimeToken, Purpose.CODE_SIGN_IN),
    Way(
        "verification code",
        _verification_code,
        _verify,
        OneTimeToken,
        Purpose.CODE_VERIFY,
        UNVERIFIED,
        "a verified address needs none",
    ),
    Way("reset code", _reset_code, _reset, OneTimeToken, Purpose.CODE_RESET),
    Way("change code", _change_code, _change, OneTimeToken, Purpose.CODE_CHANGE),
]
