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


def but(names: tuple[str, ...], *without: str) -> tuple[str, ...]:
    """Return names without some of them."""
    return tuple(name for name in names if name not in without)
