"""The emailed link that signs in."""

from models import OneTimeToken, Purpose
from tests.security.matrix.cells import Way
from tests.security.matrix.subject import Subject


async def _link(subject: Subject) -> str:
    await subject.do("/sign-in/magic-link", {"email": subject.email}, {})
    return await subject.mailed_token("magic-link")


async def _by_link(subject: Subject, token: str) -> bool:
    return subject.is_let_in(await subject.post("/magic-link/verify", {"token": token}))


WAYS = [Way("sign-in link", _link, _by_link, OneTimeToken, Purpose.MAGIC_LINK)]

OTHER_OPERATIONS = {"magic_links.verify": "the same link without the page, used up by the same rule"}
