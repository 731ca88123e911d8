"""Texts of error pages by error code; for a code without a text, the message of the error's class is translated.

A module with pages declares the texts of its own errors as `ERROR_TEXTS`. If an error has several reasons, texts for
single reasons are in `REASON_TEXTS`, with keys such as `DISCOVERY_FAILED.dns`.
"""

import re
from collections.abc import Mapping
from typing import Any

import handlers
from domain import errors
from domain.errors import Refusal
from domain.localization import N_, Localization
from models.discovery import merged

ERROR_TEXTS: Mapping[str, str] = {
    "INVALID_EMAIL_OR_PASSWORD": N_("These details do not match an account. Check them and try again."),
    "INVALID_USERNAME_OR_PASSWORD": N_("These details do not match an account. Check them and try again."),
    "INVALID_EMAIL": N_("Enter an email address such as name@example.com."),
    "EMAIL_NOT_VERIFIED": N_("Verify your email address before you sign in: open the link in our email."),
    "BANNED_USER": N_("This account is blocked. Contact the operator of this service."),
    "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL": N_(
        "There is an account with this email address already. Sign in instead."
    ),
    "USERNAME_IS_ALREADY_TAKEN": N_("This username is taken. Choose another one."),
    "USERNAME_TOO_SHORT": N_("This username is too short."),
    "USERNAME_TOO_LONG": N_("This username is too long."),
    "INVALID_USERNAME": N_("Use only letters, digits, dots and underscores in a username."),
    "PASSWORD_TOO_COMMON": N_("Many people use this password, so it is easy to guess. Choose another one."),
    "STALE_PROFILE": N_(
        "Your account was changed after you opened this form, so nothing was saved. Check the fields and save again."
    ),
    "CHANGE_EMAIL_DISABLED": N_(
        "Email addresses cannot be changed here. Contact the operator of this service."
    ),
    "VERIFICATION_EMAIL_NOT_ENABLED": N_("This service sends no emails. Contact its operator."),
    "CREDENTIAL_ACCOUNT_NOT_FOUND": N_("Your account has no password yet."),
    "INVALID_PASSWORD": N_("This is not your password."),
    "INVALID_TOKEN": N_("This link has been used or is no longer valid."),
    "TOKEN_EXPIRED": N_("This link has expired."),
    "INVALID_USER": N_("This link belongs to another account. Sign out, and open it again."),
    "INVALID_CODE": N_("This code is not right. Check it, or wait for the next one."),
    "INVALID_OTP": N_("This code is not right."),
    "OTP_EXPIRED": N_("This code has expired. Ask for a new one."),
    "OTP_HAS_EXPIRED": N_("This code has expired. Ask for a new one."),
    "TOO_MANY_ATTEMPTS": N_("This code was tried too often. Ask for a new one."),
    "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE": N_("This code was tried too often. Ask for a new one."),
    "INVALID_TWO_FACTOR_COOKIE": N_("This sign-in took too long or was finished elsewhere. Sign in again."),
    "NEW_USER_SIGNUP_DISABLED": N_(
        "There is no account with this email address, and new ones are not accepted."
    ),
    "RESET_PASSWORD_DISABLED": N_(
        "Passwords cannot be reset by email here. Contact the operator of this service."
    ),
    "NOT_FOUND": N_("This page does not exist."),
    "BAD_REQUEST": N_("The form arrived incomplete, so nothing was done. Fill it in again."),
    "VALIDATION_ERROR": N_(
        "The address of this page is incomplete or was changed. Go back, and start again."
    ),
    "PAYLOAD_TOO_LARGE": N_("This is too much text, so nothing was done. Go back, and shorten it."),
    "URI_TOO_LONG": N_("The address of this page is too long. Go back, and start again."),
    "HEADERS_TOO_LARGE": N_(
        "Your browser sent too much data. Delete the cookies of this site in your browser, and try again."
    ),
    "UNSUPPORTED_MEDIA_TYPE": N_("The form was not sent as browsers send it, so nothing was done."),
    "METHOD_NOT_ALLOWED": N_("This page cannot be opened like that."),
    "REQUEST_TIMEOUT": N_("The form took too long to arrive, so nothing was done. Try again."),
    "FORBIDDEN": N_("You may not do this."),
    "PROVIDER_NOT_FOUND": N_("This provider is not available. Sign in another way."),
    "PROVIDER_NOT_SUPPORTED": N_("This provider is not available. Sign in another way."),
    "EMAIL_PASSWORD_DISABLED": N_("You cannot sign in with a password here. Sign in another way."),
    "EMAIL_PASSWORD_SIGN_UP_DISABLED": N_("New accounts are not accepted here."),
    "EMAIL_MISMATCH": N_("This is not the email address of your account."),
    "USER_NOT_FOUND": N_("This account does not exist any more."),
    "CROSS_SITE_FORM": N_("The form was sent by a page of another site, so nothing was done."),
    "INVALID_CALLBACK_URL": N_(
        "The page that sent you here wants to lead you to a place that this service does not trust."
    ),
    "INVALID_NEW_USER_CALLBACK_URL": N_(
        "The page that sent you here wants to lead you to a place that this service does not trust."
    ),
    "INVALID_TARGET": N_("This link is too old or incomplete. Go back to the application, and start again."),
    "LAST_ADMIN": N_(
        "You are the last administrator, so your account cannot be deleted. Make another user an administrator first."
    ),
    "TWO_FACTOR_REQUIRED": N_("Administrators need two-factor authentication here."),
    "NOT_ALLOWED_WHILE_IMPERSONATING": N_("Administrators cannot do this in the name of a user."),
    "SERVICE_UNAVAILABLE": N_(
        "The service cannot be reached at the moment. Nothing was done. Try again in a few seconds."
    ),
    "OVERLOADED": N_("The service is busy at the moment. Try again in a few seconds."),
    "INTERNAL_SERVER_ERROR": N_("Something went wrong on our side. It has been noted."),
    "UNAUTHORIZED": N_("Sign in to see this page."),
    "EMAIL_ALREADY_VERIFIED": N_("This email address is verified already."),
    "PROVIDER_UNAVAILABLE": N_(
        "The provider cannot be reached at the moment. Try again, or sign in another way."
    ),
}

_PROVIDER_ERRORS: Mapping[str, str] = {
    "access_denied": N_("You did not allow the sign-in. Try again, or sign in another way."),
    "account_not_linked": N_(
        "There is an account with this email address already. Sign in another way; then you can connect it."
    ),
    "user_mismatch": N_(
        "You chose another account at the provider than the one you sign in here with, so nothing was done. You are"
        " still signed in as before."
    ),
    "email_not_found": N_("The provider did not tell an email address. Nothing was changed."),
    "provider_unavailable": ERROR_TEXTS["PROVIDER_UNAVAILABLE"],
    "signup_disabled": ERROR_TEXTS["NEW_USER_SIGNUP_DISABLED"],
    "email_not_verified": ERROR_TEXTS["EMAIL_NOT_VERIFIED"],
    "BANNED_USER": ERROR_TEXTS["BANNED_USER"],
    "user_disabled": N_("Your organization has disabled your account. Contact its administrators."),
    "state_mismatch": ERROR_TEXTS["INVALID_TWO_FACTOR_COOKIE"],
    "invalid_request_uri": N_(
        "This sign-in took too long, or was finished in another window. Go back to the application, and start again."
    ),
    "state_not_found": ERROR_TEXTS["INVALID_TWO_FACTOR_COOKIE"],
}
_OTHER_PROVIDER_ERROR = N_("The provider or this service could not complete it. Nothing was changed.")
_SHOWN_CODE = re.compile(r"[A-Za-z0-9_'-]{1,64}", re.ASCII)
_DESCRIPTION_LENGTH = 200
"""The most characters that are shown of the description of a provider's error."""

APPLICATION_ERRORS = frozenset(
    {"invalid_client", "invalid_redirect_uri", "invalid_request", "invalid_request_uri"}
)
"""The errors of an authorization request that are shown to the user, because they must not be redirected to the
application (RFC 6749, 4.1.2.1)."""

_APPLICATION_ERROR = N_(
    "The application that sent you here made a mistake, so you cannot be signed in to it. Go back to it and try again; "
    "if that does not help, tell the people who run it."
)
MOST_SHOWN = 1000
"""The most characters of an error description that are shown if it is for the developers of an application. It may
contain two URLs."""


def error_texts() -> Mapping[str, str]:
    """Return the English texts by error code, without those of the console, which are in `handlers.console.texts`."""
    return merged(handlers, "ERROR_TEXTS", except_for=("handlers.console",))


def sentence(localization: Localization, refusal: Refusal, *, names_parameters: bool = False) -> str:
    """Return the translated text about a refusal and the next step.

    With `names_parameters`, the text names a malformed query parameter.
    """
    ngettext = localization.ngettext
    match refusal.code:
        case "PASSWORD_TOO_SHORT":
            least = refusal.details.get("minimumLength", 8)
            return ngettext(
                "Use at least %(number)s character.", "Use at least %(number)s characters.", least
            ) % {"number": least}
        case "PASSWORD_TOO_LONG":
            most = refusal.details.get("maximumLength", 128)
            return ngettext(
                "Use at most %(number)s character.", "Use at most %(number)s characters.", most
            ) % {"number": most}
        case "ACCOUNT_TEMPORARILY_LOCKED":
            minutes = _minutes(refusal)
            return ngettext(
                "There were too many wrong codes. Try again in %(number)s minute.",
                "There were too many wrong codes. Try again in %(number)s minutes.",
                minutes,
            ) % {"number": minutes}
        case "TOO_MANY_REQUESTS":
            minutes = _minutes(refusal)
            return ngettext(
                "There were too many attempts. Try again in %(number)s minute.",
                "There were too many attempts. Try again in %(number)s minutes.",
                minutes,
            ) % {"number": minutes}
    if names_parameters and isinstance(refusal, errors.ValidationError):
        for field in refusal.fields:
            if field.place == "query":
                text = localization.gettext(
                    "The part “%(name)s” of the address is wrong. Go back, and start again."
                )
                return text % {"name": field.name}
    of_reasons = merged(handlers, "REASON_TEXTS")
    # The message of a class is in the catalogs; the message of one refusal names fields, for programs.
    text = error_texts().get(refusal.code, type(refusal).message)
    return localization.gettext(of_reasons.get(f"{refusal.code}.{refusal.details.get('reason')}", text))


def _minutes(refusal: Refusal) -> int:
    """Return the number of minutes after which the user may try again."""
    # Rounded up, because an attempt a few seconds too early would be refused again.
    return max(1, -(-(refusal.retry_after or 60) // 60))


def provider_error(localization: Localization, error: str | None, description: str | None) -> dict[str, Any]:
    """Return the values of `provider_error.html` for the error of a sign-in through a provider or an application.

    They are the error code, a text about it, and the beginning of the description.
    """
    # Anyone can link to these pages with any text; only what looks like an error code is shown as one.
    # defence: V81 error-word
    code = error if error is not None and _SHOWN_CODE.fullmatch(error) else "UNKNOWN"
    is_by_application = code in APPLICATION_ERRORS
    otherwise = _APPLICATION_ERROR if is_by_application else _OTHER_PROVIDER_ERROR
    return {
        "code": code,
        "sentence": localization.gettext(_PROVIDER_ERRORS.get(code, otherwise)),
        "description": (description or "")[: MOST_SHOWN if is_by_application else _DESCRIPTION_LENGTH],
        "is_by_application": is_by_application,
    }


def said(localization: Localization, code: str) -> str:
    """Return the translated text for an error code. Raises KeyError if there is no text for the code."""
    return localization.gettext(error_texts()[code])
