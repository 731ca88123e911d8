"""The second factor is switched on, replaced or switched off, and locked by wrong codes."""

from tests.handlers.steps import bearer
from tests.security import second_factor
from tests.security.matrix.cells import (
    VERIFIED,
    WITH_TWO_FACTOR,
    WITHOUT_TWO_FACTOR,
    Event,
    column,
    ends,
    stays,
)
from tests.security.matrix.groups import ALL, CHALLENGE, DEVICE, FACTORS
from tests.security.matrix.subject import Subject

IS_ON = "the second factor is on already"
IS_OFF = "the second factor is off"
NOT_ROTATED = stays("switching it on or off leaves sessions and first factors alone", *ALL)


async def _enrol(subject: Subject) -> None:
    subject.owner = await second_factor.enrol_again(subject.service, subject.email, subject.caller)


async def _enable_emailed(subject: Subject) -> None:
    await subject.do("/two-factor/enable", {"password": subject.password, "method": "otp"})


async def _disable(subject: Subject) -> None:
    await subject.do("/two-factor/disable", {"password": subject.password})


async def _replace_codes(subject: Subject) -> None:
    await subject.do("/two-factor/generate-backup-codes", {"password": subject.password})


async def _lock(subject: Subject) -> None:
    assert subject.owner is not None
    await second_factor.lock(subject.service, subject.owner, bearer)


EVENTS = [
    Event(
        "the second factor is switched on",
        _enrol,
        ("two_factor.enrolment_started", "two_factor.enabled"),
        column(rest=NOT_ROTATED),
        WITHOUT_TWO_FACTOR,
        IS_ON,
    ),
    Event(
        "the authenticator is replaced",
        _enrol,
        ("two_factor.enrolment_started", "two_factor.enabled"),
        column(
            ends("the secret, the codes and all trusted devices before", *FACTORS, DEVICE),
            rest=stays("a challenge stays, and asks for the new authenticator", *ALL),
        ),
        WITH_TWO_FACTOR,
        IS_OFF,
    ),
    Event(
        "emailed codes are switched on",
        _enable_emailed,
        ("two_factor.enabled", "backup_codes.generated"),
        column(
            ends("new backup codes replace any", "backup code"),
            rest=stays("a live secret stays, and nothing else is named", *ALL),
        ),
        VERIFIED,
        "emailed codes are refused for an address that was never verified",
    ),
    Event(
        "the second factor is switched off",
        _disable,
        ("two_factor.disabled",),
        column(
            ends("secret, codes, trusted devices and challenges", *FACTORS, DEVICE, *CHALLENGE),
            rest=NOT_ROTATED,
        ),
        WITH_TWO_FACTOR,
        IS_OFF,
    ),
    Event(
        "the backup codes are replaced",
        _replace_codes,
        ("backup_codes.generated",),
        column(
            ends("replaces all codes", "backup code"),
            rest=stays("nothing but the codes", *ALL),
        ),
        WITH_TWO_FACTOR,
        IS_OFF,
    ),
    Event(
        "wrong codes lock the second factor",
        _lock,
        ("two_factor.failed", "two_factor.locked"),
        column(
            ends("for 15 minutes right codes are refused too", *FACTORS, *CHALLENGE),
            rest=stays("sessions and what skips the codes are unaffected", *ALL),
        ),
        WITH_TWO_FACTOR,
        IS_OFF,
    ),
]

OTHER_AUDIT_EVENTS = {
    "two_factor.otp_requested": "replaces the code emailed for the same challenge",
    "two_factor.verified": "uses up the challenge and its code, and nothing else",
    "backup_code.used": "uses up this code, and nothing else",
}
