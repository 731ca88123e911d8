"""Links that verify the address or change it."""

from models import OneTimeToken, Purpose
from tests.security.matrix.cells import UNVERIFIED, VERIFIED, Way
from tests.security.matrix.subject import Subject

NEW = "ada.new@example.com"


async def _verification(subject: Subject) -> str:
    return await subject.mailed_token("verify-email")


async def _change(subject: Subject) -> str:
    await subject.do("/change-email", {"newEmail": NEW})
    return await subject.mailed_token("change-email", NEW)


async def _by_link(subject: Subject, token: str) -> bool:
    answer = await subject.get("/verify-email", token=token)
    return answer.status_code == 200 and answer.json()["user"]["id"] == subject.id


WAYS = [
    Way(
        "verification link",
        _verification,
        _by_link,
        OneTimeToken,
        Purpose.VERIFY,
        UNVERIFIED,
        "a verified address needs none",
    ),
    Way(
        "change link",
        _change,
        _by_link,
        OneTimeToken,
        Purpose.CHANGE_EMAIL,
        VERIFIED,
        "an address that was never verified changes at once",
    ),
]
