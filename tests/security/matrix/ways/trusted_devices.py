"""A browser that skips the second factor."""

from models import TrustedDevice
from tests.security.matrix.cells import WITH_TWO_FACTOR, Way
from tests.security.matrix.subject import Subject
from tests.security.second_factor import TRUST, set_cookies


async def _trust(subject: Subject) -> str:
    _, challenge = await subject.first_factor()
    assert challenge is not None
    assert subject.owner is not None
    body = {"code": subject.owner.backup_codes.pop(), "trustDevice": True}
    answer = await subject.post(
        "/two-factor/verify-backup-code", body, {"Authorization": f"Bearer {challenge}"}
    )
    return set_cookies(answer)[TRUST]


async def _by_device(subject: Subject, trust: str) -> bool:
    _, challenge = await subject.first_factor()
    if challenge is None:
        return False  # There is nothing to skip.
    session, _ = await subject.first_factor(trust)
    return session is not None


WAYS = [
    Way(
        "trusted device",
        _trust,
        _by_device,
        TrustedDevice,
        None,
        WITH_TWO_FACTOR,
        "without a second factor, there is none to skip",
    )
]
