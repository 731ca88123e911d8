"""What was proved when a session was created, by the method of the sign-in (RFC 8176)."""

_SECOND_STEP = "pwd otp mfa"
_BY_METHOD = {
    "password": "pwd",
    "username": "pwd",
    "totp": _SECOND_STEP,
    "otp": _SECOND_STEP,
    "backup_code": _SECOND_STEP,
    "oauth": "fed",
    "id_token": "fed",
    "magic_link": "mca",
    "email_otp": "mca",
}
"""By the method up to a colon."""


def amr_of(method: str) -> str:
    """Return the values of `amr` for a method, separated by spaces; empty if nothing can be said.

    A passkey proves more or less from one time to the next, so its sign-in says what.
    """
    return _BY_METHOD.get(method.partition(":")[0], "")
