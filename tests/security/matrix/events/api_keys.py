"""The user disables or deletes an API key."""

from tests.security.matrix.cells import Event, column, ends, stays
from tests.security.matrix.groups import ALL, KEY
from tests.security.matrix.subject import Subject

NOTHING_ELSE = stays("no other way in depends on a key", *ALL)


async def _disable(subject: Subject) -> None:
    await subject.do("/api-key/update", {"keyId": subject.held[KEY]["id"], "enabled": False})


async def _delete(subject: Subject) -> None:
    await subject.do("/api-key/delete", {"keyId": subject.held[KEY]["id"]})


EVENTS = [
    Event(
        "the API key is disabled",
        _disable,
        ("api_key.updated",),
        column(ends("a disabled key is refused", KEY), rest=NOTHING_ELSE),
    ),
    Event(
        "the API key is deleted",
        _delete,
        ("api_key.deleted",),
        column(ends("a deleted key is refused", KEY), rest=NOTHING_ELSE),
    ),
]

OTHER_AUDIT_EVENTS = {
    "api_key.created": "opens a way in",
    "api_key.refused": "a refusal",
    "api_key.disabled": "by the operator or a reset, as in the column of the owner",
}
