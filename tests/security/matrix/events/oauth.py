"""An application ends its access, and what the provider records of applications and their tokens."""

from tests.security.matrix.cells import Event, column, ends, stays
from tests.security.matrix.groups import ALL
from tests.security.matrix.subject import Subject

LATER = (
    "membership", "active organization", "invitation sent by the user", "disown link", "approved device",
    "authorization code", "access token of a session",
)  # fmt: skip
"""Ways that came after those of the group."""


async def _revoke(subject: Subject) -> None:
    held = subject.held["refresh token"]
    answer = await subject.service.client.post(
        "/oauth2/revoke", data={"token": held.value}, headers=held.client.basic
    )
    assert answer.status_code == 200, answer.text


EVENTS = [
    Event(
        "an application revokes its refresh token",
        _revoke,
        ("oauth.token_revoked",),
        column(
            ends("the grant ends with all its tokens", "refresh token"),
            rest=stays("an application ends only what it was granted", *ALL, *LATER),
        ),
    )
]

OTHER_AUDIT_EVENTS = {
    "oauth.client_auth_failed": "a refusal",
    "oauth.code_issued": "opens a way in",
    "oauth.code_replayed": "ends the access of an application",
    "oauth.consent_denied": "a refusal",
    "oauth.consent_granted": "opens nothing; a code does",
    "oauth.refresh_reused": "ends the access of an application",
    "oauth.request_refused": "a refusal",
    "oauth.token_issued": "replaces a code, or a refresh token",
}
