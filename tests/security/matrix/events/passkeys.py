"""The user removes a passkey."""

from tests.handlers import passkey_steps
from tests.security.matrix.cells import Event, column, ends, stays
from tests.security.matrix.groups import ALL, PASSKEY
from tests.security.matrix.subject import Subject


async def _remove(subject: Subject) -> None:
    [passkey] = await passkey_steps.passkeys_of(subject.service, subject.caller)
    await subject.do(passkey_steps.DELETE, {"id": passkey["id"]})


EVENTS = [
    Event(
        "the passkey is removed",
        _remove,
        ("passkey.removed",),
        column(
            ends("the passkey is removed", *PASSKEY),
            rest=stays("removing a passkey ends no session and no other credential", *ALL),
        ),
    )
]

OTHER_AUDIT_EVENTS = {
    "passkey.registered": "opens a way in",
    "passkey.registration_failed": "a refusal",
    "passkey.renamed": "changes only the name",
    "passkey.failed": "a refusal",
    "passkey.counter_regressed": "a refusal; the passkey stays",
}
