"""Texts of errors that read otherwise in the console, where they are about another user."""

from collections.abc import Mapping
from dataclasses import replace

from domain.localization import N_, Localization
from handlers.pages.view import Form

SENTENCES: Mapping[str, str] = {
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
    "API_KEYS_CHANGED": N_(
        "The keys of this user were changed after you opened this form, so nothing was done. Check them, and try again."
    ),
    "API_KEY_LIMIT_REACHED": N_("This user has as many keys as are allowed. Delete one first."),
}
"""Sentences by error code."""

FIELDS: Mapping[str, str] = {
    "typed": N_("This is not the email address of the user."),
    "until": N_("Enter today or a later date."),
}
"""Sentences by field."""


def form(shown: Form, localization: Localization) -> Form:
    """Return a refused form with the texts of the console."""
    other = SENTENCES.get(shown.code or "")
    if other is None:
        errors = {
            name: localization.gettext(FIELDS[name]) if name in FIELDS else text
            for name, text in shown.errors.items()
        }
        return replace(shown, errors=errors)
    sentence = localization.gettext(other)
    return replace(
        shown,
        errors=dict.fromkeys(shown.errors, sentence),
        message=sentence if shown.message is not None else None,
    )
