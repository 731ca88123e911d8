"""The settings of email codes."""

from collections.abc import Iterator

from domain.email_codes.policy import EmailCodePolicy
from server.config.base import Group, Settings
from server.config.groups.mail import MailSettings
from server.config.value_types import Duration, duration_between, setting


class EmailCodeSettings(Group):
    """`email_codes.*`: codes sent by email that sign in, verify, reset a password or change the address."""

    key = "email_codes"
    enabled_in_development = True

    fills = (EmailCodePolicy,)

    former_keys = (
        "email_otp.enabled",
        "email_otp.expires_in",
        "email_otp.attempts",
        "email_otp.sign_up",
        "email_otp.verify_current_email",
    )

    enabled: bool = setting(
        False,
        "Whether codes are sent by email; by default true in development, unless `mail.sender` is none.",
    )
    expires_in: Duration = duration_between("5m", "Lifetime of a code.", at_least="1m", at_most="10m")
    attempts: int = setting(3, "Number of attempts to enter a code.", ge=1, le=5)
    sign_up: bool = setting(
        True,
        "Whether a sign-in code creates a user if none has the email address; no effect while "
        "`sign_up.enabled` is false.",
    )
    verify_current_email: bool = setting(
        False,
        "Whether a change of the email address also requires a code that is sent to the current address.",
    )

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield a problem if codes cannot be sent."""
        if self.enabled and not settings[MailSettings].has_sender:
            yield "email_codes.enabled: needs a mail.sender"
