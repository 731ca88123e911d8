"""A user takes back what applications may do."""

from tests.security.matrix.cells import Event, column, ends, stays
from tests.security.matrix.events.oauth import LATER
from tests.security.matrix.groups import ALL
from tests.security.matrix.subject import Subject


async def _revoke_all(subject: Subject) -> None:
    for consent in (await subject.get("/oauth2/get-consents", subject.caller)).json():
        await subject.do("/oauth2/delete-consent", {"id": consent["id"]})


EVENTS = [
    Event(
        "the user disconnects the applications",
        _revoke_all,
        ("oauth.consent_revoked",),
        column(
            ends(
                "everything that was granted to an application ends with the consent",
                "authorization code",
                "access token of a session",
                "refresh token",
                "approved device",
            ),
            rest=stays("a consent is about an application only", *ALL, *LATER),
        ),
    )
]


OTHER_AUDIT_EVENTS = {
    "logout.delivered": "an application is told that a session has ended",
    "logout.failed": "an application is not told that a session has ended",
}
