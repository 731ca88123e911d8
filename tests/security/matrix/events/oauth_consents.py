"""A user takes back what an application may do: it opens none of our operations, so that no way in changes."""

OTHER_AUDIT_EVENTS = {
    "oauth.consent_revoked": "ends the access of an application",
    "logout.delivered": "an application is told that a session has ended",
    "logout.failed": "an application is not told that a session has ended",
}
