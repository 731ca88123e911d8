"""The user unlinks an identity, or the password."""

from tests.security.matrix.cells import Event, column, ends, stays
from tests.security.matrix.groups import ALL, IDENTITY, PASSWORD
from tests.security.matrix.subject import Subject

NOTHING_ELSE = stays("unlinking removes this account only; sessions and challenges stay", *ALL)


async def _unlink(subject: Subject) -> None:
    await subject.do("/unlink-account", {"providerId": "test"})


async def _unlink_password(subject: Subject) -> None:
    await subject.do("/unlink-account", {"providerId": "credential"})


EVENTS = [
    Event(
        "the identity is unlinked",
        _unlink,
        ("account.unlinked",),
        column(ends("the identity is removed", *IDENTITY), rest=NOTHING_ELSE),
    ),
    Event(
        "the password is removed",
        _unlink_password,
        ("account.unlinked",),
        column(ends("the password is removed", PASSWORD), rest=NOTHING_ELSE),
    ),
]
