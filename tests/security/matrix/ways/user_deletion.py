"""The link that deletes the user."""

from models import OneTimeToken, Purpose
from tests.security.matrix.cells import Way
from tests.security.matrix.subject import Subject


async def _link(subject: Subject) -> str:
    await subject.do("/delete-user")
    return await subject.mailed_token("delete-account")


async def _by_link(subject: Subject, token: str) -> bool:
    session = await subject.any_session()
    if session is None:
        return False
    return (await subject.get("/delete-user/callback", session, token=token)).status_code == 200


WAYS = [Way("deletion link", _link, _by_link, OneTimeToken, Purpose.DELETE)]
