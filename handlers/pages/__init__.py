"""The operations of pages.yaml and passkey_pages.yaml in openapi/paths: the hosted pages for sign-up and sign-in."""

from handlers.pages.email_sign_in import (
    confirm_magic_link,
    request_email_sign_in,
    show_email_code,
    show_email_sign_in,
    show_magic_link,
    sign_in_with_email_code,
)
from handlers.pages.emails import send_verification_email, show_mail_sent, show_verify_email, verify_email
from handlers.pages.leaving import show_leaving
from handlers.pages.not_me import begin_disowning, disown, show_not_me
from handlers.pages.passkeys import complete_with_passkey, confirm_with_passkey, sign_in_with_passkey
from handlers.pages.passwords import (
    find_change_password,
    request_password_reset,
    reset_password,
    show_forgot_password,
    show_reset_password,
)
from handlers.pages.sign_in import (
    confirm_with_provider,
    show_error,
    show_sign_in,
    show_sso_sign_in,
    sign_in,
    sign_in_with_provider,
    sign_in_with_sso,
)
from handlers.pages.sign_out import (
    confirm,
    log_out,
    show_confirm,
    show_log_out,
    show_sign_out,
    show_signed_out,
    sign_out,
    stop_impersonating,
)
from handlers.pages.sign_up import show_sign_up, sign_up
from handlers.pages.two_factor import send_two_factor_code, show_two_factor, verify_two_factor

__all__ = [
    "begin_disowning",
    "complete_with_passkey",
    "confirm",
    "confirm_magic_link",
    "confirm_with_passkey",
    "confirm_with_provider",
    "disown",
    "find_change_password",
    "log_out",
    "request_email_sign_in",
    "request_password_reset",
    "reset_password",
    "send_two_factor_code",
    "send_verification_email",
    "show_confirm",
    "show_email_code",
    "show_email_sign_in",
    "show_error",
    "show_forgot_password",
    "show_leaving",
    "show_log_out",
    "show_magic_link",
    "show_mail_sent",
    "show_not_me",
    "show_reset_password",
    "show_sign_in",
    "show_sign_out",
    "show_sign_up",
    "show_signed_out",
    "show_sso_sign_in",
    "show_two_factor",
    "show_verify_email",
    "sign_in",
    "sign_in_with_email_code",
    "sign_in_with_passkey",
    "sign_in_with_provider",
    "sign_in_with_sso",
    "sign_out",
    "sign_up",
    "stop_impersonating",
    "verify_email",
    "verify_two_factor",
]
