"""The owner of the address deletes the user that somebody else created."""

from tests.security.matrix.cells import UNVERIFIED, Event
from tests.security.matrix.events.user_deletion import deletion_cells
from tests.security.matrix.subject import Subject


async def _disown(subject: Subject) -> None:
    await subject.do("/disown-account", {"token": subject.held["disown link"]}, {})


EVENTS = [
    Event(
        "the user is disowned",
        _disown,
        ("user.disowned",),
        deletion_cells(),
        UNVERIFIED,
        "a verified user belongs to the owner of the address",
    )
]
