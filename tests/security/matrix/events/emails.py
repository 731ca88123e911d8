"""The address is verified or changed."""

from tests.security.matrix.cells import UNVERIFIED, VERIFIED, Cells, Event, column, ends, stays
from tests.security.matrix.groups import ALL, CHALLENGE_CODE, MAILED
from tests.security.matrix.subject import Subject
from tests.security.matrix.ways import emails

VERIFIED_ADDRESS = "the address is verified already"
NEW = "ada.at.once@example.com"


def address_cells() -> tuple[Cells, ...]:
    """Return the cells of an address that changes."""
    return column(
        ends(
            "links and codes for the former address, and pending changes and deletions, are revoked",
            *MAILED,
            CHALLENGE_CODE,
        ),
        rest=stays("a change of address revokes emailed links and codes only", *ALL),
    )


async def _verify(subject: Subject) -> None:
    await subject.do("/send-verification-email", {"email": subject.email})
    token = await subject.mailed_token("verify-email")
    answer = await subject.get("/verify-email", token=token)
    assert answer.status_code == 200, answer.text


async def _change_by_link(subject: Subject) -> None:
    answer = await subject.get("/verify-email", token=subject.held["change link"])
    assert answer.status_code == 200, answer.text
    subject.email = emails.NEW


async def _change_at_once(subject: Subject) -> None:
    await subject.do("/change-email", {"newEmail": NEW})
    subject.email = NEW


EVENTS = [
    Event(
        "the address is verified with a link",
        _verify,
        ("email.verification_requested", "email.verified"),
        column(
            rest=stays(
                "a verification link only sets emailVerified (SECURITY.md names the limitation), and an"
                " older one opens again without effect",
                *ALL,
            )
        ),
        UNVERIFIED,
        VERIFIED_ADDRESS,
    ),
    Event(
        "the address is changed with a link",
        _change_by_link,
        ("email.changed",),
        address_cells(),
        VERIFIED,
        "an address that was never verified changes at once",
    ),
    Event(
        "the address is changed at once",
        _change_at_once,
        ("email.changed",),
        address_cells(),
        UNVERIFIED,
        "a verified address changes when the new one is proven",
    ),
]

OTHER_AUDIT_EVENTS = {"email.change_requested": "opens a link to the new address, in place of an older one"}
