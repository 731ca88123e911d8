"""Authentication method references (`amr`, RFC 8176) of a session, by the method of the sign-in."""

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
    """Return the values of `amr` for a method, separated by spaces; empty if none is known.

    User verification differs between uses of a passkey, so the sign-in with a passkey sets its own values.
    """
    return _BY_METHOD.get(method.partition(":")[0], "")
