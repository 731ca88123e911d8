"""The user signs in, resets the password, verifies or changes the address with a code."""

from tests.handlers.steps import NEW_PASSWORD
from tests.security.matrix.cells import UNVERIFIED, Event, column, ends, stays
from tests.security.matrix.events import magic_links
from tests.security.matrix.events.emails import VERIFIED_ADDRESS, address_cells
from tests.security.matrix.events.passwords import proving_cells, reset_cells
from tests.security.matrix.groups import ALL, VERIFICATION_CODE
from tests.security.matrix.subject import Subject
from tests.security.matrix.ways import email_codes

NEW = "ada.by.code@example.com"


async def _sign_in(subject: Subject) -> None:
    sent = await email_codes.send(subject, "sign-in")
    await subject.do("/sign-in/email-otp", sent._asdict(), {})


async def _reset(subject: Subject) -> None:
    sent = await email_codes.send(subject, "forget-password")
    await subject.do("/email-otp/reset-password", {**sent._asdict(), "password": NEW_PASSWORD}, {})
    subject.password = NEW_PASSWORD


async def _verify(subject: Subject) -> None:
    sent = await email_codes.send(subject, "email-verification")
    await subject.do("/email-otp/verify-email", sent._asdict(), {})


async def _change(subject: Subject) -> None:
    sent = await email_codes.send_change(subject, NEW)
    await subject.do("/email-otp/change-email", {"newEmail": sent.email, "otp": sent.otp})
    subject.email = NEW


EVENTS = [
    Event(
        "the user signs in with a code",
        _sign_in,
        ("email_code.requested",),
        proving_cells(magic_links.USED, rest=magic_links.NOTHING_REMOVED),
    ),
    Event("the password is reset with a code", _reset, ("password_reset.completed",), reset_cells()),
    Event(
        "the address is verified with a code",
        _verify,
        ("email.verified",),
        column(
            ends("a new code replaces the one before", VERIFICATION_CODE),
            rest=stays("sets emailVerified and removes no credential", *ALL),
        ),
        UNVERIFIED,
        VERIFIED_ADDRESS,
    ),
    Event("the address is changed with a code", _change, ("email.changed",), address_cells()),
]

OTHER_AUDIT_EVENTS = {
    "email_code.failed": "a refusal",
    "email_code.exhausted": "ends the code that was tried too often, and nothing else",
}
