"""The user deletes themselves, or tries to as the last administrator."""

from tests.security.matrix.cells import Cells, Event, column, ends, stays
from tests.security.matrix.groups import ALL, DELETION_LINK, ENTRANCES, IMPERSONATED, JWT
from tests.security.matrix.subject import Subject


def deletion_cells() -> tuple[Cells, ...]:
    """Return the cells of a user who is deleted."""
    return column(
        ends(
            "every row of the user is deleted",
            *ENTRANCES,
        ),
        rest=stays("a signed token cannot be revoked; it is valid until it expires", JWT),
    )


async def _delete(subject: Subject) -> None:
    answer = await subject.get("/delete-user/callback", subject.caller, token=subject.held[DELETION_LINK])
    assert answer.status_code == 200, answer.text


async def _delete_last_administrator(subject: Subject) -> None:
    root = subject.root
    await subject.do("/admin/set-role", {"userId": subject.id, "role": "root"}, root.headers)
    for other in (root, subject.second_root):
        await subject.do("/admin/set-role", {"userId": other.id, "role": "user"})
    await subject.get("/delete-user/callback", subject.caller, token=subject.held[DELETION_LINK])
    await subject.post("/delete-user", {"password": subject.password}, subject.caller)


EVENTS = [
    Event(
        "the user is deleted",
        _delete,
        ("user.deleted",),
        deletion_cells(),
    ),
    Event(
        "the last administrator deletes themselves",
        _delete_last_administrator,
        ("user.role_changed",),
        column(
            ends("the deletion is refused with LAST_ADMIN", DELETION_LINK),
            ends("the impersonator lost the role before", IMPERSONATED),
            rest=stays("the deletion is refused, so nothing changes", *ALL),
        ),
    ),
]

OTHER_AUDIT_EVENTS = {
    "user.created": "opens the first ways in",
    "user.deletion_requested": "opens a link",
}
