"""Events of directories."""

OTHER_AUDIT_EVENTS = {
    "scim.user_created": "a new user without a way in",
    "scim.user_linked": "the user stays; access to an account that was never verified ends",
    "scim.user_updated": "a changed address ends what the column of email changes says",
    "scim.user_disabled": "ends membership, sessions and keys of the organization, or bans, as its tests show",
    "scim.user_enabled": "restores the membership, or lifts the ban",
    "scim.user_removed": "ends what a disabled user loses; a ban and a deletion have columns",
    "scim.refused": "a refusal",
    "scim.group_changed": "teams and roles open nothing",
    "scim.stopped": "a refusal",
    "scim.confirmed": "a stopped directory is resumed",
    "scim.token_created": "the token opens no account",
    "scim.token_revoked": "the token opens no account",
}
