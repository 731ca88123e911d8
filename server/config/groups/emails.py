"""The settings of email addresses: their verification and change."""

from collections.abc import Iterable, Iterator

from domain.emails.policy import ChangeEmailPolicy, EmailVerificationPolicy
from server.config.base import Group, Settings, fill
from server.config.groups.mail import MailSettings
from server.config.value_types import Duration, duration_between, setting


class EmailVerificationSettings(Group):
    """`email_verification.*`: proof that an address is the user's; no effect when `mail.sender` is none."""

    key = "email_verification"

    enabled: bool = setting(True, "Whether email addresses can be verified.")
    required: bool = setting(False, "Whether only users with a verified address may sign in.")
    send_on_sign_up: bool = setting(True, "Whether sign-up sends the verification email.")
    send_on_sign_in: bool = setting(
        False,
        "Whether a sign-in that is refused because the address is not verified sends the verification "
        "email again.",
    )
    token_expires_in: Duration = duration_between("1h", "Lifetime of verification and email-change links.")

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return when addresses are verified; never without a mail sender."""
        sends = settings[MailSettings].has_sender
        return (
            fill(
                EmailVerificationPolicy,
                self,
                enabled=self.enabled and sends,
                required=self.required and sends,
            ),
        )

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield a problem if verification is required but its emails cannot be sent."""
        if self.required and not settings[MailSettings].has_sender:
            yield "email_verification.required: needs a mail.sender, or no user could sign in"


class ChangeEmailSettings(Group):
    """`change_email.*`: a new address for an existing user."""

    key = "change_email"

    fills = (ChangeEmailPolicy,)

    enabled: bool = setting(True, "Whether users may change their address.")
    immediate_if_unverified: bool = setting(
        True, "Whether an address that was never verified is replaced at once, before any link is opened."
    )
