"""Signing keys come and go, which is no event of a user."""

OTHER_AUDIT_EVENTS = {
    "signing_key.created": "no event of a user",
    "signing_key.activated": "no event of a user",
    "signing_key.retired": "no event of a user",
    "signing_key.revoked": "ends the signed tokens of all users, once verifiers fetch the keys again",
}
