"""The user signs in with a link, which proves the mailbox."""

from tests.security.matrix.cells import Event, ends, stays
from tests.security.matrix.events.passwords import proving_cells
from tests.security.matrix.groups import ALL, SIGN_IN_MAILS
from tests.security.matrix.subject import Subject

USED = ends(
    "every other sign-in link and code of the address; also where the sign-in then waits for"
    " the second factor, since what the owner asked for has been used",
    *SIGN_IN_MAILS,
)
NOTHING_REMOVED = stays("a verified address or a second factor is kept as it is", *ALL)


async def _sign_in(subject: Subject) -> None:
    await subject.do("/sign-in/magic-link", {"email": subject.email}, {})
    token = await subject.mailed_token("magic-link")
    await subject.do("/magic-link/verify", {"token": token}, {})


EVENTS = [
    Event(
        "the user signs in with a link",
        _sign_in,
        ("magic_link.requested",),
        proving_cells(USED, rest=NOTHING_REMOVED),
    )
]

OTHER_AUDIT_EVENTS = {
    "magic_link.refused": "a refusal",
    "user.unproven_access_removed": "recorded by the columns that prove the mailbox, for unverified users without 2FA",
}
