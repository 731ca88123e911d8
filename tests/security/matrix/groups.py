"""Ways in by what they have in common, for the columns of events.

A new way is not added here: its own row says what becomes of it, so that somebody decides for each event.
"""

SESSION, BROWSER, CALLER = "session", "session by cookie", "session of the caller"
IMPERSONATED = "administrator's session in the user's name"
IMPERSONATING = "user's session in another's name"
SESSIONS = (SESSION, BROWSER, CALLER, IMPERSONATED, IMPERSONATING)
"""Another's session is among them: it hangs on the session of the caller."""
BOUND = ("link open at a provider", "passkey registration begun")
"""What was begun in `session` and can only be finished there."""

PASSWORD, KEY, JWT = "password", "API key", "signed token"
IDENTITY = ("linked identity", "sign-in open at a provider")
PASSKEY = ("passkey", "passkey sign-in begun")

CHALLENGE_CODE = "code emailed for a challenge"
CHALLENGE = ("challenge", CHALLENGE_CODE)
FACTORS = ("authenticator", "backup code")
DEVICE = "trusted device"

SIGN_IN_MAILS = ("sign-in link", "sign-in code")
RESET_LINK, RESET_CODE = "reset link", "reset code"
VERIFICATION_LINK, VERIFICATION_CODE = "verification link", "verification code"
CHANGE_LINK, CHANGE_CODE = "change link", "change code"
DELETION_LINK = "deletion link"
MAILED = (
    *SIGN_IN_MAILS, RESET_LINK, RESET_CODE, VERIFICATION_LINK, VERIFICATION_CODE, CHANGE_LINK, CHANGE_CODE,
    DELETION_LINK,
)  # fmt: skip
"""Links and codes on their way, apart from those of a challenge."""

ENTRANCES = (
    *SESSIONS, *BOUND, PASSWORD, KEY, *IDENTITY, *PASSKEY, *CHALLENGE, *FACTORS, DEVICE, *MAILED,
)  # fmt: skip
"""All of them that the service itself accepts."""
ALL = (*ENTRANCES, JWT)


# Events that were in the matrix before, by what they do to the session of the caller: for ways that hang on it.

CALLER_ENDS = (
    "an administrator revokes the sessions", "the user is banned", "a ban is lifted",
    "an administrator sets the password", "an administrator resets the second factor",
    "an administrator removes an account of a provider", "an administrator removes the passkey",
    "the password is reset with a code", "the password is reset with a link",
    "the password is changed and the sessions are revoked", "all sessions are revoked", "the user signs out",
    "the user is deleted", "an administrator removes the user", "the user is disowned",
)  # fmt: skip
SIGN_INS_BY_MAIL = ("the user signs in with a code", "the user signs in with a link")
CALLER_STAYS = (
    "the identity is unlinked", "the password is removed", "an administrator revokes a session",
    "the role is taken", "an administrator changes the address", "an administrator verifies the address",
    "the impersonation is stopped", "the impersonator signs out", "the impersonator loses the role",
    "the impersonator is banned", "the user stops acting in another's name", "the API key is disabled",
    "the API key is deleted", "the address is verified with a code", "the address is changed with a code",
    "the address is verified with a link", "the address is changed with a link", "the address is changed at once",
    "the member is removed", "the member leaves", "the member's role is lowered", "the organization is deleted",
    "the invitation is canceled", "the invitation is sent again",
    "the passkey is removed", "the password is changed", "a session is revoked", "the other sessions are revoked",
    "the address is verified by a provider", "the trusted devices are forgotten",
    "the second factor is switched on", "the authenticator is replaced", "emailed codes are switched on",
    "the second factor is switched off", "the backup codes are replaced", "wrong codes lock the second factor",
    "the last administrator deletes themselves",
)  # fmt: skip


def but(names: tuple[str, ...], *without: str) -> tuple[str, ...]:
    """Return names without some of them."""
    return tuple(name for name in names if name not in without)
