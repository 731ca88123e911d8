"""The emails of email codes."""

from datetime import timedelta

from domain.context import Context
from domain.mail.messages import Recipient, queue_mail
from domain.mail.templates import CODE, MailTemplate

SIGN_IN_CODE = MailTemplate("sign-in-code", "sign-in by a code is requested", (CODE,), on_request=True)
VERIFY_EMAIL_CODE = MailTemplate(
    "verify-email-code", "an email address is to be verified by a code", (CODE,), on_request=True
)
RESET_PASSWORD_CODE = MailTemplate(
    "reset-password-code", "a password reset by a code is requested", (CODE,), on_request=True
)
CHANGE_EMAIL_CODE = MailTemplate(
    "change-email-code",
    "a change of the email address is to be confirmed by a code; goes to the new address",
    (CODE,),
)


def code(
    ctx: Context,
    template: MailTemplate,
    user: Recipient,
    email: str,
    digits: str,
    expires_in: timedelta,
    sender: str | None,
) -> None:
    """Queue an email with the code `digits`. `sender` of None is the default sender."""
    queue_mail(ctx, template, user, to=email, code=digits, expires_in=expires_in, sender=sender)
