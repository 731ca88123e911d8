"""The settings of the second factor and of trusted devices."""

from collections.abc import Iterable, Iterator

from domain import identifiers
from domain.trusted_devices.policy import TrustedDevicePolicy
from domain.two_factor.policy import TwoFactorPolicy
from server.config.base import Group, Settings, fill
from server.config.groups.mail import MailSettings
from server.config.value_types import Duration, OptionalText, OptionalUrl, duration_between, setting


class TwoFactorSettings(Group):
    """`two_factor.*`: the second factor."""

    key = "two_factor"

    issuer: OptionalText = setting(None, "Name that authenticator apps show; by default `app_name`.")
    otp_enabled: bool = setting(True, "Whether codes can be sent by email (needs `mail.sender`).")
    enforce_for_social: bool = setting(
        True, "Whether a sign-in through a provider also requires the second factor."
    )
    page: OptionalUrl = setting(
        None,
        "Page at a trusted origin to which a sign-in through a provider redirects if it requires a code.",
    )
    totp_window: int = setting(
        1,
        "Number of 30-second steps before and after the current one whose codes are also accepted.",
        ge=0,
        le=10,
    )
    otp_expires_in: Duration = duration_between("3m", "Lifetime of an emailed code.")
    otp_attempts: int = setting(5, "Number of attempts to enter an emailed code.", ge=1, le=100)
    backup_code_count: int = setting(10, "Number of backup codes that a user gets at once.", ge=1, le=100)
    challenge_expires_in: Duration = duration_between("10m", "Time to enter the code after the password.")
    challenge_attempts: int = setting(
        5, "Number of attempts to enter a code at one sign-in, over all methods.", ge=1, le=100
    )
    lock_after: int = setting(
        10,
        "Number of consecutive wrong codes, over all sign-ins of a user, after which the second factor is "
        "locked.",
        ge=1,
        le=10_000,
    )
    lock_for: Duration = duration_between("15m", "How long the second factor stays locked.")
    trust_expires_in: Duration = duration_between("30d", "How long a trusted device skips the second factor.")

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return how the second factor works, and how long devices are trusted."""
        # A colon separates issuer and account in the URI that an authenticator reads.
        issuer = self.issuer or settings.app_name.replace(":", "")[: identifiers.ISSUER_LENGTH]
        mails_codes = self.otp_enabled and settings[MailSettings].has_sender
        return (
            fill(TwoFactorPolicy, self, issuer=issuer, otp_available=mails_codes),
            fill(TrustedDevicePolicy, self),
        )

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield a problem if authenticators cannot display the issuer, or if redirects to a page are not allowed."""
        if not identifiers.is_issuer(self.issuer or ""):
            yield (
                f"two_factor.issuer: at most {identifiers.ISSUER_LENGTH} characters, no colon, no control characters"
            )
        yield from settings.page_problems("two_factor.page", self.page)
