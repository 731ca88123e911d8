"""Error texts of the console. They replace texts of the hosted pages, which address the user whom the error is about.

A module of the console declares the texts of its own errors as `ERROR_TEXTS`, and those of its own fields as
`FIELD_TEXTS`.
"""

from collections.abc import Mapping
from dataclasses import replace

from domain.errors import Refusal
from domain.localization import N_, Localization
from handlers import console
from handlers.pages import texts as page_texts
from handlers.pages.view import Form
from models.discovery import merged

ERROR_TEXTS: Mapping[str, str] = {
    "USER_NOT_FOUND": N_("There is no such user."),
    "STALE_PROFILE": N_(
        "The user was changed after you opened this form, so nothing was saved. Check the user, and try again."
    ),
    "LAST_ADMIN": N_("This is the last administrator. Make another user an administrator first."),
    "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL": N_("Another user has this email address."),
    "FAILED_TO_UNLINK_LAST_ACCOUNT": N_(
        "This is the only way the user can sign in, so it cannot be removed."
    ),
    "FAILED_TO_DELETE_LAST_PASSKEY": N_(
        "This is the only way the user can sign in, so it cannot be removed."
    ),
    "BANNED_USER": N_("This user is banned."),
    "TOO_MANY_REQUESTS": N_("Too many emails were sent to this address. Try again later."),
    "RESET_PASSWORD_DISABLED": N_("This service does not send password reset emails."),
}
"""Sentences by error code."""

FIELD_TEXTS: Mapping[str, str] = {
    "typed": N_("This is not the email address of the user."),
    "until": N_("Enter today or a later date."),
}
"""Sentences about wrong values of form fields, by the name of the field."""


OF_ONE: Mapping[str, str] = {
    "USER_NOT_FOUND": N_("This user no longer exists."),
    "STALE_PROFILE": N_(
        "The user was changed meanwhile, so nothing was done. Check the user, and try again."
    ),
    "YOU_CANNOT_BAN_YOURSELF": N_("You cannot ban yourself."),
    "YOU_ARE_NOT_ALLOWED_TO_BAN_USERS": N_(
        "You cannot change this user: they have powers that you do not have."
    ),
    "YOU_ARE_NOT_ALLOWED_TO_REVOKE_USERS_SESSIONS": N_(
        "You cannot change this user: they have powers that you do not have."
    ),
}
"""Sentences by error code, for a user among several selected ones to whom nothing was done."""


def _error_texts() -> Mapping[str, str]:
    return merged(console, "ERROR_TEXTS")


def of_one(localization: Localization, code: str) -> str:
    """Return why nothing was done to one of several selected users; `code` is the error code."""
    sentences = {**page_texts.error_texts(), **_error_texts(), **OF_ONE}
    return localization.gettext(sentences.get(code, sentences["FORBIDDEN"]))


def sentence(localization: Localization, refusal: Refusal) -> str | None:
    """Return the console's own text about a refusal; None if the text of the hosted pages applies."""
    text = _error_texts().get(refusal.code)
    return None if text is None else localization.gettext(text)


def form(shown: Form, localization: Localization) -> Form:
    """Return a refused form whose error texts are those of the console."""
    other = _error_texts().get(shown.code or "")
    if other is None:
        own = merged(console, "FIELD_TEXTS")
        errors = {
            name: localization.gettext(own[name]) if name in own else text
            for name, text in shown.errors.items()
        }
        return replace(shown, errors=errors)
    sentence = localization.gettext(other)
    return replace(
        shown,
        errors=dict.fromkeys(shown.errors, sentence),
        message=sentence if shown.message is not None else None,
    )


REASONS: Mapping[str, str] = {
    "INVALID_EMAIL_OR_PASSWORD": N_("Wrong email address or password"),
    "INVALID_USERNAME_OR_PASSWORD": N_("Wrong username or password"),
    "EMAIL_NOT_VERIFIED": N_("Email address not verified"),
    "email_not_verified": N_("Email address not verified"),
    "BANNED_USER": N_("User is banned"),
    "INVALID_CODE": N_("Wrong authenticator code"),
    "INVALID_OTP": N_("Wrong code by email"),
    "INVALID_BACKUP_CODE": N_("Wrong backup code"),
    "OTP_EXPIRED": N_("Code has expired"),
    "OTP_HAS_EXPIRED": N_("Code has expired"),
    "TOO_MANY_ATTEMPTS": N_("Too many attempts"),
    "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE": N_("Too many attempts"),
    "ACCOUNT_TEMPORARILY_LOCKED": N_("Second factor is locked"),
    "access_denied": N_("Not allowed at the provider"),
    "account_not_linked": N_("Account of the provider is not connected"),
    "signup_disabled": N_("Sign-up is not possible"),
    "NEW_USER_SIGNUP_DISABLED": N_("Sign-up is not possible"),
    "provider_unavailable": N_("Provider could not be reached"),
    "PROVIDER_UNAVAILABLE": N_("Provider could not be reached"),
    "INVALID_TOKEN": N_("Invalid token"),
    "": N_("Other"),
}
"""Why a sign-in failed: texts by the code in the audit record."""


def reason(code: str, localization: Localization) -> str:
    """Return why a sign-in failed, in words; the code itself if there is no text for it."""
    return localization.gettext(REASONS[code]) if code in REASONS else code
