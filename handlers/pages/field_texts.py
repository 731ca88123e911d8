"""Texts about invalid fields of a form.

A module with pages declares which field each of its errors is about as `ERROR_FIELDS`, the texts about its fields as
`FIELD_TEXTS`, and the labels of its fields as `FIELD_LABELS`.
"""

from collections.abc import Mapping

import handlers
from domain import errors
from domain.emails.emails import SAME_EMAIL
from domain.errors import Refusal
from domain.localization import N_, Localization
from handlers.pages.texts import said, sentence
from models.discovery import merged

ERROR_FIELDS: Mapping[str, tuple[str, ...]] = {
    "INVALID_EMAIL": ("email", "identifier", "newEmail"),
    "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL": ("email", "newEmail"),
    "USERNAME_IS_ALREADY_TAKEN": ("username",),
    "USERNAME_TOO_SHORT": ("username",),
    "USERNAME_TOO_LONG": ("username",),
    "INVALID_USERNAME": ("username",),
    "PASSWORD_TOO_SHORT": ("newPassword", "password"),
    "PASSWORD_TOO_LONG": ("newPassword", "password"),
    "PASSWORD_TOO_COMMON": ("newPassword", "password"),
    "INVALID_PASSWORD": ("currentPassword", "password"),
    "INVALID_CODE": ("code",),
    "INVALID_OTP": ("code",),
    "OTP_EXPIRED": ("code",),
    "OTP_HAS_EXPIRED": ("code",),
    "TOO_MANY_ATTEMPTS": ("code",),
    "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE": ("code",),
}
"""The form fields that an error can be about, by error code. The error is shown next to the first of these fields that
the form has."""
FIELD_LABELS: Mapping[str, str] = {
    "code": N_("Code"),
    "currentPassword": N_("Current password"),
    "description": N_("Description"),
    "email": N_("Email address"),
    "expiresIn": N_("Lifetime"),
    "identifier": N_("Email address or username"),
    "image": N_("Picture"),
    "kind": N_("Kind"),
    "locale": N_("Language"),
    "logo": N_("Logo"),
    "name": N_("Name"),
    "newEmail": N_("New email address"),
    "newName": N_("New name"),
    "newPassword": N_("New password"),
    "password": N_("Password"),
    "permissions": N_("Permissions"),
    "role": N_("Role"),
    "slug": N_("Short name"),
    "team": N_("Team"),
    "teamName": N_("Name"),
    "typedEmail": N_("Your email address"),
    "url": N_("URL"),
    "username": N_("Username"),
    "user_code": N_("Code"),
}
"""The English names of form fields for the summary of a refused form, by field name."""
_EMPTY: Mapping[str, str] = {
    "identifier": N_("Enter your email address or username."),
    "email": N_("Enter your email address."),
    "newEmail": N_("Enter the new email address."),
    "password": N_("Enter your password."),
    "currentPassword": N_("Enter your current password."),
    "newPassword": N_("Enter a new password."),
    "name": N_("Enter a name."),
    "newName": N_("Enter a name."),
    "teamName": N_("Enter a name."),
    "code": N_("Enter the code."),
}
_MALFORMED: Mapping[str, str] = {
    "slug": N_("Use letters, digits, hyphens and underscores; begin and end with a letter or digit."),
}


def field_errors(
    localization: Localization, refusal: Refusal, submitted: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the error texts of a refused form by field name; empty if the refusal is about no field of the form."""
    if isinstance(refusal, errors.ValidationError):
        return {
            name: _wrong_field(localization, name, submitted.get(name, ""), message)
            for _, name, message in refusal.fields
        }
    # A form without an identifier is for a signed-in user, so only the password can be wrong.
    if refusal.code == "INVALID_EMAIL_OR_PASSWORD" and "identifier" not in submitted:
        return {"password": said(localization, "INVALID_PASSWORD")}
    names = merged(handlers, "ERROR_FIELDS").get(refusal.code, ())
    field = next((name for name in names if name in submitted), None)
    return {} if field is None else {field: sentence(localization, refusal)}


def field_labels(localization: Localization) -> Mapping[str, str]:
    """Return the translated names of form fields for the summary of a refused form, by field name."""
    labels = merged(handlers, "FIELD_LABELS")
    return {name: localization.gettext(label) for name, label in labels.items()}


def _wrong_field(localization: Localization, name: str, value: str, message: str) -> str:
    own = merged(handlers, "FIELD_TEXTS", except_for=("handlers.console",))
    if name in own:
        return localization.gettext(own[name])
    if not value.strip():
        return localization.gettext(_EMPTY.get(name, N_("Fill in this field.")))
    if message == SAME_EMAIL:
        return localization.gettext("This is your email address already.")
    if name in ("email", "newEmail"):
        return said(localization, "INVALID_EMAIL")
    if message.startswith("must be at most"):
        return localization.gettext(N_("This is too long."))
    return localization.gettext(_MALFORMED.get(name, N_("This is not valid here.")))
