"""Tokens of applications: they open none of our operations, so that their events change no way in."""

OTHER_AUDIT_EVENTS = {
    "oauth.token_issued": "lets an application in, not a user",
    "oauth.code_replayed": "ends the access of an application",
    "oauth.refresh_reused": "ends the access of an application",
}
